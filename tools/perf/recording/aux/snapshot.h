/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Snapshots of AUX areas (-S): what they hold that is new.
 *
 * A driver says how far it has come when its event stops, and not before: while it runs, neither
 * aux_head nor aux_written are true. So the trace is stopped for the copy, of all areas at once, and
 * goes on when the last one is copied. What a task does meanwhile is not traced; it is not stopped.
 * Only what is new is copied, to memory, so this takes a memcpy of it and not as long as the disk.
 *
 *	cap_aux_written		The snapshot has exactly what was written since the one before, or
 *				the newest bytes of it, and tells how many are missing.
 *	without			util guesses from what is in the area; bytes may be in two snapshots.
 *
 * There are two sets of copies (double_buffer.h), so that a slow output delays no copy. One thread may take
 * while another writes.
 */
#ifndef PERF_RECORDING_AUX_SNAPSHOT_H
#define PERF_RECORDING_AUX_SNAPSHOT_H

#include <stdbool.h>
#include <linux/types.h>
#include "recording/lib/double_buffer.h"

struct aux;
struct aux_copy;
struct output;

/**
 * struct aux_snapshot_stats - one snapshot, all areas
 * @requests:	how often it was taken before it was written; 0 if there was nothing to write
 * @bytes:	of the trace, written
 * @areas:	that had any
 * @gone:	bytes written since the previous snapshot that are not in this one; only of areas that
 *		count
 * @counted:	all areas do
 * @stopped_ns:	how long the trace was stopped for the copies, all requests together [ns]; 0 if it
 *		was disabled anyway
 */
struct aux_snapshot_stats {
	unsigned int	requests;
	u64		bytes;
	unsigned int	areas;
	u64		gone;
	bool		counted;
	u64		stopped_ns;
};

/**
 * struct aux_set - a copy of each area
 * @images:	in the order of the areas
 * @references:	of the newest byte of each, see auxtrace_record__reference()
 * @stats:	of the requests so far; the rest is known when they are written
 */
struct aux_set {
	struct aux_copy		*images;
	u64				*references;
	struct aux_snapshot_stats	 stats;
};

/**
 * struct aux_snapshotter
 * @aux:	whose areas
 * @buffer:	which of @sets is filled, which is written
 * @sets:	of copies; without -S they have none
 */
struct aux_snapshotter {
	struct aux	*aux;
	struct double_buffer buffer;
	struct aux_set	 sets[2];
};

#ifdef HAVE_AUXTRACE_SUPPORT

/**
 * aux_snapshotter__init - allocate the sets; the areas are mapped
 *
 * Memory: twice the size of all areas, as far as they are used.
 *
 * Return: 0 (also without -S), or -ENOMEM after an error message.
 */
int aux_snapshotter__init(struct aux_snapshotter *snapshotter, struct aux *aux);

/** aux_snapshotter__exit - free them; harmless if there are none */
void aux_snapshotter__exit(struct aux_snapshotter *snapshotter);

/**
 * aux_snapshotter__take - copy what is new in the areas
 * @last:	the trace need not go on
 *
 * With @aux->enabling held.
 *
 * Return: 0, or a negative errno after an error message.
 */
int aux_snapshotter__take(struct aux_snapshotter *snapshotter, bool last);

/** aux_snapshotter__flush - have the kernel make records of all that was traced, and go on. As take. */
int aux_snapshotter__flush(struct aux_snapshotter *snapshotter);

/**
 * aux_snapshotter__hand_over - from now on what is taken belongs to the next snapshot
 *
 * Waits for a copy that is being taken, not longer.
 */
void aux_snapshotter__hand_over(struct aux_snapshotter *snapshotter);

/**
 * aux_snapshotter__write - write what was handed over
 * @stats:	receives all figures
 *
 * In the thread that handed it over.
 *
 * Return: 0, or the negative errno of the output.
 */
int aux_snapshotter__write(struct aux_snapshotter *snapshotter, struct output *output,
			   struct aux_snapshot_stats *stats);

#else

static inline int aux_snapshotter__init(struct aux_snapshotter *snapshotter __maybe_unused,
					struct aux *aux __maybe_unused)
{
	return 0;
}

static inline void aux_snapshotter__exit(struct aux_snapshotter *snapshotter __maybe_unused)
{
}

static inline int aux_snapshotter__take(struct aux_snapshotter *snapshotter __maybe_unused,
					bool last __maybe_unused)
{
	return 0;
}

static inline int aux_snapshotter__flush(struct aux_snapshotter *snapshotter __maybe_unused)
{
	return 0;
}

static inline void aux_snapshotter__hand_over(struct aux_snapshotter *snapshotter __maybe_unused)
{
}

static inline int aux_snapshotter__write(struct aux_snapshotter *snapshotter __maybe_unused,
					 struct output *output __maybe_unused,
					 struct aux_snapshot_stats *stats)
{
	*stats = (struct aux_snapshot_stats){ 0 };
	return 0;
}

#endif

#endif
