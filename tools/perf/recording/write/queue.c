// SPDX-License-Identifier: GPL-2.0-only
#include <time.h>
#include <linux/kernel.h>
#include "recording/lib/clock.h"
#include "recording/lib/thread.h"
#include "queue_internal.h"
#include "writer.h"

/*
 * Appending
 */

/* Wait until there is a chunk for the rest of the records, or an error. Caller holds @append. */
static int begin_chunk(struct write_queue *queue, struct records_cursor *cursor)
{
	struct chunk *chunk;
	int err;

	pthread_mutex_lock(&queue->lock);
	if (queue->filling && !chunk__room(queue->filling))
		write_queue__seal(queue);
	while (!queue->err && !queue->filling) {
		queue->filling = chunk_pool__get(&queue->pool, queue->end);
		if (!queue->filling)
			pthread_cond_wait(&queue->room, &queue->lock);
	}
	err = queue->err;
	chunk = queue->filling;
	if (err) {
		write_queue__drop_rest(queue, cursor);
	} else if (!chunk->begun) {
		records_cursor__find(cursor);
		chunk->first = chunk->pos + (cursor->next - cursor->pos);
		chunk->whole = chunk->first;
		if (cursor->next > cursor->pos)
			chunk->whole = chunk->pos - (cursor->pos - cursor->record);
		chunk->type = cursor->type;
		chunk->begun = now_ns();
		pthread_cond_signal(&queue->work);
	}
	pthread_mutex_unlock(&queue->lock);
	return err;
}

