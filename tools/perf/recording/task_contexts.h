/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Open an event for each task of the target before all others: it keeps the kernel from swapping
 * the events of parent and child, and marks the tasks that BPF programs record.
 *
 * When a CPU switches between two tasks of which one has inherited all events of the other, the
 * kernel swaps their contexts instead of scheduling each event out and in. The event of a uprobe
 * stays bound to the task that it was opened for, or inherited by. If that task exits while its
 * event is in the context of the other task, the other one is left without a bound event: the
 * kernel no longer sets the probe in what that task executes or maps. Seen with Linux 6.18: half of
 * the programs that were executed by a thread had no probes.
 *
 * An inherited event whose count is in its samples cannot be swapped. One for each task of the
 * target, and so for all children, prevents every swap. Kernels that refuse such an event get one
 * that is not inherited, which prevents the swaps between the target and its own children only. The
 * perf of Linux has the latter by chance: its event for BPF programs.
 *
 * The programs of bpf_ring.h record the tasks that have such an event with a config1 of the
 * recording (util/bpf_skel/event_ring_target.h). It exists as long as a task's other events do, and
 * is inherited as they are. It is pinned, so that children inherit it first.
 *
 * Only recordings with probes, or of tasks with BPF, have these events. They count nothing, and
 * have no ring.
 */
#ifndef PERF_RECORDING_TASK_CONTEXTS_H
#define PERF_RECORDING_TASK_CONTEXTS_H

#include <linux/types.h>

struct evlist;
struct record_opts;

/**
 * struct task_contexts
 * @fds:	an event for each of @nr tasks, -1 where it was refused
 */
struct task_contexts {
	int	*fds;
	int	 nr;
};

/**
 * task_contexts__pin - keep the contexts of the target's tasks from being swapped, if need be
 * @contexts:	zeroed
 * @evlist:	the events; its threads are the target
 * @marker:	config1 that marks the tasks; 0: they need no mark
 *
 * Call it before the events are opened, so that no child has them without this one. Kernels that
 * refuse both kinds are used as they are.
 *
 * Return: 0, or -ENOMEM.
 */
int task_contexts__pin(struct task_contexts *contexts, struct evlist *evlist,
		       const struct record_opts *opts, __u64 marker);

/** task_contexts__release - close the events */
void task_contexts__release(struct task_contexts *contexts);

#endif
