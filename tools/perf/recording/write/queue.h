/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Queue records for the file: copy them into chunks, and write those in a thread of the queue.
 *
 *	any thread                          the queue's thread
 *
 *	write_queue__append()
 *	     |  copies to
 *	     v
 *	 @filling --> @full ---- submitted --> @submitted ---- freed in the order ---> the pool
 *	     ^                 to the writer                    of the file             |
 *	     |                                                                          |
 *	     +--- write_queue__append() waits here while the pool has no free chunk ----+
 *
 * A kernel ring is free again as soon as its records are copied, however slow the disk is, until
 * the pool has no free chunk. Then the caller waits. The queue never drops records, except after an
 * error.
 *
 * Choosing direct I/O: a chunk that goes from the pool to the disk costs half of the CPU time of
 * one that is copied to the page cache, needs no new memory, and evicts nothing that others need.
 * But the page cache holds gigabytes, while the pool lasts for fractions of a second. So
 *
 *	1. A whole chunk is written directly while an eighth of the pool is enough, one at a time.
 *	2. If that takes longer than WRITE_QUEUE_STALL_MS, or if more of the pool is in use,
 *	   the disk is slow: all chunks go to the page cache, for
 *	   WRITE_QUEUE_AVOID_DIRECT_S or longer. Later the disk has to write what the page cache
 *	   holds, and the next direct write waits for that.
 *	3. While less than half of the pool is free, chunks go to the page cache. If that takes
 *	   longer than WRITE_QUEUE_STALL_MS, the page cache is full, too, and makes its writers wait
 *	   for the disk: for WRITE_QUEUE_STALLED_MS, chunks are written directly, several at a time.
 *
 * A direct write of rule 1 may be stuck while the page cache takes what is behind it. Chunks are
 * freed in the order of the file, so the pool would be used up all the same. When less than half of
 * it is free, written chunks behind the stuck one are released. Their records are counted before
 * (@released), because they are lost if the stuck write fails.
 *
 * A chunk is written when it is full. A partly filled chunk is written when no other write is in
 * flight and the chunk is WRITE_QUEUE_FLUSH_MS old, or at once if the file is a pipe. A chunk of the
 * next file waits until that is open.
 *
 * After the first error nothing more is submitted. When no chunk is in flight any more, the file is
 * readable up to the last whole record below the first byte that could not be written. Records
 * behind that position, in the file and in memory, are dropped and counted.
 *
 * Files follow each other. write_queue__next_file() ends a file: later records belong to the next
 * one and wait in @next_full until that is open. Meanwhile the first file is written, completed and
 * closed. Appending threads do not wait for that, until the pool has no free chunk.
 *
 * Threads reserve pieces of the file one after the other, and copy to them at the same time. A
 * piece that fits into @filling is reserved without a lock (tail.h). So readers do not wait for
 * each other, and one that loses its CPU while it copies does not stop the others. A chunk is
 * submitted when all its pieces are copied (chunk->uncopied). Later chunks wait with it, in the
 * pool.
 *
 * Two locks, taken in this order:
 *
 *	@append		makes everything that one call appends one piece of the file, across chunks;
 *			closes @tail for others
 *	@lock		protects what the queue's thread shares with other threads
 */
#ifndef PERF_RECORDING_QUEUE_H
#define PERF_RECORDING_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <linux/list.h>
#include <linux/types.h>
#include "chunk_pool.h"
#include "tail.h"
#include "recording/lib/records.h"
#include "rescue.h"

struct writer;

#define WRITE_QUEUE_FLUSH_MS		100
/* If a write takes so long, the page cache had to wait for the disk, or the disk is slow ... */
#define WRITE_QUEUE_STALL_MS		20
/* ... and the page cache is avoided for so long ... */
#define WRITE_QUEUE_STALLED_MS		1000
/* ... or direct I/O, at first. */
#define WRITE_QUEUE_AVOID_DIRECT_S	10

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
 * @cache_stalled_until: until then the page cache is avoided [ns of CLOCK_MONOTONIC]
 * @direct_from: until then direct I/O is not the first choice [ns of CLOCK_MONOTONIC]
 * @avoid_direct_ns: for how long to avoid it when the disk is slow again [ns]
 * @direct:	the chunk that was written directly by rule 1, the first of @submitted, or NULL
 * @direct_ns:	when it was submitted [ns of CLOCK_MONOTONIC]
 * @released:	records of the released chunks behind @direct; @nr_released: number of the last one
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
	u64			cache_stalled_until;
	u64			direct_from;
	u64			avoid_direct_ns;
	struct chunk	       *direct;
	u64			direct_ns;
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
 * write_queue__init - allocate the pool and start the thread
 * @size:	of the pool [bytes]
 * @failed, @arg: see struct write_queue
 *
 * The thread takes no signals.
 *
 * Return: 0, or a negative errno.
 */
int write_queue__init(struct write_queue *queue, size_t size,
		      void (*failed)(void *arg, int err, u64 end), void *arg);

/** write_queue__exit - stop the thread. No file may be open. Harmless if the queue is zeroed. */
void write_queue__exit(struct write_queue *queue);

/**
 * write_queue__open - write to @fd what is appended from now on, and the next file's records so far
 * @writer:	the caller's; the caller does not touch it until write_queue__close()
 * @pos:	where the data begin; after write_queue__next_file() the position passed to that
 * @seekable:	a regular file
 */
void write_queue__open(struct write_queue *queue, struct writer *writer, int fd, u64 pos,
		       bool seekable);

/**
 * write_queue__append - append whole records; in any thread
 *
 * Return: 0 when they are copied, or the negative errno of an earlier write.
 */
int write_queue__append(struct write_queue *queue, const struct records *records);

/**
 * write_queue__append_unit - append a record together with the data that it announces; in any
 * thread
 * @unit:	the record and its data
 * @pos:	receives the position of the record in the file
 *
 * Return: as write_queue__append().
 */
int write_queue__append_unit(struct write_queue *queue, const struct records *unit, u64 *pos);

/**
 * write_queue__hold - block all other threads in write_queue__append() until write_queue__release()
 *
 * write_queue__flush() lets them in while it waits.
 */
void write_queue__hold(struct write_queue *queue);

void write_queue__release(struct write_queue *queue);

/**
 * write_queue__next_file - end the file: what is appended from now on belongs to the next one
 * @pos:	where the data of the next file begin
 *
 * To be followed by write_queue__close(), and by write_queue__open() or write_queue__drop_next().
 * No effect after an error.
 */
void write_queue__next_file(struct write_queue *queue, u64 pos);

/**
 * write_queue__drop_next - after write_queue__next_file(): drop the next file's records, because of
 * @err
 */
void write_queue__drop_next(struct write_queue *queue, int err);

/**
 * write_queue__flush - wait until everything is written that was appended before the call
 *
 * After write_queue__next_file(): what was appended before that. Other threads may go on appending.
 *
 * Return: 0, or a negative errno.
 */
int write_queue__flush(struct write_queue *queue);

/**
 * write_queue__error - has writing failed, and was @failed called?
 *
 * Return: 0, or a negative errno.
 */
int write_queue__error(struct write_queue *queue);

/**
 * write_queue__reset - after write_queue__close(): forget an error, and how many records it cost
 *
 * Drops the next file's records, if any. No thread appends.
 */
void write_queue__reset(struct write_queue *queue);

/** write_queue__close - flush, and let go of the writer. Return: 0, or a negative errno */
int write_queue__close(struct write_queue *queue);

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

#endif
