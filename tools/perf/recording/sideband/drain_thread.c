// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <internal/lib.h>
#include <linux/kernel.h>
#include <sys/mman.h>
#include "util/debug.h"
#include "recording/lib/fd.h"
#include "recording/lib/thread.h"
#include "recording/ring/channel.h"
#include "recording/ring/readers.h"
#include "drain_thread.h"

/*
 * From the rings to the file and the backlog. Caller holds @lock.
 */

/* When the recorder is killed, the guard reads what was stored before. */
static void set(__u64 *position, u64 value)
{
	__atomic_store_n(position, value, __ATOMIC_RELEASE);
}

static bool backlog_has_space(const struct drain_thread *drain_thread,
			      const struct records *records)
{
	u64 used = drain_thread->page->data_head - drain_thread->page->data_tail;

	return drain_thread->size - used >= records__len(records);
}

static void append_to_backlog(struct drain_thread *drain_thread, const struct records *records)
{
	u64 head = drain_thread->page->data_head;
	struct records space = records__of_ring(drain_thread->backlog, drain_thread->size, head,
						head + records__len(records));
	size_t pos = 0, i;

	for (i = 0; i < ARRAY_SIZE(space.part) && space.part[i].iov_len; i++) {
		records__copy(records, pos, space.part[i].iov_base, space.part[i].iov_len);
		pos += space.part[i].iov_len;
	}
	set(&drain_thread->page->data_head, head + pos);
}

static int write_fixed(struct record_sink *sink, const struct records *records, struct ring *ring)
{
	struct drain_thread *drain_thread = container_of(sink, struct drain_thread, fixed);
	struct record_sink *to_file = drain_thread->to_file;
	int ret = 0;

	if (to_file)
		ret = to_file->write(to_file, records, ring);
	else
		ring_stats__add(&ring->stats, records, records__len(records));
	if (ret >= 0 && drain_thread->to_backlog)
		append_to_backlog(drain_thread, records);
	return ret;
}

/* Fixed up, records are never longer than before. */
static int write_raw(struct record_sink *sink, const struct records *records, struct ring *ring)
{
	struct drain_thread *drain_thread = container_of(sink, struct drain_thread, raw);

	if (drain_thread->to_backlog && !backlog_has_space(drain_thread, records))
		return -EAGAIN;
	return fixup__pass(drain_thread->evlist, records, &drain_thread->copy,
			   &drain_thread->fixed, ring);
}

void drain_thread__hold(struct drain_thread *drain_thread)
{
	pthread_mutex_lock(&drain_thread->lock);
}

void drain_thread__release(struct drain_thread *drain_thread)
{
	pthread_mutex_unlock(&drain_thread->lock);
}

/* Drain the next ring. Caller holds @lock. On an error the ring stays the next one. */
static int drain_next(struct drain_thread *drain_thread, size_t *bytes)
{
	struct channel *channel = drain_thread->channel;
	struct ring *ring = &channel->rings[drain_thread->next];
	int ret = ring__mapped(ring) ? ring__drain(ring, 0, &drain_thread->raw, bytes) : 0;

	if (ret < 0)
		return ret;
	drain_thread->next = (drain_thread->next + 1) % channel->nr;
	return 0;
}

/*
 * Start over where the backlog is empty: it then touches no more memory than it needs. The head is
 * less than the tail for an instant: that is empty, too.
 */
static void consume_backlog(struct drain_thread *drain_thread, backlog_consume_t consume, void *arg)
{
	struct perf_event_mmap_page *page = drain_thread->page;
	struct records records;
	u64 head;

	drain_thread__hold(drain_thread);
	head = page->data_head;
	drain_thread__release(drain_thread);

	records = records__of_ring(drain_thread->backlog, drain_thread->size, page->data_tail,
				   head);
	consume(arg, &records);

	drain_thread__hold(drain_thread);
	set(&page->data_tail, head);
	if (page->data_head == head) {
		set(&page->data_head, 0);
		set(&page->data_tail, 0);
	}
	drain_thread__release(drain_thread);
}

/*
 * Keep @lock while a full backlog is consumed: the thread could drain nothing anyway, and the next
 * ring then fits. So the pass ends, however fast the rings fill.
 */
ssize_t drain_thread__drain(struct drain_thread *drain_thread, backlog_consume_t consume,
			    void *arg)
{
	size_t bytes = 0;
	int i, err = 0;

	drain_thread__hold(drain_thread);
	for (i = 0; i < drain_thread->channel->nr && !err; i++) {
		err = drain_next(drain_thread, &bytes);
		if (err == -EAGAIN) {
			consume_backlog(drain_thread, consume, arg);
			err = drain_next(drain_thread, &bytes);
		}
	}
	drain_thread__release(drain_thread);
	if (err)
		return err;
	if (drain_thread->to_backlog)
		consume_backlog(drain_thread, consume, arg);
	return bytes;
}

