/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tracking rings are emptied in time, whatever the recorder's thread does.
 *
 *	tracking rings --- intake's thread --+--> the file, where tracking records are streamed
 *	                   or the recorder's |
 *	                                     +--> backlog ---> the live state
 *	                                          bounded      in the recorder's thread
 *
 * The recorder's thread is of the normal class, and what it does with tracking records may take long:
 * the live state is large, and a snapshot of it is written. So it finds them in a backlog, to which a
 * thread copies them that is scheduled as the readers are (reader_sched.h). That one does nothing else,
 * and wakes the recorder's thread up. When the backlog is full it leaves the rings as they are.
 *
 * Whoever holds the lock drains the rings: so the recorder's thread may, too, when it has to know all that
 * was published. It holds the lock as well when nothing must be drained.
 */
#ifndef PERF_RECORDING_INTAKE_H
#define PERF_RECORDING_INTAKE_H

#include <pthread.h>
#include <stdbool.h>
#include <linux/types.h>
#include "recording/lib/pollset.h"
#include "recording/lib/records.h"
#include "recording/ring/drain.h"

struct channel;
struct readers;

/* What a storm of processes tells in a second; more if the rings are larger [bytes, a power of two]. */
#define BACKLOG_BYTES	(8UL << 20)

/**
 * struct intake
 * @channel:	the tracking rings
 * @readers:	it wakes the recorder's thread up as they do, and is scheduled as they are
 * @drain:	gets what is in the rings, with @lock held; -EAGAIN if the backlog has no room for it
 * @arg:	its argument
 * @lock:	recursive
 * @backlog:	@size bytes, from @tail to @head in use
 * @pollset:	what the thread waits for
 * @gone:	all tasks that the rings are of are gone
 * @quit:	the thread is to end
 * @thread:	valid if @running
 */
struct intake {
	struct channel	*channel;
	struct readers	*readers;
	stream_drain_t	 drain;
	void		*arg;
	pthread_mutex_t	 lock;
	void		*backlog;
	size_t		 size;
	u64		 head;
	u64		 tail;
	struct pollset	 pollset;
	bool		 gone;
	bool		 quit;
	pthread_t	 thread;
	bool		 running;
};

/**
 * intake__init - set the rings' @pollset
 * @intake:	@drain and @arg set, the rest zeroed
 *
 * Return: 0, or a negative errno after an error message.
 */
int intake__init(struct intake *intake, struct channel *channel, struct readers *readers);

/**
 * intake__start - start the thread, if there are to be threads
 *
 * Return: 0, or a negative errno after an error message.
 */
int intake__start(struct intake *intake);

/** intake__stop - end the thread; what the rings get now is left to the recorder's */
void intake__stop(struct intake *intake);

/** intake__exit - free all; harmless if it is zeroed */
void intake__exit(struct intake *intake);

/** intake__hold - nobody but the calling thread drains the rings until intake__release() */
void intake__hold(struct intake *intake);

void intake__release(struct intake *intake);

/**
 * intake__drain - drain all rings
 *
 * Return: how much it was [bytes]; -EAGAIN if some are left because the backlog is full; or another negative
 * errno of @drain.
 */
ssize_t intake__drain(struct intake *intake);

/** intake__add - for @drain: copy to the backlog, where there must be room */
void intake__add(struct intake *intake, const struct span *span);

/** intake__has_room - for @drain, which returns -EAGAIN if there is none: is there, in the backlog? */
static inline bool intake__has_room(const struct intake *intake, const struct span *span)
{
	return intake->size - (intake->head - intake->tail) >= span__len(span);
}

/** intake__fold - hand the backlog to @fold, and empty it; in the recorder's thread */
void intake__fold(struct intake *intake, void (*fold)(void *arg, const struct span *span), void *arg);

/** intake__gone - are all tasks gone that the rings are of? Only said by a thread that runs */
static inline bool intake__gone(const struct intake *intake)
{
	return !intake->running || __atomic_load_n(&intake->gone, __ATOMIC_RELAXED);
}

#endif
