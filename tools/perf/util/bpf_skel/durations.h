/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interface of the BPF programs that judge durations (durations.bpf.c) with perf record, which
 * includes linux/types.h or vmlinux.h before.
 *
 * All times are in ns of CLOCK_MONOTONIC. Ids of tasks are those of the initial PID namespace.
 */
#ifndef PERF_BPF_SKEL_DURATIONS_H
#define PERF_BPF_SKEL_DURATIONS_H

#define DURATION_MAX_CONDITIONS	64
#define DURATION_MAX_SYSCALLS	16	/* that one condition names */
#define DURATION_MAX_TASKS	65536	/* that are followed at a time */
#define DURATION_SLOT_BITS	15
#define DURATION_NR_SLOTS	(1 << DURATION_SLOT_BITS)	/* for times of tasks */
#define DURATION_COMM_LEN	16

/* Greater numbers of system calls are taken for one that a condition names; a multiple of 64 */
#define DURATION_MAX_CALL_NUMBER	1024

/*
 * A call of a 32-bit program has another number, which is in the lower half. The upper half is
 * this.
 */
#define DURATION_COMPAT_CALL	0x20000000

/* Switches of a CPU that are remembered, to tell who held it; a power of two */
#define DURATION_NR_TURNS	32

enum duration_kind {
	DURATION_SCHED_DELAY,	/* a task is runnable, until it runs */
	DURATION_OFF_CPU,	/* a task does not run */
	DURATION_ON_CPU,	/* a task runs, without a switch */
	DURATION_SYSCALL,	/* a system call */
	DURATION_IRQ,		/* a handler of an interrupt */
	DURATION_SOFTIRQ,	/* a handler of a softirq */
	DURATION_PAIR,		/* from one event to another */
	NR_DURATION_KINDS,
};

/* Why a task is off the CPU: bits of duration_condition.states, in the order of their letters */
#define DURATION_STATE_LETTERS	"RSDTtXZPI"
#define DURATION_STATES_USUAL	0x1f	/* R S D T t: all but dead, parked and idle tasks */

/* Filters of a condition */
#define DURATION_IF_COMM	0x01
#define DURATION_IF_PID		0x02
#define DURATION_IF_CGROUP	0x04
#define DURATION_UNLESS_COMM	0x10
#define DURATION_UNLESS_PID	0x20
#define DURATION_UNLESS_CGROUP	0x40

/**
 * struct duration_condition - what is too long
 * @threshold_ns: longer durations are reported
 * @kind:	enum duration_kind
 * @states:	of DURATION_OFF_CPU
 * @filters:	a set of DURATION_IF_ and DURATION_UNLESS_
 * @pid:	process to compare with
 * @comm:	name to compare with, padded with zeros
 * @nr_syscalls: of DURATION_SYSCALL; 0: all
 * @syscalls:	their numbers
 */
struct duration_condition {
	__u64	threshold_ns;
	__u32	kind;
	__u32	states;
	__u32	filters;
	__u32	pid;
	char	comm[DURATION_COMM_LEN];
	__u32	nr_syscalls;
	__u32	syscalls[DURATION_MAX_SYSCALLS];
	__u32	unused;
};

/**
 * struct duration_turn - a task begins to run on a CPU
 * @since:	[ns]; 0: none yet
 * @tid:	0 for the idle task
 */
struct duration_turn {
	__u64	since;
	__u32	pid;
	__u32	tid;
	char	comm[DURATION_COMM_LEN];
};

/**
 * struct duration_turns - what ran on a CPU at last
 * @next:	number of turns since the programs were attached
 * @turn:	the last of them: turn n is at n % DURATION_NR_TURNS
 */
struct duration_turns {
	__u32	next;
	__u32	unused;
	struct duration_turn turn[DURATION_NR_TURNS];
};

/* Memory for reports that perf record has not read yet */
#define DURATION_REPORT_BYTES	(512 * 1024)

/**
 * struct duration_field - a field of a tracepoint
 * @offset:	in the record of the tracepoint [bytes]
 * @size:	1, 2, 4 or 8 bytes
 */
struct duration_field {
	__u32	offset;
	__u32	size;
};

/* Durations of one condition of DURATION_PAIR that are open at a time */
#define DURATION_MAX_PAIRS	16384

/* Buckets of a distribution: 16 for each power of two, and one for each number below 16 */
#define DURATION_BUCKETS	976

/**
 * struct duration_distribution - how long the durations of a condition took, whatever its threshold
 * @max_ns:	of the longest
 * @nr_too_long: number of those longer than the threshold
 * @counts:	by duration_bucket()
 */
struct duration_distribution {
	__u64	max_ns;
	__u64	nr_too_long;
	__u64	counts[DURATION_BUCKETS];
};

