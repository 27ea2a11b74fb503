/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Drain the tracking rings in time, whatever the main thread does.
 *
 *	tracking rings --- drain thread, ---> fixup ---+--> file, where side-band is streamed
 *	                   or main thread              |
 *	                                               +--> backlog ---> live state
 *	                                                    bounded      in the main thread
 *
 * The main thread is of the normal scheduling class, and its work on side-band records may take
 * long: a large live state, a snapshot of it being written. So a thread of its own, scheduled like
 * the readers (reader_sched.h), copies the records to a backlog and wakes the main thread up; it
 * does nothing else. While the backlog is full it leaves the records in the rings, and goes on with
 * the ring whose records had no space, so that all rings get their share of a storm.
 *
 * @lock serializes draining. The main thread drains as well, when it must know all that was
 * published, and holds @lock while nothing may be drained.
 */
#ifndef PERF_RECORDING_DRAIN_THREAD_H
#define PERF_RECORDING_DRAIN_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <linux/types.h>
#include "recording/lib/pollset.h"
#include "recording/lib/records.h"
#include "recording/ring/drain.h"
#include "recording/state/fixup.h"

struct channel;
struct evlist;
struct readers;

/*
 * Side-band of a storm of processes in one second; more if the rings are larger [bytes, power of
 * two].
 */
#define BACKLOG_BYTES	(8UL << 20)

/**
 * struct drain_thread
 * @channel:	the tracking rings
 * @evlist:	their events
 * @readers:	it wakes the main thread up as they do, and is scheduled as they are
 * @to_file:	writes the records to the file; NULL: the file does not get them from here
 * @to_backlog:	copy the records to the backlog
 * @raw:	takes records from the rings, with @lock held; -EAGAIN if the backlog has no space
 *		for them
 * @fixed:	takes records of true size
 * @copy:	of a record that is fixed up; used with @lock held
 * @lock:	recursive; held while the rings are drained
 * @next:	index of the ring to drain next
 * @page:	control page of the backlog, with @data_head and @data_tail: as of a ring
 * @backlog:	@size bytes behind @page
 * @fd:		of the memory of both, for the guard (keep/guard.h); or -1
 * @pollset:	what the thread waits for
 * @no_tasks:	all tasks that the rings belong to have exited
 * @quit:	the thread is to end
 * @thread:	valid if @running
 */
struct drain_thread {
	struct channel		*channel;
	struct evlist		*evlist;
	struct readers		*readers;
	struct record_sink	*to_file;
	bool			 to_backlog;
	struct record_sink	 raw;
	struct record_sink	 fixed;
	union fixup_copy	 copy;
	pthread_mutex_t		 lock;
	int			 next;
	struct perf_event_mmap_page *page;
	void			*backlog;
	size_t			 size;
	int			 fd;
	struct pollset		 pollset;
	bool			 no_tasks;
	bool			 quit;
	pthread_t		 thread;
	bool			 running;
};

/**
 * drain_thread__init - set the rings' @pollset, allocate the backlog
 * @drain_thread: zeroed; @to_file and @to_backlog are to be set before the first drain
 * @shared:	another process is to map the backlog, too
 *
 * Return: 0, or a negative errno after an error message.
 */
int drain_thread__init(struct drain_thread *drain_thread, struct channel *channel,
		       struct evlist *evlist, struct readers *readers, bool shared);

/**
 * drain_thread__start - start the thread, unless there are to be no threads
 *
 * Return: 0, or a negative errno after an error message.
 */
int drain_thread__start(struct drain_thread *drain_thread);

/**
 * drain_thread__stop - end the thread; what the rings get from now on is left to the main thread
 */
void drain_thread__stop(struct drain_thread *drain_thread);

/** drain_thread__exit - free everything; harmless if zeroed */
void drain_thread__exit(struct drain_thread *drain_thread);

/** drain_thread__hold - take @lock: only the calling thread drains until drain_thread__release() */
void drain_thread__hold(struct drain_thread *drain_thread);

void drain_thread__release(struct drain_thread *drain_thread);

/** backlog_consume_t - take over records of the backlog, in the main thread */
typedef void (*backlog_consume_t)(void *arg, const struct records *records);

/**
 * drain_thread__drain - drain all rings, then empty the backlog; in the main thread
 * @consume:	gets the records of the backlog; not called without @to_backlog
 *
 * Drains each ring once: everything that was published before the call, and not what is published
 * meanwhile. Makes space in a full backlog by @consume.
 *
 * Return: length of the records that were in the rings [bytes], or a negative errno.
 */
ssize_t drain_thread__drain(struct drain_thread *drain_thread, backlog_consume_t consume,
			    void *arg);

/**
 * drain_thread__no_tasks - have all tasks exited? True, too, where no thread runs that would know.
 */
static inline bool drain_thread__no_tasks(const struct drain_thread *drain_thread)
{
	return !drain_thread->running ||
	       __atomic_load_n(&drain_thread->no_tasks, __ATOMIC_RELAXED);
}

#endif
