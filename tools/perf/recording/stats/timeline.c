// SPDX-License-Identifier: GPL-2.0-only
#include <linux/kernel.h>
#include "timeline.h"

#define FIRST_SHIFT 14		/* 16 us, so that 8 ms fit without doubling */

void timeline_bucket__add(struct timeline_bucket *bucket, const struct timeline_bucket *more)
{
	bucket->bytes += more->bytes;
	bucket->lost += more->lost;
	bucket->hole_ns += more->hole_ns;
	bucket->fill = max(bucket->fill, more->fill);
}

static void double_width(struct timeline *timeline)
{
	struct timeline_bucket *bucket = timeline->bucket;
	unsigned int odd = timeline->first & 1;		/* then the first bucket has no partner */
	unsigned int i;

	for (i = 0; i < TIMELINE_BUCKETS; i++) {
		struct timeline_bucket one = bucket[i];

		bucket[i] = (struct timeline_bucket){ 0 };
		timeline_bucket__add(&bucket[(i + odd) / 2], &one);
	}
	timeline->first >>= 1;
	timeline->shift++;
}

void timeline__coarsen(struct timeline *timeline, unsigned int shift)
{
	while (timeline->shift && timeline->shift < shift)
		double_width(timeline);
}

/* Widen the buckets until they cover @to; @from is the first time if there is none yet. */
static void cover(struct timeline *timeline, u64 from, u64 to)
{
	if (!timeline->shift) {
		timeline->shift = FIRST_SHIFT;
		timeline->first = from >> FIRST_SHIFT;
	}
	while (to >> timeline->shift >= timeline->first + TIMELINE_BUCKETS)
		double_width(timeline);
}

/* Return: index of the bucket of @time, which the buckets cover. */
static unsigned int index_of(const struct timeline *timeline, u64 time)
{
	return (time >> timeline->shift) - timeline->first;
}

/* Return: the part before @time of @total, which is spread evenly between @from and @to. */
static u64 share(u64 total, u64 from, u64 to, u64 time)
{
	double part;

	if (time >= to)
		return total;
	part = total * ((double)(time - from) / (to - from));
	return part < total ? part : total;	/* @part is rounded to 53 bits */
}

/* Add @what, spread evenly between @from and @to. */
static void spread(struct timeline *timeline, u64 from, u64 to, const struct timeline_bucket *what)
{
	struct timeline_bucket done = { 0 };
	u64 end;

	to = max(to, from);	/* the record of a nested event precedes the one it interrupted */
	cover(timeline, from, to);
	from = max(from, timeline__start(timeline, 0));
	to = max(to, from);
	end = from;
	do {
		unsigned int i = index_of(timeline, end);
		struct timeline_bucket *bucket = &timeline->bucket[i];
		struct timeline_bucket next;

		end = min(to, timeline__start(timeline, i + 1));
		next.bytes = share(what->bytes, from, to, end);
		next.lost = share(what->lost, from, to, end);
		next.hole_ns = share(what->hole_ns, from, to, end);

		bucket->bytes += next.bytes - done.bytes;
		bucket->lost += next.lost - done.lost;
		bucket->hole_ns += next.hole_ns - done.hole_ns;
		done = next;
	} while (end < to);
}

void timeline__add(struct timeline *timeline, u64 from, u64 to, u64 bytes)
{
	const struct timeline_bucket what = { .bytes = bytes };

	spread(timeline, from, to, &what);
}

void timeline__lose(struct timeline *timeline, u64 from, u64 to, u64 lost)
{
	const struct timeline_bucket what = { .lost = lost, .hole_ns = to - from };

	spread(timeline, from, to, &what);
}

void timeline__fill(struct timeline *timeline, u64 time, u64 bytes, u64 size)
{
	struct timeline_bucket *bucket;

	cover(timeline, time, time);
	time = max(time, timeline__start(timeline, 0));
	bucket = &timeline->bucket[index_of(timeline, time)];
	bucket->fill = max(bucket->fill, (u32)(bytes * TIMELINE_FULL / size));
	timeline->has_fill = true;
}
