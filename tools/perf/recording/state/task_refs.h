/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Collect which tasks the rings refer to, and at what times: the live state (state.h) must keep
 * them.
 *
 * Not for several threads.
 */
#ifndef PERF_RECORDING_TASK_REFS_H
#define PERF_RECORDING_TASK_REFS_H

#include <stdbool.h>
#include <linux/types.h>
#include "util/hashmap.h"

/**
 * struct task_refs
 * @processes:	from pid to struct task_ref
 * @tasks:	from tid to struct task_ref
 * @oldest:	time of the oldest reference; UINT64_MAX if there is none [ns]
 * @traced:	context switches from and to @tasks must be kept: they tell which task a trace
 *		belongs to
 * @incomplete:	an allocation failed, so a task that is missing may be referred to
 */
struct task_refs {
	struct hashmap	processes;
	struct hashmap	tasks;
	u64		oldest;
	bool		traced;
	bool		incomplete;
};

/**
 * struct task_ref - references to a process or a task
 * @oldest:	time of the first one [ns]
 * @newest:	time of the last one [ns]
 */
struct task_ref {
	u64		oldest;
	u64		newest;
};

/** task_refs__init - initialise an empty set. To be freed with task_refs__exit(). */
void task_refs__init(struct task_refs *refs);

void task_refs__exit(struct task_refs *refs);

/**
 * task_refs__add - add a reference: a record of this task and time can still be written to a file
 */
void task_refs__add(struct task_refs *refs, u32 pid, u32 tid, u64 time);

/**
 * task_refs__process, task_refs__task - find the references to a pid, to a tid; NULL if there are
 * none
 */
const struct task_ref *task_refs__process(const struct task_refs *refs, u32 pid);
const struct task_ref *task_refs__task(const struct task_refs *refs, u32 tid);

#endif
