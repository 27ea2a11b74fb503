/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happened to one ring over time, in memory that does not grow: for the picture of loss_svg.h.
 *
 * Time is cut into buckets of 2^@shift ns, counted from time 0, so that the buckets of different
 * rings lie on one grid. What comes after the last bucket makes all of them twice as wide, two by
 * two, as often as needed:
 *
 *	@first = 5, @shift = s		| 5 | 6 | 7 | 8 | 9 | ...
 *	@first = 2, @shift = s + 1	|   2   |   3   |   4   | ...
 *
 * So sums stay exact, and once that has begun, at least half of the buckets are in use.
 */
#ifndef PERF_RECORDING_TIMELINE_H
#define PERF_RECORDING_TIMELINE_H

#include <stdbool.h>
#include <linux/types.h>

#define TIMELINE_BUCKETS 512

/**
 * struct timeline_bucket
 * @bytes:	length of the records that went through the ring [bytes]
 * @lost:	events that found no room
 * @hole_ns:	how much of this time lies in holes (loss_metric.h) [ns]
 * @fill:	the most that a reader found in the ring, in TIMELINE_FULL-ths of its size
 */
struct timeline_bucket {
	u64	bytes;
	u64	lost;
	u64	hole_ns;
	u32	fill;
};

#define TIMELINE_FULL 1000

/**
 * struct timeline
 * @first:	the number of the first bucket, counted from time 0
 * @shift:	a bucket is 2^@shift ns wide; 0 before there is anything
 * @has_fill:	@fill was told at least once: files do not tell it
 */
struct timeline {
	u64			first;
	unsigned int		shift;
	bool			has_fill;
	struct timeline_bucket	bucket[TIMELINE_BUCKETS];
};

/** timeline_bucket__add - add @more to @bucket */
void timeline_bucket__add(struct timeline_bucket *bucket, const struct timeline_bucket *more);

/* Times are those of the records [ns]. What came before the first bucket is counted in it. */

/** timeline__add - @bytes of records between @from and @to, evenly */
void timeline__add(struct timeline *timeline, u64 from, u64 to, u64 bytes);

/** timeline__lose - @lost events were lost, evenly, in a hole from @from to @to, not before it */
void timeline__lose(struct timeline *timeline, u64 from, u64 to, u64 lost);

/** timeline__fill - at @time a reader found @bytes in a ring of @size bytes */
void timeline__fill(struct timeline *timeline, u64 time, u64 bytes, u64 size);

/** timeline__coarsen - make the buckets 2^@shift ns wide, if they are not wider already */
void timeline__coarsen(struct timeline *timeline, unsigned int shift);

/** timeline__start - when bucket @i begins [ns] */
static inline u64 timeline__start(const struct timeline *timeline, unsigned int i)
{
	return (timeline->first + i) << timeline->shift;
}

#endif
