/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Take snapshots of AUX areas (-S): of the bytes that are new.
 *
 * A driver publishes its position only when its event stops: while the event runs, neither aux_head
 * nor aux_written are current. So the trace is stopped for the copy, in all areas at once, and
 * resumed when the last one is copied. Meanwhile a task goes on, and is not traced. Only new bytes
 * are copied, to memory: this takes a memcpy of them, not the time of the disk.
 *
 *	cap_aux_written		The snapshot has exactly the bytes written since the previous one,
 *				or the newest of them, and the number of the missing ones.
 *	without			util guesses from the contents of the area; bytes may be in two
 *				snapshots.
 *
 * There are two sets of copies (double_buffer.h), so that a slow output delays no copy. One thread
 * may take while another writes.
 */
#ifndef PERF_RECORDING_AUX_SNAPSHOT_H
#define PERF_RECORDING_AUX_SNAPSHOT_H

#include <stdbool.h>
#include <linux/compiler.h>
#include <linux/types.h>
#include "recording/lib/double_buffer.h"

struct aux;
struct aux_copy;
struct output;

/**
 * struct aux_snapshot_stats - one snapshot, all areas
 * @requests:	number of copies taken before it was written; 0 if there was nothing to write
 * @bytes:	of the trace that were written
 * @areas:	number of areas that had new bytes
 * @overwritten: bytes traced since the previous snapshot that are not in this one; of areas that
 *		count
 * @counted:	the kernel counts the bytes of all areas
 * @stopped_ns:	how long the trace was stopped for the copies, all requests together [ns]; 0 if it
 *		was disabled anyway
 */
struct aux_snapshot_stats {
	unsigned int	requests;
	u64		bytes;
	unsigned int	areas;
	u64		overwritten;
	bool		counted;
	u64		stopped_ns;
};

/**
 * struct aux_set - a copy of each area
 * @images:	copies, in the order of the areas
 * @references:	time of the newest byte of each, see auxtrace_record__reference()
 * @stats:	of the requests so far; the rest is known when the set is written
 */
struct aux_set {
	struct aux_copy		*images;
	u64				*references;
	struct aux_snapshot_stats	 stats;
};

/**
 * struct aux_snapshotter - takes snapshots of AUX areas
 * @aux:	the areas
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
 * Memory: twice the size of all areas; pages that are never filled take none.
 *
 * Return: 0 (also without -S), or -ENOMEM after an error message.
 */
int aux_snapshotter__init(struct aux_snapshotter *snapshotter, struct aux *aux);

/** aux_snapshotter__exit - free the sets; harmless if there are none */
void aux_snapshotter__exit(struct aux_snapshotter *snapshotter);

/**
 * aux_snapshotter__take - copy the new bytes of all areas
 * @last:	leave the trace stopped
 *
 * Caller holds @aux->enabling.
 *
 * Return: 0, or a negative errno after an error message.
 */
int aux_snapshotter__take(struct aux_snapshotter *snapshotter, bool last);

/**
 * aux_snapshotter__flush - make the kernel write records of everything traced so far, and resume.
 * As take.
 */
int aux_snapshotter__flush(struct aux_snapshotter *snapshotter);

/**
 * aux_snapshotter__hand_over - end the snapshot: later copies belong to the next one
 *
 * Waits for a copy that is being taken.
 */
void aux_snapshotter__hand_over(struct aux_snapshotter *snapshotter);

/**
 * aux_snapshotter__write - write the snapshot that was handed over, in the same thread
 * @stats:	receives all figures
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
