/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Emulate Intel PT by single-stepping user tasks.
 *
 *	step.c		single-step a task: TF, #DB, kernel entry and return
 *	insn.c		classify the instruction that was executed
 *	synth.c		write the trace of a built-in loop; no task is stepped
 *	packets.c	encode Intel PT packets
 *	pebs.c		count instructions and write PEBS-via-PT samples
 *	area.c		write packets to the AUX area
 *	pmu.c, sysfs.c	the PMU and its sysfs attributes
 *
 * Each CPU has one struct soft_pt. Only that CPU accesses it, with interrupts
 * disabled, so no locks are needed. An NMI may copy the end of the area into a
 * sample, whose last packet may then be incomplete, and may set @paused: the
 * core pauses and throttles events in NMIs. An NMI changes nothing else.
 *
 * The trace matches that of hardware which is configured to exclude the
 * kernel. Packet generation is enabled (TIP.PGE) when a task returns to user
 * space, and disabled (TIP.PGD) whenever the task leaves user space, except
 * for the single-step traps of this driver.
 */
#ifndef _SOFT_PT_H
#define _SOFT_PT_H

#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/user-return-notifier.h>

/*
 * As a module on a stock kernel: aux_written is not published, and
 * PERF_SAMPLE_AUX samples have no AUX data.
 */
#ifndef PERF_PMU_CAP_AUX_WRITTEN
#define PERF_PMU_CAP_AUX_WRITTEN	0
#define perf_output_copy_aux(...)	0
#endif
#ifndef PERF_PMU_CAP_AUX_ANY_SIZE
#define PERF_PMU_CAP_AUX_ANY_SIZE	0
#endif

/* Bits of perf_event_attr.config: the same as in MSR_IA32_RTIT_CTL. */
#define SOFT_PT_PASS_THROUGH	BIT_ULL(0)
#define SOFT_PT_TSC		BIT_ULL(10)
#define SOFT_PT_NO_RETCOMP	BIT_ULL(11)
#define SOFT_PT_BRANCH		BIT_ULL(13)
#define SOFT_PT_PSB_PERIOD	GENMASK_ULL(27, 24)
#define SOFT_PT_PSB_PERIODS	6	/* 0 to 5: 2 KiB to 64 KiB */

/**
 * struct soft_pt_area - an AUX area, as passed to pmu::setup_aux()
 * @pages:	its pages
 * @size:	its length, any number of pages [bytes]
 * @overwrite:	overwrite mode: the oldest data is overwritten
 * @ovf_pending: trace was lost because the area was full; the next PSB+ is
 *		followed by an OVF packet
 */
struct soft_pt_area {
	void		**pages;
	unsigned long	size;
	bool		overwrite;
	bool		ovf_pending;
};

/* Maximum number of soft_pebs events in a group. */
#define SOFT_PT_COUNTERS	8

/**
 * struct soft_pt - tracing state of a CPU
 * @event:	the started event, or NULL
 *
 * area.c:
 * @handle:	valid if @area is set
 * @area:	AUX area to write to; NULL if there is none or no space in it
 * @pos:	free-running byte position: perf_aux_output_begin()'s head plus
 *		the bytes written since
 * @offset:	@pos modulo the area's size: offset of the next byte
 * @written:	bytes written since perf_aux_output_begin()
 * @space:	bytes that may still be written
 *
 * packets.c:
 * @last_ip:	address against which the next one is compressed
 * @tsc:	value of the last TSC packet
 * @tnt:	branches of the next TNT packet, the oldest in the highest bit
 * @nr_tnt:	number of branches in @tnt
 * @since_psb:	bytes since the last PSB; ULONG_MAX forces a PSB
 *
 * step.c:
 * @notifier:	registered while the event is started
 * @paused:	do not enable packet generation (aux_action, throttling)
 * @packet_en:	packet generation is enabled: a TIP.PGE was written for the
 *		current task
 * @armed:	TF in the current task's registers was set by this driver
 * @trapped:	the last #DB or #BP while @packet_en was the program's own
 * @ip:		the instruction to be executed next; valid if @packet_en
 *
 * pebs.c:
 * @counters:	the events that count on this CPU, or NULL
 * @tags:	how often each counter was assigned to another event
 */
