/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Snapshots of overwrite rings: what they hold now, without stopping anybody.
 *
 *   take:   copy every ring     [ writers go on ]
 *           one grace period    [ writers go on ]   grace.h, serves all rings
 *           read every data_head again, keep what was whole       backward.h
 *           only for rings that went round meanwhile: pause, grace period, copy, resume
 *   write:  turn each copy round, oldest record first, and write it
 *
 * Between the two the rings are free: how slow the output is changes nothing about what is kept.
 * What this promises, on any kernel that has write_backward:
 *
 *  - a record is written whole or not at all;
 *  - a snapshot holds, of each ring, the newest records written since the previous snapshot,
 *    without a hole between its first and its last;
 *  - consecutive snapshots neither miss nor repeat a record, unless the ring went round in
 *    between; then the number of bytes that were overwritten unread is known exactly.
 *
 * Why it holds: Documentation/perf-record-snapshots.rst.
 */
#ifndef PERF_RECORDING_SNAPSHOT_H
#define PERF_RECORDING_SNAPSHOT_H

#include <linux/types.h>
#include "account.h"
#include "backward.h"
#include "grace.h"

struct channel;
struct ring;
struct evlist;
struct output;

/**
 * struct snapshot_stats - one snapshot, all rings
 * @account:	what was written
 * @overwritten: bytes recorded since the previous snapshot that were gone before they could be
 *		kept [bytes]
 * @given_up:	of those, bytes copied but overtaken by the writers meanwhile [bytes]
 * @begin:	time of the oldest record, in the events' clock [ns]; 0 if records have no time
 * @end:	time of the newest record [ns]
 * @paused:	rings that had to be paused
 * @copy_ns:	duration of the copies of running rings [ns]
 * @grace_ns:	duration of their grace period [ns]
 * @paused_ns:	how long the paused ones were [ns]
 */
struct snapshot_stats {
	struct account	account;
	u64		overwritten;
	u64		given_up;
	u64		begin;
	u64		end;
	unsigned int	paused;
	u64		copy_ns;
	u64		grace_ns;
	u64		paused_ns;
};

/**
 * struct ring_copy
 * @ring:	what is copied
 * @image:	the copy
 * @paused:	it must be paused to be copied; valid for one snapshot
 */
struct ring_copy {
	struct ring		*ring;
	struct backward_image	 image;
	bool			 paused;
};

/**
 * struct snapshotter - what is needed to take snapshots of one channel
 * @channel:	the overwrite channel
 * @copies:	one for each mapped ring
 * @nr:		number of @copies
 * @turned:	room for the largest image, oldest record first; shared by all
 * @grace:	how this system lets us wait for writers
 */
struct snapshotter {
	struct channel		*channel;
	struct ring_copy	*copies;
	int			 nr;
	void			*turned;
	enum grace_kind		 grace;
};

/**
 * snapshotter__init - allocate the copies, find out how to wait
 *
 * Memory: the size of all rings, plus one ring.
 *
 * Return: 0 (also without any overwrite ring), or a negative errno after an error message.
 */
int snapshotter__init(struct snapshotter *snapshotter, struct channel *channel);

/** snapshotter__exit - free the copies; harmless if there are none */
void snapshotter__exit(struct snapshotter *snapshotter);

/**
 * snapshotter__take - copy the rings
 * @stats:	receives the durations and what was overwritten
 *
 * Takes as long as a memcpy of the rings and one grace period, two if some must be paused.
 *
 * Return: 0, or a negative errno after an error message.
 */
int snapshotter__take(struct snapshotter *snapshotter, struct snapshot_stats *stats);

/**
 * snapshotter__write - write what the last snapshotter__take() copied
 * @evlist:	to find the time of a record
 * @stats:	receives counts and times
 *
 * Return: 0, or the negative errno of the output.
 */
int snapshotter__write(struct snapshotter *snapshotter, struct evlist *evlist,
		       struct output *output, struct snapshot_stats *stats);

#endif
