/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The thread that takes the copies.
 *
 * How long it takes to write a snapshot, or to complete a file, is up to the disk; when a copy must be
 * taken is not. So there are two threads:
 *
 *	capture thread					recorder's thread
 *
 *	waits for signals, timers, --control,		waits for drained rings and @wake_fd
 *	trigger events (trigger.h)
 *	     |						     |
 *	a snapshot is asked for: copies the rings	     |
 *	into memory, at once		 -- @asked, ------>  drains, writes the copy,
 *	     |				    @wake_fd	     goes on in a new file ...
 *	another is asked for meanwhile:			     |
 *	it extends the copy that waits			     |
 *	     |						     |
 *	stop: the last copy, then ends	 ----------------->  writes it, ends
 *
 * The copies are handed over by snapshot.h. A storm of requests needs no more memory than two of them:
 * those that come while one is being written become one snapshot.
 *
 * From capture__start() to capture__stop() the capture thread alone touches the triggers. Who enables or
 * disables events holds @enabling: this thread does, for --control, --delay and the copies of AUX
 * areas, and the recorder's when an AUX area has room again (aux.h).
 */
#ifndef PERF_RECORDING_CAPTURE_H
#define PERF_RECORDING_CAPTURE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <linux/types.h>
#include <sys/types.h>

struct aux_snapshotter;
struct channels;
struct evlist;
struct evsel;
struct lost_counters;
struct snapshotter;
struct triggers;

/**
 * struct capture
 * @evlist:	enabled when --delay is over
 * @triggers:	what is waited for
 * @snapshotter: takes the copies
 * @aux_snapshotter: those of AUX areas
 * @channels:	the rings
 * @lost:	receives what the overwrite rings had lost when the last copy was taken
 * @enabling:	see above
 * @wake_fd:	readable when the recorder has something to do
 * @stop_fd:	tells the capture thread to end
 * @asked:	a set of enum trigger that the recorder has not seen yet
 * @trigger_evsel: the event that triggered last, or NULL
 * @err:	why the capture thread gave up, negative errno, or 0; valid after capture__stop()
 * @thread:	the thread; @running until it is joined, @started once capture__start() was called
 * @go:		posted when it is to begin, or to end at once
 */
struct capture {
	struct evlist		*evlist;
	struct triggers		*triggers;
	struct snapshotter	*snapshotter;
	struct aux_snapshotter	*aux_snapshotter;
	struct channels		*channels;
	struct lost_counters		*lost;
	pthread_mutex_t		 enabling;
	int			 wake_fd;
	int			 stop_fd;
	unsigned int		 asked;
	struct evsel		*trigger_evsel;
	int			 err;
	pthread_t		 thread;
	bool			 running;
	bool			 started;
	sem_t			 go;
};

/**
 * capture__init - create the descriptors, and the thread, which waits for capture__start()
 *
 * All up to @lost are set. The thread takes no signals.
 *
 * Return: 0, or a negative errno after an error message.
 */
int capture__init(struct capture *capture);

/** capture__start - let the thread begin. All it works with is initialised. */
void capture__start(struct capture *capture);

/**
 * capture__take - copy what is new in all that takes snapshots; in any thread
 * @why:		a set of enum trigger. At TRIGGER_STOP alone AUX areas are copied only with -Se.
 * @event_time:	when the event happened that triggered it [ns of CLOCK_MONOTONIC], or 0
 *
 * Return: 0, or a negative errno after an error message.
 */
int capture__take(struct capture *capture, unsigned int why, u64 event_time);

/**
 * capture__asked - what was asked for since the last call
 *
 * Return: a set of enum trigger; copies that belong to it are taken.
 */
unsigned int capture__asked(struct capture *capture);

/**
 * capture__stop - have the last copy taken, unless that is done, and wait for the thread's end
 *
 * Return: 0, or the negative errno that ended it, after an error message; also 0 if it never ran.
 */
int capture__stop(struct capture *capture);

/** capture__exit - close the descriptors, and end the thread if it was never started */
void capture__exit(struct capture *capture);

#endif
