/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Count what happened to one ring over time, in constant memory, for the picture of loss_svg.h.
 *
 * Time is divided into buckets of 2^@shift ns, counted from time 0, so the buckets of different
 * rings lie on one grid. When a time lies behind the last bucket, the width of all buckets is
 * doubled by merging them in pairs, as often as needed:
 *
 *	@first = 5, @shift = s		| 5 | 6 | 7 | 8 | 9 | ...
 *	@first = 2, @shift = s + 1	|   2   |   3   |   4   | ...
 *
 * So sums stay exact, and after the first doubling at least half of the buckets are in use.
 */
#ifndef PERF_RECORDING_TIMELINE_H
#define PERF_RECORDING_TIMELINE_H

#include <limits.h>
#include <stdbool.h>
#include <linux/types.h>

#define TIMELINE_BUCKETS 512

/**
 * struct timeline_bucket
 * @bytes:	length of the records that were read from the ring [bytes]
 * @lost:	number of events that did not fit into the ring
 * @hole_ns:	time of the bucket that lies in holes (loss_metric.h) [ns]
 * @fill:	highest fill level that a reader found, in parts of TIMELINE_FULL
 */
struct timeline_bucket {
	u64	bytes;
	u64	lost;
	u64	hole_ns;
	u32	fill;
};

/* Fill level of a full ring. */
#define TIMELINE_FULL 1000

/**
 * struct timeline
 * @first:	number of the first bucket, counted from time 0
 * @shift:	a bucket is 2^@shift ns wide; 0 while nothing was counted
 * @has_fill:	timeline__fill() was called: fill levels are not known from a file
 */
struct timeline {
	u64			first;
	unsigned int		shift;
	bool			has_fill;
	struct timeline_bucket	bucket[TIMELINE_BUCKETS];
};

/** timeline_bucket__add - add @more to @bucket */
void timeline_bucket__add(struct timeline_bucket *bucket, const struct timeline_bucket *more);

/*
 * All times are those of records [ns], and may have any value: files are untrusted. A time before
 * the first bucket is counted in that bucket.
 */

/** timeline__add - count @bytes of records, spread evenly between @from and @to */
void timeline__add(struct timeline *timeline, u64 from, u64 to, u64 bytes);

/** timeline__lose - count @lost events, spread evenly over a hole from @from to @to (>= @from) */
void timeline__lose(struct timeline *timeline, u64 from, u64 to, u64 lost);

/** timeline__fill - note that a reader found @bytes in a ring of @size bytes at @time */
void timeline__fill(struct timeline *timeline, u64 time, u64 bytes, u64 size);

/** timeline__coarsen - make the buckets at least 2^@shift ns wide */
void timeline__coarsen(struct timeline *timeline, unsigned int shift);

/** timeline__start - get the time at which bucket @i begins, at most the largest time [ns] */
static inline u64 timeline__start(const struct timeline *timeline, unsigned int i)
{
	u64 nr = timeline->first + i;

	return nr > ULLONG_MAX >> timeline->shift ? ULLONG_MAX : nr << timeline->shift;
}

#endif
