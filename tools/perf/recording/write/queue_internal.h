/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Join the parts of the queue:
 *
 *	queue.c		append, begin and end of files
 *	chunk_write.c	the thread: submit chunks to the writer, complete them
 *	queue_error.c	where the file ends after an error, and which records are dropped
 *
 * queue.c calls both others, chunk_write.c calls queue_error.c.
 */
#ifndef PERF_RECORDING_QUEUE_INTERNAL_H
#define PERF_RECORDING_QUEUE_INTERNAL_H

#include <unistd.h>
#include <sys/syscall.h>
#include "queue.h"

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
	list_add_tail(&queue->filling->node, queue->in_next_file ? &queue->next_full : &queue->full);
	queue->filling = NULL;
	pthread_cond_signal(&queue->work);
}

/** write_queue__run - the function of the queue's thread; @arg: the queue */
void *write_queue__run(void *arg);

/**
 * write_queue__release_chunk - count the records of a written chunk behind a stuck one, and free it
 *
 * Adds to @released and @rescue. A name on the border of a chunk may not be rescued later. Caller
 * holds @lock.
 */
void write_queue__release_chunk(struct write_queue *queue, struct chunk *chunk);

/** write_queue__drop_rest - drop and count what @cursor has not copied yet. Caller holds @lock. */
void write_queue__drop_rest(struct write_queue *queue, struct records_cursor *cursor);

/**
 * write_queue__drop_all - stop appending, and drop and count all that is not written
 * @err:	why, negative errno
 *
 * Sets @tail to where the last whole record ends in the file. Caller holds @lock, which is released
 * in between. No chunk is in flight.
 */
void write_queue__drop_all(struct write_queue *queue, int err);

#endif
