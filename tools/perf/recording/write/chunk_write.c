// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run the queue's thread: submit full chunks to the writer, complete them, report an error.
 *
 * All functions are called with @lock held, and release it while the writer works.
 */
#include <linux/time64.h>
#include "util/time-utils.h"
#include "chunk_write.h"
#include "queue_data.h"
#include "queue_error.h"
#include "writer.h"

/* No chunk is in flight. */
static void report_failure(struct write_queue *queue)
{
	write_queue__drop_all(queue, list_first_entry(&queue->submitted, struct chunk, node)->err);
	pthread_mutex_unlock(&queue->lock);

	queue->failed(queue->arg, queue->err, tail__pos(&queue->tail));

	pthread_mutex_lock(&queue->lock);
	queue->failing = false;
	queue->failure_reported = true;
	pthread_cond_broadcast(&queue->progress);
}

/* Submit in the order of the file. @work is signalled when the next chunk is copied. */
static bool can_submit(const struct write_queue *queue)
{
	return !queue->failing && !list_empty(&queue->full) &&
	       queue->nr_in_flight < queue->writer->depth &&
	       chunk__is_copied(list_first_entry(&queue->full, struct chunk, node)) &&
	       !direct_io__waits(&queue->direct, &queue->pool, rdclock());
}

static void submit(struct write_queue *queue)
{
	struct chunk *chunk = list_first_entry(&queue->full, struct chunk, node);
	u64 begin = rdclock(), end;
	enum write_path path = direct_io__choose(&queue->direct, &queue->pool, queue->writer, chunk,
						 list_empty(&queue->submitted), begin);

	list_move_tail(&chunk->node, &queue->submitted);
	queue->nr_in_flight++;
	queue->counters.chunks++;
	queue->counters.direct += path != WRITE_CACHED;
	chunk->buffered = path == WRITE_CACHED;
	pthread_mutex_unlock(&queue->lock);
	writer__submit(queue->writer, chunk);
	end = rdclock();
	pthread_mutex_lock(&queue->lock);
	direct_io__submitted(&queue->direct, path, begin, end);
}

/* The stuck write was successful: nothing is lost of what was released behind it. */
static void forget_released(struct write_queue *queue)
{
	queue->nr_written = queue->nr_released;
	__atomic_store_n(&queue->written, queue->written + queue->released.bytes, __ATOMIC_RELAXED);
	queue->released = (struct unsaved){ 0 };
	if (queue->rescue)
		rescue__exit(queue->rescue);
}

/* Release what is written behind a direct write that is stuck, while less than half is free. */
static void release_behind_stuck(struct write_queue *queue)
{
	struct chunk *alone = queue->direct.alone, *chunk;

	while (alone && !queue->failing && !chunk_pool__is_half_free(&queue->pool) &&
	       !list_is_last(&alone->node, &queue->submitted)) {
		chunk = list_next_entry(alone, node);
		if (!chunk->completed)
			break;
		queue->nr_released = chunk->nr;
		queue->counters.released++;
		write_queue__release_chunk(queue, chunk);
	}
}

/*
 * Free a chunk only when all chunks before it are written: after an error the file ends before the
 * first chunk that failed, and the records behind must be counted.
 */
static void complete(struct write_queue *queue)
{
	u64 timeout_ns = direct_io__timeout(&queue->direct), now;
	struct chunk *chunk;

	pthread_mutex_unlock(&queue->lock);
	chunk = writer__complete(queue->writer, timeout_ns);
	now = rdclock();
	pthread_mutex_lock(&queue->lock);

	direct_io__note_time(&queue->direct, now);
	if (!chunk)
		return;
	chunk->completed = true;
	queue->nr_in_flight--;
	queue->failing |= chunk->err != 0;
	while (!list_empty(&queue->submitted)) {
		chunk = list_first_entry(&queue->submitted, struct chunk, node);
		if (!chunk->completed || chunk->err)
			break;
		__atomic_store_n(&queue->written, chunk->pos + chunk->len, __ATOMIC_RELAXED);
		queue->nr_written = chunk->nr;
		if (chunk == queue->direct.alone && queue->released.bytes)
			forget_released(queue);
		if (chunk == queue->direct.alone)
			queue->direct.alone = NULL;
		chunk_pool__put(&queue->pool, chunk);
	}
	release_behind_stuck(queue);
	pthread_cond_broadcast(&queue->progress);
}

/*
 * Wait until a chunk can be submitted. Seal a partly filled chunk when it is old enough, unless its
 * file is not open yet: then it could not be written, and the next records would need another
 * chunk.
 */
static void wait_for_work(struct write_queue *queue)
{
	struct timespec until;
	u64 due;

	queue->counters.sleeps++;
	queue->counters.copy_waits += !queue->failing && !list_empty(&queue->full);
	if (!queue->filling || queue->in_next_file) {
		pthread_cond_wait(&queue->work, &queue->lock);
		return;
	}
	due = queue->filling->begin_ns +
	      (queue->seekable ? WRITE_QUEUE_FLUSH_MS * NSEC_PER_MSEC : 0);
	if (rdclock() < due) {
		until.tv_sec = due / NSEC_PER_SEC;
		until.tv_nsec = due % NSEC_PER_SEC;
		pthread_cond_timedwait(&queue->work, &queue->lock, &until);
		return;
	}
	if (!pthread_mutex_trylock(&queue->append)) {
		write_queue__seal(queue);
		pthread_mutex_unlock(&queue->append);
	} else if (queue->seekable) {	/* another thread is appending: try again later */
		queue->filling->begin_ns = rdclock();
	} else {			/* append() signals @work when it has released @append */
		pthread_cond_wait(&queue->work, &queue->lock);
	}
}

void *write_queue__run(void *arg)
{
	struct write_queue *queue = arg;

	pthread_mutex_lock(&queue->lock);
	for (;;) {
		if (can_submit(queue))
			submit(queue);
		else if (queue->nr_in_flight)
			complete(queue);
		else if (queue->failing)
			report_failure(queue);
		else if (queue->stop)
			break;
		else
			wait_for_work(queue);
	}
	pthread_mutex_unlock(&queue->lock);
	return NULL;
}
