/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Take the copies in a thread of their own.
 *
 * The disk decides how long writing a snapshot or completing a file takes. A copy must be taken at
 * its time. So there are two threads:
 *
 *	capture thread					main thread
 *
 *	waits for signals, timers, --control,		waits for drained rings and @wake_fd
 *	trigger events (trigger.h)
 *	     |						     |
 *	a snapshot is requested: copies the rings	     |
 *	into memory, at once		 -- @asked, ------>  drains, writes the copy,
 *	     |				    @wake_fd	     continues in a new file ...
 *	another is requested meanwhile:			     |
 *	extends the copy that waits			     |
 *	     |						     |
 *	stop: the last copy, then ends	 ----------------->  writes it, ends
 *
 * overwrite.h hands the copies over. A storm of requests needs no more memory than two copies:
 * requests that arrive while one is being written become one snapshot.
 *
 * The capture thread is scheduled as the writing threads are (reader_sched.h): a copy that comes
 * late has lost the incident. Its locks inherit priority. No lock that it needs is held while
 * memory is mapped, rings are read, or the disk is waited for.
 *
 * From capture__start() to capture__stop() only the capture thread uses the triggers. A thread that
 * enables or disables events holds @enabling: the capture thread for --control, --delay and copies
 * of AUX areas; the main thread when an AUX area has free space again (aux.h).
 */
#ifndef PERF_RECORDING_CAPTURE_H
#define PERF_RECORDING_CAPTURE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <linux/types.h>
#include <sys/types.h>
#include "cause.h"

struct aux_snapshotter;
struct channels;
struct evlist;
struct keep;
struct lost_counters;
struct snapshotter;
struct triggers;

/**
 * struct capture
 * @evlist:	enabled when --delay is over
 * @triggers:	what the thread waits for
 * @snapshotter: takes copies of the overwrite rings
 * @aux_snapshotter: takes copies of the AUX areas
 * @keep:	what it keeps is not dropped because of its age once a snapshot is requested; NULL
 *		with --advise, which takes no snapshots
 * @channels:	the rings
 * @lost:	receives the losses of the overwrite rings before the last copy
 * @defers:	samples may have deferred user stacks: wait for them
 * @refused:	a set of enum trigger that take no copy; set before capture__start()
 * @enabling:	see above
 * @held:	a set of enum trigger that waits until --after is over
 * @held_cause:	the first of them, with the others
 * @wake_fd:	readable when the main thread has something to do
 * @stop_fd:	makes the capture thread end
 * @asked:	a set of enum trigger that the main thread has not seen yet
 * @nr_commands: how many "snapshot" commands among them wait for their answer
 * @err:	error that ended the capture thread, negative errno, or 0; valid after
 *		capture__stop()
 * @thread:	the thread; @running until it is joined, @started once capture__start() was called
 * @go:		posted when the thread is to begin, or to end at once
 */
struct capture {
	struct evlist		*evlist;
	struct triggers		*triggers;
	struct snapshotter	*snapshotter;
	struct aux_snapshotter	*aux_snapshotter;
	struct keep		*keep;
	struct channels		*channels;
	struct lost_counters		*lost;
	bool			 defers;
	unsigned int		 refused;
	pthread_mutex_t		 enabling;
	unsigned int		 held;
	struct snapshot_cause	 held_cause;
	int			 wake_fd;
	int			 stop_fd;
	unsigned int		 asked;
	unsigned int		 nr_commands;
	int			 err;
	pthread_t		 thread;
	bool			 running;
	bool			 started;
	sem_t			 go;
};

/**
 * capture__init - create the descriptors, and the thread, which waits for capture__start()
 *
 * All up to @defers are set. The thread takes no signals.
 *
 * Return: 0, or a negative errno after an error message.
 */
int capture__init(struct capture *capture);

/** capture__start - let the thread begin; everything that it uses is initialized */
void capture__start(struct capture *capture);

/**
 * capture__take - copy the new records of overwrite rings and AUX areas; in any thread
 * @why:		a set of enum trigger. At TRIGGER_STOP alone, AUX areas are copied only with
 *		-Se.
 * @cause:	the same in detail
 *
 * Return: 0, or a negative errno after an error message.
 */
int capture__take(struct capture *capture, unsigned int why,
		  const struct snapshot_cause *cause);

/**
 * capture__asked - what was asked for since the last call
 * @nr_commands: receives the number of "snapshot" commands to answer when the copies are written
 *
 * Return: a set of enum trigger; copies that belong to it are taken.
 */
unsigned int capture__asked(struct capture *capture, unsigned int *nr_commands);

/**
 * capture__stop - have the last copy taken, unless that is done, and wait for the thread to end
 *
 * Return: 0, also if the thread never ran; or the negative errno that ended it, after an error
 * message.
 */
int capture__stop(struct capture *capture);

/** capture__exit - close the descriptors, end a thread that was never started */
void capture__exit(struct capture *capture);

#endif
