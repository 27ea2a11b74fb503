// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measure how long tasks wait, run and stay in system calls, and how long interrupts take.
 *
 * Each task has its times in a slot that its address selects (its tid may change when it executes a
 * program). If another task has this slot, the times are in task storage, which takes longer to
 * find. A slot is claimed, or storage allocated, when the task is created, in process context, or
 * by the first check: not in the scheduler. Each word has one writer at a time, as the scheduler
 * orders the events of a task:
 *
 *	sched_switch, task stops	runs = 0; off, and waits if it is still runnable
 *	sched_wakeup			waits
 *	sched_switch, task begins	runs; off = waits = 0
 *	sys_enter, sys_exit, exit	call
 *
 * A duration is judged when it ends. check_open() judges those that have not ended: perf record
 * runs it when the oldest of them is too long. It reads times that change meanwhile: what it
 * reports was open at the time of the check.
 *
 * To read the clock takes longer than all else that a program does. rq->clock saves that: the
 * scheduler has just read it at each of its tracepoints, and the tick reads it while a task runs.
 *
 *	scheduling	times are those of rq->clock, corrected (clock_of()), unless a threshold is
 *			so low that the correction matters (constants.exact)
 *	sys_enter	reads the clock, unless the program that has written the event passes its
 *			time (event_ring_next.h)
 *	sys_exit	reads the clock only if the call may be too long, as far as rq->clock tells
 *	interrupts	read the clock
 *
 * Programs do not miss events: none of these tracepoints interrupts itself. Where the kernel
 * preempts programs (recording/lib/bpf_attach.h), perf's function calls those of system calls. But
 * there, a creation or exit can be missed while another task is preempted in that program: the new
 * task is not followed, or the last call of the other one ends with its task_struct.
 *
 * A kernel was seen that has no sched_switch from certain threads (of init, in a virtual machine)
 * to the next task, neither for BPF nor for ftrace. task->on_cpu and sched_info.last_arrival tell
 * what was missed.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include <stddef.h>
#include "durations.h"
#include "durations_report.bpf.h"
#include "event_ring.h"

#define TASK_UNINTERRUPTIBLE	0x0002
#define TASK_DEAD		0x0080
#define TASK_IDLE		0x0402
#define TASK_RTLOCK_WAIT	0x1000
#define TASK_FROZEN		0x8000

/* Indices of DURATION_STATE_LETTERS */
#define STATE_RUNNABLE		0
#define STATE_UNINTERRUPTIBLE	2
#define STATE_IDLE		8

/* A correction of rq->clock that rises by more than this is a jump [ns] */
#define CLOCK_JUMP		1000000

struct thread_info___when {
	__u32			cpu;
	__u32			status;
} __attribute__((preserve_access_index));

struct rq___when {
	__u64			clock;
} __attribute__((preserve_access_index));

/* Without groups of tasks (CONFIG_FAIR_GROUP_SCHED), the kernel has no such rq. */
struct cfs_rq___when {
	struct rq___when	*rq;
} __attribute__((preserve_access_index));

struct sched_entity___when {
	struct cfs_rq___when	*cfs_rq;
} __attribute__((preserve_access_index));

struct sched_info___when {
	__u64			last_arrival;
} __attribute__((preserve_access_index));

struct task_struct___cpu {
	struct thread_info___when thread_info;
	struct sched_entity___when se;
	struct sched_info___when sched_info;
	unsigned int		on_cpu;			/* Linux 7.3: one byte */
	unsigned int		__state;
} __attribute__((preserve_access_index));

struct irqaction___when {
	const char		*name;
} __attribute__((preserve_access_index));

/**
 * struct task_times - since when a task is in its state [ns]; 0: it is not, or that is unknown
 * @owner:	address of the task; 0: this slot is free. Of task storage: the same
 * @runs:	has a CPU
 * @off:	has none, in the state @off_state
 * @waits:	could run, on the queue of the CPU @waits_on at first
 * @call:	is in the system call @call_number, which began on the rq at the address @call_rq
 *		when its clock was @call_rq_clock
 * @told:	see durations_report.bpf.h; by kind
 *
 * Only what is too long needs the second cache line of a slot.
 */
