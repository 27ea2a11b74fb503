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
#include "recording/lib/unit.h"
#include "writer.h"

/*
 * Appending
 */

/* With both locks held. */
static void seal_chunk(struct spool *spool)
{
	if (!spool->filling)
		return;
	list_add_tail(&spool->filling->node, spool->turned ? &spool->next : &spool->full);
	spool->filling = NULL;
	pthread_cond_signal(&spool->work);
}

/* Records that begin at @pos of @unit or behind it are given up. */
static void give_up(struct spool *spool, const struct unit *unit, size_t pos)
{
	struct spool_unsaved *unsaved = &spool->unsaved;
	size_t size;
	u32 type;

	while (pos < unit->len && (size = unit__record(unit, pos, &type))) {
		unsaved->records++;
		unsaved->samples += type == PERF_RECORD_SAMPLE;
		pos += size;
		if (unit->indivisible)
			break;
	}
}

static void give_up_rest(struct spool *spool, struct unit *unit)
{
	unit__find(unit);
	give_up(spool, unit, unit->next);
	spool->unsaved.bytes += unit->len - unit->pos;
}

/* With @append held. Waits until there is a chunk for the rest of @unit, or an error. */
static int begin_chunk(struct spool *spool, struct unit *unit)
{
	struct chunk *chunk;
	int err;

	pthread_mutex_lock(&spool->lock);
	if (spool->filling && !chunk__room(spool->filling))
		seal_chunk(spool);
	while (!spool->err && !spool->filling) {
		spool->filling = pool__get(&spool->pool, spool->end);
		if (!spool->filling)
			pthread_cond_wait(&spool->room, &spool->lock);
	}
	err = spool->err;
	chunk = spool->filling;
	if (err) {
		give_up_rest(spool, unit);
	} else if (!chunk->begun) {
		unit__find(unit);
		chunk->first = chunk->pos + (unit->next - unit->pos);
		chunk->whole = chunk->first;
		if (unit->next > unit->pos)
			chunk->whole = chunk->pos - (unit->pos - unit->whole);
		chunk->type = unit->type;
		chunk->begun = now_ns();
		pthread_cond_signal(&spool->work);
	}
	pthread_mutex_unlock(&spool->lock);
	return err;
}

