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
 * A write by rule 1 of direct_io.h may be stuck while the page cache takes what is behind it.
 * Chunks are freed in the order of the file, so the pool would be used up all the same. When less
 * than half of it is free, written chunks behind the stuck one are released. Their records are
 * counted before (@released), because they are lost if the stuck write fails.
 *
 * A chunk is written when it is full. A partly filled chunk is written when no other write is in
 * flight and the chunk is WRITE_QUEUE_FLUSH_MS old, or at once if the file is a pipe. A chunk of
 * the next file waits until that is open.
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

#include <stdbool.h>
#include <linux/types.h>
#include "queue_data.h"
#include "recording/lib/records.h"

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

#endif
