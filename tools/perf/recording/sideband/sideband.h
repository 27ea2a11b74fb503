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
 * say which event a sample in a trace is of go with the trace (aux_outputs.h).
 *
 * All in the recorder's thread, but for what comes out of the tracking rings, see intake.h.
 */
#ifndef PERF_RECORDING_TRACKER_H
#define PERF_RECORDING_TRACKER_H

#include <pthread.h>
#include <stdbool.h>
#include <linux/types.h>
#include "recording/state/state.h"

struct recorder;

enum tracker_mode {
	TRACKER_STREAMED,
	TRACKER_KEPT,
	TRACKER_BOTH,
};

/**
 * struct tracker
 * @rec:	whose it is
 * @mode:	see above
 * @state:	the live state; not with TRACKER_STREAMED
 * @reading:	lock of @state while several threads read /proc (--num-thread-synthesize)
 * @lost:	tracking records lost until /proc was read [records]
 * @initialised: the file has a PERF_RECORD_FINISHED_INIT
 */
struct tracker {
	struct recorder		*rec;
	enum tracker_mode	 mode;
	struct state		 state;
	pthread_mutex_t		 reading;
	u64			 lost;
	bool			 initialised;
};

/** tracker__init - choose the mode; the events are open, their rings mapped */
void tracker__init(struct tracker *tracker, struct recorder *rec);

/** tracker__exit - free the state, say what it misses */
void tracker__exit(struct tracker *tracker);

/**
 * tracker__begin - learn what was before the recording, before the first file begins
 *
 * Return: 0, or a negative errno after an error message.
 */
int tracker__begin(struct tracker *tracker);

/**
 * tracker__begin_file - a new file is there, and its events are described
 *
 * Return: 0, or a negative errno after an error message.
 */
int tracker__begin_file(struct tracker *tracker);

/** tracker__end_file - before it is closed. Return: 0, or a negative errno after an error message */
int tracker__end_file(struct tracker *tracker);

/**
 * tracker__take - for the intake: take what is in a tracking ring
 * @tracker:	in the intake's thread, or in the recorder's
 *
 * Return: 0, -EAGAIN if there is no room in the backlog, or the negative errno of the output.
 */
int tracker__take(void *tracker, const struct span *span, struct account *account);

/**
 * tracker__drain - read what is in the tracking rings, or was and has not been looked at
 *
 * Return: how much there was in the rings [bytes], 0 for nothing, or a negative errno.
 */
ssize_t tracker__drain(struct tracker *tracker);

/**
 * tracker__tidy - if the live state has become large, forget what nothing refers to, or what is not
 * mapped any more; after a drain
 *
 * Return: 0, or a negative errno.
 */
int tracker__tidy(struct tracker *tracker);

/**
 * tracker__begin_snapshot - what the snapshot needs that is to be written; the rings are drained
 *
 * Return: 0, or a negative errno.
 */
int tracker__begin_snapshot(struct tracker *tracker);

/**
 * tracker__end_snapshot - it was written
 * @horizon:	of the snapshot (snapshot.h)
 */
void tracker__end_snapshot(struct tracker *tracker, u64 horizon);

#endif
