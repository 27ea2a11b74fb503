/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compare a duration with the conditions, and report it to perf record if it is too long.
 *
 * Included by the programs that measure durations. They call judge() only for durations that are
 * longer than the lowest threshold of their kind, so nothing here costs anything below it.
 *
 * A duration is reported once for each condition that it meets: by the first check that finds it
 * too long, or else at its end. With each duration that can be open, there is a word, "told". Both
 * sides change it by an atomic instruction, with a value that it never had before:
 *
 *	check	read it; read the beginning; if that is too long, and before the first report of
 *		it, exchange what was read for the time of the check; if that fails, the duration
 *		has ended: do not report it
 *	end	clear the beginning; if it was too long, exchange the word for the time of the end;
 *		what had become too long before the time that was in it is reported
 */
#ifndef PERF_BPF_SKEL_DURATIONS_REPORT_H
#define PERF_BPF_SKEL_DURATIONS_REPORT_H

#define MAX_CGROUP_DEPTH	64

struct task_struct___when {
	int			pid;
	int			tgid;
	char			comm[DURATION_COMM_LEN];
	struct css_set		*cgroups;
} __attribute__((preserve_access_index));

struct cgroup_subsys_state___when {
	struct cgroup_subsys_state___when *parent;
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, DURATION_REPORT_BYTES);
} reports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);					/* perf record sets the number */
	__type(key, __u32);
	__type(value, struct duration_distribution);
} distributions SEC(".maps");

const volatile struct duration_constants constants;
struct duration_words words;

/**
 * struct duration_owner - whose duration it is, noted at its beginning
 * @task:	address of the thread, to know another one with the same id. It is not start_time,
 *		which changes when a thread executes a program.
 */
struct duration_owner {
	__u64	task;
	__u64	cgroup;
	__u32	pid;
	__u32	tid;
	char	comm[DURATION_COMM_LEN];
};

/**
 * struct measured - a duration
 * @task:	whose duration it is; NULL: @owner's, which has passed the filters
 * @open:	not ended at @end
 * @number:	see struct duration_report
 * @told_until: what became too long before this time was reported by a check [ns]
 * @told:	if @open, the word that @told_until was read from
 * @turns:	of the CPU that the task waited for; NULL for other kinds than DURATION_SCHED_DELAY
 */
struct measured {
	__u64				 begin;
	__u64				 end;
	__u64				 key;
	__u64				 told_until;
	__u64				*told;
	struct task_struct___when	*task;
	const struct duration_owner	*owner;
	const struct duration_turns	*turns;
	const char			*name;
	__u32				 kind;
	__u32				 open;
	__u32				 cpu;
	__u32				 number;
	__u32				 turns_cpu;
};

static __always_inline __u64 cgroup_id(const struct task_struct___when *task)
{
	return BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
}

static __always_inline bool is_comm(const char *comm, __u32 condition)
{
	__u32 i;

	for (i = 0; i < DURATION_COMM_LEN; i++) {
		if (comm[i] != constants.conditions[condition].comm[i])
			return false;
		if (!comm[i])
			return true;
	}
	return true;
}

/* The state of a cgroup itself is its first member: its parent is that of the cgroup's parent. */
static __noinline bool is_in_cgroup(struct task_struct___when *task, __u64 id)
{
	struct cgroup *cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp);
	int i;

	for (i = 0; i < MAX_CGROUP_DEPTH && cgroup; i++) {
		if (BPF_CORE_READ(cgroup, kn, id) == id)
			return true;
		cgroup = (void *)BPF_CORE_READ((struct cgroup_subsys_state___when *)cgroup, parent);
	}
	return false;
}

static __always_inline bool passes(struct task_struct___when *task, const char *comm, __u32 i)
{
	const volatile struct duration_condition *condition = &constants.conditions[i];
	__u32 filters = condition->filters;
	bool same;

	if (filters & (DURATION_IF_COMM | DURATION_UNLESS_COMM)) {
		same = is_comm(comm, i);
		if (same != !!(filters & DURATION_IF_COMM))
			return false;
	}
	if (filters & (DURATION_IF_PID | DURATION_UNLESS_PID)) {
		same = task->tgid == condition->pid;
		if (same != !!(filters & DURATION_IF_PID))
			return false;
	}
	if (filters & (DURATION_IF_CGROUP | DURATION_UNLESS_CGROUP)) {
		same = is_in_cgroup(task, *(volatile __u64 *)&words.cgroups[i]);
		if (same != !!(filters & DURATION_IF_CGROUP))
			return false;
	}
	return true;
}

static __always_inline bool names(__u32 i, __u32 number)
{
	const volatile struct duration_condition *condition = &constants.conditions[i];
	__u32 j;

	if (condition->kind == DURATION_OFF_CPU)
		return condition->states & (1 << (number & 31));
	if (condition->kind != DURATION_SYSCALL || !condition->nr_syscalls)
		return true;
	for (j = 0; j < DURATION_MAX_SYSCALLS && j < condition->nr_syscalls; j++) {
		if (condition->syscalls[j] == number)
			return true;
	}
	return false;
}

