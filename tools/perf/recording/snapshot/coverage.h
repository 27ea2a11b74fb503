/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find the time for which a snapshot is complete in all rings.
 *
 * Each ring holds its own last bytes. A ring that has overwritten nothing since the previous
 * snapshot lacks nothing. Any other ring is complete from its oldest record on. The ring whose
 * oldest record is the newest limits the snapshot:
 *
 *	CPU 0   ................rrrrrrrrrrrrrrrrrrrr	overwritten, then kept
 *	CPU 1   ..............................rrrrrr	overwritten, then kept: limits the snapshot
 *	CPU 2         r       r                r	nothing overwritten
 *	              |                       |    |
 *	              oldest           complete    newest
 */
#ifndef PERF_RECORDING_COVERAGE_H
#define PERF_RECORDING_COVERAGE_H

#include <stdbool.h>
#include <linux/types.h>

/* Time of the oldest record of a ring that has none left */
#define COVERAGE_NOTHING	((u64)-1)

/**
 * struct coverage_ring - what a snapshot holds of a ring
 * @cpu:	CPU of the ring, -1 if it is that of a thread
 * @tid:	thread of the ring if @cpu is -1
 * @size:	of the ring [bytes]
 * @bytes:	size of the records [bytes]
 * @oldest:	time of the oldest record [ns], or COVERAGE_NOTHING
 * @lost:	the ring is streamed, and lost what is older than @oldest
 */
struct coverage_ring {
	int	cpu;
	int	tid;
	u64	size;
	u64	bytes;
	u64	oldest;
	bool	lost;
};

/**
 * struct coverage - the time that a snapshot covers
 * @newest:	time of the newest record in any ring [ns]; 0 if records have no time
 * @reaching:	the ring with the oldest record; @oldest is 0 if no ring was added
 * @limiting:	of the rings that have overwritten or lost records, the one with the newest oldest
 *		record; @oldest is 0 if no ring has
 */
struct coverage {
	u64			newest;
	struct coverage_ring	reaching;
	struct coverage_ring	limiting;
};

/**
 * coverage__add - add a ring whose records have times
 * @ring:	the ring and its oldest record
 * @newest:	time of its newest record [ns], 0 if it has none
 * @overwritten: the ring has overwritten records since the previous snapshot [bytes]
 */
void coverage__add(struct coverage *coverage, const struct coverage_ring *ring, u64 newest,
		   u64 overwritten);

/**
 * coverage__lose - add a ring that was streamed meanwhile, and has lost records
 * @ring:	the ring; @oldest: time of the first record after the loss [ns]
 *
 * To be called after coverage__add(). Does nothing if the loss is older than all records.
 */
void coverage__lose(struct coverage *coverage, const struct coverage_ring *ring);

/** coverage__ns - return the length of the time for which all rings are complete [ns] */
u64 coverage__ns(const struct coverage *coverage);

/** coverage__longest_ns - return the length of the time from the oldest record of any ring [ns] */
u64 coverage__longest_ns(const struct coverage *coverage);

/** coverage__rate - return the rate at which the limiting ring is written [bytes/s], 0: unknown */
double coverage__rate(const struct coverage *coverage);

/**
 * coverage__round_size - return the size of the smallest ring of @bytes or more: a power of two
 * [bytes], or 0 if there is none
 */
u64 coverage__round_size(double bytes);

/**
 * coverage__ring_size - return the size that all rings need to cover coverage__longest_ns()
 *
 * Return: a power of two [bytes], rounded up; 0 if no ring limits the snapshot, and where it is
 * unknown.
 */
u64 coverage__ring_size(const struct coverage *coverage);

#endif
