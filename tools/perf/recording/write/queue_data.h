/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Define the queue's data, for its parts:
 *
 *	queue.c		append, begin and end of files
 *	chunk_write.c	the thread: submit chunks to the writer, complete them
 *	queue_error.c	where the file ends after an error, and which records are dropped
 *	direct_io.c	which chunks are written directly
 *
 * Each calls only those below it. queue.h explains the queue.
 */
#ifndef PERF_RECORDING_QUEUE_DATA_H
#define PERF_RECORDING_QUEUE_DATA_H

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>
#include <linux/list.h>
#include <linux/types.h>
#include <sys/syscall.h>
#include "chunk_pool.h"
#include "direct_io.h"
#include "rescue.h"
#include "tail.h"

struct writer;

#define WRITE_QUEUE_FLUSH_MS		100
/**
 * struct unsaved - records that were appended, but could not be written
 * @records:	all records
 * @samples:	PERF_RECORD_SAMPLE among them
 * @bytes:	their length
 */
struct unsaved {
	u64	records;
	u64	samples;
	u64	bytes;
};

/**
 * struct write_counters - what a queue has cost, all files together
 * @chunks:	chunks that were submitted
 * @direct:	of @chunks, those for direct I/O
 * @released:	of @chunks, those whose memory was released behind a stuck write
 * @locked:	appends that took @append: the others fitted into the chunk being filled
 * @pool_waits:	times that an append waited for a free chunk
 * @copy_waits:	times that the thread waited until a chunk was copied
 * @sleeps:	times that the thread waited for anything, but for writes
 */
struct write_counters {
	u64	chunks;
	u64	direct;
	u64	released;
	u64	locked;
	u64	pool_waits;
	u64	copy_waits;
	u64	sleeps;
};

/**
 * struct write_queue
 * @failed:	called once, in the queue's thread, when writing has failed: the file is good up to
 *		position @end
 * @arg:	argument of @failed
 * @pool:	the chunks
 * @writer:	writes the chunks; NULL while no file is open. Used by the queue's thread, or by
 *		others while no chunk is in flight.
 * @append:	held while records are appended; recursive, see write_queue__hold()
 * @holder:	the thread that holds @append by write_queue__hold(), or 0. A thread can only find
 *		its own id here.
 * @filling:	receives what is appended, or NULL; changed with both locks held
 * @tail:	where the next byte goes in its file
 * @written:	position below which everything is written
 * @lock:	protects the fields below
 * @nr_sealed:	number of the last chunk that was sealed (chunk->nr)
 * @nr_written:	number of the last chunk that is written, and all before it
 * @work:	signalled when the thread may have something to do
 * @progress:	signalled when a chunk becomes free, when one that somebody waits for is copied, or
 *		when the thread has nothing left to do
 * @full:	chunks that wait to be submitted
 * @next_full:	full chunks of the next file, until that is open
 * @in_next_file: between write_queue__next_file() and write_queue__open(): @filling and @tail
 *		belong to the next file
 * @next_start:	if @in_next_file: position where the next file's data begin
 * @file_end:	if @in_next_file: position where the data of the file before end
 * @submitted:	chunks that were submitted, in the order of the file; a completed chunk stays here
 *		until all before it are completed
 * @nr_in_flight: how many of them the writer has
 * @direct:	which chunks are written directly; @direct.alone is the first of @submitted, or NULL
 * @released:	records of the released chunks behind @direct.alone; @nr_released: number of the
 *		last one
 * @seekable:	a regular file: partly filled chunks may wait
 * @failing:	a write has failed, others may be in flight
 * @err:	negative errno of that write, once nothing is in flight: nothing can be appended any
 *		more
 * @failure_reported: @failed was called
 * @stop:	asks the thread to end
 * @unsaved:	records dropped because of @err
 * @counters:	what was done; @locked is protected by @append
 * @rescue:	receives the @unsaved records that name tasks and maps, or NULL; set by the caller
 *		after write_queue__init(), and owned by the caller again when @err is known
 * @thread:	the thread; @running until it is joined
 */
struct write_queue {
	void		      (*failed)(void *arg, int err, u64 end);
	void		       *arg;
	struct chunk_pool	pool;
	struct writer	       *writer;
	pthread_mutex_t		append;
	pid_t			holder;
	struct chunk	       *filling;
	struct tail		tail;
	u64			written;
	pthread_mutex_t		lock;
	u64			nr_sealed;
	u64			nr_written;
	pthread_cond_t		work;
	pthread_cond_t		progress;
	struct list_head	full;
	struct list_head	next_full;
	bool			in_next_file;
	u64			next_start;
	u64			file_end;
	struct list_head	submitted;
	unsigned int		nr_in_flight;
	struct direct_io	direct;
	struct unsaved		released;
	u64			nr_released;
	bool			seekable;
	bool			failing;
	int			err;
	bool			failure_reported;
	bool			stop;
	struct unsaved		unsaved;
	struct write_counters	counters;
	struct rescue	       *rescue;
	pthread_t		thread;
	bool			running;
};

/**
 * write_queue__end - position behind the last byte appended, or after an error behind the last
 * saved
 */
static inline u64 write_queue__end(const struct write_queue *queue)
{
	return tail__pos(&queue->tail);
}

/**
 * write_queue__file_end - the same position in the file that is open; valid when that is flushed
 */
static inline u64 write_queue__file_end(const struct write_queue *queue)
{
	return queue->in_next_file ? queue->file_end : write_queue__end(queue);
}

/** write_queue__written - position below which everything is written */
static inline u64 write_queue__written(const struct write_queue *queue)
{
	return __atomic_load_n(&queue->written, __ATOMIC_RELAXED);
}

/** write_queue__truncate - after write_queue__close(): move write_queue__end() back to @end */
static inline void write_queue__truncate(struct write_queue *queue, u64 end)
{
	tail__set(&queue->tail, end);
}

/** own_tid - return the id of the calling thread */
static inline pid_t own_tid(void)
{
	return syscall(__NR_gettid);
}

/**
 * write_queue__seal - let the thread write the chunk that is being filled.
 *
 * Caller holds both locks.
 */
static inline void write_queue__seal(struct write_queue *queue)
{
	if (!queue->filling)
		return;
	tail__close(&queue->tail);
	chunk__seal(queue->filling);
	queue->filling->nr = ++queue->nr_sealed;
	list_add_tail(&queue->filling->node,
		      queue->in_next_file ? &queue->next_full : &queue->full);
	queue->filling = NULL;
	pthread_cond_signal(&queue->work);
}

#endif
