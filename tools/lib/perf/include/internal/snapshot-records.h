/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find the records in a private copy of a ring's data, and sort them from oldest to newest.
 *
 * Sized records are found from their end, by their trailers, and are in order:
 *
 *	| ... truncated | oldest, trailer |  record, trailer  | newest, trailer |
 *	                                                              <-- walk
 * Backward records are found from their beginning, by their headers, and are in reverse order:
 *
 *	| newest | record | oldest | truncated ... |
 *	 walk -->
 *
 * In both kinds the walk goes from the newest to the oldest record, and stops after the last
 * complete one. The bytes are untrusted: any bytes are walked without harm.
 */
#ifndef __LIBPERF_INTERNAL_SNAPSHOT_RECORDS_H
#define __LIBPERF_INTERNAL_SNAPSHOT_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/**
 * struct perf_walk - what a walk found
 * @bytes:	size of the complete records as the kernel wrote them [bytes]
 * @nr:		number of complete records
 * @newest:	size of the newest record in its final form [bytes]
 * @truncated:	the bytes left at the old end can be the rest of a record. False if no bytes are
 *		left, or if the kernel cannot have written them.
 */
struct perf_walk {
	size_t	bytes;
	u64	nr;
	size_t	newest;
	bool	truncated;
};

/**
 * perf_records__reverse - reverse the order of the records of a backward ring, in place
 * @data:	where the newest record begins
 * @len:	bytes from there on
 * @walk:	receives what was found
 *
 * Afterwards the records are the first @walk->bytes of @data, oldest first.
 */
void perf_records__reverse(void *data, size_t len, struct perf_walk *walk);

/**
 * perf_records__strip - strip the trailers from the records of a sized ring, in place
 * @end:	where the newest record ends
 * @len:	bytes before @end that may be read
 * @position:	position of @end in the ring, which the trailers must agree with
 * @walk:	receives what was found
 *
 * Each record becomes 8 bytes shorter; the following ones move down by as much.
 *
 * Return: where the oldest record begins.
 */
void *perf_records__strip(void *end, size_t len, u64 position, struct perf_walk *walk);

#endif /* __LIBPERF_INTERNAL_SNAPSHOT_RECORDS_H */
