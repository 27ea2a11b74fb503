/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Remember which tasks' trace an AUX area holds, and since when: the live state (state.h) must not
 * forget these.
 *
 * Each PERF_RECORD_AUX says that a task was traced up to the record's time, and how many bytes that
 * made. The bytes since the record before are a stretch. When as many bytes have followed as the
 * area holds, the stretch is overwritten, and nothing refers to its task any more.
 *
 *	records		 A          B                 C
 *	stretches	 |==========|=================|..... no record yet: aux_snapshotter__flush()
 *	bytes					  |-------- area --------|
 *
 * The task of a stretch is the one that was traced last. Where it took over from another task, and
 * both inherit their events from the same parent, the kernel may have swapped the events' contexts
 * without stopping an event. Then context switches since task_history__since() tell which other
 * tasks are in the area.
 *
 * Where the kernel does not count bytes, the offsets in the area give a lower bound.
 *
 * Pure memory: knows no rings and no files.
 */
#ifndef PERF_RECORDING_TASK_HISTORY_H
#define PERF_RECORDING_TASK_HISTORY_H

#include <linux/types.h>

struct task_refs;

/* Stretches are seldom shorter: an area holds no more than its size divided by this. */
#define TASK_HISTORY_MIN_BYTES	64

/**
 * struct aux_stretch - part of a trace, of one task
 * @bytes:	its length [bytes]
 * @end:	bytes written until its end [bytes]
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
 * @stretches:	@nr of @room entries, oldest first
 * @overwritten: the last stretch that was dropped: its task may have continued
 * @written:	bytes so far, as far as known [bytes]
 * @offset:	in the area, after these bytes
 * @time:	of the last record [ns]
 * @gap:	time of the last record that is missing or could not be kept [ns]
 */
struct task_history {
	u64			 len;
	struct aux_stretch	*stretches;
	size_t			 nr;
	size_t			 room;
	struct aux_stretch	 overwritten;
	u64			 written;
	u64			 offset;
	u64			 time;
	u64			 gap;
};

/** task_history__init - nothing was traced yet; the caller frees with task_history__exit() */
void task_history__init(struct task_history *history, u64 len);

void task_history__exit(struct task_history *history);

/**
 * task_history__add - add the stretch of a PERF_RECORD_AUX
 * @offset:	in the area, where the trace stopped
 * @bytes:	length of the stretch [bytes]; 0 if the kernel does not count
 */
void task_history__add(struct task_history *history, u64 offset, u64 bytes, u32 pid, u32 tid,
		       u64 time);

/** task_history__lose - records were lost, the last one at @time [ns] */
void task_history__lose(struct task_history *history, u64 time);

/**
 * task_history__since - Return: lower bound of the times in the area [ns]; UINT64_MAX if it is
 * empty
 */
u64 task_history__since(const struct task_history *history);

/**
 * task_history__refer - add the tasks of everything that is in the area
 * @horizon:	the trace before this time was in a snapshot [ns]
 */
void task_history__refer(struct task_history *history, u64 horizon, struct task_refs *refs);

#endif
