/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whose trace an AUX area holds, and from when: what the live state (state.h) must not forget.
 *
 * Each PERF_RECORD_AUX tells that a task was traced up to its time, and how many bytes that made. Those
 * since the record before are a stretch; when as many bytes have followed as the area has room for, it
 * is overwritten, and nobody refers to it any more.
 *
 *	records		 A          B                 C
 *	stretches	 |==========|=================|..... no record yet: aux_snapshotter__flush()
 *	bytes					  |-------- area --------|
 *
 * The task is the one that was traced last. Where it took its turn from another one, both inheriting their
 * events from the same, the kernel may have swapped those, and not have stopped anything: then context
 * switches since task_history__since() tell who else is in the area.
 *
 * Where the kernel does not count bytes, the offsets in the area tell how many there were at least.
 *
 * Pure memory: knows no rings and no files.
 */
#ifndef PERF_RECORDING_TASK_HISTORY_H
#define PERF_RECORDING_TASK_HISTORY_H

#include <stdbool.h>
#include <linux/types.h>

struct task_refs;

/* A stretch is seldom shorter: what does not fit is too many. */
#define TASK_HISTORY_MIN_BYTES	64

/**
 * struct aux_stretch
 * @bytes:	its length
 * @end:	bytes written until its end
 * @from:	nothing in it is older than this [ns]
 * @until:	nothing in it is newer than this [ns]
 */
struct aux_stretch {
	u64	bytes;
	u64	end;
	u64	from;
	u64	until;
	u32	pid;
	u32	tid;
};

/**
 * struct task_history - of one area
 * @len:	size of the area [bytes]
 * @stretches:	@nr of them, oldest first; @room for more
 * @gone:	the last one that was forgotten: its task may have gone on
 * @written:	bytes so far, as far as known
 * @offset:	where in the area that was
 * @time:	of the last record [ns]
 * @gap:	time of the last record that is missing, or that there was no room for [ns]
 */
struct task_history {
	u64			 len;
	struct aux_stretch	*stretches;
	size_t			 nr;
	size_t			 room;
	struct aux_stretch	 gone;
	u64			 written;
	u64			 offset;
	u64			 time;
	u64			 gap;
};

/** task_history__init - nothing was traced so far; to be freed with task_history__exit() */
void task_history__init(struct task_history *history, u64 len);

void task_history__exit(struct task_history *history);

/**
 * task_history__add - there was a PERF_RECORD_AUX
 * @offset:	where the trace has stopped in the area
 * @bytes:	how many are new; 0 if the kernel does not count
 */
void task_history__add(struct task_history *history, u64 offset, u64 bytes, u32 pid, u32 tid,
		      u64 time);

/** task_history__lose - records are missing, the last of them of this time */
void task_history__lose(struct task_history *history, u64 time);

/** task_history__since - nothing that is in the area is older [ns]; UINT64_MAX if nothing is */
u64 task_history__since(const struct task_history *history);

/**
 * task_history__refer - add the tasks of all that is in the area
 * @horizon:	what is older was in a snapshot [ns]
 */
void task_history__refer(struct task_history *history, u64 horizon, struct task_refs *refs);

#endif
