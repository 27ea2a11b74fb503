// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write samples of frequent tracepoints to overwrite rings of perf record.
 *
 * A record costs a third of what perf_event_output() takes for it: nothing is prepared, copied or
 * looked up that the event does not need. Programs run with preemption disabled. An interrupt may
 * run another program meanwhile, but not the same one: the kernel counts that as a miss
 * (bpf_prog_info.recursion_misses).
 *
 * Barriers. Only this CPU writes its ring. A reader on another CPU needs the order of E and B
 * (perf/overwrite.h): data_reserved before the record, the record before data_head. On x86 stores
 * become visible in program order, and the JIT keeps that order; other architectures do not load
 * these programs.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include <linux/perf_event.h>
#include "event_ring.h"

#define MISC_KERNEL			1	/* PERF_RECORD_MISC_KERNEL */
#define MAX_DEPTH			4	/* words of data_reserved */
#define MAX_PUBLISH			8

/* Bits of common_flags, as in the kernel's trace_events.h */
#define TRACE_FLAG_IRQS_OFF		0x01
#define TRACE_FLAG_NEED_RESCHED		0x04
#define TRACE_FLAG_HARDIRQ		0x08
#define TRACE_FLAG_SOFTIRQ		0x10
#define TRACE_FLAG_PREEMPT_RESCHED	0x20
#define TRACE_FLAG_NMI			0x40
#define TRACE_FLAG_BH_OFF		0x80

/* Fields of preempt_count() on x86 */
#define PREEMPT_BITS			0x000000ff
#define SOFTIRQ_BITS			0x0000ff00
#define SERVING_SOFTIRQ			0x00000100
#define HARDIRQ_BITS			0x000f0000
#define NMI_BITS			0x00f00000
#define NO_RESCHED			0x80000000

#define TS_COMPAT			0x0002

/* States of a task, as sched_switch reports them */
#define TASK_UNINTERRUPTIBLE		0x0002
#define TASK_REPORT			0x007f
#define TASK_REPORT_IDLE		0x0080
#define TASK_REPORT_MAX			0x0100
#define TASK_IDLE			0x0402
#define TASK_RTLOCK_WAIT		0x1000
#define TASK_FROZEN			0x8000
#define TASK_COMM_LEN			16

struct thread_info___ring {
	__u32			status;
	__u32			cpu;
} __attribute__((preserve_access_index));

struct task_struct___ring {
	struct thread_info___ring thread_info;
	int			pid;
	int			prio;
	int			exit_state;
	char			comm[TASK_COMM_LEN];
} __attribute__((preserve_access_index));

struct pt_regs___ring {
	unsigned long		di, si, dx, r10, r8, r9, bx, cx, bp, orig_ax;
} __attribute__((preserve_access_index));

#ifndef NO_PREEMPT_COUNT
struct pcpu_hot___ring {
	int			preempt_count;
} __attribute__((preserve_access_index));

/* One of them exists: pcpu_hot from Linux 6.2 to 6.14, __preempt_count before and after. */
extern const int __preempt_count __ksym __weak;
extern const struct pcpu_hot___ring pcpu_hot __ksym __weak;
#endif

struct ring_array {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_NUMA_NODE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, EVENT_RING_DATA + 4096 + EVENT_RING_SLACK);	/* perf record sets the size */
};

/* The ring of each CPU */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);					/* perf record sets the number */
	__uint(key_size, sizeof(__u32));
	__array(values, struct ring_array);
} rings SEC(".maps");

const volatile struct event_ring_constants constants = { .data_mask = 4096 - 8 };
struct event_ring_words words;

/* IDENTIFIER | IP | TID | TIME | CPU | PERIOD | RAW */
struct sample {
	__u32	type;
	__u16	misc;
	__u16	size;
	__u64	id;
	__u64	ip;
	__u32	pid, tid;
	__u64	time;
	__u32	cpu, unused;
	__u64	period;
	__u32	raw_size;
	/* Common fields of a tracepoint */
	__u16	common_type;
	__u8	common_flags;
	__u8	common_preempt_count;
	__u32	common_pid;
} __attribute__((packed));

struct writer {
	struct perf_event_mmap_page	*page;
	volatile struct event_ring_state *state;
	void				*data;
	__u64				 position;
	__u32				 cpu;
};

/* Return: the place of @size bytes; NULL if the event is disabled, or was counted as lost. */
static __always_inline void *reserve(struct writer *writer, enum ring_event event, __u32 size)
{
	__u32 cpu = bpf_get_smp_processor_id(), zero = 0, depth;
	volatile struct event_ring_state *state;
	volatile __u64 *reserved;
	void *ring;

	if (!words.enabled[event])
		return NULL;
	ring = bpf_map_lookup_elem(&rings, &cpu);
	if (!ring)
		return NULL;
	ring = bpf_map_lookup_elem(ring, &zero);
	if (!ring)
		return NULL;
	state = ring + EVENT_RING_STATE;
	depth = state->nesting;
	if (depth >= MAX_DEPTH) {
		__sync_fetch_and_add(&words.lost[event], 1);
		return NULL;
	}
	state->nesting = depth + 1;

	writer->cpu = cpu;
	writer->page = ring;
	writer->state = state;
	writer->data = ring + EVENT_RING_DATA;
	/* Announce the bytes before they are taken: the word of this depth has no other writer. */
	reserved = &writer->page->data_reserved[depth & (MAX_DEPTH - 1)];
	*reserved += size;
	barrier();								/* (E) */
	writer->position = __sync_fetch_and_add(&state->head, size);
	return writer->data + (writer->position & constants.data_mask);
}