static int append(struct spool *spool, struct unit *unit, u64 *pos)
{
	struct chunk *chunk;
	size_t len;
	int err = 0;

	pthread_mutex_lock(&spool->append);
	*pos = spool->end;
	while (unit->pos < unit->len) {
		err = begin_chunk(spool, unit);
		if (err)
			break;
		chunk = spool->filling;
		len = min(chunk__room(chunk), unit->len - unit->pos);
		unit__copy(unit, chunk->data + chunk->len, len);
		chunk->len += len;
		__atomic_store_n(&spool->end, spool->end + len, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&spool->append);

	if (!__atomic_load_n(&spool->seekable, __ATOMIC_RELAXED) && !err) {	/* see wait_for_work() */
		pthread_mutex_lock(&spool->lock);
		pthread_cond_signal(&spool->work);
		pthread_mutex_unlock(&spool->lock);
	}
	return err;
}

int spool__append(struct spool *spool, const struct span *span)
{
	struct unit unit = unit__of(span->part, 2, false);
	u64 pos;

	return append(spool, &unit, &pos);
}

int spool__append_unit(struct spool *spool, const struct iovec *part, int nr, u64 *pos)
{
	struct unit unit = unit__of(part, nr, true);

	return append(spool, &unit, pos);
}

static void wait_until_settled(struct spool *spool)
{
	while (!list_empty(&spool->full) || !list_empty(&spool->flying) ||
	       ((spool->err || spool->failing) && !spool->settled))
		pthread_cond_wait(&spool->room, &spool->lock);
}

/* What is being filled may be the next file's: who appends to that can wait for a chunk, holding @append. */
static void seal_file(struct spool *spool)
{
	bool turned;

	pthread_mutex_lock(&spool->lock);
	turned = spool->turned;
	pthread_mutex_unlock(&spool->lock);
	if (turned)
		return;
	pthread_mutex_lock(&spool->append);
	pthread_mutex_lock(&spool->lock);
	seal_chunk(spool);
	pthread_mutex_unlock(&spool->lock);
	pthread_mutex_unlock(&spool->append);
}

static pid_t own_tid(void)
{
	return syscall(__NR_gettid);
}

/* Whoever holds the spool lets go while it waits: when a write has failed, the thread needs @append. */
int spool__drain(struct spool *spool)
{
	bool held = __atomic_load_n(&spool->holder, __ATOMIC_RELAXED) == own_tid();
	int err;

	seal_file(spool);
	if (held)
		spool__release(spool);
	pthread_mutex_lock(&spool->lock);
	wait_until_settled(spool);
	err = spool->err;
	pthread_mutex_unlock(&spool->lock);
	if (held)
		spool__hold(spool);
	return err;
}

int spool__error(struct spool *spool)
{
	int err;

	pthread_mutex_lock(&spool->lock);
	err = spool->settled ? spool->err : 0;
	pthread_mutex_unlock(&spool->lock);
	return err;
}

/*
 * Failing
 */

static struct unit unit__of_chunk(const struct chunk *chunk, struct iovec *part)
{
	*part = (struct iovec){ chunk->data, chunk->len };
	return unit__of(part, 1, false);
}

/* Where the last whole record ends that is written; @chunk is the first that is not. */
static u64 saved_end(const struct chunk *chunk)
{
	u64 written = chunk->pos + chunk->done, end = chunk->first;
	struct iovec part;
	struct unit unit = unit__of_chunk(chunk, &part);
	size_t size;
	u32 type;

	if (end > written)
		return chunk->whole;
	while ((size = unit__record(&unit, end - chunk->pos, &type)) && end + size <= written)
		end += size;
	return end;
}

/* With @lock held: what of @chunk does not lie below @end of the file is given up. */
static void give_up_chunk(struct spool *spool, const struct chunk *chunk, u64 end)
{
	struct iovec part;
	const struct unit unit = unit__of_chunk(chunk, &part);

	give_up(spool, &unit, max(end, chunk->first) - chunk->pos);
}

static void give_up_list(struct spool *spool, struct list_head *list, u64 end)
{
	struct chunk *chunk, *tmp;

	list_for_each_entry_safe(chunk, tmp, list, node) {
		give_up_chunk(spool, chunk, end);
		pool__put(&spool->pool, chunk);
	}
}

/* With both locks held: the file ends before the first chunk that is not written, if there is one. */
static void give_up_file(struct spool *spool)
{
	u64 end = spool__file_end(spool);
	const struct chunk *failed;

	list_splice_tail_init(&spool->full, &spool->flying);
	if (!list_empty(&spool->flying)) {
		failed = list_first_entry(&spool->flying, struct chunk, node);
		end = saved_end(failed);
		if (end < failed->pos) {	/* the record that begins in a chunk which is written */
			spool->unsaved.records++;
			spool->unsaved.samples += failed->type == PERF_RECORD_SAMPLE;
		}
		spool->unsaved.bytes += spool__file_end(spool) - end;
		give_up_list(spool, &spool->flying, end);
	}
	if (spool->turned)
		spool->unsaved.bytes += spool->end - spool->begin;
	give_up_list(spool, &spool->next, 0);
	spool->turned = false;
	__atomic_store_n(&spool->end, end, __ATOMIC_RELAXED);
}

/* With @lock held, which is released meanwhile. Nothing is in flight. */
static void give_up_all(struct spool *spool, int err)
{
	spool->err = err;
	pthread_cond_broadcast(&spool->room);	/* whoever appends gives up, too */
	pthread_mutex_unlock(&spool->lock);

	pthread_mutex_lock(&spool->append);
	pthread_mutex_lock(&spool->lock);
	seal_chunk(spool);
	give_up_file(spool);
	pthread_mutex_unlock(&spool->append);
}

/* The same. */
static void settle(struct spool *spool)
{
	give_up_all(spool, list_first_entry(&spool->flying, struct chunk, node)->err);
	pthread_mutex_unlock(&spool->lock);

	spool->failed(spool->arg, spool->err, spool->end);

	pthread_mutex_lock(&spool->lock);
	spool->failing = false;
	spool->settled = true;
	pthread_cond_broadcast(&spool->room);
}

/*
 * Writing: all of this with @lock held, which is released while the writer works
 */

static bool can_submit(const struct spool *spool)
{
	return !spool->failing && !list_empty(&spool->full) &&
	       spool->in_flight < spool->writer->depth;
}

static bool page_cache_keeps_up(const struct spool *spool, u64 now)
{
	return now >= spool->stalled_until || spool->pool.nr_free >= spool->pool.nr / 2;
}

static void submit(struct spool *spool)
{
	struct chunk *chunk = list_first_entry(&spool->full, struct chunk, node);
	u64 begin = now_ns(), end;
	bool buffered = page_cache_keeps_up(spool, begin);

	list_move_tail(&chunk->node, &spool->flying);
	spool->in_flight++;
	chunk->buffered = buffered;
	pthread_mutex_unlock(&spool->lock);
	writer__submit(spool->writer, chunk);
	end = now_ns();
	if (buffered && end - begin > SPOOL_STALL_MS * NSEC_PER_MSEC)
		spool->stalled_until = end + SPOOL_STALLED_MS * NSEC_PER_MSEC;
	pthread_mutex_lock(&spool->lock);
}

/* A chunk goes back to the pool when all before it are written: then no error can touch it. */
static void complete(struct spool *spool)
{
	struct chunk *chunk;

	pthread_mutex_unlock(&spool->lock);
	chunk = writer__complete(spool->writer);
	pthread_mutex_lock(&spool->lock);

	chunk->back = true;
	spool->in_flight--;
	spool->failing |= chunk->err != 0;
	while (!list_empty(&spool->flying)) {
		chunk = list_first_entry(&spool->flying, struct chunk, node);
		if (!chunk->back || chunk->err)
			break;
		__atomic_store_n(&spool->written, chunk->pos + chunk->len, __ATOMIC_RELAXED);
		pool__put(&spool->pool, chunk);
	}
	pthread_cond_broadcast(&spool->room);
}

/* Waits for work. Where there is nothing but an unfinished chunk, that is it after a while. */
static void wait_for_work(struct spool *spool)
{
	struct timespec until;
	u64 due;

	if (!spool->filling) {
		pthread_cond_wait(&spool->work, &spool->lock);
		return;
	}
	due = spool->filling->begun + (spool->seekable ? SPOOL_FLUSH_MS * NSEC_PER_MSEC : 0);
	if (now_ns() < due) {
		until.tv_sec = due / NSEC_PER_SEC;
		until.tv_nsec = due % NSEC_PER_SEC;
		pthread_cond_timedwait(&spool->work, &spool->lock, &until);
		return;
	}
	if (!pthread_mutex_trylock(&spool->append)) {
		seal_chunk(spool);
		pthread_mutex_unlock(&spool->append);
	} else if (spool->seekable) {		/* somebody appends to it: it can wait once more */
		spool->filling->begun = now_ns();
	} else {				/* who does will tell us at the end */
		pthread_cond_wait(&spool->work, &spool->lock);
	}
}

static void *run(void *arg)
{
	struct spool *spool = arg;

	pthread_mutex_lock(&spool->lock);
	spool->tid = own_tid();
	pthread_cond_broadcast(&spool->room);
	for (;;) {
		if (can_submit(spool))
			submit(spool);
		else if (spool->in_flight)
			complete(spool);
		else if (spool->failing)
			settle(spool);
		else if (spool->quit)
			break;
		else
			wait_for_work(spool);
	}
	pthread_mutex_unlock(&spool->lock);
	return NULL;
}

/*
 * Beginning and end
 */

static void init_locks(struct spool *spool)
{
	pthread_condattr_t attr;

	thread__init_recursive_lock(&spool->append);
	thread__init_lock(&spool->lock);
	pthread_cond_init(&spool->room, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&spool->work, &attr);
	pthread_condattr_destroy(&attr);
}

static int create_thread(struct spool *spool)
{
	int err = thread__create(&spool->thread, run, spool);

	if (err)
		return err;
	spool->running = true;
	pthread_mutex_lock(&spool->lock);
	while (!spool->tid)
		pthread_cond_wait(&spool->room, &spool->lock);
	pthread_mutex_unlock(&spool->lock);
	return 0;
}

int spool__init(struct spool *spool, size_t size, void (*failed)(void *arg, int err, u64 end),
		void *arg)
{
	int err;

	*spool = (struct spool){ .failed = failed, .arg = arg };
	INIT_LIST_HEAD(&spool->full);
	INIT_LIST_HEAD(&spool->next);
	INIT_LIST_HEAD(&spool->flying);
	init_locks(spool);
	err = pool__init(&spool->pool, size);
	return err ?: create_thread(spool);
}

void spool__open(struct spool *spool, struct writer *writer, int fd, u64 pos, bool seekable)
{
	pthread_mutex_lock(&spool->lock);
	writer__open(writer, fd, seekable);
	spool->writer = writer;
	__atomic_store_n(&spool->seekable, seekable, __ATOMIC_RELAXED);
	if (spool->turned)
		list_splice_tail_init(&spool->next, &spool->full);
	else
		spool->end = pos;
	spool->turned = false;
	pthread_cond_signal(&spool->work);
	pthread_mutex_unlock(&spool->lock);
}

void spool__hold(struct spool *spool)
{
	pthread_mutex_lock(&spool->append);
	__atomic_store_n(&spool->holder, own_tid(), __ATOMIC_RELAXED);
}

void spool__release(struct spool *spool)
{
	__atomic_store_n(&spool->holder, 0, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&spool->append);
}

void spool__next(struct spool *spool, u64 pos)
{
	pthread_mutex_lock(&spool->append);
	pthread_mutex_lock(&spool->lock);
	seal_chunk(spool);
	if (!spool->err) {
		spool->turned = true;
		spool->begin = pos;
		spool->file_end = spool->end;
		__atomic_store_n(&spool->end, pos, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&spool->lock);
	pthread_mutex_unlock(&spool->append);
}

void spool__abandon(struct spool *spool, int err)
{
	pthread_mutex_lock(&spool->lock);
	if (spool->turned) {
		give_up_all(spool, err);
		spool->settled = true;
		pthread_cond_broadcast(&spool->room);
	}
	pthread_mutex_unlock(&spool->lock);
}

int spool__close(struct spool *spool)
{
	int err = spool__drain(spool);

	pthread_mutex_lock(&spool->lock);
	if (spool->writer)
		writer__close(spool->writer);
	spool->writer = NULL;
	pthread_mutex_unlock(&spool->lock);
	return err;
}

void spool__exit(struct spool *spool)
{
	if (spool->running) {
		pthread_mutex_lock(&spool->lock);
		spool->quit = true;
		pthread_cond_signal(&spool->work);
		pthread_mutex_unlock(&spool->lock);
		pthread_join(spool->thread, NULL);
	}
	pool__exit(&spool->pool);
	*spool = (struct spool){ 0 };
}