struct task_times {
	__u64	owner;
	__u64	runs;
	__u64	off;
	__u64	waits;
	__u64	call;
	__u64	call_rq;
	__u64	call_rq_clock;
	__u32	call_number;
	__u16	waits_on;
	__u16	off_state;
	__u64	told[DURATION_SYSCALL + 1];
} __attribute__((aligned(64)));

/* Slots of tasks, by slot_of() */
static struct task_times slots[DURATION_NR_SLOTS] SEC(".bss.slots");

/* Number of tasks whose times are in task storage */
static __u64 nr_in_storage;

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_times);
} tasks SEC(".maps");

/* The task that ran on each CPU */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);					/* perf record sets the number */
	__type(key, __u32);
	__type(value, struct duration_turns);
} turns SEC(".maps");

/**
 * struct cpu_clock - correction of rq->clock of a CPU; the lock of this rq is held
 * @ticks:	when it was checked last
 * @offset:	CLOCK_MONOTONIC minus rq->clock
 */
struct cpu_clock {
	__u64	ticks;
	__u64	offset;
} __attribute__((aligned(64)));

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);					/* perf record sets the number */
	__type(key, __u32);
	__type(value, struct cpu_clock);
} clocks SEC(".maps");

/**
 * struct interrupt_times - since when this CPU handles an interrupt, and a softirq [ns], or 0
 */
struct interrupt_times {
	__u64	irq;
	__u64	softirq;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct interrupt_times);
} interrupts SEC(".maps");

static __always_inline bool judges(enum duration_kind kind)
{
	return constants.min_ns[kind] != (__u64)-1;
}

/*
 * Is a duration long enough for the lowest threshold? Nothing is if @begin is unknown. Of two CPUs,
 * the clock at the end may be behind that at the beginning.
 */
static __always_inline bool is_long(enum duration_kind kind, __u64 begin, __u64 end)
{
	return begin && (__s64)(end - begin) > (__s64)constants.min_ns[kind];
}

static __always_inline __u32 cpu_of(struct task_struct___when *task)
{
	return ((struct task_struct___cpu *)task)->thread_info.cpu;
}

/* A duration ends, whose beginning is cleared. Return: @told_until of its struct measured. */
static __always_inline __u64 end_told(struct task_times *times, enum duration_kind kind, __u64 now)
{
	return __sync_lock_test_and_set(&times->told[kind], now);
}

/*
 * Tasks
 */

/* The difference of two addresses is a number for the verifier, an address is not. */
static __always_inline struct task_times *slot_of(struct task_struct___when *task)
{
	__u64 number = (__u64)task - (__u64)&words;

	barrier_var(number);
	return &slots[number * 0x9e3779b97f4a7c15ULL >> (64 - DURATION_SLOT_BITS)];
}

static __always_inline struct task_times *times_of(struct task_struct___when *task)
{
	struct task_times *slot = slot_of(task);

	if (slot->owner == (__u64)task)
		return slot;
	return nr_in_storage ? bpf_task_storage_get(&tasks, (struct task_struct *)task, 0, 0) :
	       NULL;
}

/* Claim the slot of a task, or allocate its storage. Return: NULL without memory. */
static __always_inline struct task_times *claim(struct task_struct___when *task)
{
	struct task_times *times = slot_of(task);

	if (!__sync_val_compare_and_swap(&times->owner, 0, (__u64)task))
		return times;
	times = bpf_task_storage_get(&tasks, (struct task_struct *)task, 0,
				     BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (times) {
		times->owner = (__u64)task;
		__sync_fetch_and_add(&nr_in_storage, 1);
	}
	return times;
}

/* Begin to follow a task. */
static __always_inline void follow(struct task_struct___when *task)
{
	struct task_times *times = NULL;

	if (words.nr_tasks < DURATION_MAX_TASKS)
		times = claim(task);
	__sync_fetch_and_add(times ? &words.nr_tasks : &words.nr_ignored, 1);
}

SEC("tp_btf/task_newtask")
int BPF_PROG(on_newtask, struct task_struct___when *task)
{
	follow(task);
	return 0;
}

SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct___when *task)
{
	struct task_times *times = times_of(task);

	if (!times)
		return 0;
	__sync_fetch_and_add(&words.nr_tasks, -1);
	if (times != slot_of(task)) {
		__sync_fetch_and_add(&nr_in_storage, -1);
		return 0;
	}
	times->runs = times->off = times->waits = times->call = 0;
	barrier();
	times->owner = 0;
	return 0;
}