/* Copy what was written beyond the end of the data area to its beginning. */
static __always_inline void wrap(struct writer *writer, __u32 size)
{
	__u64 end = (writer->position & constants.data_mask) + size, area = constants.data_mask + 8;
	__u32 i;

	for (i = 0; i < size && area + i < end; i += 8)
		*(volatile __u64 *)(writer->data + i) = *(volatile __u64 *)(writer->data + area + i);
}

/*
 * Publish the record, unless this program has interrupted another one, which will publish both.
 * An interrupt that wrote between the load of the head and the end of the nesting did not publish:
 * look again, and leave the rest to the next record.
 */
static __always_inline void commit(struct writer *writer, void *record, __u32 size)
{
	volatile struct event_ring_state *state = writer->state;
	volatile __u64 *data_head = &writer->page->data_head;
	__u32 nesting;
	__u64 head;
	int i;

	*(volatile __u64 *)(record + size - 8) = (writer->position << 16) >> 16 | (__u64)size << 48;
	wrap(writer, size);
	barrier();								/* (B) */
	nesting = state->nesting;
	if (nesting != 1) {
		state->nesting = nesting - 1;
		return;
	}
	for (i = 0; i < MAX_PUBLISH; i++) {
		state->nesting = 1;
		barrier();
		head = state->head;
		*data_head = head;
		barrier();
		state->nesting = 0;
		barrier();
		if (state->head == head)
			return;
	}
}

/* @usual: the count where the tracepoint is in a task's own code */
static __always_inline __u32 preempt_count(__u32 usual)
{
#ifndef NO_PREEMPT_COUNT
	if (bpf_ksym_exists(&__preempt_count))
		return *(const __u32 *)bpf_this_cpu_ptr(&__preempt_count);
	if (bpf_ksym_exists(&pcpu_hot))
		return ((const struct pcpu_hot___ring *)bpf_this_cpu_ptr(&pcpu_hot))->preempt_count;
#endif
	return usual | NO_RESCHED;
}

/*
 * @flags: those that the place of the tracepoint decides. perf's function for a tracepoint and this
 * program run with the same preempt_count(), whose usual value is @usual_count.
 */
static __always_inline void fill(struct sample *sample, struct writer *writer, enum ring_event event,
				 __u32 size, __u8 flags, __u32 usual_count)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	__u32 count = preempt_count(usual_count), depth = count & PREEMPT_BITS;

	if (count & NMI_BITS)
		flags |= TRACE_FLAG_NMI;
	if (count & HARDIRQ_BITS)
		flags |= TRACE_FLAG_HARDIRQ;
	if (count & SERVING_SOFTIRQ)
		flags |= TRACE_FLAG_SOFTIRQ;
	if ((count & SOFTIRQ_BITS) > SERVING_SOFTIRQ)
		flags |= TRACE_FLAG_BH_OFF;
	if (!(count & NO_RESCHED))
		flags |= TRACE_FLAG_NEED_RESCHED | TRACE_FLAG_PREEMPT_RESCHED;

	sample->type = PERF_RECORD_SAMPLE;
	sample->misc = MISC_KERNEL;
	sample->size = size;
	sample->id = words.config[event].id;
	sample->ip = words.config[event].ip;
	sample->pid = pid_tgid >> 32;
	sample->tid = pid_tgid;
	sample->time = bpf_ktime_get_ns();
	sample->cpu = writer->cpu;
	sample->unused = 0;
	sample->period = 1;
	sample->raw_size = size - sizeof(__u64) - __builtin_offsetof(struct sample, common_type);
	sample->common_type = words.config[event].type;
	sample->common_flags = flags;
	sample->common_preempt_count = depth < 0xf ? depth : 0xf;
	sample->common_pid = pid_tgid;
}

static __always_inline bool is_own(void)
{
	return constants.own_tgid && bpf_get_current_pid_tgid() >> 32 == constants.own_tgid;
}

