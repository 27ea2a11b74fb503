// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measure how long it takes from one event to another, by thread or by a field of both.
 *
 * Each condition has an instance of this object. The programs of its two events depend on their
 * kind:
 *
 *	tracepoint, by thread		raw_tp, which misses no event
 *	tracepoint, by a field;		tp, which gets the record of the tracepoint; the kernel runs
 *	syscalls:*; raw_syscalls:*	one such program at a time on a CPU, and counts what it
 *	where raw_tp is preempted	misses
 *	uprobe, USDT probe, kprobe	kprobe
 *
 * The last beginning before an end counts. Where the events are the beginning and the return of a
 * function, the outermost call does: the stack pointer tells which it is, and that a function was
 * left without a return. A duration of a thread ends with it at the latest, and goes with it to
 * another tid (a thread that executes a program takes over that of its process).
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include <stddef.h>
#include "durations.h"
#include "durations_report.bpf.h"

struct pt_regs___when {
	unsigned long sp;
} __attribute__((preserve_access_index));

/**
 * struct open_pair - what has begun
 * @begin:	[ns]; 0: another CPU has ended it, and removes it now. It changes if the kernel uses
 *		this memory for another duration.
 * @sp:		stack pointer at the beginning of the call
 * @told:	see durations_report.bpf.h; at first, the same as @begin
 */
struct open_pair {
	__u64			begin;
	__u64			sp;
	__u64			told;
	struct duration_owner	owner;
	__u32			cpu;
	__u32			unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, DURATION_MAX_PAIRS);
	__type(key, __u64);
	__type(value, struct open_pair);
} pairs SEC(".maps");

static __always_inline struct task_struct___when *current(void)
{
	return (void *)bpf_get_current_task_btf();
}

static __always_inline __u64 stack_pointer(struct pt_regs___when *regs)
{
	return bpf_core_field_exists(regs->sp) ? regs->sp : 0;
}

/* Return: the key of the thread. All idle tasks have tid 0: one for each CPU is different. */
static __always_inline __u64 thread_key(void)
{
	__u32 tid = bpf_get_current_pid_tgid();

	return tid ?: 1ULL << 32 | bpf_get_smp_processor_id();
}

/* Return: the field's value, or the key of the thread. */
static __always_inline __u64 key_of(void *record, const volatile struct duration_field *field)
{
	void *value = record + field->offset;
	__u64 key = 0;

	switch (field->size) {
	case 1:
		bpf_probe_read_kernel(&key, 1, value);
		return key;
	case 2:
		bpf_probe_read_kernel(&key, 2, value);
		return key;
	case 4:
		bpf_probe_read_kernel(&key, 4, value);
		return key;
	case 8:
		bpf_probe_read_kernel(&key, 8, value);
		return key;
	default:
		return thread_key();
	}
}

/*
 * Return value of programs that are attached to perf events. For 0, the kernel drops the samples
 * that all perfs have of the event.
 */
#define KEEP_SAMPLES	1

static __always_inline void begin(__u64 key, __u64 sp)
{
	struct task_struct___when *task = current();
	struct open_pair pair = { .sp = sp }, *outer;

	if (constants.calls) {
		outer = bpf_map_lookup_elem(&pairs, &key);
		if (outer && outer->owner.task == (__u64)task && sp < outer->sp)
			return;
	}
	own(&pair.owner, task);
	if (!passes(task, pair.owner.comm, 0))
		return;
	pair.cpu = bpf_get_smp_processor_id();
	pair.begin = pair.told = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&pairs, &key, &pair, BPF_ANY))
		__sync_fetch_and_add(&words.nr_ignored, 1);
}

/* Copy a duration that is then removed from the map. No check reports it any more. */
static __always_inline void take_over(struct open_pair *pair, struct open_pair *open)
{
	*pair = *open;
	pair->told = __sync_lock_test_and_set(&open->told, 0);
}

/* Judge a duration that ends, and has been removed from the map. */
static __always_inline void finish(const struct open_pair *pair, __u64 key)
{
	__u64 now = bpf_ktime_get_ns();

	if (now - pair->begin > constants.min_ns[DURATION_PAIR]) {
		struct measured measured = {
			.begin = pair->begin, .end = now, .owner = &pair->owner,
			.kind = DURATION_PAIR, .cpu = bpf_get_smp_processor_id(),
			.key = constants.end_field.size ? key : 0,
			.told_until = pair->told,
		};
		judge(&measured);
	}
}