/*
 * Scheduling
 */

static __always_inline bool has_rq_clock(void)
{
	return bpf_core_field_exists(((struct cfs_rq___when *)0)->rq);
}

/* Return: the rq that a task is on, or was on at last. */
static __always_inline struct rq___when *rq_of(struct task_struct___when *task)
{
	return ((struct task_struct___cpu *)task)->se.cfs_rq->rq;
}

/*
 * Correct rq->clock, which has just been read, once a tick. The scheduler has read it somewhat
 * before: the least offset is right. NTP lets it rise by at most 0.5 ms in a second.
 */
static __always_inline void correct(struct cpu_clock *clock, __u64 rq_clock, __u64 ticks)
{
	__u64 offset = bpf_ktime_get_ns() - rq_clock, max_rise = (ticks - clock->ticks) * 4096;
	__s64 rise = offset - clock->offset;

	if (rise > (__s64)max_rise && rise < CLOCK_JUMP)
		offset = clock->offset + max_rise;
	clock->offset = offset;
	clock->ticks = ticks;
}

/*
 * Return: the time at a tracepoint of the scheduler [ns]. @task is on the rq of @cpu, which is
 * locked.
 */
static __always_inline __u64 clock_of(struct task_struct___when *task, __u32 cpu)
{
	__u64 rq_clock, ticks;
	struct cpu_clock *clock;

	if (constants.exact || !has_rq_clock())
		return bpf_ktime_get_ns();
	clock = bpf_map_lookup_elem(&clocks, &cpu);
	if (!clock)
		return bpf_ktime_get_ns();
	rq_clock = rq_of(task)->clock;
	ticks = bpf_jiffies64();
	if (clock->ticks != ticks)
		correct(clock, rq_clock, ticks);
	return rq_clock + clock->offset;
}

/* Return: index of the state that sched_switch reports */
static __always_inline __u32 state_index(bool preempt, __u32 state)
{
	__u32 bit;

	if (preempt)
		return STATE_RUNNABLE;
	if ((state & TASK_IDLE) == TASK_IDLE)
		return STATE_IDLE;
	if (state & (TASK_RTLOCK_WAIT | TASK_FROZEN))
		return STATE_UNINTERRUPTIBLE;
	for (bit = 7; bit; bit--) {
		if (state & (1 << (bit - 1)))
			return bit;
	}
	return STATE_RUNNABLE;
}

/* Does a task have a CPU? @otherwise: if the kernel does not say so */
static __always_inline bool is_on_cpu(struct task_struct___when *task, bool otherwise)
{
	struct task_struct___cpu *with_cpu = (void *)task;

	return bpf_core_field_exists(with_cpu->on_cpu) ? with_cpu->on_cpu : otherwise;
}

/*
 * Return: when a task got the CPU that it leaves now, after it was seen to leave one before, but
 * not to get this one; 0 if that is unknown [ns].
 */
static __always_inline __u64 missed_begin(struct task_struct___when *task,
					  const struct task_times *times, __u64 now)
{
	struct task_struct___cpu *with_info = (void *)task;
	__u64 arrival;

	if (!times->off || !has_rq_clock() ||
	    !bpf_core_field_exists(with_info->sched_info.last_arrival))
		return 0;
	arrival = with_info->sched_info.last_arrival;
	return arrival ? now - (rq_of(task)->clock - arrival) : 0;
}

