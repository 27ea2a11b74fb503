/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Choose how a chunk is written: directly, or through the page cache.
 *
 * A chunk that goes from the pool to the disk costs half of the CPU time of one that is copied to
 * the page cache, needs no new memory, and evicts nothing that others need. But the page cache
 * holds gigabytes, while the pool lasts for fractions of a second. The first rule that applies
 * decides:
 *
 *	rule	condition					path
 *	1	the chunk is whole, nothing else is in		direct, and nothing else is
 *		flight, an eighth of the pool is enough, and	submitted before it is written, for
 *		rule 2 does not forbid it			DIRECT_STALL_MS
 *	3	the page cache was full, and less than half	direct, several at a time
 *		of the pool is free
 *	-	always						page cache
 *
 * Rule 2: the disk is slow if a write by rule 1 takes longer than DIRECT_STALL_MS, or if more of
 * the pool is in use. Then rule 1 does not apply for DIRECT_AVOID_S: the disk has to write what the
 * page cache holds, and the next direct write waits for that.
 *
 * The page cache is full if a write to it takes longer than DIRECT_STALL_MS: it makes its writers
 * wait for the disk. Rule 3 then applies for DIRECT_CACHE_FULL_MS.
 *
 * direct_io_test fails without any of these conditions.
 */
#ifndef PERF_RECORDING_DIRECT_IO_H
#define PERF_RECORDING_DIRECT_IO_H

#include <stdbool.h>
#include <linux/types.h>

struct chunk;
struct chunk_pool;
struct writer;

#define DIRECT_STALL_MS		20
#define DIRECT_CACHE_FULL_MS	1000
#define DIRECT_AVOID_S		10

/**
 * enum write_path - how a chunk is written
 * @WRITE_CACHED:	to the page cache
 * @WRITE_DIRECT:	directly, beside others
 * @WRITE_ALONE:	directly, by rule 1
 */
enum write_path {
	WRITE_CACHED,
	WRITE_DIRECT,
	WRITE_ALONE,
};

/**
 * struct direct_io - what the choice depends on; protected by the queue's @lock
 * @alone:	the chunk that is written by rule 1, or NULL
 * @alone_ns:	when it was submitted [ns of CLOCK_MONOTONIC]
 * @alone_from:	until then rule 1 does not apply [ns of CLOCK_MONOTONIC]
 * @cache_full_until: until then rule 3 applies [ns of CLOCK_MONOTONIC]
 */
struct direct_io {
	struct chunk	*alone;
	u64		 alone_ns;
	u64		 alone_from;
	u64		 cache_full_until;
};

/**
 * direct_io__choose - choose the path of @chunk
 * @idle:	nothing else is in flight, or waits for chunks before it
 * @now:	[ns of CLOCK_MONOTONIC]
 *
 * Sets @alone for WRITE_ALONE.
 */
enum write_path direct_io__choose(struct direct_io *direct, const struct chunk_pool *pool,
				  const struct writer *writer, struct chunk *chunk, bool idle,
				  u64 now);

/** direct_io__submitted - a chunk was submitted on @path in the time from @begin to @end [ns] */
void direct_io__submitted(struct direct_io *direct, enum write_path path, u64 begin, u64 end);

/** direct_io__waits - does the next chunk wait for @alone, instead of using the page cache? */
bool direct_io__waits(const struct direct_io *direct, const struct chunk_pool *pool, u64 now);

/** direct_io__timeout - return how long to wait for a completion [ns], or 0: as long as it takes */
u64 direct_io__timeout(const struct direct_io *direct);

/** direct_io__note_time - @alone, if there is any, was completed, or is still in flight at @now */
void direct_io__note_time(struct direct_io *direct, u64 now);

#endif
