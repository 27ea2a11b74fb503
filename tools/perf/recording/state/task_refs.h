/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which tasks the rings still refer to, and when: what the live state (state.h) must not forget.
 */
#ifndef PERF_RECORDING_REFS_H
#define PERF_RECORDING_REFS_H

#include <stdbool.h>
#include <linux/types.h>
#include "util/hashmap.h"

/**
 * struct refs
 * @processes:	pid to struct ref
 * @tasks:	tid to struct ref
 * @oldest:	time of the oldest of all; UINT64_MAX if there is none [ns]
 * @traced:	context switches matter as those of @tasks: they tell whose a trace is
 * @incomplete:	there was not enough memory: what is missing may be referred to
 */
struct refs {
	struct hashmap	processes;
	struct hashmap	tasks;
	u64		oldest;
	bool		traced;
	bool		incomplete;
};

/**
 * struct ref - one process or task
 * @oldest:	the first time that it is referred to [ns]
 * @newest:	the last time [ns]
 */
struct ref {
	u64		oldest;
	u64		newest;
};

/** refs__init - none yet; to be freed with refs__exit() */
void refs__init(struct refs *refs);

void refs__exit(struct refs *refs);

/** refs__add - a record of this task and time can still get into a file */
void refs__add(struct refs *refs, u32 pid, u32 tid, u64 time);

/** refs__process, refs__task - when it is referred to; NULL if it is not */
const struct ref *refs__process(const struct refs *refs, u32 pid);
const struct ref *refs__task(const struct refs *refs, u32 tid);

#endif
