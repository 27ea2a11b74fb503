/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The queue: what is to be written is copied, and written later, in a thread of its own.
 *
 *	any threads                          the queue's thread
 *
 *	write_queue__append()
 *	     |  copies to
 *	     v
 *	 @filling --> @full --- submitted ---> @flying --- in the order of the file ---> the pool
 *	     ^                  to the writer             when they are written            |
 *	     |                                                                             |
 *	     +------------------- when there is none, write_queue__append() waits ---------------+
 *
 * A ring is free again as soon as its records are copied, whatever the disk does, until the pool is
 * used up. Then the caller waits; nothing is ever dropped.
 *
 * A chunk is for the page cache, which takes it at once, until that has no room left either and has its
 * writers wait for the disk, longer than what is left of the pool may last. So when a write had to wait, chunks are
 * for direct I/O for a while, as long as more than half of the pool is used.
 *
 * A chunk is written when it is full, and an unfinished one when nothing else is being written and it
 * has waited for WRITE_QUEUE_FLUSH_MS, or at once where somebody reads it from a pipe.
 *
 * After the first error nothing more is submitted. When all that was under way has come back, the
 * file is readable up to the last record that is whole below the first byte that could not be
 * written. What lies behind, in the file and in memory, is given up, and counted.
 *
 * Files follow each other. write_queue__next() ends one: what is appended after it is the next file's, and waits
 * in @next until that is open. Meanwhile the first is written, completed and closed, and those who
 * append do not wait for it, until the pool is used up.
 *
 * Two locks, in this order: @append, which makes what a call appends one piece of the file, and
 * @lock, of everything that the queue's thread shares with others.
 */
#ifndef PERF_RECORDING_QUEUE_H
#define PERF_RECORDING_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <linux/list.h>
#include <linux/types.h>
#include "chunk_pool.h"
#include "recording/lib/records.h"

struct writer;

#define WRITE_QUEUE_FLUSH_MS		100
/* A chunk that the page cache took so long to take had to wait; and it is taken to be full for so long. */
#define WRITE_QUEUE_STALL_MS		8
#define WRITE_QUEUE_STALLED_MS	1000

/**
 * struct unsaved - records that were appended, but could not be written
 * @records:	all of them
 * @samples:	PERF_RECORD_SAMPLE
 * @bytes:	their length
 */
struct unsaved {
	u64	records;
	u64	samples;
	u64	bytes;
};

/**
 * struct write_queue
 * @failed:	called once, in the queue's thread, when writing has failed: the file is good up to
 *		position @end
 * @arg:	for @failed
 * @pool:	the chunks
 * @writer:	writes them; NULL while no file is open. Used by the queue's thread, and where nothing
 *		is on its way.
 * @append:	held while something is appended; recursive, see write_queue__hold()
 * @holder:	the thread that holds it, or 0; it alone finds its own id here
 * @filling:	receives what is appended, or NULL; changed with both locks held
 * @end:	where the next byte belongs in its file; changed with @append held
 * @written:	position below which all is written
 * @lock:	of the rest
 * @work:	the thread may have something to do
 * @room:	a chunk is free, or nothing is on its way any more
 * @full:	chunks that wait to be submitted
 * @next:	chunks that wait for the next file
 * @turned:	between write_queue__next() and write_queue__open(): @filling and @end are the next file's
 * @begin:	where that begins in its file, if @turned
 * @file_end:	and where the one before ends
 * @flying:	chunks that were; those that came back wait for those before them
 * @in_flight:	how many of them are the writer's
 * @stalled_until: the page cache is taken to be full [ns of CLOCK_MONOTONIC]; the thread's own
 * @seekable:	a regular file: unfinished chunks may wait
 * @failing:	a write has failed, others are under way
 * @err:	negative errno of that, when all of them are over: nothing can be appended any more
 * @settled:	@failed was called
 * @quit:	the thread is to end
 * @unsaved:	what was lost by @err
 * @thread:	the thread; @running until it is joined
 * @tid:	its id
 */
