// SPDX-License-Identifier: GPL-2.0-only
/*
 * Append records to the queue, flush it, begin and end files.
 */
#include <errno.h>
#include <time.h>
#include <linux/kernel.h>
#include "util/time-utils.h"
#include "recording/lib/thread.h"
#include "chunk_write.h"
#include "queue.h"
#include "queue_error.h"
#include "writer.h"

/*
 * Appending
 */

#define LOCKED_COPY_BYTES	4096	/* copy no more than this while holding @append */
#define MAX_PIECES		32	/* reserve no more than this before copying: 8 to 32 MB */

/**
 * struct append - append the records of one call
 * @cursor:	what is copied
 * @reserved:	number of bytes that have their place in the file, copied or not
 * @piece:	@nr places that are reserved, and not copied to yet
 */
struct append {
	struct records_cursor	cursor;
	size_t			reserved;
	struct piece		piece[MAX_PIECES];
	unsigned int		nr;
};

static void describe_begin(struct chunk *chunk, struct records_cursor *cursor)
{
	records_cursor__find(cursor);
	chunk->first_record = chunk->pos + (cursor->next - cursor->pos);
	chunk->record = chunk->first_record;
	if (cursor->next > cursor->pos)
		chunk->record = chunk->pos - (cursor->pos - cursor->record);
	chunk->record_type = cursor->type;
}

/* Copy to the reserved places. Needs no lock: nobody looks at a chunk until all is copied. */
static void copy(struct write_queue *queue, struct append *append)
{
	const struct piece *piece;

	for (piece = append->piece; piece < append->piece + append->nr; piece++) {
		if (piece->dst == piece->chunk->data)
			describe_begin(piece->chunk, &append->cursor);
		records_cursor__copy(&append->cursor, piece->dst, piece->len);
		if (!chunk__end_copy(piece->chunk, piece->len))
			continue;
		pthread_mutex_lock(&queue->lock);
		pthread_cond_signal(&queue->work);
		pthread_cond_broadcast(&queue->progress);
		pthread_mutex_unlock(&queue->lock);
	}
	append->nr = 0;
}

/*
 * Wait until there is a chunk with space, or an error. Copy before waiting: a chunk becomes free
 * when all before it are copied and written. Caller holds @append.
 */
static int begin_chunk(struct write_queue *queue, struct append *append)
{
	int err;

	if (queue->filling && chunk__space(queue->filling))
		return 0;
	pthread_mutex_lock(&queue->lock);
	write_queue__seal(queue);
	while (!queue->err && !queue->filling) {
		queue->filling = chunk_pool__get(&queue->pool, tail__pos(&queue->tail));
		if (queue->filling)
			break;
		if (append->nr) {
			pthread_mutex_unlock(&queue->lock);
			copy(queue, append);
			pthread_mutex_lock(&queue->lock);
		} else {
			queue->counters.pool_waits++;
			pthread_cond_wait(&queue->progress, &queue->lock);
		}
	}
	err = queue->err;
	if (!err) {
		queue->filling->begin_ns = rdclock();
		pthread_cond_signal(&queue->work);
	}
	pthread_mutex_unlock(&queue->lock);
	return err;
}

/* Reserve places in the file for the records. Caller holds @append. */
static int reserve(struct write_queue *queue, struct append *append)
{
	size_t len;
	int err;

	tail__close(&queue->tail);
	while (append->reserved < append->cursor.len) {
		if (append->nr == MAX_PIECES)
			copy(queue, append);
		err = begin_chunk(queue, append);
		if (err)
			return err;
		len = min(chunk__space(queue->filling), append->cursor.len - append->reserved);
		append->piece[append->nr++] = tail__advance(&queue->tail, queue->filling, len);
		append->reserved += len;
	}
	return 0;
}

/* Let others reserve without a lock, unless a thread holds the queue. Caller holds @append. */
static void open_tail(struct write_queue *queue)
{
	if (queue->filling && !queue->holder)
		tail__open(&queue->tail, queue->filling);
}

/*
 * Append with the lock, which is released before a long copy so that other threads can append
 * meanwhile.
 */
static int append_locked(struct write_queue *queue, struct append *append, u64 *pos)
{
	int err;

	pthread_mutex_lock(&queue->append);
	queue->counters.locked++;
	err = reserve(queue, append);
	*pos = tail__pos(&queue->tail) - append->reserved;
	if (append->cursor.len <= LOCKED_COPY_BYTES || err)
		copy(queue, append);
	if (err) {
		pthread_mutex_lock(&queue->lock);
		write_queue__drop_rest(queue, &append->cursor);
		pthread_mutex_unlock(&queue->lock);
	}
	open_tail(queue);
	pthread_mutex_unlock(&queue->append);
	copy(queue, append);
	return err;
}

/*
 * Short runs come from the main thread, which may have a lower priority than the threads that wait
 * for it. A thread inherits priority only while it holds a lock, so these are copied with the lock.
 */
static int append(struct write_queue *queue, const struct records *records, bool single, u64 *pos)
{
	struct append append = { .cursor = records_cursor__init(records, single) };
	int err = 0;

	if (append.cursor.len > LOCKED_COPY_BYTES &&
	    tail__reserve(&queue->tail, append.cursor.len, append.piece)) {
		append.nr = 1;
		*pos = piece__pos(append.piece);
		copy(queue, &append);
	} else {
		err = append_locked(queue, &append, pos);
	}

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

	*queue = (struct write_queue){
		.failed = failed,
		.arg = arg,
	};
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
		tail__set(&queue->tail, pos);
	queue->in_next_file = false;
	pthread_cond_signal(&queue->work);
	pthread_mutex_unlock(&queue->lock);
}

void write_queue__hold(struct write_queue *queue)
{
	pthread_mutex_lock(&queue->append);
	tail__close(&queue->tail);
	__atomic_store_n(&queue->holder, own_tid(), __ATOMIC_RELAXED);
}

void write_queue__release(struct write_queue *queue)
{
	__atomic_store_n(&queue->holder, 0, __ATOMIC_RELAXED);
	open_tail(queue);
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
		queue->file_end = tail__pos(&queue->tail);
		tail__set(&queue->tail, pos);
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