/* A task gets a CPU. */
static __always_inline void run(struct task_struct___when *task, struct task_times *times,
				__u64 now, __u32 cpu)
{
	__u64 waits = times->waits, off = times->off;

	times->waits = times->off = 0;
	times->runs = now;
	if (judges(DURATION_SCHED_DELAY) && is_long(DURATION_SCHED_DELAY, waits, now)) {
		__u32 waits_on = times->waits_on;
		struct measured measured = {
			.begin = waits, .end = now, .task = task, .kind = DURATION_SCHED_DELAY,
			.cpu = cpu, .turns_cpu = waits_on,
			.told_until = end_told(times, DURATION_SCHED_DELAY, now),
			.turns = bpf_map_lookup_elem(&turns, &waits_on),
		};
		judge(&measured);
	}
	if (judges(DURATION_OFF_CPU) && is_long(DURATION_OFF_CPU, off, now)) {
		struct measured measured = {
			.begin = off, .end = now, .task = task, .kind = DURATION_OFF_CPU,
			.cpu = cpu, .number = times->off_state,
			.told_until = end_told(times, DURATION_OFF_CPU, now),
		};
		judge(&measured);
	}
}

static __always_inline void begin(struct task_struct___when *task, __u64 now, __u32 cpu)
{
	struct task_times *times = times_of(task);

	if (times)
		run(task, times, now, cpu);
}

static __always_inline void stop(struct task_struct___when *task, __u64 now, __u32 cpu,
				 bool preempt, __u32 state)
{
	struct task_times *times = times_of(task);
	__u64 runs;

	if (!times)
		return;
	if (!times->runs) {
		runs = missed_begin(task, times, now);
		if (runs)
			run(task, times, runs, cpu);
	}
	runs = times->runs;
	times->runs = 0;
	if (!preempt && state & TASK_DEAD) {
		times->off = times->waits = 0;
	} else {
		times->off_state = state_index(preempt, state);
		times->waits_on = cpu;
		times->waits = times->off_state == STATE_RUNNABLE ? now : 0;
		times->off = now;
	}
	if (judges(DURATION_ON_CPU) && is_long(DURATION_ON_CPU, runs, now)) {
		struct measured measured = {
			.begin = runs, .end = now, .task = task, .kind = DURATION_ON_CPU,
			.cpu = cpu, .told_until = end_told(times, DURATION_ON_CPU, now),
		};
		judge(&measured);
	}
}

/* Interrupts are off: the slot has no other writer. */
static __always_inline void note_turn(struct task_struct___when *task, __u64 now, __u32 cpu)
{
	struct duration_turns *of_cpu = bpf_map_lookup_elem(&turns, &cpu);
	struct duration_turn *turn;

	if (!of_cpu)
		return;
	turn = &of_cpu->turn[of_cpu->next % DURATION_NR_TURNS];
	turn->since = now;
	turn->pid = task->tgid;
	turn->tid = task->pid;
	__builtin_memcpy(turn->comm, task->comm, DURATION_COMM_LEN);
	of_cpu->next++;
}

/* Before Linux 5.18, the state is not among the arguments (preempt, prev, next, prev_state). */
static __always_inline __u32 state_of(struct task_struct___when *prev,
				      const unsigned long long *args)
{
	return constants.passes_state ? args[3] : ((struct task_struct___cpu *)prev)->__state;
}

SEC("tp_btf/sched_switch")
int on_switch(unsigned long long *args)
{
	struct task_struct___when *prev = (void *)args[1], *next = (void *)args[2];
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 now = clock_of(prev, cpu);

	if (prev->pid)
		stop(prev, now, cpu, args[0] & 1, state_of(prev, args));
	if (next->pid)
		begin(next, now, cpu);
	if (judges(DURATION_SCHED_DELAY))
		note_turn(next, now, cpu);
	return 0;
}

static __always_inline int wake(struct task_struct___when *task)
{
	struct task_times *times = times_of(task);

	/* A task that runs, or waits already, may be woken up. */
	if (!times || times->waits || (times->runs && is_on_cpu(task, true)))
		return 0;
	times->runs = 0;
	times->waits_on = cpu_of(task);
	times->waits = clock_of(task, times->waits_on);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct___when *task)
{
	return wake(task);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct___when *task)
{
	return wake(task);
}

