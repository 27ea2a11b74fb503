// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compute how much memory another time would need.
 *
 *	needed = memory before anything was kept + blocks that are filled or compressed
 *		 + wanted time / measured time * all that has come since
 *
 * What has come since are the compressed records and the live state: both grow with the time.
 */
#include <linux/kernel.h>
#include "keep_internal.h"

/* Buffers that are allocated when they are first used: of zstd, of the live state. */
#define BUFFER_BYTES	(2ULL << 20)

/* The block that is filled, one that is being compressed, and spare memory. */
#define WORKING_BYTES	((KEEP_MAX_SPARE + 2) * KEEP_BLOCK_BYTES + BUFFER_BYTES)

void keep__begin(struct keep *keep)
{
	if (keep__enabled(keep))
		keep->base_bytes = keep__other_bytes(keep);
}

/* An eighth more: blocks are dropped as a whole, and not every minute is like the other. */
u64 keep__needed_bytes(const struct keep *keep, u64 bytes, u64 ns, u64 wanted_ns)
{
	u64 needed = keep->base_bytes + WORKING_BYTES + 1.125 * bytes * wanted_ns / ns;

	return max((u64)KEEP_MIN_BYTES, needed);
}

u64 keep__needed_instead(const struct keep *keep, u64 ns)
{
	u64 fixed = keep->base_bytes + WORKING_BYTES, bytes = KEEP_MIN_BLOCKS_BYTES;

	if (keep->max_bytes > fixed + bytes)
		bytes = keep->max_bytes - fixed;
	return keep__needed_bytes(keep, bytes, ns, keep->max_ns);
}

int keep__take_stock(struct keep *keep, struct keep_stats *stats)
{
	int err = keep__hand_over(keep, stats);
	u64 others, fixed = keep->base_bytes + BUFFER_BYTES;
	size_t i;

	if (err)
		return err;
	stats->bytes = 0;
	pthread_mutex_lock(&keep->lock);
	for (i = 0; i < keep->nr_taken; i++) {
		keep__wait_compressed(keep, keep->taken[i]);
		stats->bytes += keep->taken[i]->mapped;
	}
	pthread_mutex_unlock(&keep->lock);
	others = keep__other_bytes(keep);
	stats->bytes += others > fixed ? others - fixed : 0;
	keep__end_snapshot(keep, true);
	return 0;
}
