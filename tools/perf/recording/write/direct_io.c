// SPDX-License-Identifier: GPL-2.0-only
#include <linux/kernel.h>
#include <linux/time64.h>
#include "chunk_pool.h"
#include "direct_io.h"
#include "writer.h"

#define STALL_NS	(DIRECT_STALL_MS * NSEC_PER_MSEC)
#define CACHE_FULL_NS	(DIRECT_CACHE_FULL_MS * NSEC_PER_MSEC)
#define AVOID_NS	((u64)DIRECT_AVOID_S * NSEC_PER_SEC)

/*
 * The page cache may be slow, too, so leave most of the pool for it. One chunk is being filled, one
 * waits, and one is written.
 */
static bool disk_keeps_up(const struct chunk_pool *pool)
{
	return pool->nr - pool->nr_free <= max(pool->nr / 8, 3U);
}

/*
 * Rule 1. The chunk becomes the first of all submitted: what is released behind it needs no list.
 */
static bool may_write_alone(struct direct_io *direct, const struct chunk_pool *pool,
			    const struct writer *writer, const struct chunk *chunk, bool idle,
			    u64 now)
{
	if (!writer->direct_first || chunk__space(chunk) || now < direct->alone_from)
		return false;
	if (!disk_keeps_up(pool)) {
		direct->alone_from = now + AVOID_NS;	/* rule 2 */
		return false;
	}
	return idle;
}

/* Rule 3 */
static bool cache_is_full(const struct direct_io *direct, const struct chunk_pool *pool, u64 now)
{
	return now < direct->cache_full_until && !chunk_pool__is_half_free(pool);
}

enum write_path direct_io__choose(struct direct_io *direct, const struct chunk_pool *pool,
				  const struct writer *writer, struct chunk *chunk, bool idle,
				  u64 now)
{
	if (may_write_alone(direct, pool, writer, chunk, idle, now)) {
		direct->alone = chunk;
		direct->alone_ns = now;
		return WRITE_ALONE;
	}
	return cache_is_full(direct, pool, now) ? WRITE_DIRECT : WRITE_CACHED;
}

void direct_io__submitted(struct direct_io *direct, enum write_path path, u64 begin, u64 end)
{
	if (path == WRITE_CACHED && end - begin > STALL_NS)
		direct->cache_full_until = end + CACHE_FULL_NS;
}

bool direct_io__waits(const struct direct_io *direct, const struct chunk_pool *pool, u64 now)
{
	return direct->alone && disk_keeps_up(pool) && now < direct->alone_ns + STALL_NS;
}

u64 direct_io__timeout(const struct direct_io *direct)
{
	return direct->alone ? STALL_NS : 0;
}

/* Rule 2. A write that is stuck for long counts once. */
void direct_io__note_time(struct direct_io *direct, u64 now)
{
	if (direct->alone && now - direct->alone_ns > STALL_NS && now >= direct->alone_from)
		direct->alone_from = now + AVOID_NS;
}
