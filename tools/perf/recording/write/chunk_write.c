// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run the queue's thread: submit full chunks to the writer, complete them, report an error.
 *
 * All functions are called with @lock held, and release it while the writer works.
 */
#include <linux/time64.h>
#include "util/time-utils.h"
#include "queue_internal.h"
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

#define STALL_NS	(WRITE_QUEUE_STALL_MS * NSEC_PER_MSEC)
#define STALLED_NS	(WRITE_QUEUE_STALLED_MS * NSEC_PER_MSEC)
#define AVOID_DIRECT_MIN_NS	((u64)WRITE_QUEUE_AVOID_DIRECT_S * NSEC_PER_SEC)
#define AVOID_DIRECT_MAX_NS	(64 * AVOID_DIRECT_MIN_NS)

static bool half_of_pool_is_free(const struct write_queue *queue)
{
	return queue->pool.nr_free >= queue->pool.nr / 2;
}

/*
 * The page cache may be slow, too, so leave most of the pool for it. One chunk is being filled, one
 * waits, and one is written.
 */
static bool disk_keeps_up(const struct write_queue *queue)
{
	return queue->pool.nr - queue->pool.nr_free <= max(queue->pool.nr / 8, 3U);
}

/* Wait for a direct write while there is time, instead of using the page cache. */
static bool waits_for_disk(const struct write_queue *queue)
{
	return queue->direct && disk_keeps_up(queue) &&
	       rdclock() < queue->direct_ns + STALL_NS;
}

/*
 * Rule 2. A slow disk stays slow: avoid direct I/O twice as long each time, and half as long after a
 * fast write.
 */
static void avoid_direct(struct write_queue *queue, u64 now)
{
	queue->direct_from = now + queue->avoid_direct_ns;
	queue->avoid_direct_ns = min(2 * queue->avoid_direct_ns, AVOID_DIRECT_MAX_NS);
}

static void note_direct_time(struct write_queue *queue, u64 now, bool completed)
{
	if (now - queue->direct_ns <= STALL_NS) {
		if (completed)
			queue->avoid_direct_ns = max(queue->avoid_direct_ns / 2,
						     AVOID_DIRECT_MIN_NS);
	} else if (now >= queue->direct_from) {
		avoid_direct(queue, now);
	}
}

/* Submit in the order of the file. @work is signalled when the next chunk is copied. */
static bool can_submit(const struct write_queue *queue)
{
	return !queue->failing && !list_empty(&queue->full) &&
	       queue->nr_in_flight < queue->writer->depth &&
	       chunk__is_copied(list_first_entry(&queue->full, struct chunk, node)) &&
	       !waits_for_disk(queue);
}

/* Rule 1. The chunk becomes the first of @submitted: what is released behind it needs no list. */
static bool direct_is_first_choice(struct write_queue *queue, const struct chunk *chunk, u64 now)
{
	if (!queue->writer->direct_first || chunk__space(chunk) || now < queue->direct_from)
		return false;
	if (!disk_keeps_up(queue)) {
		avoid_direct(queue, now);
		return false;
	}
	return list_empty(&queue->submitted);
}

/* Rule 3 */
static bool direct_is_last_choice(const struct write_queue *queue, u64 now)
{
	return now < queue->cache_stalled_until && !half_of_pool_is_free(queue);
}

static void submit(struct write_queue *queue)
{
	struct chunk *chunk = list_first_entry(&queue->full, struct chunk, node);
	u64 begin = rdclock(), end;
	bool first = direct_is_first_choice(queue, chunk, begin);
	bool buffered = !first && !direct_is_last_choice(queue, begin);

	if (first) {
		queue->direct = chunk;
		queue->direct_ns = begin;
	}
	list_move_tail(&chunk->node, &queue->submitted);
	queue->nr_in_flight++;
	queue->counters.chunks++;
	queue->counters.direct += !buffered;
	chunk->buffered = buffered;
	pthread_mutex_unlock(&queue->lock);
	writer__submit(queue->writer, chunk);
	end = rdclock();
	if (buffered && end - begin > STALL_NS)
		queue->cache_stalled_until = end + STALLED_NS;
	pthread_mutex_lock(&queue->lock);
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
	struct chunk *chunk;

	while (queue->direct && !queue->failing && !half_of_pool_is_free(queue) &&
	       !list_is_last(&queue->direct->node, &queue->submitted)) {
		chunk = list_next_entry(queue->direct, node);
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
	u64 timeout_ns = queue->direct ? STALL_NS : 0, now;
	struct chunk *chunk;

	pthread_mutex_unlock(&queue->lock);
	chunk = writer__complete(queue->writer, timeout_ns);
	now = rdclock();
	pthread_mutex_lock(&queue->lock);

	if (queue->direct)
		note_direct_time(queue, now, chunk == queue->direct);
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
		if (chunk == queue->direct && queue->released.bytes)
			forget_released(queue);
		if (chunk == queue->direct)
			queue->direct = NULL;
		chunk_pool__put(&queue->pool, chunk);
	}
	release_behind_stuck(queue);
	pthread_cond_broadcast(&queue->progress);
}

/*
 * Wait until a chunk can be submitted. Seal a partly filled chunk when it is old enough, unless its
 * file is not open yet: then it could not be written, and the next records would need another chunk.
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
	due = queue->filling->begin_ns + (queue->seekable ? WRITE_QUEUE_FLUSH_MS * NSEC_PER_MSEC : 0);
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