static inline __attribute__((always_inline)) __u32 duration_bucket(__u64 ns)
{
	__u32 log = 0, bits;

	if (ns < 16)
		return ns;
	for (bits = 32; bits; bits >>= 1) {
		if (ns >> (log + bits))
			log += bits;
	}
	return (log - 3) * 16 + ((ns >> (log - 4)) & 15);
}

/* Return: the shortest duration in a bucket [ns]. */
static inline __attribute__((always_inline)) __u64 duration_bucket_begin(__u32 bucket)
{
	return bucket < 16 ? bucket : (__u64)(16 + bucket % 16) << (bucket / 16 - 1);
}

/**
 * struct duration_constants - what perf record sets before it loads the programs
 * @min_ns:	lowest threshold of each kind; -1 of those that no condition has
 * @own_tgid:	process whose durations are not reported; 0: those of all are
 * @measures:	add durations to the distributions instead of reporting them
 * @nr_conditions: number of @conditions
 * @first_condition: index of the first of them in reports
 * @calls:	of DURATION_PAIR: the events are the beginning and the return of a function
 * @exact:	the scheduler's clock is not good enough for a threshold
 * @passes_state: sched_switch passes the state of the task to programs
 * @compat_status: bit of thread_info.status of a task in a call of a 32-bit program; 0: unknown
 * @short_call_ns: a system call is too short for all conditions if rq->clock has advanced by less;
 *		0: that says nothing
 * @calls_wanted: a bit for each number of a system call that a condition names
 * @begin_field, @end_field: of DURATION_PAIR, the field that tells which beginning belongs to an
 *		end; of size 0: the thread does
 */
struct duration_constants {
	__u64	min_ns[NR_DURATION_KINDS];
	__u32	own_tgid;
	__u32	nr_conditions;
	__u32	first_condition;
	__u32	calls;
	__u32	measures;
	__u32	exact;
	__u32	compat_status;
	__u32	passes_state;
	__u64	short_call_ns;
	__u64	calls_wanted[DURATION_MAX_CALL_NUMBER / 64];
	struct duration_field begin_field;
	struct duration_field end_field;
	struct duration_condition conditions[DURATION_MAX_CONDITIONS];
};

/**
 * struct duration_words - what perf record and the programs share
 * @now:	time of this check [ns]; perf record writes it
 * @next:	when the next open duration will be too long, at the end of a check; 0: no such
 * @nr_tasks:	tasks that are followed
 * @nr_ignored:	tasks, or open durations of DURATION_PAIR, that are not, as there are too many
 * @nr_unreported: durations that were too long, when the memory for reports was full
 * @counting:	durations are added to the distributions; perf record writes it
 * @quiet_until: durations that end before this time are only counted, in @nr_quiet of the
 *		condition [ns]; perf record writes it
 * @time_is_passed: the program that runs before that of sys_enter passes the time
 * @cgroups:	id of the cgroup (v2) that each condition compares with, as its path says now; its
 *		descendants belong to it; 0: there is none; perf record writes it
 */
struct duration_words {
	__u64	now;
	__u64	next;
	__u64	nr_tasks;
	__u64	nr_ignored;
	__u64	nr_unreported;
	__u64	nr_quiet[DURATION_MAX_CONDITIONS];
	__u64	quiet_until;
	__u64	counting;
	__u64	time_is_passed;
	__u64	cgroups[DURATION_MAX_CONDITIONS];
};

/**
 * struct duration_report - a duration that is too long
 * @begin:	[ns]
 * @end:	[ns]; if @open, when that was noticed
 * @key:	value of the field of DURATION_PAIR, or 0
 * @cgroup:	id of the cgroup (v2) of the task
 * @condition:	index of the condition
 * @open:	the duration has not ended
 * @pid, @tid, @comm: the task; of an interrupt, the task that it interrupted
 * @cpu:	where the duration ended, or where the task is
 * @number:	of the system call (see DURATION_COMPAT_CALL), the interrupt, or the softirq;
 *		index of the state of DURATION_OFF_CPU
 * @name:	of the interrupt
 * @turns_cpu:	the CPU that the task waited for at first
 * @next_turn:	number of turns that this CPU has had
 * @turns:	of DURATION_SCHED_DELAY, what ran there: a ring
 */
struct duration_report {
	__u64	begin;
	__u64	end;
	__u64	key;
	__u64	cgroup;
	__u32	condition;
	__u32	open;
	__u32	pid;
	__u32	tid;
	char	comm[DURATION_COMM_LEN];
	__u32	cpu;
	__u32	number;
	char	name[DURATION_COMM_LEN];
	__u32	turns_cpu;
	__u32	next_turn;
	struct duration_turn turns[DURATION_NR_TURNS];
};

#endif