struct write_queue {
	void		      (*failed)(void *arg, int err, u64 end);
	void		       *arg;
	struct chunk_pool		pool;
	struct writer	       *writer;
	pthread_mutex_t		append;
	pid_t			holder;
	struct chunk	       *filling;
	u64			end;
	u64			written;
	pthread_mutex_t		lock;
	pthread_cond_t		work;
	pthread_cond_t		room;
	struct list_head	full;
	struct list_head	next;
	bool			turned;
	u64			begin;
	u64			file_end;
	struct list_head	flying;
	unsigned int		in_flight;
	u64			stalled_until;
	bool			seekable;
	bool			failing;
	int			err;
	bool			settled;
	bool			quit;
	struct unsaved	unsaved;
	pthread_t		thread;
	bool			running;
	pid_t			tid;
};

/**
 * write_queue__init - allocate it, and start the thread
 * @failed, @arg: see struct write_queue
 * @size:	of the pool [bytes]
 *
 * The thread takes no signals.
 *
 * Return: 0, or a negative errno.
 */
int write_queue__init(struct write_queue *queue, size_t size, void (*failed)(void *arg, int err, u64 end),
		void *arg);

/** write_queue__exit - end the thread; the file is closed. Harmless if the queue is zeroed */
void write_queue__exit(struct write_queue *queue);

/**
 * write_queue__open - what is appended from now on, or since write_queue__next(), goes to @fd, from @pos on
 * @writer:	by this writer; the caller's, which leaves it alone until write_queue__close()
 * @pos:	after write_queue__next() the one that was given there
 * @seekable:	a regular file
 */
void write_queue__open(struct write_queue *queue, struct writer *writer, int fd, u64 pos, bool seekable);

/**
 * write_queue__append - write whole records; in any thread
 *
 * Return: 0 when they are copied, or the negative errno of an earlier write.
 */
int write_queue__append(struct write_queue *queue, const struct records *records);

/**
 * write_queue__append_unit - append a record together with the data that it announces; in any thread
 * @unit:	the record and its data
 * @pos:	receives the position of the record in the file
 *
 * Return: as write_queue__append().
 */
int write_queue__append_unit(struct write_queue *queue, const struct records *unit, u64 *pos);

/** write_queue__hold - nobody but the calling thread appends until write_queue__release(), or in its write_queue__drain() */
void write_queue__hold(struct write_queue *queue);

void write_queue__release(struct write_queue *queue);

/**
 * write_queue__next - the file ends here: what is appended from now on is the next one's
 * @pos:	where that begins in it
 *
 * To be followed by write_queue__close(), and by write_queue__open() or write_queue__abandon().
 */
void write_queue__next(struct write_queue *queue, u64 pos);

/** write_queue__abandon - after write_queue__next(): there is no next file, for the reason @err. What waits is given up. */
void write_queue__abandon(struct write_queue *queue, int err);

/**
 * write_queue__drain - wait until all is written that was appended; after write_queue__next() before that
 *
 * Return: 0, or a negative errno.
 */
int write_queue__drain(struct write_queue *queue);

/** write_queue__error - has writing failed, and @failed was called? Return: 0, or a negative errno */
int write_queue__error(struct write_queue *queue);

/** write_queue__close - write_queue__drain(), and forget the file */
int write_queue__close(struct write_queue *queue);

/** write_queue__end - position behind the last byte appended, or after an error saved */
static inline u64 write_queue__end(const struct write_queue *queue)
{
	return __atomic_load_n(&queue->end, __ATOMIC_RELAXED);
}

/** write_queue__file_end - the same of the file that is open; when it is drained */
static inline u64 write_queue__file_end(const struct write_queue *queue)
{
	return queue->turned ? queue->file_end : write_queue__end(queue);
}

/** write_queue__written - position below which all is written */
static inline u64 write_queue__written(const struct write_queue *queue)
{
	return __atomic_load_n(&queue->written, __ATOMIC_RELAXED);
}

/** write_queue__cut - after an error, and write_queue__close(): the file is to end before write_queue__end() */
static inline void write_queue__cut(struct write_queue *queue, u64 end)
{
	__atomic_store_n(&queue->end, end, __ATOMIC_RELAXED);
}

#endif
