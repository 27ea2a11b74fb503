// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/ring_buffer.h>
#include "util/debug.h"
#include "channel.h"
#include "recording/lib/records.h"
#include "drain.h"
#include "recording/stats/timeline.h"

ssize_t ring__drain(struct ring *ring, size_t least, drain_fn_t drain, void *arg)
{
	u64 tail = ring->map.prev, head = ring_buffer_read_head(ring->map.base);	/* (C) */
	struct records records;
	int err;

	if (head == tail || head - tail < least)
		return 0;
	if (head - tail > ring__size(ring)) {
		pr_err("The kernel wrote %llu bytes past the tail of a ring of %zu bytes.\n",
		       (unsigned long long)(head - tail), ring__size(ring));
		return -EIO;
	}
	records = records__of_ring(ring__data(ring), ring__size(ring), tail, head);
	err = drain(arg, &records, &ring->stats);
	if (err)
		return err;
	if (ring->stats.timeline && ring->stats.last)
		timeline__fill(ring->stats.timeline, ring->stats.last, head - tail,
			       ring__size(ring));
	ring->map.prev = head;
	ring_buffer_write_tail(ring->map.base, head);					/* (D) */
	return head - tail;
}

ssize_t channel__drain(struct channel *channel, drain_fn_t drain, void *arg)
{
	struct ring *ring;
	ssize_t bytes = 0, ret;

	channel__for_each_ring(channel, ring) {
		ret = ring__drain(ring, 0, drain, arg);
		if (ret < 0)
			return ret;
		bytes += ret;
	}
	return bytes;
}