struct soft_pt {
	struct perf_event		*event;

	struct perf_output_handle	handle;
	struct soft_pt_area		*area;
	unsigned long			pos;
	unsigned long			offset;
	unsigned long			written;
	unsigned long			space;

	u64				last_ip;
	u64				tsc;
	u8				tnt;
	u8				nr_tnt;
	unsigned long			since_psb;

	struct user_return_notifier	notifier;
	bool				paused;
	bool				packet_en;
	bool				armed;
	bool				trapped;
	u64				ip;

	struct perf_event		*counters[SOFT_PT_COUNTERS];
	u64				tags[SOFT_PT_COUNTERS];
};

DECLARE_PER_CPU(struct soft_pt, soft_pt_cpu);

/* Effect of an instruction on the control flow. */
enum soft_pt_kind {
	SOFT_PT_UNKNOWN,	/* unreadable, undecodable or not followed */
	SOFT_PT_PLAIN,		/* continues at the next instruction */
	SOFT_PT_REP,		/* continues at the next one or at itself */
	SOFT_PT_COND,		/* continues at @target or the next one */
	SOFT_PT_DIRECT,		/* continues at @target */
	SOFT_PT_INDIRECT,	/* indirect jump or call, or return */
	SOFT_PT_PUSHF,		/* like SOFT_PT_PLAIN; stores TF */
	SOFT_PT_POPF,		/* like SOFT_PT_PLAIN; loads TF */
	SOFT_PT_IRET,		/* like SOFT_PT_UNKNOWN; loads TF */
	SOFT_PT_SHADOW,		/* like SOFT_PT_PLAIN; may inhibit #DB */
	SOFT_PT_SYSCALL,	/* enters the kernel, with the flags in r11 */
	SOFT_PT_INT80,		/* enters the kernel */
	SOFT_PT_TRAP,		/* enters the kernel, which sends a signal */
};

/**
 * struct soft_pt_insn - a classified instruction
 * @kind:	its effect on the control flow
 * @next:	address of the following one; valid unless SOFT_PT_UNKNOWN
 * @target:	branch target; valid if SOFT_PT_COND or SOFT_PT_DIRECT
 * @pushed:	bytes that it pushed; valid if SOFT_PT_PUSHF
 */
struct soft_pt_insn {
	enum soft_pt_kind	kind;
	u64			next;
	u64			target;
	u8			pushed;
};

/**
 * soft_pt_insn_read - classify the instruction at @ip of the current task
 *
 * Context: any; does not fault. Memory that cannot be read without a page
 * fault yields SOFT_PT_UNKNOWN.
 */
void soft_pt_insn_read(struct soft_pt_insn *insn, u64 ip);

/**
 * soft_pt_area_begin - begin writing to the AUX area of @pt->event
 *
 * Return: true and @pt->area set if there is an area with space in it.
 */
bool soft_pt_area_begin(struct soft_pt *pt);
/* soft_pt_area_end - publish what was written and clear @pt->area */
void soft_pt_area_end(struct soft_pt *pt);
/*
 * soft_pt_area_truncate - like soft_pt_area_end(), because the area is full
 *
 * The core disables the event.
 */
void soft_pt_area_truncate(struct soft_pt *pt);

/*
 * Upper bound of what one step writes [bytes]: two samples of 206 bytes each,
 * and the packets that disable packet generation.
 */
#define SOFT_PT_STEP_BYTES	768
/**
 * soft_pt_area_has_space - check for space for one step
 *
 * Publishes what was written and wakes up the reader where that is due.
 *
 * Return: true if SOFT_PT_STEP_BYTES may be written.
 */
bool soft_pt_area_has_space(struct soft_pt *pt);
/* soft_pt_area_write - write a packet; does nothing without an area */
void soft_pt_area_write(struct soft_pt *pt, const u8 *packet,
			unsigned int size);