/*
 * System calls
 */

static __always_inline struct task_struct___when *current(void)
{
	return (void *)bpf_get_current_task_btf();
}

/* Does a condition name this system call, or all of them? */
static __always_inline bool judges_call(__u64 number)
{
	return number >= DURATION_MAX_CALL_NUMBER ||
	       constants.calls_wanted[number / 64] & (1ULL << (number & 63));
}

/* Is the current call one of a 32-bit program, whose numbers are others? */
static __always_inline bool is_compat(struct task_struct___when *task)
{
	struct task_struct___cpu *with_info = (void *)task;

	return constants.compat_status &&
	       bpf_core_field_exists(with_info->thread_info.status) &&
	       with_info->thread_info.status & constants.compat_status;
}

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);					/* perf record sets another map */
	__type(key, __u32);
	__type(value, struct event_ring_time);
} enter_time SEC(".maps");

/* Return: the time at the beginning of a call [ns]. */
static __always_inline __u64 clock_of_call(void)
{
	const struct event_ring_time *time;
	__u32 cpu;

	if (!words.time_is_passed)
		return bpf_ktime_get_ns();
	cpu = bpf_get_smp_processor_id();
	time = bpf_map_lookup_elem(&enter_time, &cpu);
	return time && time->ns ? time->ns : bpf_ktime_get_ns();
}

static __always_inline void begin_call(long number)
{
	struct task_struct___when *task;
	struct task_times *times;
	struct rq___when *rq;

	if (!judges_call(number))
		return;
	task = current();
	times = times_of(task);
	if (!times)
		return;
	times->call_number = is_compat(task) ? DURATION_COMPAT_CALL | (__u16)number : number;
	if (constants.short_call_ns && has_rq_clock()) {
		rq = rq_of(task);
		times->call_rq = (__u64)rq;
		times->call_rq_clock = rq->clock;
	}
	times->call = clock_of_call();
}

/*
 * Is a call surely too short? It is at most so long as rq->clock has advanced, and one period of
 * the tick, in which this clock may not have been read. A tick that was held back is handled before
 * a call ends.
 */
static __always_inline bool is_short_call(struct task_struct___when *task,
					  const struct task_times *times)
{
	struct rq___when *rq;
	__s64 advanced;

	if (!constants.short_call_ns || !has_rq_clock())
		return false;
	rq = rq_of(task);
	if (times->call_rq != (__u64)rq)
		return false;
	advanced = rq->clock - times->call_rq_clock;
	return advanced >= 0 && advanced < (__s64)constants.short_call_ns;
}

/* A call ends, with the task or without it. */
static __always_inline void end_call(struct task_struct___when *task)
{
	struct task_times *times = times_of(task);
	__u64 now, call;

	if (!times)
		return;
	call = times->call;
	if (!call)
		return;
	times->call = 0;
	if (is_short_call(task, times))
		return;
	now = bpf_ktime_get_ns();
	if (is_long(DURATION_SYSCALL, call, now)) {
		struct measured measured = {
			.begin = call, .end = now, .task = task, .kind = DURATION_SYSCALL,
			.cpu = bpf_get_smp_processor_id(), .number = times->call_number,
			.told_until = end_told(times, DURATION_SYSCALL, now),
		};
		judge(&measured);
	}
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs *regs, long number)
{
	begin_call(number);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long ret)
{
	end_call(current());
	return 0;
}

/* The beginning of the record of raw_syscalls:* */
struct call_context {
	__u64	common;
	long	number;
};

/*
 * Instead of these, where the kernel would preempt them. They return 1: with 0, the kernel would
 * withhold the event from all users of perf.
 */
SEC("?tp/raw_syscalls/sys_enter")
int at_sys_enter(struct call_context *context)
{
	begin_call(context->number);
	return 1;
}

