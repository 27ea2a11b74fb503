// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <linux/kernel.h>
#include <sys/mman.h>
#include "util/debug.h"
#include "recording/ring/channel.h"
#include "drain_thread.h"
#include "recording/ring/readers.h"
#include "recording/lib/thread.h"

static int map_backlog(struct intake *intake)
{
	struct ring *ring;

	intake->size = BACKLOG_BYTES;
	channel__for_each_ring(intake->channel, ring)
		intake->size = max(intake->size, ring__size(ring));
	intake->backlog = mmap(NULL, intake->size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (intake->backlog != MAP_FAILED)
		return 0;
	intake->backlog = NULL;
	return -ENOMEM;
}

int intake__init(struct intake *intake, struct channel *channel, struct readers *readers)
{
	struct ring *ring;
	int err;

	intake->channel = channel;
	intake->readers = readers;
	thread__init_recursive_lock(&intake->lock);
	channel__for_each_ring(channel, ring)
		ring->pollset = readers->no_threads ? readers->recorder : &intake->pollset;
	err = pollset__init(&intake->pollset) ?: map_backlog(intake);
	if (err)
		pr_err("Cannot set up what drains the tracking rings: %s\n", strerror(-err));
	return err;
}

void intake__exit(struct intake *intake)
{
	if (!intake->channel)
		return;
	if (intake->backlog)
		munmap(intake->backlog, intake->size);
	pollset__exit(&intake->pollset);
	*intake = (struct intake){ 0 };
}

/*
 * The rings
 */

void intake__hold(struct intake *intake)
{
	pthread_mutex_lock(&intake->lock);
}

void intake__release(struct intake *intake)
{
	pthread_mutex_unlock(&intake->lock);
}

ssize_t intake__drain(struct intake *intake)
{
	ssize_t bytes;

	intake__hold(intake);
	bytes = stream__drain(intake->channel, intake->drain, intake->arg);
	intake__release(intake);
	return bytes;
}

/*
 * The backlog
 */

void intake__add(struct intake *intake, const struct span *span)
{
	struct span room = span__of_ring(intake->backlog, intake->size, intake->head,
					 intake->head + span__len(span));
	size_t pos = 0, i;

	for (i = 0; i < ARRAY_SIZE(room.part); i++) {
		span__copy(span, pos, room.part[i].iov_base, room.part[i].iov_len);
		pos += room.part[i].iov_len;
	}
	intake->head += pos;
}

/* When it is empty it begins anew, so that it does not touch more memory than it needs. */
void intake__fold(struct intake *intake, void (*fold)(void *arg, const struct span *span), void *arg)
{
	struct span span;
	u64 head;

	intake__hold(intake);
	head = intake->head;
	intake__release(intake);

	span = span__of_ring(intake->backlog, intake->size, intake->tail, head);
	fold(arg, &span);

	intake__hold(intake);
	intake->tail = head;
	if (intake->head == head)
		intake->head = intake->tail = 0;
	intake__release(intake);
}

/*
 * The thread
 */

/* No visit of a round, but bytes in it: only the recorder's thread knows when all rings were looked at. */
static void count(struct intake *intake, size_t bytes)
{
	const struct readers *readers = intake->readers;

	rounds__end(readers->rounds, readers__recorder(readers), 0, bytes, false);
}

/* An error is met by the recorder's thread as well, which drains the same rings. */
static void *run(void *arg)
{
	struct intake *intake = arg;
	ssize_t bytes;

	while (!__atomic_load_n(&intake->quit, __ATOMIC_ACQUIRE)) {
		pollset__wait(&intake->pollset);
		bytes = intake__drain(intake);
		if (bytes > 0)
			count(intake, bytes);
		if (!intake->pollset.nr_tasks)
			__atomic_store_n(&intake->gone, true, __ATOMIC_RELAXED);
		readers__wake_recorder(intake->readers);
	}
	return NULL;
}

int intake__start(struct intake *intake)
{
	int err;

	if (intake->readers->no_threads)
		return 0;
	err = thread__create(&intake->thread, run, intake);
	if (err) {
		pr_err("Cannot create a thread for the tracking rings: %s. None is needed with "
		       "--no-threads.\n", strerror(-err));
		return err;
	}
	intake->running = true;
	return readers__raise(intake->readers, intake->thread, true);
}

void intake__stop(struct intake *intake)
{
	if (!intake->running)
		return;
	__atomic_store_n(&intake->quit, true, __ATOMIC_RELEASE);
	pollset__wake(&intake->pollset);
	pthread_join(intake->thread, NULL);
	intake->running = false;
}