/*
 * The thread
 */

/*
 * Count the bytes in the round, but no visit: only the main thread knows when all rings were
 * visited.
 */
static void count_bytes(struct drain_thread *drain_thread, size_t bytes)
{
	const struct readers *readers = drain_thread->readers;

	rounds__end(readers->rounds, readers__recorder(readers), 0, bytes, false);
}

/*
 * The main thread meets errors as well: it drains the same rings.
 *
 * Return: length of the records [bytes].
 */
static size_t drain_until_full(struct drain_thread *drain_thread)
{
	size_t bytes = 0;
	int i, err = 0;

	drain_thread__hold(drain_thread);
	for (i = 0; i < drain_thread->channel->nr && !err; i++)
		err = drain_next(drain_thread, &bytes);
	drain_thread__release(drain_thread);
	return bytes;
}

static void *run(void *arg)
{
	struct drain_thread *drain_thread = arg;
	size_t bytes;

	while (!__atomic_load_n(&drain_thread->quit, __ATOMIC_ACQUIRE)) {
		pollset__wait(&drain_thread->pollset, -1);
		bytes = drain_until_full(drain_thread);
		if (bytes)
			count_bytes(drain_thread, bytes);
		if (!drain_thread->pollset.nr_tasks)
			__atomic_store_n(&drain_thread->no_tasks, true, __ATOMIC_RELAXED);
		readers__wake_recorder(drain_thread->readers);
	}
	return NULL;
}

int drain_thread__start(struct drain_thread *drain_thread)
{
	int err;

	if (drain_thread->readers->no_threads)
		return 0;
	err = thread__create(&drain_thread->thread, run, drain_thread);
	if (err) {
		pr_err("Cannot create a thread for the tracking rings: %s. Use --no-threads to drain them "
		       "in the main thread.\n",
		       strerror(-err));
		return err;
	}
	drain_thread->running = true;
	return readers__raise(drain_thread->readers, drain_thread->thread, true);
}

void drain_thread__stop(struct drain_thread *drain_thread)
{
	if (!drain_thread->running)
		return;
	__atomic_store_n(&drain_thread->quit, true, __ATOMIC_RELEASE);
	pollset__wake(&drain_thread->pollset);
	pthread_join(drain_thread->thread, NULL);
	drain_thread->running = false;
}

/*
 * Memory
 */

static size_t mapped_bytes(const struct drain_thread *drain_thread)
{
	return page_size + drain_thread->size;
}

static int map_backlog(struct drain_thread *drain_thread, bool shared)
{
	int flags = shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	struct ring *ring;
	size_t bytes;
	void *map;

	drain_thread->size = BACKLOG_BYTES;
	channel__for_each_ring(drain_thread->channel, ring)
		drain_thread->size = max(drain_thread->size, ring__size(ring));
	bytes = mapped_bytes(drain_thread);
	drain_thread->fd = shared ? memfd_create("backlog", MFD_CLOEXEC) : -1;
	if (shared && (drain_thread->fd < 0 || ftruncate(drain_thread->fd, bytes)))
		return -errno;
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, drain_thread->fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	drain_thread->page = map;
	drain_thread->page->data_offset = page_size;
	drain_thread->page->data_size = drain_thread->size;
	drain_thread->backlog = map + page_size;
	return 0;
}

int drain_thread__init(struct drain_thread *drain_thread, struct channel *channel,
		       struct evlist *evlist, struct readers *readers, bool shared)
{
	struct ring *ring;
	int err;

	drain_thread->fd = -1;
	drain_thread->channel = channel;
	drain_thread->evlist = evlist;
	drain_thread->readers = readers;
	drain_thread->raw.write = write_raw;
	drain_thread->fixed.write = write_fixed;
	thread__init_recursive_lock(&drain_thread->lock);
	channel__for_each_ring(channel, ring)
		ring->pollset = readers->no_threads ? readers->recorder : &drain_thread->pollset;
	err = pollset__init(&drain_thread->pollset) ?: map_backlog(drain_thread, shared);
	if (err)
		pr_err("Cannot prepare to drain the tracking rings: %s\n", strerror(-err));
	return err;
}

void drain_thread__exit(struct drain_thread *drain_thread)
{
	if (!drain_thread->channel)
		return;
	if (drain_thread->page)
		munmap(drain_thread->page, mapped_bytes(drain_thread));
	fd__close(&drain_thread->fd);
	pollset__exit(&drain_thread->pollset);
	*drain_thread = (struct drain_thread){ 0 };
}
