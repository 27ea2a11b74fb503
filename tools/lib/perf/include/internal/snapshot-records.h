/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finding the records in memory that nobody writes to any more, and putting them in order.
 *
 * Sized records are found from their end, by their trailers, and are in order:
 *
 *	| ... cut off | oldest, trailer |  record, trailer  | newest, trailer |
 *	                                                            <-- from here
 * Backward ones are found from their begin, by their headers, and are newest first:
 *
 *	| newest | record | oldest | cut off ... |
 *	 from here -->
 *
 * Either way the walk goes from the newest to the oldest, and ends with the last one that is whole.
 * Nothing but the bytes themselves is trusted: any are walked without harm.
 */
#ifndef __LIBPERF_INTERNAL_SNAPSHOT_RECORDS_H
#define __LIBPERF_INTERNAL_SNAPSHOT_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/**
 * struct perf_walk - what a walk found
 * @bytes:	length of the whole records as they were written [bytes]
 * @nr:		how many they are
 * @newest:	length of the newest as it is now [bytes]
 * @cut:	what is left at the old end may be the rest of a record; it is none of the kernel's
 *		otherwise. False also if nothing is left.
 */
struct perf_walk {
	size_t	bytes;
	u64	nr;
	size_t	newest;
	bool	cut;
};

/**
 * perf_records__turn - the records of a backward ring, turned round in place
 * @data:	where the newest begins
 * @len:	bytes from there on
 *
 * Afterwards they are the first @walk->bytes of @data, oldest first.
 */
void perf_records__turn(void *data, size_t len, struct perf_walk *walk);

/**
 * perf_records__strip - the records of a sized ring, without their trailers, in place
 * @end:	where the newest ends
 * @len:	bytes before that
 * @position:	that of @end in the ring, which the trailers must agree with
 *
 * Return: where the oldest begins. They are 8 bytes each shorter, and end so much earlier.
 */
void *perf_records__strip(void *end, size_t len, u64 position, struct perf_walk *walk);

#endif /* __LIBPERF_INTERNAL_SNAPSHOT_RECORDS_H */
