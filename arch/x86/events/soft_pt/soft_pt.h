/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Intel PT by single-stepping.
 *
 *	step.c		follows a task: TF, traps, all ways into the kernel and back
 *	insn.c		what the instruction was that was stepped over
 *	synth.c		instead of those: a flow that nobody runs
 *	packets.c	says it in packets
 *	pebs.c		counts instructions, and has samples of them said as well
 *	area.c		which go to the AUX area
 *	pmu.c, sysfs.c	the event, and what perf wants to know of it
 *
 * Each CPU has one struct soft_pt. It is touched by that CPU alone, with interrupts off; so there
 * are no locks. An NMI may quote the area in a sample, where the last packet may then be
 * incomplete, and set @paused; it changes nothing else.
 *
 * The trace is that of real hardware which is told to leave the kernel out: it is enabled (TIP.PGE)
 * where a task returns to user space, and disabled (TIP.PGD) where it leaves it, for whatever
 * reason, except for our own traps.
 */
#ifndef _SOFT_PT_H
#define _SOFT_PT_H

#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/user-return-notifier.h>

/* As a module for a stock kernel: nobody is told, and samples cannot quote the area. */
#ifndef PERF_PMU_CAP_AUX_WRITTEN
#define PERF_PMU_CAP_AUX_WRITTEN	0
#define perf_output_copy_aux(...)	0
#endif
#ifndef PERF_PMU_CAP_AUX_ANY_SIZE
#define PERF_PMU_CAP_AUX_ANY_SIZE	0
#endif

/* Bits of perf_event_attr.config; those of the hardware's RTIT_CTL. */
#define SOFT_PT_PASS_THROUGH	BIT_ULL(0)
#define SOFT_PT_TSC		BIT_ULL(10)
#define SOFT_PT_NO_RETCOMP	BIT_ULL(11)
#define SOFT_PT_BRANCH		BIT_ULL(13)
#define SOFT_PT_PSB_PERIOD	GENMASK_ULL(27, 24)
#define SOFT_PT_PSB_PERIODS	6	/* 0 to 5: 2 KiB to 64 KiB */

/**
 * struct soft_pt_area - an AUX area, as pmu::setup_aux() got it
 * @pages:	its pages
 * @size:	its length, any number of pages [bytes]
 * @overwrite:	it is gone round in
 * @lost:	something was not traced for want of room: an OVF will say so
 */
struct soft_pt_area {
	void		**pages;
	unsigned long	size;
	bool		overwrite;
	bool		lost;
};

/* As many events at once, of a group with the trace's, can have samples in it. */
#define SOFT_PT_COUNTERS	8

/**
 * struct soft_pt - what a CPU traces
 * @event:	the event that is started here, or NULL
 *
 * area.c:
 * @handle:	valid if @area
 * @area:	where to write; NULL if nothing can be
 * @pos:	from perf_aux_output_begin()'s head on, one more for each byte
 * @at:		the same modulo the area's size: where the next byte goes
 * @written:	bytes since perf_aux_output_begin()
 * @room:	bytes that may still be written
 *
 * packets.c:
 * @last_ip:	what the decoder compresses the next address against
 * @tsc:	in the last TSC packet
 * @tnt:	the branches for the next TNT packet, the oldest in the highest bit
 * @nr_tnt:	their number
 * @since_psb:	bytes since the last PSB; ULONG_MAX if there has to be one
 *
 * step.c:
 * @notifier:	registered from start to stop
 * @paused:	stay outside (aux_action)
 * @inside:	packet generation is enabled: TIP.PGE was written for the task that runs
 * @armed:	and the TF in its registers is ours
 * @from:	the instruction that it is about to execute; valid if @inside
 *
 * pebs.c:
 * @counters:	events that count here, or NULL
 * @tags:	how often each counter went to an event that did not have it before
 */
struct soft_pt {
	struct perf_event		*event;

	struct perf_output_handle	handle;
	struct soft_pt_area		*area;
	unsigned long			pos;
	unsigned long			at;
	unsigned long			written;
	unsigned long			room;

	u64				last_ip;
	u64				tsc;
	u8				tnt;
	u8				nr_tnt;
	unsigned long			since_psb;

	struct user_return_notifier	notifier;
	bool				paused;
	bool				inside;
	bool				armed;
	u64				from;

	struct perf_event		*counters[SOFT_PT_COUNTERS];
	u64				tags[SOFT_PT_COUNTERS];
};

DECLARE_PER_CPU(struct soft_pt, soft_pt_cpu);

/* What an instruction does to the flow. */
enum soft_pt_kind {
	SOFT_PT_UNKNOWN,	/* cannot be read or decoded, or goes where we do not follow */
	SOFT_PT_PLAIN,		/* on to the next one */
	SOFT_PT_REP,		/* or to itself */
	SOFT_PT_COND,		/* to @target or to the next one */
	SOFT_PT_DIRECT,		/* to @target */
	SOFT_PT_INDIRECT,	/* anywhere; returns, too */
	SOFT_PT_PUSHF,		/* as SOFT_PT_PLAIN; shows TF */
	SOFT_PT_POPF,		/* as SOFT_PT_PLAIN; sets TF */
	SOFT_PT_IRET,		/* as SOFT_PT_UNKNOWN; sets TF */
	SOFT_PT_SHADOW,		/* as SOFT_PT_PLAIN; there may be no trap behind it */
	SOFT_PT_SYSCALL,	/* into the kernel, with the flags in r11 */
	SOFT_PT_INT80,		/* into the kernel */
	SOFT_PT_TRAP,		/* into the kernel, for a signal */
};

