// SPDX-License-Identifier: GPL-2.0-only
/* Measure how much memory the kept records take. */
#include "compress.h"
#include "keep.h"

int keep__take_stock(struct keep *keep, struct keep_stats *stats)
{
	int err = keep__hand_over(keep, stats);
	u64 others, fixed = keep->base_bytes + KEEP_BUFFER_BYTES;
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
