/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Advise which -m or --keep a wanted time needs (--advise).
 *
 * All events are streamed and kept for a while, as with --keep, and nothing is written. From the
 * time that this took follow the rate at which the busiest ring is written, and the memory that
 * the compressed records of a second take.
 */
#ifndef PERF_RECORDING_ADVICE_H
#define PERF_RECORDING_ADVICE_H

#include <linux/types.h>
#include "recording/keep/keep.h"
#include "recording/snapshot/coverage.h"

struct channels;
struct evlist;
struct loss_metric;

/**
 * struct advice
 * @wanted_ns:	time to be kept [ns]; 0: --advise was not given
 * @begin_ns:	begin of the measurement [ns of CLOCK_MONOTONIC]
 * @end_ns:	end of it
 * @kept:	what was kept then
 * @ring:	the busiest ring: its records, and as @size what it would need; 0: more than a ring
 *		can have
 * @nr_rings:	number of rings of the recorded events
 * @rate:	at which @ring would be written [bytes/s]
 * @keep_bytes:	memory that --keep would need [bytes]
 */
struct advice {
	u64			wanted_ns;
	u64			begin_ns;
	u64			end_ns;
	struct keep_stats	kept;
	struct coverage_ring	ring;
	unsigned int		nr_rings;
	double			rate;
	u64			keep_bytes;
};

/**
 * advice__compute - set the figures from @ring on; all records were counted
 * @channels:	the streamed ones have the events
 */
void advice__compute(struct advice *advice, const struct channels *channels,
		     const struct evlist *evlist, const struct keep *keep,
		     const struct loss_metric *metric);

#endif