/**
 * struct soft_pt_insn - an instruction
 * @kind:	what it does
 * @next:	address of the one behind it; valid unless SOFT_PT_UNKNOWN
 * @target:	where it goes; valid if SOFT_PT_COND or SOFT_PT_DIRECT
 * @pushed:	bytes on the stack; valid if SOFT_PT_PUSHF
 */
struct soft_pt_insn {
	enum soft_pt_kind	kind;
	u64			next;
	u64			target;
	u8			pushed;
};

/* soft_pt_insn_read - what is at @ip of the current task; any context, does not fault */
void soft_pt_insn_read(struct soft_pt_insn *insn, u64 ip);

/**
 * soft_pt_area_begin - get room in the AUX area of @pt->event
 *
 * Return: whether there is any; @pt->area then.
 */
bool soft_pt_area_begin(struct soft_pt *pt);
/* soft_pt_area_end - publish what was written; nothing can be written any more */
void soft_pt_area_end(struct soft_pt *pt);
/* soft_pt_area_truncate - the same for want of room; the event will be disabled */
void soft_pt_area_truncate(struct soft_pt *pt);

/* What a step takes at most, with two samples of 206, and what ends the trace [bytes] */
#define SOFT_PT_ROOM	768
/* soft_pt_area_has_room - whether there are SOFT_PT_ROOM bytes; here readers are woken up */
bool soft_pt_area_has_room(struct soft_pt *pt);
/* soft_pt_area_write - write a packet, if there is an area */
void soft_pt_area_write(struct soft_pt *pt, const u8 *packet, unsigned int size);

void *soft_pt_setup_aux(struct perf_event *event, void **pages, int nr_pages, bool overwrite);
void soft_pt_free_aux(void *aux);
long soft_pt_snapshot_aux(struct perf_event *event, struct perf_output_handle *handle,
			  unsigned long size);

/* soft_pt_psb - PSB+, where a decoder can begin; with a FUP of the next instruction, or disabled */
void soft_pt_psb(struct soft_pt *pt, bool enabled, u64 ip);
/* soft_pt_psb_is_due - as many bytes after the last one as the event wants */
bool soft_pt_psb_is_due(struct soft_pt *pt);
void soft_pt_tsc(struct soft_pt *pt);
void soft_pt_tnt(struct soft_pt *pt, bool taken);
void soft_pt_tip(struct soft_pt *pt, u64 ip);
void soft_pt_pge(struct soft_pt *pt, u64 ip);
/* soft_pt_pgd - disabled by the next instruction that can do that */
void soft_pt_pgd(struct soft_pt *pt);
/* soft_pt_fup_pgd - disabled before @ip is executed */
void soft_pt_fup_pgd(struct soft_pt *pt, u64 ip);
/* soft_pt_{bbp,bip} - begin a block of this type; an item of it */
void soft_pt_bbp(struct soft_pt *pt, u8 type);
void soft_pt_bip(struct soft_pt *pt, u8 id, u64 value);
/* soft_pt_bep - end all blocks; with a FUP of the next instruction, or disabled */
void soft_pt_bep(struct soft_pt *pt, bool enabled, u64 ip);

/**
 * soft_pt_retired - an instruction was executed, and the trace says so
 * @ip:		its address
 * @next:	of the one to be executed next; of interest if @pt->inside
 * @regs:	behind it, without our TF; NULL if that is not known
 */
void soft_pt_retired(struct soft_pt *pt, u64 ip, u64 next, const struct pt_regs *regs);

/* soft_pt_step_{start,stop} - on this CPU, interrupts off: follow whoever runs, or no longer */
void soft_pt_step_start(struct soft_pt *pt);
void soft_pt_step_stop(struct soft_pt *pt);
/* soft_pt_step_leave - until it next returns to user space */
void soft_pt_step_leave(struct soft_pt *pt);
/**
 * soft_pt_step_{get,put} - hook into the kernel where tasks come by, as long as there are events
 *
 * Return: 0, or a negative error code. Task context.
 */
int soft_pt_step_get(void);
void soft_pt_step_put(void);

/* soft_pt_synth - write at least @size bytes of packets of a loop that nobody runs */
void soft_pt_synth(struct soft_pt *pt, unsigned long size);

extern struct pmu soft_pt_pmu;
/* soft_pebs_{register,unregister} - the PMU whose events are counted. Return: 0, or an error */
int soft_pebs_register(void);
void soft_pebs_unregister(void);

extern const struct attribute_group *soft_pt_attr_groups[];
extern const struct attribute_group *soft_pebs_attr_groups[];
/* soft_pt_ratio - of the TSC's frequency and the bus's 100 MHz */
unsigned int soft_pt_ratio(void);

#endif /* _SOFT_PT_H */
