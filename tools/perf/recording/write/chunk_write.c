// SPDX-License-Identifier: GPL-2.0-only
#include <linux/time64.h>
#include "recording/lib/clock.h"
#include "queue_internal.h"
#include "writer.h"

/* Caller holds @lock, which is released meanwhile. No chunk is in flight. */
static void settle(struct write_queue *queue)
{
	write_queue__drop_all(queue, list_first_entry(&queue->flying, struct chunk, node)->err);
	pthread_mutex_unlock(&queue->lock);

	queue->failed(queue->arg, queue->err, queue->end);

	pthread_mutex_lock(&queue->lock);
	queue->failing = false;
	queue->settled = true;
	pthread_cond_broadcast(&queue->room);
}

/*
 * Writing: all of this with @lock held, which is released while the writer works
 */

static bool can_submit(const struct write_queue *queue)
{
	return !queue->failing && !list_empty(&queue->full) &&
	       queue->in_flight < queue->writer->depth;
}

static bool page_cache_keeps_up(const struct write_queue *queue, u64 now)
{
	return now >= queue->stalled_until || queue->pool.nr_free >= queue->pool.nr / 2;
}

static void submit(struct write_queue *queue)
{
	struct chunk *chunk = list_first_entry(&queue->full, struct chunk, node);
	u64 begin = now_ns(), end;
	bool buffered = page_cache_keeps_up(queue, begin);

	list_move_tail(&chunk->node, &queue->flying);
	queue->in_flight++;
	chunk->buffered = buffered;
	pthread_mutex_unlock(&queue->lock);
	writer__submit(queue->writer, chunk);
	end = now_ns();
	if (buffered && end - begin > WRITE_QUEUE_STALL_MS * NSEC_PER_MSEC)
		queue->stalled_until = end + WRITE_QUEUE_STALLED_MS * NSEC_PER_MSEC;
	pthread_mutex_lock(&queue->lock);
}

/* A chunk goes back to the pool when all before it are written: then no error can touch it. */
static void complete(struct write_queue *queue)
{
	struct chunk *chunk;

	pthread_mutex_unlock(&queue->lock);
	chunk = writer__complete(queue->writer);
	pthread_mutex_lock(&queue->lock);

	chunk->back = true;
	queue->in_flight--;
	queue->failing |= chunk->err != 0;
	while (!list_empty(&queue->flying)) {
		chunk = list_first_entry(&queue->flying, struct chunk, node);
		if (!chunk->back || chunk->err)
			break;
		__atomic_store_n(&queue->written, chunk->pos + chunk->len, __ATOMIC_RELAXED);
		chunk_pool__put(&queue->pool, chunk);
	}
	pthread_cond_broadcast(&queue->room);
}

/* Waits for work. Where there is nothing but an unfinished chunk, that is it after a while. */
static void wait_for_work(struct write_queue *queue)
{
	struct timespec until;
	u64 due;

	if (!queue->filling) {
		pthread_cond_wait(&queue->work, &queue->lock);
		return;
	}
	due = queue->filling->begun + (queue->seekable ? WRITE_QUEUE_FLUSH_MS * NSEC_PER_MSEC : 0);
	if (now_ns() < due) {
		until.tv_sec = due / NSEC_PER_SEC;
		until.tv_nsec = due % NSEC_PER_SEC;
		pthread_cond_timedwait(&queue->work, &queue->lock, &until);
		return;
	}
	if (!pthread_mutex_trylock(&queue->append)) {
		write_queue__seal(queue);
		pthread_mutex_unlock(&queue->append);
	} else if (queue->seekable) {		/* somebody appends to it: it can wait once more */
		queue->filling->begun = now_ns();
	} else {				/* who does will tell us at the end */
		pthread_cond_wait(&queue->work, &queue->lock);
	}
}

void *write_queue__run(void *arg)
{
	struct write_queue *queue = arg;

	pthread_mutex_lock(&queue->lock);
	queue->tid = own_tid();
	pthread_cond_broadcast(&queue->room);
	for (;;) {
		if (can_submit(queue))
			submit(queue);
		else if (queue->in_flight)
			complete(queue);
		else if (queue->failing)
			settle(queue);
		else if (queue->quit)
			break;
		else
			wait_for_work(queue);
	}
	pthread_mutex_unlock(&queue->lock);
	return NULL;
}