void *soft_pt_setup_aux(struct perf_event *event, void **pages, int nr_pages,
			bool overwrite);
void soft_pt_free_aux(void *aux);
long soft_pt_snapshot_aux(struct perf_event *event,
			  struct perf_output_handle *handle,
			  unsigned long size);

/**
 * soft_pt_psb - write a PSB+, at which a decoder can synchronize
 * @enabled:	packet generation is enabled: add a FUP with @ip
 * @ip:		address of the next instruction; ignored unless @enabled
 */
void soft_pt_psb(struct soft_pt *pt, bool enabled, u64 ip);
/* soft_pt_psb_is_due - check whether the PSB period of the event is over */
bool soft_pt_psb_is_due(struct soft_pt *pt);
void soft_pt_tsc(struct soft_pt *pt);
void soft_pt_tnt(struct soft_pt *pt, bool taken);
void soft_pt_tip(struct soft_pt *pt, u64 ip);
void soft_pt_pge(struct soft_pt *pt, u64 ip);
/*
 * soft_pt_pgd - write TIP.PGD: the next instruction that can leave user space
 * disables packet generation
 */
void soft_pt_pgd(struct soft_pt *pt);
/*
 * soft_pt_fup_pgd - write FUP and TIP.PGD: packet generation is disabled
 * before @ip is executed
 */
void soft_pt_fup_pgd(struct soft_pt *pt, u64 ip);
/* soft_pt_bbp - write a BBP: begin a block of @type */
void soft_pt_bbp(struct soft_pt *pt, u8 type);
/* soft_pt_bip - write a BIP: item @id of the current block */
void soft_pt_bip(struct soft_pt *pt, u8 id, u64 value);
/**
 * soft_pt_bep - write a BEP: end all blocks
 * @enabled:	packet generation is enabled: add a FUP with @ip
 * @ip:		address of the next instruction; ignored unless @enabled
 */
void soft_pt_bep(struct soft_pt *pt, bool enabled, u64 ip);

/**
 * soft_pt_retired - count an executed instruction that the trace contains
 * @ip:		its address
 * @next:	address of the next one; used only if @pt->packet_en
 * @regs:	registers after it, without the driver's TF; NULL if unknown
 */
void soft_pt_retired(struct soft_pt *pt, u64 ip, u64 next,
		     const struct pt_regs *regs);

/*
 * soft_pt_step_start, soft_pt_step_stop - start or stop stepping on this CPU
 *
 * Between the two, whichever task runs on this CPU is stepped. Caller disables
 * interrupts.
 */
void soft_pt_step_start(struct soft_pt *pt);
void soft_pt_step_stop(struct soft_pt *pt);
/* soft_pt_step_leave - disable packets until the next return to user space */
void soft_pt_step_leave(struct soft_pt *pt);
/**
 * soft_pt_step_get - take a reference to the hooks; the first one adds them
 *
 * Context: task.
 *
 * Return: 0, or a negative error code.
 */
int soft_pt_step_get(void);
/* soft_pt_step_put - drop a reference; the last one removes the hooks */
void soft_pt_step_put(void);

/*
 * Limit of attr.config1 [bytes]. Each start of an event writes this much with
 * interrupts disabled, and an ordinary user may start events of their tasks.
 */
#define SOFT_PT_SYNTH_MAX	U16_MAX
/* soft_pt_synth - write at least @size bytes of the built-in loop's trace */
void soft_pt_synth(struct soft_pt *pt, unsigned long size);

extern struct pmu soft_pt_pmu;
/* soft_pebs_register - register the soft_pebs PMU. Return: 0 or an error */
int soft_pebs_register(void);
void soft_pebs_unregister(void);

extern const struct attribute_group *soft_pt_attr_groups[];
extern const struct attribute_group *soft_pebs_attr_groups[];
/* soft_pt_ratio - the TSC frequency in units of the 100 MHz bus clock */
unsigned int soft_pt_ratio(void);

#endif /* _SOFT_PT_H */
