// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include <perf/event.h>
#include <sys/syscall.h>
#include "recording/lib/clock.h"
#include "queue.h"
#include "recording/lib/thread.h"
#include "writer.h"

/*
 * Appending
 */

/* With both locks held. */
static void seal_chunk(struct write_queue *queue)
{
	if (!queue->filling)
		return;
	list_add_tail(&queue->filling->node, queue->turned ? &queue->next : &queue->full);
	queue->filling = NULL;
	pthread_cond_signal(&queue->work);
}

/* Count the records of @records that begin at @pos or behind it as dropped; only one if @single. */
static void count_dropped(struct write_queue *queue, const struct records *records, size_t pos, bool single)
{
	struct unsaved *unsaved = &queue->unsaved;
	size_t len = records__len(records), size;
	u32 type;

	while (pos < len && (size = records__extent(records, pos, &type))) {
		unsaved->records++;
		unsaved->samples += type == PERF_RECORD_SAMPLE;
		pos += size;
		if (single)
			break;
	}
}

/* Drop what @cursor has not copied yet. */
static void drop_rest(struct write_queue *queue, struct records_cursor *cursor)
{
	records_cursor__find(cursor);
	count_dropped(queue, cursor->records, cursor->next, cursor->single);
	queue->unsaved.bytes += cursor->len - cursor->pos;
}

/* Wait until there is a chunk for the rest of the records, or an error. Caller holds @append. */
static int begin_chunk(struct write_queue *queue, struct records_cursor *cursor)
{
	struct chunk *chunk;
	int err;

	pthread_mutex_lock(&queue->lock);
	if (queue->filling && !chunk__room(queue->filling))
		seal_chunk(queue);
	while (!queue->err && !queue->filling) {
		queue->filling = chunk_pool__get(&queue->pool, queue->end);
		if (!queue->filling)
			pthread_cond_wait(&queue->room, &queue->lock);
	}
	err = queue->err;
	chunk = queue->filling;
	if (err) {
		drop_rest(queue, cursor);
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
	seal_chunk(queue);
	pthread_mutex_unlock(&queue->lock);
	pthread_mutex_unlock(&queue->append);
}

static pid_t own_tid(void)
{
	return syscall(__NR_gettid);
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
 * Failing
 */

/* Where the last whole record ends that is written; @chunk is the first that is not. */
static u64 saved_end(const struct chunk *chunk)
{
	u64 written = chunk->pos + chunk->done, end = chunk->first;
	const struct records records = records__of(chunk->data, chunk->len);
	size_t size;
	u32 type;

	if (end > written)
		return chunk->whole;
	while ((size = records__extent(&records, end - chunk->pos, &type)) && end + size <= written)
		end += size;
	return end;
}

/* With @lock held: what of @chunk does not lie below @end of the file is given up. */
static void give_up_chunk(struct write_queue *queue, const struct chunk *chunk, u64 end)
{
	const struct records records = records__of(chunk->data, chunk->len);

	count_dropped(queue, &records, max(end, chunk->first) - chunk->pos, false);
}

static void give_up_list(struct write_queue *queue, struct list_head *list, u64 end)
{
	struct chunk *chunk, *tmp;

	list_for_each_entry_safe(chunk, tmp, list, node) {
		give_up_chunk(queue, chunk, end);
		chunk_pool__put(&queue->pool, chunk);
	}
}

/* With both locks held: the file ends before the first chunk that is not written, if there is one. */
static void give_up_file(struct write_queue *queue)
{
	u64 end = write_queue__file_end(queue);
	const struct chunk *failed;

	list_splice_tail_init(&queue->full, &queue->flying);
	if (!list_empty(&queue->flying)) {
		failed = list_first_entry(&queue->flying, struct chunk, node);
		end = saved_end(failed);
		if (end < failed->pos) {	/* the record that begins in a chunk which is written */
			queue->unsaved.records++;
			queue->unsaved.samples += failed->type == PERF_RECORD_SAMPLE;
		}
		queue->unsaved.bytes += write_queue__file_end(queue) - end;
		give_up_list(queue, &queue->flying, end);
	}
	if (queue->turned)
		queue->unsaved.bytes += queue->end - queue->begin;
	give_up_list(queue, &queue->next, 0);
	queue->turned = false;
	__atomic_store_n(&queue->end, end, __ATOMIC_RELAXED);
}

/* With @lock held, which is released meanwhile. Nothing is in flight. */
static void give_up_all(struct write_queue *queue, int err)
{
	queue->err = err;
	pthread_cond_broadcast(&queue->room);	/* whoever appends gives up, too */
	pthread_mutex_unlock(&queue->lock);

	pthread_mutex_lock(&queue->append);
	pthread_mutex_lock(&queue->lock);
	seal_chunk(queue);
	give_up_file(queue);
	pthread_mutex_unlock(&queue->append);
}

/* The same. */
static void settle(struct write_queue *queue)
{
	give_up_all(queue, list_first_entry(&queue->flying, struct chunk, node)->err);
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
		seal_chunk(queue);
		pthread_mutex_unlock(&queue->append);
	} else if (queue->seekable) {		/* somebody appends to it: it can wait once more */
		queue->filling->begun = now_ns();
	} else {				/* who does will tell us at the end */
		pthread_cond_wait(&queue->work, &queue->lock);
	}
}

static void *run(void *arg)
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
	int err = thread__create(&queue->thread, run, queue);

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
	seal_chunk(queue);
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
		give_up_all(queue, err);
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
