/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Snapshots of the overwrite channel: what its rings hold now, without stopping anybody.
 *
 * How a ring is copied while it is written, and what is promised of a copy, is libperf's
 * (perf/overwrite.h). There are two sets of copies (double_buffer.h): what is taken while the output is
 * busy extends what was taken before. Any number of requests become one snapshot, in the memory of two
 * copies of each ring.
 *
 * One thread may take while another writes.
 */
#ifndef PERF_RECORDING_OVERWRITE_H
#define PERF_RECORDING_OVERWRITE_H

#include <stdbool.h>
#include <linux/types.h>
#include <perf/overwrite.h>
#include "recording/lib/double_buffer.h"
#include "recording/stats/ring_stats.h"

struct channel;
struct evlist;
struct output;

/**
 * struct snapshot_stats - one snapshot, all rings
 * @written:	what was written
 * @overwritten: bytes recorded since the previous snapshot that were gone before they could be
 *		kept [bytes]
 * @begin:	time of the oldest record, in the events' clock [ns]; 0 if records have no time
 * @end:	time of the newest record [ns]
 * @requests:	how often it was taken before it was written; 0 if there was nothing to write
 * @horizon:	whatever is taken into later snapshots is newer than this [ns]; 0 if unknown
 * @latency_ns:	from the event that triggered it to the end of the copy, the longest of them [ns]; 0
 *		if none did
 * @taken:	of all requests together
 */
struct snapshot_stats {
	struct ring_stats	written;
	u64		overwritten;
	u64		begin;
	u64		end;
	unsigned int	requests;
	u64		horizon;
	u64		latency_ns;
	struct perf_snapshot_stats taken;
};

/**
 * struct snapshot_set - a snapshot of each ring
 * @snapshots:	libperf's, in the order of the rings
 * @stats:	of the requests so far; the rest is known when they are written
 */
struct snapshot_set {
	struct perf_snapshot	**snapshots;
	struct snapshot_stats	  stats;
};

/**
 * struct snapshotter - what is needed to take snapshots of one channel
 * @channel:	the overwrite channel
 * @rings:	one for each mapped ring
 * @nr:		number of @rings
 * @buffer:	which of @sets is filled, which is written; its lock is the rings', too
 * @sets:	of copies
 * @settled:	see snapshotter__set_settled()
 */
struct snapshotter {
	struct channel		 *channel;
	struct perf_overwrite	**rings;
	int			  nr;
	struct double_buffer	  buffer;
	struct snapshot_set	  sets[2];
	u64			  settled;
};

/**
 * snapshotter__init - allocate the sets
 * @kind:	how the events of the channel were opened
 *
 * Memory: twice the size of all rings.
 *
 * Return: 0 (also without any overwrite ring), or a negative errno after an error message.
 */
int snapshotter__init(struct snapshotter *snapshotter, struct channel *channel,
		      enum perf_overwrite_kind kind);

/** snapshotter__exit - free them; harmless if there are none */
void snapshotter__exit(struct snapshotter *snapshotter);

/**
 * snapshotter__take - copy what is new in the rings
 * @event_time:	when the event happened that triggered it [ns of CLOCK_MONOTONIC], or 0
 *
 * Takes as long as a memcpy of the rings, and grace periods where the kernel needs them. In any
 * thread.
 */
void snapshotter__take(struct snapshotter *snapshotter, u64 event_time);

/** snapshotter__pending - was anything taken since the last snapshotter__hand_over()? */
bool snapshotter__pending(struct snapshotter *snapshotter);

/**
 * snapshotter__hand_over - from now on what is taken belongs to the next snapshot
 *
 * Waits for a copy that is being taken, not longer.
 */
void snapshotter__hand_over(struct snapshotter *snapshotter);

/**
 * snapshotter__write - write what was handed over
 * @evlist:	to find the time of a record
 * @stats:	receives all figures
 *
 * In the thread that handed it over.
 *
 * Return: 0, or the negative errno of the output.
 */
int snapshotter__write(struct snapshotter *snapshotter, struct evlist *evlist,
		       struct output *output, struct snapshot_stats *stats);

/**
 * snapshotter__set_settled - no record of any ring that comes from now on is older than @time
 *
 * In the thread that writes. Until it is called, nothing is known of that.
 */
void snapshotter__set_settled(struct snapshotter *snapshotter, u64 time);

/**
 * snapshotter__look - see what snapshots to come could hold
 * @see:	called with each record that is in a ring and was not taken; the oldest of a ring may be
 *		torn
 *
 * In the thread that writes.
 *
 * Return: 0; -EAGAIN if there is a set that waits to be written, which would have to be looked at as
 * well; -ENOMEM.
 */
int snapshotter__look(struct snapshotter *snapshotter,
		      void (*see)(void *arg, union perf_event *event), void *arg);

#endif