SEC("?tp/raw_syscalls/sys_exit")
int at_sys_exit(void *context)
{
	end_call(current());
	return 1;
}

/* A task that was killed in a call, or whose call was exit(), does not return from it. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct___when *task)
{
	end_call(task);
	return 0;
}

/*
 * Interrupts
 */

static __always_inline struct interrupt_times *interrupt_times(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&interrupts, &zero);
}

static __always_inline int end_interrupt(enum duration_kind kind, __u64 *since, __u32 number,
					 const char *name)
{
	__u64 begin = *since, now = bpf_ktime_get_ns();

	*since = 0;
	if (is_long(kind, begin, now)) {
		struct measured measured = {
			.begin = begin, .end = now, .task = current(), .kind = kind,
			.cpu = bpf_get_smp_processor_id(), .number = number, .name = name,
		};
		judge(&measured);
	}
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_irq_entry)
{
	struct interrupt_times *times = interrupt_times();

	if (times)
		times->irq = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(on_irq_exit, int irq, struct irqaction___when *action)
{
	struct interrupt_times *times = interrupt_times();

	return times ? end_interrupt(DURATION_IRQ, &times->irq, irq, action->name) : 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_softirq_entry)
{
	struct interrupt_times *times = interrupt_times();

	if (times)
		times->softirq = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_softirq_exit, unsigned int vector)
{
	struct interrupt_times *times = interrupt_times();

	return times ? end_interrupt(DURATION_SOFTIRQ, &times->softirq, vector, NULL) : 0;
}

/*
 * Durations that have not ended
 */

/* Note when an open duration will be too long, if that is before all others. */
static __always_inline void note_next(enum duration_kind kind, __u64 begin)
{
	__u64 crosses;
	__u32 i;

	for (i = 0; i < DURATION_MAX_CONDITIONS && i < constants.nr_conditions; i++) {
		if (constants.conditions[i].kind != kind)
			continue;
		crosses = begin + constants.conditions[i].threshold_ns;
		if (crosses >= words.now && (!words.next || crosses < words.next))
			words.next = crosses;
	}
}

/* @since: the word of @times that has the beginning */
static __always_inline void check(struct task_struct___when *task, struct task_times *times,
				  enum duration_kind kind, const __u64 *since, __u32 number,
				  __u32 waits_on)
{
	__u64 begin = *since;
	struct measured measured = {
		.begin = begin, .end = words.now, .task = task, .kind = kind, .open = true,
		.cpu = cpu_of(task), .number = number,
		.turns_cpu = waits_on,
		.told = &times->told[kind],
	};

	if (!judges(kind) || !begin || begin >= words.now)
		return;
	if (kind == DURATION_SCHED_DELAY)
		measured.turns = bpf_map_lookup_elem(&turns, &waits_on);
	if (is_long(kind, begin, words.now)) {
		measured.told_until = __sync_fetch_and_add(measured.told, 0);
		if (*(volatile const __u64 *)since == begin)
			judge(&measured);
	}
	note_next(kind, begin);
}

/* The context of an iterator of tasks, as the verifier knows it */
struct iterator {
	void				*meta;
	struct task_struct___when	*task;
};

SEC("iter/task")
int check_open(struct iterator *iterator)
{
	struct task_struct___when *task = iterator->task;
	struct task_times *times;

	if (!task || !task->pid)
		return 0;
	times = times_of(task);
	if (!times)
		return 0;
	if (!is_on_cpu(task, false)) {
		check(task, times, DURATION_SCHED_DELAY, &times->waits, 0, times->waits_on);
		check(task, times, DURATION_OFF_CPU, &times->off, times->off_state, 0);
	}
	if (is_on_cpu(task, true))
		check(task, times, DURATION_ON_CPU, &times->runs, 0, 0);
	check(task, times, DURATION_SYSCALL, &times->call, times->call_number, 0);
	return 0;
}

/* Follow the tasks that exist. */
SEC("iter/task")
int follow_existing(struct iterator *iterator)
{
	struct task_struct___when *task = iterator->task;

	if (task && task->pid && !times_of(task))
		follow(task);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