static __always_inline void end(__u64 key, __u64 sp)
{
	struct open_pair *open = bpf_map_lookup_elem(&pairs, &key), pair;
	__u64 since;

	if (!open)
		return;
	since = *(volatile __u64 *)&open->begin;
	if (!constants.end_field.size && open->owner.task != (__u64)current())
		return;
	if (constants.calls && sp && sp <= open->sp)
		return;
	barrier();
	pair = *open;
	if (!since || !exchange(&open->begin, since, 0))
		return;
	pair.told = __sync_lock_test_and_set(&open->told, 0);
	bpf_map_delete_elem(&pairs, &key);
	finish(&pair, key);
}

/*
 * Threads, without a field
 */

/* Return: what has begun in a thread that has, or had, this tid; or NULL. */
static __always_inline struct open_pair *find(struct task_struct___when *task, __u64 key)
{
	struct open_pair *open = bpf_map_lookup_elem(&pairs, &key);

	return open && open->owner.task == (__u64)task ? open : NULL;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct___when *task)
{
	__u64 key = (__u32)task->pid;
	struct open_pair *open = find(task, key), pair;

	if (!open)
		return 0;
	take_over(&pair, open);
	bpf_map_delete_elem(&pairs, &key);
	finish(&pair, key);
	return 0;
}

/* Remove what began after sched_process_exit: the thread has been switched to and from. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct___when *task)
{
	__u64 key = (__u32)task->pid;

	if (find(task, key))
		bpf_map_delete_elem(&pairs, &key);
	return 0;
}

/*
 * Functions of the old program do not return. Under its new tid, the thread may have begun already;
 * what the thread before it began there is over.
 */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct___when *task, int old_tid)
{
	__u64 old_key = (__u32)old_tid, key = (__u32)task->pid;
	struct open_pair *open, pair;

	if (old_key == key && !constants.calls)
		return 0;
	if (constants.calls || !find(task, key))
		bpf_map_delete_elem(&pairs, &key);
	open = find(task, old_key);
	if (!open)
		return 0;
	take_over(&pair, open);
	bpf_map_delete_elem(&pairs, &old_key);
	if (constants.calls || find(task, key))
		return 0;
	pair.owner.tid = task->pid;
	if (bpf_map_update_elem(&pairs, &key, &pair, BPF_ANY))
		__sync_fetch_and_add(&words.nr_ignored, 1);
	return 0;
}

/*
 * Events
 */

SEC("raw_tp")
int begin_raw(void *ctx)
{
	begin(thread_key(), 0);
	return 0;
}

SEC("raw_tp")
int end_raw(void *ctx)
{
	end(thread_key(), 0);
	return 0;
}

SEC("tp")
int begin_record(void *ctx)
{
	begin(key_of(ctx, &constants.begin_field), 0);
	return KEEP_SAMPLES;
}

SEC("tp")
int end_record(void *ctx)
{
	end(key_of(ctx, &constants.end_field), 0);
	return KEEP_SAMPLES;
}

SEC("kprobe")
int begin_probe(struct pt_regs___when *regs)
{
	begin(thread_key(), stack_pointer(regs));
	return KEEP_SAMPLES;
}

SEC("kprobe")
int end_probe(struct pt_regs___when *regs)
{
	end(thread_key(), stack_pointer(regs));
	return KEEP_SAMPLES;
}

/* Judge what has not ended, and note when the next one will be too long. */
static long check_pair(void *map, __u64 *key, struct open_pair *open, void *unused)
{
	struct duration_owner owner;
	__u64 since, crosses, told_until;

	told_until = __sync_fetch_and_add(&open->told, 0);
	since = *(volatile __u64 *)&open->begin;
	if (!since || since >= words.now)
		return 0;
	owner = open->owner;
	crosses = since + constants.min_ns[DURATION_PAIR];
	if (crosses >= words.now) {
		if (!words.next || crosses < words.next)
			words.next = crosses;
	} else {
		struct measured measured = {
			.begin = since, .end = words.now, .owner = &owner,
			.kind = DURATION_PAIR, .cpu = open->cpu, .open = true,
			.key = constants.end_field.size ? *key : 0,
			.told = &open->told, .told_until = told_until,
		};
		judge(&measured);
	}
	return 0;
}

/* perf record runs this program. Locked down kernels may refuse iterators of a map's elements. */
SEC("syscall")
int check_open(void *context)
{
	bpf_for_each_map_elem(&pairs, check_pair, NULL, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
