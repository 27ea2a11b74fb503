/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the tracking channel goes, and what each file knows of the tasks at its begin.
 *
 *	recorded				tracking channel	a file begins with
 *
 *	overwrite events, AUX snapshots	KEPT	live state		nothing; each snapshot with what
 *									is new in the live state
 *	also streamed ones, and		BOTH	live state, file	the live state
 *	--switch-output
 *	the same in one file		STREAMED file			what /proc says
 *	no time, --tail-synthesize
 *
 * The live state (state.h) knows from /proc what was before the recording, once. If the kernel had
 * no room for tracking records, it is read again before the state is written next.
 *
 * The records of the AUX channel's rings, which tell of the areas, go the same way; but those that
 * say which event a sample in a trace is of go with the trace (hw_ids.h).
 *
 * All in the recorder's thread, but for what comes out of the tracking rings, see drain_thread.h.
 */
#ifndef PERF_RECORDING_SIDEBAND_H
#define PERF_RECORDING_SIDEBAND_H

#include <pthread.h>
#include <stdbool.h>
#include <linux/types.h>
#include "recording/state/state.h"

struct recorder;

enum sideband_route {
	SIDEBAND_TO_FILE,
	SIDEBAND_TO_STATE,
	SIDEBAND_TO_BOTH,
};

/**
 * struct sideband
 * @rec:	whose it is
 * @route:	see above
 * @state:	the live state; not with SIDEBAND_TO_FILE
 * @reading:	lock of @state while several threads read /proc (--num-thread-synthesize)
 * @lost:	tracking records lost until /proc was read [records]
 * @initialised: the file has a PERF_RECORD_FINISHED_INIT
 */
struct sideband {
	struct recorder		*rec;
	enum sideband_route	 route;
	struct state		 state;
	pthread_mutex_t		 reading;
	u64			 lost;
	bool			 initialised;
};

/** sideband__init - choose the mode; the events are open, their rings mapped */
void sideband__init(struct sideband *sideband, struct recorder *rec);

/** sideband__exit - free the state, say what it misses */
void sideband__exit(struct sideband *sideband);

/**
 * sideband__begin - learn what was before the recording, before the first file begins
 *
 * Return: 0, or a negative errno after an error message.
 */
int sideband__begin(struct sideband *sideband);

/**
 * sideband__begin_file - a new file is there, and its events are described
 *
 * Return: 0, or a negative errno after an error message.
 */
int sideband__begin_file(struct sideband *sideband);

/** sideband__end_file - before it is closed. Return: 0, or a negative errno after an error message */
int sideband__end_file(struct sideband *sideband);

/**
 * sideband__take - for the drain_thread: take what is in a tracking ring
 * @sideband:	in the drain_thread's thread, or in the recorder's
 *
 * Return: 0, -EAGAIN if there is no room in the backlog, or the negative errno of the output.
 */
int sideband__take(void *sideband, const struct records *records, struct ring_stats *stats);

/**
 * sideband__drain - read what is in the tracking rings, or was and has not been looked at
 *
 * Return: how much there was in the rings [bytes], 0 for nothing, or a negative errno.
 */
ssize_t sideband__drain(struct sideband *sideband);

/**
 * sideband__tidy - if the live state has become large, forget what nothing refers to, or what is not
 * mapped any more; after a drain
 *
 * Return: 0, or a negative errno.
 */
int sideband__tidy(struct sideband *sideband);

/**
 * sideband__begin_snapshot - what the snapshot needs that is to be written; the rings are drained
 *
 * Return: 0, or a negative errno.
 */
int sideband__begin_snapshot(struct sideband *sideband);

/**
 * sideband__end_snapshot - it was written
 * @horizon:	of the snapshot (snapshot.h)
 */
void sideband__end_snapshot(struct sideband *sideband, u64 horizon);

#endif
