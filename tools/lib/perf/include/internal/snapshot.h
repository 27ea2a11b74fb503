/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A snapshot of one ring.
 *
 * Its memory, the shadow, has the size of the ring, and a byte has its place there as in the ring.
 * So what is new takes the place of the oldest that the shadow holds:
 *
 *	since         start             low             head
 *	  |             |                |               |
 *	  v             v                v               v
 *	  | overwritten |  held before   |  copied now   |
 *	                |<----- at most the size ------->|
 *
 * The shadow is mapped twice in a row, so that what it holds is in one piece. It is read in place.
 *
 * A copy is made while writers go on, and sees any mixture of old and new bytes. That is not
 * prevented, it is found out. The writers eat the copy from its oldest end:
 *
 *	copy	[low, head) is loaded from the ring
 *	settle	no writer whose stores that may have seen has passed the position @end: what lies
 *		below @end - size may be torn, and is given up
 *
 * @end is data_reserved as it was after the copy, or data_head after a grace period. If a copy
 * loses bytes at its old end, what was held before does not join any more, and is dropped too.
 */
#ifndef __LIBPERF_INTERNAL_SNAPSHOT_H
#define __LIBPERF_INTERNAL_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#include <perf/overwrite.h>

/**
 * struct perf_snapshot
 * @ring:	what it is of
 * @shadow:	its memory
 * @since:	it answers for [since, head): what is not held was overwritten
 * @start:	[start, head) is held
 * @head:	up to here it was taken
 *
 * Of a copy that is not settled:
 * @copy_low:	[copy_low, copy_head) is in the shadow
 * @copy_head:	the ring's head when it was made
 * @end:	as above
 * @paused:	the ring is paused, for it is to be copied again
 *
 * Of reading:
 * @read:	the shadow was changed; what follows is valid
 * @records:	what was found there
 * @pos:	of perf_snapshot__read_event() in @records [bytes]
 */
struct perf_snapshot {
	struct perf_overwrite		*ring;
	void				*shadow;
	u64				 since;
	u64				 start;
	u64				 head;

	u64				 copy_low;
	u64				 copy_head;
	u64				 end;
	bool				 paused;

	bool				 read;
	struct perf_snapshot_records	 records;
	size_t				 pos;
};

/**
 * perf_snapshot__copy - copy what is new in the ring
 *
 * The caller sees to @snapshot->end then, and settles it, or copies again.
 */
void perf_snapshot__copy(struct perf_snapshot *snapshot);

/** perf_snapshot__overtaken - bytes that would be given up if the copy was settled now */
u64 perf_snapshot__overtaken(const struct perf_snapshot *snapshot);

/** perf_snapshot__settle - keep what can be trusted of the copy; the ring is taken up to there */
void perf_snapshot__settle(struct perf_snapshot *snapshot);

#endif /* __LIBPERF_INTERNAL_SNAPSHOT_H */
