/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which tasks the rings still refer to, and when: what the live state (state.h) must not forget.
 */
#ifndef PERF_RECORDING_TASK_REFS_H
#define PERF_RECORDING_TASK_REFS_H

#include <stdbool.h>
#include <linux/types.h>
#include "util/hashmap.h"

/**
 * struct task_refs
 * @processes:	pid to struct task_ref
 * @tasks:	tid to struct task_ref
 * @oldest:	time of the oldest of all; UINT64_MAX if there is none [ns]
 * @traced:	context switches matter as those of @tasks: they tell whose a trace is
 * @incomplete:	there was not enough memory: what is missing may be referred to
 */
struct task_refs {
	struct hashmap	processes;
	struct hashmap	tasks;
	u64		oldest;
	bool		traced;
	bool		incomplete;
};

/**
 * struct task_ref - one process or task
 * @oldest:	the first time that it is referred to [ns]
 * @newest:	the last time [ns]
 */
struct task_ref {
	u64		oldest;
	u64		newest;
};

/** task_refs__init - none yet; to be freed with task_refs__exit() */
void task_refs__init(struct task_refs *refs);

void task_refs__exit(struct task_refs *refs);

/** task_refs__add - a record of this task and time can still get into a file */
void task_refs__add(struct task_refs *refs, u32 pid, u32 tid, u64 time);

/** task_refs__process, task_refs__task - when it is referred to; NULL if it is not */
const struct task_ref *task_refs__process(const struct task_refs *refs, u32 pid);
const struct task_ref *task_refs__task(const struct task_refs *refs, u32 tid);

#endif
