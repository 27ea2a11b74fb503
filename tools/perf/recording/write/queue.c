// SPDX-License-Identifier: GPL-2.0-only
/*
 * Append records to the queue, flush it, begin and end files.
 */
#include <errno.h>
#include <time.h>
#include <linux/kernel.h>
#include "util/time-utils.h"
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
	if (queue->filling && !chunk__space(queue->filling))
		write_queue__seal(queue);
	while (!queue->err && !queue->filling) {
		queue->filling = chunk_pool__get(&queue->pool, queue->end);
		if (!queue->filling)
			pthread_cond_wait(&queue->progress, &queue->lock);
	}
	err = queue->err;
	chunk = queue->filling;
	if (err) {
		write_queue__drop_rest(queue, cursor);
	} else if (!chunk->begin_ns) {
		records_cursor__find(cursor);
		chunk->first_record = chunk->pos + (cursor->next - cursor->pos);
		chunk->record = chunk->first_record;
		if (cursor->next > cursor->pos)
			chunk->record = chunk->pos - (cursor->pos - cursor->record);
		chunk->record_type = cursor->type;
		chunk->begin_ns = rdclock();
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
		len = min(chunk__space(chunk), cursor.len - cursor.pos);
		records_cursor__copy(&cursor, chunk->data + chunk->len, len);
		chunk->len += len;
		__atomic_store_n(&queue->end, queue->end + len, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&queue->append);

	/* A pipe: wait_for_work() may wait until this thread has released @append. */
	if (!__atomic_load_n(&queue->seekable, __ATOMIC_RELAXED) && !err) {
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

/* Return the number of the last chunk of the open file that is not written, or 0. */
static u64 last_unwritten(struct write_queue *queue)
{
	struct list_head *list = list_empty(&queue->full) ? &queue->submitted : &queue->full;

	return list_empty(list) ? 0 : list_last_entry(list, struct chunk, node)->nr;
}

/*
 * Seal the last chunk of the file that is open. After write_queue__next_file() it is sealed
 * already, and @append must not be taken: a thread that appends to the next file may hold it while
 * waiting for a chunk.
 *
 * Return: see last_unwritten().
 */
static u64 seal_file(struct write_queue *queue)
{
	bool in_next_file;
	u64 last;

	pthread_mutex_lock(&queue->lock);
	in_next_file = queue->in_next_file;
	last = last_unwritten(queue);
	pthread_mutex_unlock(&queue->lock);
	if (in_next_file)
		return last;
	pthread_mutex_lock(&queue->append);
	pthread_mutex_lock(&queue->lock);
	write_queue__seal(queue);
	last = last_unwritten(queue);
	pthread_mutex_unlock(&queue->lock);
	pthread_mutex_unlock(&queue->append);
	return last;
}

/* Wait until chunk @nr is written, or an error was reported. Caller holds @lock. */
static void wait_until_written(struct write_queue *queue, u64 nr)
{
	while (queue->err || queue->failing ? !queue->failure_reported : queue->nr_written < nr)
		pthread_cond_wait(&queue->progress, &queue->lock);
}

/*
 * Release @append while waiting if the caller holds the queue: after a failed write the queue's
 * thread needs it.
 */
int write_queue__flush(struct write_queue *queue)
{
	bool held = __atomic_load_n(&queue->holder, __ATOMIC_RELAXED) == own_tid();
	u64 last = seal_file(queue);
	int err;

	if (held)
		write_queue__release(queue);
	pthread_mutex_lock(&queue->lock);
	wait_until_written(queue, last);
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
	err = queue->failure_reported ? queue->err : 0;
	pthread_mutex_unlock(&queue->lock);
	return err;
}

/*
 * Begin and end of files and of the queue
 */

static void init_locks(struct write_queue *queue)
{
	pthread_condattr_t attr;

	thread__init_recursive_lock(&queue->append);
	thread__init_lock(&queue->lock);
	pthread_cond_init(&queue->progress, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&queue->work, &attr);
	pthread_condattr_destroy(&attr);
}

static int create_thread(struct write_queue *queue)
{
	int err = thread__create(&queue->thread, write_queue__run, queue);

	queue->running = !err;
	return err;
}

int write_queue__init(struct write_queue *queue, size_t size,
		      void (*failed)(void *arg, int err, u64 end), void *arg)
{
	int err;

	*queue = (struct write_queue){ .failed = failed, .arg = arg };
	INIT_LIST_HEAD(&queue->full);
	INIT_LIST_HEAD(&queue->next_full);
	INIT_LIST_HEAD(&queue->submitted);
	init_locks(queue);
	err = chunk_pool__init(&queue->pool, size);
	return err ?: create_thread(queue);
}

void write_queue__open(struct write_queue *queue, struct writer *writer, int fd, u64 pos,
		       bool seekable)
{
	pthread_mutex_lock(&queue->lock);
	writer__open(writer, fd, seekable);
	queue->writer = writer;
	__atomic_store_n(&queue->seekable, seekable, __ATOMIC_RELAXED);
	if (queue->in_next_file)
		list_splice_tail_init(&queue->next_full, &queue->full);
	else
		queue->end = pos;
	queue->in_next_file = false;
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

void write_queue__next_file(struct write_queue *queue, u64 pos)
{
	pthread_mutex_lock(&queue->append);
	pthread_mutex_lock(&queue->lock);
	write_queue__seal(queue);
	if (!queue->err) {
		queue->in_next_file = true;
		queue->next_start = pos;
		queue->file_end = queue->end;
		__atomic_store_n(&queue->end, pos, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&queue->lock);
	pthread_mutex_unlock(&queue->append);
}

void write_queue__drop_next(struct write_queue *queue, int err)
{
	pthread_mutex_lock(&queue->lock);
	if (queue->in_next_file) {
		write_queue__drop_all(queue, err);
		queue->failure_reported = true;
		pthread_cond_broadcast(&queue->progress);
	}
	pthread_mutex_unlock(&queue->lock);
}

int write_queue__close(struct write_queue *queue)
{
	int err = write_queue__flush(queue);

	pthread_mutex_lock(&queue->lock);
	if (queue->writer)
		writer__close(queue->writer);
	queue->writer = NULL;
	pthread_mutex_unlock(&queue->lock);
	return err;
}

void write_queue__reset(struct write_queue *queue)
{
	write_queue__drop_next(queue, -ECANCELED);
	pthread_mutex_lock(&queue->lock);
	queue->err = 0;
	queue->failure_reported = false;
	queue->unsaved = (struct unsaved){ 0 };
	pthread_mutex_unlock(&queue->lock);
}

void write_queue__exit(struct write_queue *queue)
{
	if (queue->running) {
		pthread_mutex_lock(&queue->lock);
		queue->stop = true;
		pthread_cond_signal(&queue->work);
		pthread_mutex_unlock(&queue->lock);
		pthread_join(queue->thread, NULL);
	}
	chunk_pool__exit(&queue->pool);
	*queue = (struct write_queue){ 0 };
}