struct sys_enter {
	struct sample	sample;
	__u64		id;
	__u64		args[6];
	__u32		padding;
	__u64		trailer;
} __attribute__((packed));

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs___ring *regs, long id)
{
	struct task_struct___ring *task;
	struct sys_enter *entry;
	struct writer writer;

	if (is_own())
		return 0;
	entry = reserve(&writer, RING_EVENT_SYS_ENTER, sizeof(*entry));
	if (!entry)
		return 0;
	fill(&entry->sample, &writer, RING_EVENT_SYS_ENTER, sizeof(*entry), 0, 1);
	entry->id = id;
	task = (void *)bpf_get_current_task_btf();
	if (task->thread_info.status & TS_COMPAT) {
		entry->args[0] = (__u32)regs->bx;
		entry->args[1] = (__u32)regs->cx;
		entry->args[2] = (__u32)regs->dx;
		entry->args[3] = (__u32)regs->si;
		entry->args[4] = (__u32)regs->di;
		entry->args[5] = (__u32)regs->bp;
	} else {
		entry->args[0] = regs->di;
		entry->args[1] = regs->si;
		entry->args[2] = regs->dx;
		entry->args[3] = regs->r10;
		entry->args[4] = regs->r8;
		entry->args[5] = regs->r9;
	}
	entry->padding = 0;
	commit(&writer, entry, sizeof(*entry));
	return 0;
}

struct sys_exit {
	struct sample	sample;
	__u64		id;
	__u64		ret;
	__u32		padding;
	__u64		trailer;
} __attribute__((packed));

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs___ring *regs, long ret)
{
	struct sys_exit *entry;
	struct writer writer;

	if (is_own())
		return 0;
	entry = reserve(&writer, RING_EVENT_SYS_EXIT, sizeof(*entry));
	if (!entry)
		return 0;
	fill(&entry->sample, &writer, RING_EVENT_SYS_EXIT, sizeof(*entry), 0, 1);
	entry->id = (__s64)(int)regs->orig_ax;
	entry->ret = ret;
	entry->padding = 0;
	commit(&writer, entry, sizeof(*entry));
	return 0;
}

struct sched_switch {
	struct sample	sample;
	char		prev_comm[TASK_COMM_LEN];
	__u32		prev_pid, prev_prio;
	__u64		prev_state;
	char		next_comm[TASK_COMM_LEN];
	__u32		next_pid, next_prio;
	__u32		padding;
	__u64		trailer;
} __attribute__((packed));

/* The state of a task that sched_switch reports: the highest bit of those that have a letter. */
static __always_inline __u64 reported_state(bool preempt, __u32 state, __u32 exit_state)
{
	__u32 reported = (state | exit_state) & TASK_REPORT, bit;

	if (preempt)
		return TASK_REPORT_MAX;
	if ((state & TASK_IDLE) == TASK_IDLE)
		reported = TASK_REPORT_IDLE;
	if (state & (TASK_RTLOCK_WAIT | TASK_FROZEN))
		reported = TASK_UNINTERRUPTIBLE;
	for (bit = TASK_REPORT_IDLE; bit; bit >>= 1) {
		if (reported & bit)
			return bit;
	}
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_sched_switch, bool preempt, struct task_struct___ring *prev,
	     struct task_struct___ring *next, unsigned int prev_state)
{
	struct sched_switch *entry;
	struct writer writer;

	entry = reserve(&writer, RING_EVENT_SCHED_SWITCH, sizeof(*entry));
	if (!entry)
		return 0;
	fill(&entry->sample, &writer, RING_EVENT_SCHED_SWITCH, sizeof(*entry), TRACE_FLAG_IRQS_OFF, 3);
	__builtin_memcpy(entry->prev_comm, prev->comm, TASK_COMM_LEN);
	entry->prev_pid = prev->pid;
	entry->prev_prio = prev->prio;
	entry->prev_state = reported_state(preempt, prev_state, prev->exit_state);
	__builtin_memcpy(entry->next_comm, next->comm, TASK_COMM_LEN);
	entry->next_pid = next->pid;
	entry->next_prio = next->prio;
	entry->padding = 0;
	commit(&writer, entry, sizeof(*entry));
	return 0;
}

struct sched_wakeup {
	struct sample	sample;
	char		comm[TASK_COMM_LEN];
	__u32		pid, prio, target_cpu;
	__u64		trailer;
} __attribute__((packed));

/* Interrupts are off, except if a task wakes itself. */
static __always_inline int write_wakeup(enum ring_event event, struct task_struct___ring *task)
{
	bool own = (void *)task == (void *)bpf_get_current_task_btf();
	struct sched_wakeup *entry;
	struct writer writer;

	entry = reserve(&writer, event, sizeof(*entry));
	if (!entry)
		return 0;
	fill(&entry->sample, &writer, event, sizeof(*entry), own ? 0 : TRACE_FLAG_IRQS_OFF, 3);
	__builtin_memcpy(entry->comm, task->comm, TASK_COMM_LEN);
	entry->pid = task->pid;
	entry->prio = task->prio;
	entry->target_cpu = task->thread_info.cpu;
	commit(&writer, entry, sizeof(*entry));
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_sched_waking, struct task_struct___ring *task)
{
	return write_wakeup(RING_EVENT_SCHED_WAKING, task);
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_sched_wakeup, struct task_struct___ring *task)
{
	return write_wakeup(RING_EVENT_SCHED_WAKEUP, task);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_sched_wakeup_new, struct task_struct___ring *task)
{
	return write_wakeup(RING_EVENT_SCHED_WAKEUP_NEW, task);
}

char LICENSE[] SEC("license") = "GPL";