static int append(struct write_queue *queue, const struct records *records, bool single, u64 *pos)
{
	struct records_cursor cursor = records_cursor__init(records, single);
	struct chunk *chunk;
	size_t len;
	int err = 0;

	pthread_mutex_lock(&queue->append);
	*pos = queue->end;
	while (cursor.pos < cursor.len) {
		err = begin_chunk(queue, &cursor);
		if (err)
			break;
		chunk = queue->filling;
		len = min(chunk__room(chunk), cursor.len - cursor.pos);
		records_cursor__copy(&cursor, chunk->data + chunk->len, len);
		chunk->len += len;
		__atomic_store_n(&queue->end, queue->end + len, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&queue->append);

	if (!__atomic_load_n(&queue->seekable, __ATOMIC_RELAXED) && !err) {	/* see wait_for_work() */
		pthread_mutex_lock(&queue->lock);
		pthread_cond_signal(&queue->work);
		pthread_mutex_unlock(&queue->lock);
	}
	return err;
}

int write_queue__append(struct write_queue *queue, const struct records *records)
{
	u64 pos;

	return append(queue, records, false, &pos);
}

int write_queue__append_unit(struct write_queue *queue, const struct records *unit, u64 *pos)
{
	return append(queue, unit, true, pos);
}

static void wait_until_settled(struct write_queue *queue)
{
	while (!list_empty(&queue->full) || !list_empty(&queue->flying) ||
	       ((queue->err || queue->failing) && !queue->settled))
		pthread_cond_wait(&queue->room, &queue->lock);
}

/* What is being filled may be the next file's: who appends to that can wait for a chunk, holding @append. */
static void seal_file(struct write_queue *queue)
{
	bool turned;

	pthread_mutex_lock(&queue->lock);
	turned = queue->turned;
	pthread_mutex_unlock(&queue->lock);
	if (turned)
		return;
	pthread_mutex_lock(&queue->append);
	pthread_mutex_lock(&queue->lock);
	write_queue__seal(queue);
	pthread_mutex_unlock(&queue->lock);
	pthread_mutex_unlock(&queue->append);
}

/* Whoever holds the queue lets go while it waits: when a write has failed, the thread needs @append. */
int write_queue__drain(struct write_queue *queue)
{
	bool held = __atomic_load_n(&queue->holder, __ATOMIC_RELAXED) == own_tid();
	int err;

	seal_file(queue);
	if (held)
		write_queue__release(queue);
	pthread_mutex_lock(&queue->lock);
	wait_until_settled(queue);
	err = queue->err;
	pthread_mutex_unlock(&queue->lock);
	if (held)
		write_queue__hold(queue);
	return err;
}

int write_queue__error(struct write_queue *queue)
{
	int err;

	pthread_mutex_lock(&queue->lock);
	err = queue->settled ? queue->err : 0;
	pthread_mutex_unlock(&queue->lock);
	return err;
}

/*
 * Beginning and end
 */

static void init_locks(struct write_queue *queue)
{
	pthread_condattr_t attr;

	thread__init_recursive_lock(&queue->append);
	thread__init_lock(&queue->lock);
	pthread_cond_init(&queue->room, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&queue->work, &attr);
	pthread_condattr_destroy(&attr);
}

static int create_thread(struct write_queue *queue)
{
	int err = thread__create(&queue->thread, write_queue__run, queue);

	if (err)
		return err;
	queue->running = true;
	pthread_mutex_lock(&queue->lock);
	while (!queue->tid)
		pthread_cond_wait(&queue->room, &queue->lock);
	pthread_mutex_unlock(&queue->lock);
	return 0;
}

int write_queue__init(struct write_queue *queue, size_t size, void (*failed)(void *arg, int err, u64 end),
		void *arg)
{
	int err;

	*queue = (struct write_queue){ .failed = failed, .arg = arg };
	INIT_LIST_HEAD(&queue->full);
	INIT_LIST_HEAD(&queue->next);
	INIT_LIST_HEAD(&queue->flying);
	init_locks(queue);
	err = chunk_pool__init(&queue->pool, size);
	return err ?: create_thread(queue);
}

void write_queue__open(struct write_queue *queue, struct writer *writer, int fd, u64 pos, bool seekable)
{
	pthread_mutex_lock(&queue->lock);
	writer__open(writer, fd, seekable);
	queue->writer = writer;
	__atomic_store_n(&queue->seekable, seekable, __ATOMIC_RELAXED);
	if (queue->turned)
		list_splice_tail_init(&queue->next, &queue->full);
	else
		queue->end = pos;
	queue->turned = false;
	pthread_cond_signal(&queue->work);
	pthread_mutex_unlock(&queue->lock);
}

void write_queue__hold(struct write_queue *queue)
{
	pthread_mutex_lock(&queue->append);
	__atomic_store_n(&queue->holder, own_tid(), __ATOMIC_RELAXED);
}

void write_queue__release(struct write_queue *queue)
{
	__atomic_store_n(&queue->holder, 0, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&queue->append);
}

void write_queue__next(struct write_queue *queue, u64 pos)
{
	pthread_mutex_lock(&queue->append);
	pthread_mutex_lock(&queue->lock);
	write_queue__seal(queue);
	if (!queue->err) {
		queue->turned = true;
		queue->begin = pos;
		queue->file_end = queue->end;
		__atomic_store_n(&queue->end, pos, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&queue->lock);
	pthread_mutex_unlock(&queue->append);
}

void write_queue__abandon(struct write_queue *queue, int err)
{
	pthread_mutex_lock(&queue->lock);
	if (queue->turned) {
		write_queue__drop_all(queue, err);
		queue->settled = true;
		pthread_cond_broadcast(&queue->room);
	}
	pthread_mutex_unlock(&queue->lock);
}

int write_queue__close(struct write_queue *queue)
{
	int err = write_queue__drain(queue);

	pthread_mutex_lock(&queue->lock);
	if (queue->writer)
		writer__close(queue->writer);
	queue->writer = NULL;
	pthread_mutex_unlock(&queue->lock);
	return err;
}

void write_queue__exit(struct write_queue *queue)
{
	if (queue->running) {
		pthread_mutex_lock(&queue->lock);
		queue->quit = true;
		pthread_cond_signal(&queue->work);
		pthread_mutex_unlock(&queue->lock);
		pthread_join(queue->thread, NULL);
	}
	chunk_pool__exit(&queue->pool);
	*queue = (struct write_queue){ 0 };
}