static __always_inline void own(struct duration_owner *owner, struct task_struct___when *task)
{
	owner->task = (__u64)task;
	owner->cgroup = cgroup_id(task);
	owner->pid = task->tgid;
	owner->tid = task->pid;
	__builtin_memcpy(owner->comm, task->comm, DURATION_COMM_LEN);
}

static __always_inline void fill(struct duration_report *report, const struct measured *measured,
				 const struct duration_owner *owner, __u32 condition)
{
	report->begin = measured->begin;
	report->end = measured->end;
	report->key = measured->key;
	report->cgroup = owner->cgroup;
	report->condition = constants.first_condition + condition;
	report->open = measured->open;
	report->pid = owner->pid;
	report->tid = owner->tid;
	__builtin_memcpy(report->comm, owner->comm, DURATION_COMM_LEN);
	report->cpu = measured->cpu;
	report->number = measured->number;
	__builtin_memset(report->name, 0, DURATION_COMM_LEN);
	if (measured->name)
		bpf_probe_read_kernel_str(report->name, DURATION_COMM_LEN, measured->name);
	report->turns_cpu = measured->turns_cpu;
	report->next_turn = 0;
}

static __always_inline void copy_turns(struct duration_report *report,
				       const struct duration_turns *turns)
{
	__u32 i;

	report->next_turn = turns->next;
	for (i = 0; i < DURATION_NR_TURNS; i++)
		report->turns[i] = turns->turn[i];
}

static __always_inline void send(const struct measured *measured,
				 const struct duration_owner *owner, __u32 condition)
{
	struct duration_report *report;

	if (measured->end < words.quiet_until) {
		__sync_fetch_and_add(&words.nr_quiet[condition & (DURATION_MAX_CONDITIONS - 1)], 1);
		return;
	}
	if (measured->turns) {
		report = bpf_ringbuf_reserve(&reports, sizeof(*report), 0);
		if (report) {
			fill(report, measured, owner, condition);
			copy_turns(report, measured->turns);
		}
	} else {
		report = bpf_ringbuf_reserve(&reports, offsetof(struct duration_report, turns), 0);
		if (report)
			fill(report, measured, owner, condition);
	}
	if (report)
		bpf_ringbuf_submit(report, 0);
	else
		__sync_fetch_and_add(&words.nr_unreported, 1);
}

static __always_inline void count(__u32 condition, __u64 ns)
{
	__u32 key = constants.first_condition + condition;
	__u64 bucket = duration_bucket(ns);
	struct duration_distribution *distribution;

	barrier_var(bucket);	/* the verifier needs this value to be compared, and no other */
	if (!words.counting || bucket >= DURATION_BUCKETS)
		return;
	distribution = bpf_map_lookup_elem(&distributions, &key);
	if (!distribution)
		return;
	__sync_fetch_and_add(&distribution->counts[bucket], 1);
	if (ns > constants.conditions[condition & (DURATION_MAX_CONDITIONS - 1)].threshold_ns)
		__sync_fetch_and_add(&distribution->nr_too_long, 1);
	if (ns > distribution->max_ns)
		distribution->max_ns = ns;	/* of two CPUs at a time, one may win */
}

static __always_inline bool exchange(__u64 *word, __u64 old, __u64 new)
{
	return __sync_val_compare_and_swap(word, old, new) == old;
}

/* Report a duration to perf record once for each condition that it meets. */
static __noinline void judge(const struct measured *measured)
{
	const volatile struct duration_condition *condition;
	__u64 crossed, told = measured->told_until;
	struct duration_owner owner;
	__u32 i;

	if (measured->task)
		own(&owner, measured->task);
	else if (measured->owner)
		owner = *measured->owner;
	else
		goto out;
	if (constants.own_tgid && owner.pid == constants.own_tgid)
		goto out;
	for (i = 0; i < DURATION_MAX_CONDITIONS && i < constants.nr_conditions; i++) {
		condition = &constants.conditions[i];
		if (condition->kind != measured->kind)
			continue;
		if (constants.measures) {
			if (names(i, measured->number) &&
			    (!measured->task || passes(measured->task, owner.comm, i)))
				count(i, measured->end - measured->begin);
			continue;
		}
		crossed = measured->begin + condition->threshold_ns;
		if (crossed >= measured->end || crossed < measured->told_until)
			continue;
		if (!names(i, measured->number) ||
		    (measured->task && !passes(measured->task, owner.comm, i)))
			continue;
		if (measured->told && told != measured->end) {
			if (!exchange(measured->told, told, measured->end))
				goto out;	/* it has ended */
			told = measured->end;
		}
		send(measured, &owner, i);
	}
out:
	/* The verifier looks at the register of the result, which the compiler leaves as it is. */
	asm volatile("r0 = 0" ::: "r0");
}

#endif
