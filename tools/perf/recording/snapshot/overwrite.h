/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Take snapshots of the overwrite channel without stopping its writers.
 *
 * libperf copies a ring while it is written, and defines what a copy guarantees (perf/overwrite.h).
 * There are two sets of copies (double_buffer.h): what is taken while the output is busy extends
 * what was taken before. Any number of requests become one snapshot, in the memory of two copies of
 * each ring.
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
#include "cause.h"
#include "coverage.h"
#include "deferred.h"

struct channel;
struct channels;
struct evlist;
struct output;

/**
 * struct snapshot_stats - one snapshot, all rings
 * @written:	statistics of the records that were written
 * @overwritten: recorded since the previous snapshot, and overwritten before the copy [bytes]
 * @coverage:	the time that the records cover, in the events' clock
 * @cause:	why it was taken first; @cause.reason is NULL if there was nothing to write
 * @requests:	number of copies taken before it was written; 0 if there was nothing to write
 * @horizon:	records of later snapshots are newer than this [ns]; 0 if unknown
 * @latency_ns:	longest time from a trigger event to the end of its copy [ns]; 0 without trigger
 *		events
 * @taken:	libperf's figures, of all requests together
 * @deferred:	samples whose user stack is a record of its own
 */
struct snapshot_stats {
	struct ring_stats	written;
	u64		overwritten;
	struct coverage	coverage;
	struct snapshot_cause cause;
	unsigned int	requests;
	u64		horizon;
	u64		latency_ns;
	struct perf_snapshot_stats taken;
	struct deferred_stats	deferred;
};

/**
 * struct snapshot_set - a snapshot of each ring
 * @snapshots:	libperf's, in the order of the rings
 * @stats:	of the requests so far; the rest is known when the set is written
 */
struct snapshot_set {
	struct perf_snapshot	**snapshots;
	struct snapshot_stats	  stats;
};

/**
 * struct snapshotter - takes snapshots of all rings that overwrite themselves
 * @channels:	those of perf, and those of BPF programs
 * @rings:	one for each mapped ring
 * @handed_over: the position in each ring up to which snapshots were handed over
 * @nr:		number of @rings
 * @buffer:	which of @sets is filled, which is written; its lock is the rings', too
 * @sets:	of copies
 * @final_time:	see snapshotter__set_final_time()
 * @defers:	the kernel writes user stacks as records of their own
 */
struct snapshotter {
	struct channel		 *channels[2];
	struct perf_overwrite	**rings;
	u64			 *handed_over;
	int			  nr;
	struct double_buffer	  buffer;
	struct snapshot_set	  sets[2];
	u64			  final_time;
	bool			  defers;
};

/**
 * snapshotter__init - allocate the sets
 * @kind:	how perf's events in overwrite mode were opened
 * @defers:	see struct snapshotter
 *
 * Memory: twice the size of all rings.
 *
 * Return: 0 (also without any overwrite ring), or a negative errno after an error message.
 */
int snapshotter__init(struct snapshotter *snapshotter, struct channels *channels,
		      enum perf_overwrite_kind kind, bool defers);

/** snapshotter__exit - free the sets; harmless if there are none */
void snapshotter__exit(struct snapshotter *snapshotter);

/**
 * snapshotter__take - copy the new records of all rings; in any thread
 * @cause:	of the request
 *
 * Takes as long as a memcpy of the rings, plus grace periods where the kernel needs them.
 */
void snapshotter__take(struct snapshotter *snapshotter, const struct snapshot_cause *cause);

/** snapshotter__extend - copy what is new since snapshotter__take(), for the same request */
void snapshotter__extend(struct snapshotter *snapshotter);

/** snapshotter__pending - was anything taken since the last snapshotter__hand_over()? */
bool snapshotter__pending(struct snapshotter *snapshotter);

/**
 * snapshotter__hand_over - end the snapshot: later copies belong to the next one
 *
 * Waits for a copy that is being taken.
 */
void snapshotter__hand_over(struct snapshotter *snapshotter);

/**
 * snapshotter__write - write the snapshot that was handed over, in the same thread
 * @evlist:	to find the time of a record
 * @stats:	receives all figures
 *
 * After an error the rest of the snapshot is dropped: it is not written later either.
 *
 * Return: 0, or the negative errno of the output.
 */
int snapshotter__write(struct snapshotter *snapshotter, struct evlist *evlist,
		       struct output *output, struct snapshot_stats *stats);

/**
 * snapshotter__note_saved - what was handed over is in a completed file
 *
 * Another recorder that takes over BPF rings begins behind it.
 */
void snapshotter__note_saved(struct snapshotter *snapshotter);

/**
 * snapshotter__set_final_time - set the time that all records yet to be published are newer than
 *
 * In the thread that writes. The next copies' @horizon is this time [ns]; it is 0 before the first
 * call.
 */
void snapshotter__set_final_time(struct snapshotter *snapshotter, u64 time);

/**
 * snapshotter__look - visit the records that a later snapshot could hold; in the thread that writes
 * @see:	called with each record that is in a ring and was not taken; the oldest record of a
 *		ring may be torn
 *
 * Return: 0; -EAGAIN if a set waits to be written, whose records would have to be visited as well;
 * -ENOMEM.
 */
int snapshotter__look(struct snapshotter *snapshotter,
		      void (*see)(void *arg, union perf_event *event), void *arg);

#endif
