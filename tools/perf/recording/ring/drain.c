// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/ring_buffer.h>
#include "util/debug.h"
#include "channel.h"
#include "drain.h"
#include "sample_ids.h"
#include "recording/lib/records.h"
#include "recording/stats/timeline.h"

/* Stands for the size of two records until the first ones have been read [bytes] */
#define MIN_FREE	4096U

/* Is there no space for another record, and one that tells of a loss? */
static bool is_full(const struct ring *ring, u64 len)
{
	size_t free = ring__size(ring) - len;

	return free < max(2 * ring->stats.max_size, min(MIN_FREE, (u32)ring__size(ring) / 4));
}

int ring__drain(struct ring *ring, size_t min_bytes, struct record_sink *sink, size_t *bytes)
{
	struct ring_stats *stats = &ring->stats;
	u64 tail = ring->map.prev, head, len;
	struct records records;
	int ret;

	doorbell__clear(&ring->doorbell);
	head = ring_buffer_read_head(ring->map.base);					/* (C) */
	len = bytes_between(tail, head);
	if (!len || len < min_bytes)
		return 0;
	if (len > ring__size(ring)) {
		pr_err("Cannot drain a ring of %zu bytes: the kernel wrote %llu bytes past data_tail.\n",
		       ring__size(ring), (unsigned long long)len);
		return -EIO;
	}
	stats->is_full = is_full(ring, len);
	records = records__of_ring(ring__data(ring), ring__size(ring), tail, tail + len);
	ret = sample_ids__pass(&records, sink, ring);
	if (ret < 0)
		return ret;
	if (stats->timeline && stats->last)
		timeline__fill(stats->timeline, stats->last, len, ring__size(ring));
	ring->map.prev = head;
	ring_buffer_write_tail(ring->map.base, head);					/* (D) */
	*bytes += len;
	return ret;
}

ssize_t channel__drain(struct channel *channel, struct record_sink *sink)
{
	struct ring *ring;
	size_t bytes = 0;
	int ret;

	channel__for_each_ring(channel, ring) {
		ret = ring__drain(ring, 0, sink, &bytes);
		if (ret < 0)
			return ret;
	}
	return bytes;
}
