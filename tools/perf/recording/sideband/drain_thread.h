/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tracking rings are emptied in time, whatever the recorder's thread does.
 *
 *	tracking rings --- drain_thread's thread --+--> the file, where tracking records are streamed
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
#ifndef PERF_RECORDING_DRAIN_THREAD_H
#define PERF_RECORDING_DRAIN_THREAD_H

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
 * struct drain_thread
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
struct drain_thread {
	struct channel	*channel;
	struct readers	*readers;
	drain_fn_t	 drain;
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
 * drain_thread__init - set the rings' @pollset
 * @drain_thread:	@drain and @arg set, the rest zeroed
 *
 * Return: 0, or a negative errno after an error message.
 */
int drain_thread__init(struct drain_thread *drain_thread, struct channel *channel, struct readers *readers);

/**
 * drain_thread__start - start the thread, if there are to be threads
 *
 * Return: 0, or a negative errno after an error message.
 */
int drain_thread__start(struct drain_thread *drain_thread);

/** drain_thread__stop - end the thread; what the rings get now is left to the recorder's */
void drain_thread__stop(struct drain_thread *drain_thread);

/** drain_thread__exit - free all; harmless if it is zeroed */
void drain_thread__exit(struct drain_thread *drain_thread);

/** drain_thread__hold - nobody but the calling thread drains the rings until drain_thread__release() */
void drain_thread__hold(struct drain_thread *drain_thread);

void drain_thread__release(struct drain_thread *drain_thread);

/**
 * drain_thread__drain - drain all rings
 *
 * Return: how much it was [bytes]; -EAGAIN if some are left because the backlog is full; or another negative
 * errno of @drain.
 */
ssize_t drain_thread__drain(struct drain_thread *drain_thread);

/** drain_thread__add - for @drain: copy to the backlog, where there must be room */
void drain_thread__add(struct drain_thread *drain_thread, const struct records *records);

/** drain_thread__has_room - for @drain, which returns -EAGAIN if there is none: is there, in the backlog? */
static inline bool drain_thread__has_room(const struct drain_thread *drain_thread, const struct records *records)
{
	return drain_thread->size - (drain_thread->head - drain_thread->tail) >= records__len(records);
}

/** drain_thread__fold - hand the backlog to @fold, and empty it; in the recorder's thread */
void drain_thread__fold(struct drain_thread *drain_thread, void (*fold)(void *arg, const struct records *records), void *arg);

/** drain_thread__gone - are all tasks gone that the rings are of? Only said by a thread that runs */
static inline bool drain_thread__gone(const struct drain_thread *drain_thread)
{
	return !drain_thread->running || __atomic_load_n(&drain_thread->gone, __ATOMIC_RELAXED);
}

#endif
