// SPDX-License-Identifier: GPL-2.0-only
#include <linux/kernel.h>
#include <linux/perf_event_trailer.h>
#include <linux/time64.h>
#include "recording/ring/channel.h"
#include "recording/stats/loss_metric.h"
#include "advice.h"

/* Smaller rings save nothing worth having. */
#define MIN_RING_BYTES	(64 << 10)

/* The oldest records of a ring may be overwritten while it is copied (perf-record(1)). */
#define COPY_NS		(50ULL * NSEC_PER_MSEC)

/* The kernel may add a trailer to each record of an overwrite ring. */
static u64 overwrite_bytes(const struct ring_stats *stats)
{
	return stats->bytes + stats->records * sizeof(struct perf_event_trailer);
}

static void find_busiest(struct advice *advice, const struct channel *channel,
			 const struct evlist *evlist)
{
	const struct ring *ring;

	channel__for_each_ring(channel, ring) {
		u64 bytes = overwrite_bytes(&ring->stats);

		if (advice->nr_rings++ && bytes <= advice->ring.bytes)
			continue;
		advice->ring = (struct coverage_ring){
			.cpu = ring->map.cpu.cpu,
			.tid = channel__ring_tid(channel, evlist, ring),
			.bytes = bytes,
		};
	}
}

void advice__compute(struct advice *advice, const struct channels *channels,
		     const struct evlist *evlist, const struct keep *keep,
		     const struct loss_metric *metric)
{
	u64 ns = max(advice->end_ns - advice->begin_ns, (u64)1), held = ns;
	u64 recorded = metric->events - min(metric->lost, metric->events);
	double lost = recorded ? (double)metric->events / recorded : 1;
	const struct channel *channel;
	double needed;

	channels__for_each_stream(channels, channel)
		find_busiest(advice, channel, evlist);
	advice->rate = lost * advice->ring.bytes * NSEC_PER_SEC / ns;
	/* An eighth more: not every minute is like the other. */
	needed = 1.125 * advice->rate * (advice->wanted_ns + COPY_NS) / NSEC_PER_SEC;
	advice->ring.size = coverage__round_size(max((double)MIN_RING_BYTES, needed));

	if (advice->kept.limit != KEEP_NO_LIMIT)
		held = max(advice->kept.end - min(advice->kept.begin, advice->kept.end), (u64)1);
	advice->keep_bytes = keep__needed_bytes(keep, lost * advice->kept.bytes, held,
						advice->wanted_ns);
}
