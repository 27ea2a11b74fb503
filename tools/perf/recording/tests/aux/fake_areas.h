/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Simulate AUX areas that a PMU fills, with what drains them: readers, aux/drain.c, a queue.
 *
 * Each area has a producer, a thread that stands for the PMU and its driver. It announces a piece
 * of the trace (PERF_RECORD_AUX), publishes it (aux_head), and wakes the reader up when half of the
 * area is new, or sometimes earlier, so that there are short pieces as well. When the area is full
 * it waits until the event is enabled again (read_finish).
 *
 * Byte n of a trace is part of a word that depends on n and on the area.
 */
#include <err.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/eventfd.h>
#include <linux/kernel.h>
#include <perf/event.h>

#include "util/auxtrace.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/record.h"
#include "util/session.h"
#include "recording/aux/aux.h"
#include "recording/aux/drain.h"
#include "recording/aux/sideband.h"
#include "recording/output/aux_index.h"
#include "recording/output/output.h"
#include "recording/ring/channel.h"
#include "recording/ring/reader_sched.h"
#include "recording/ring/readers.h"
#include "recording/write/queue.h"
#include "../random.h"

#define NR_AREAS	4

/*
 * In place of util and of the rest of the recorder. No thread is moved to another CPU.
 */

int reader_spec__find(const struct reader_spec *spec, struct perf_cpu cpu)
{
	return cpu.cpu < spec->nr ? cpu.cpu : -1;
}

int reader_sched__set_cpus(pthread_t thread, struct perf_cpu_map *cpus)
{
	(void)thread, (void)cpus;
	return 0;
}

int reader_sched__set_priority(pthread_t thread, int priority)
{
	(void)thread, (void)priority;
	return -EPERM;
}

int ring__drain(struct ring *ring, size_t min_bytes, struct record_sink *sink, size_t *bytes)
{
	(void)ring, (void)min_bytes, (void)sink, (void)bytes;
	return -EINVAL;
}

const char *evsel__name(struct evsel *evsel)
{
	(void)evsel;
	return "fake";
}

u64 auxtrace_record__reference(struct auxtrace_record *itr)
{
	(void)itr;
	return 0;
}

int auxtrace_index__auxtrace_event(struct list_head *head, union perf_event *event, off_t pos)
{
	struct auxtrace_index *block = list_empty(head) ? NULL :
				       list_last_entry(head, struct auxtrace_index, list);

	if (!block || block->nr == PERF_AUXTRACE_INDEX_ENTRY_COUNT) {
		block = calloc(1, sizeof(*block));
		list_add_tail(&block->list, head);
	}
	block->entries[block->nr].file_offset = pos;
	block->entries[block->nr++].sz = event->header.size;
	return 0;
}

void auxtrace_index__free(struct list_head *head)
{
	struct auxtrace_index *block, *tmp;

	list_for_each_entry_safe(block, tmp, head, list) {
		list_del(&block->list);
		free(block);
	}
}

static struct write_queue queue;

int output__write(struct output *output, const struct records *records, struct ring_stats *stats)
{
	(void)output, (void)stats;
	return write_queue__append(&queue, records);
}

int output__write_unit(struct output *output, const struct records *unit, u64 *pos)
{
	(void)output;
	return write_queue__append_unit(&queue, unit, pos);
}

int output__answer(const struct output *output)
{
	(void)output;
	return 0;
}

/*
 * Areas
 */

/**
 * struct fake_area
 * @lock:	protects @head to @full. A reader that has seen aux_head takes it before it reads
 *		data, so the thread sanitizer knows that these were written before.
 * @head:	bytes of the trace that are published, @announced before
 * @recorded:	PERF_RECORD_AUX up to here are in the file
 * @tail:	the driver's copy of aux_tail
 * @full:	times that the area was full
 * @waiting:	the event is disabled: the area is full
 */
struct fake_area {
	struct perf_event_mmap_page	 page __attribute__((aligned(4096)));
	char				*memory;
	pthread_mutex_t			 lock;
	pthread_cond_t			 enabled;
	u64				 head, recorded, tail, full;
	bool				 waiting;
	int				 fd;
	pthread_t			 thread;
	u64				 seed;
};

static struct fake_area fakes[NR_AREAS];
static struct aux_area areas[NR_AREAS];
static struct ring rings[NR_AREAS];
static struct channel no_stream, aux_channel = {
	.rings = rings, .nr = NR_AREAS, .nr_mapped = NR_AREAS,
};
static struct perf_session session;
static struct output output = { .session = &session };
static struct record_opts opts = { .full_auxtrace = true };
static pthread_mutex_t enabling = PTHREAD_MUTEX_INITIALIZER;
static struct auxtrace_record itr;
static struct aux aux = {
	.itr = &itr, .opts = &opts, .enabling = &enabling, .areas = areas, .nr = NR_AREAS,
};
static u64 area_bytes;
static bool fill_areas = true;		/* with the trace, or leave the memory as it is */
static u64 bytes_per_ms;		/* of each producer; 0: as fast as possible */
static atomic_bool producers_end;

static inline u64 trace_word(int area, u64 pos)
{
	return (pos + 8 * area) * 0x9e3779b97f4a7c15ULL;
}

/*
 * Write the records of a ring. Like the kernel, a producer writes one before it publishes a piece.
 */
int aux_sideband__drain_area(struct aux *all, struct aux_area *area, struct output *to,
			     struct record_sink *rest, size_t *bytes)
{
	struct fake_area *fake = &fakes[area - areas];
	struct perf_record_aux record = {
		.header = { .type = PERF_RECORD_AUX, .size = sizeof(record) },
		.flags = area - areas,
	};
	struct records records = records__of(&record, sizeof(record));

	(void)all, (void)rest, (void)bytes;
	pthread_mutex_lock(&fake->lock);
	record.aux_offset = fake->recorded;
	record.aux_size = fake->head - fake->recorded;
	fake->recorded = fake->head;
	pthread_mutex_unlock(&fake->lock);
	sched_yield();			/* let the producer publish more */
	return record.aux_size ? output__write(to, &records, NULL) : 0;
}

static int read_finish(struct auxtrace_record *all, int i)
{
	struct fake_area *fake = &fakes[i];

	(void)all;
	pthread_mutex_lock(&fake->lock);
	fake->tail = fake->page.aux_tail;
	fake->waiting = false;
	pthread_cond_signal(&fake->enabled);
	pthread_mutex_unlock(&fake->lock);
	return 0;
}

static void wake_reader(struct fake_area *fake)
{
	const u64 one = 1;

	if (write(fake->fd, &one, sizeof(one)) < 0)
		abort();
}

/* Wait while the area is full. Return: free bytes, 0 at the end */
static u64 wait_for_space(struct fake_area *fake)
{
	u64 space;

	pthread_mutex_lock(&fake->lock);
	while (fake->head - fake->tail == area_bytes && !producers_end) {
		fake->full += !fake->waiting;
		fake->waiting = true;
		wake_reader(fake);
		pthread_cond_wait(&fake->enabled, &fake->lock);
	}
	space = area_bytes - (fake->head - fake->tail);
	pthread_mutex_unlock(&fake->lock);
	return producers_end ? 0 : space;
}

static void *produce(void *arg)
{
	struct fake_area *fake = arg;
	int i = fake - fakes;
	u64 pos = 0, woken = 0, space, len, done;

	while ((space = wait_for_space(fake))) {
		len = min(space,
			  bytes_per_ms ?: 8 + random_below(&fake->seed, area_bytes / 4) / 8 * 8);
		for (done = 0; fill_areas && done < len; done += 8)
			*(u64 *)(fake->memory + (pos + done) % area_bytes) =
				trace_word(i, pos + done);
		pos += len;
		pthread_mutex_lock(&fake->lock);
		fake->head = pos;
		__atomic_store_n(&fake->page.aux_head, pos, __ATOMIC_RELEASE);
		pthread_mutex_unlock(&fake->lock);
		if (pos - woken >= area_bytes / 2 ||
		    (fill_areas && !random_below(&fake->seed, 4))) {
			woken = pos;
			wake_reader(fake);
		}
		if (bytes_per_ms)
			usleep(1000);
	}
	return NULL;
}

static void create_areas(u64 bytes)
{
	int i;

	area_bytes = bytes;
	INIT_LIST_HEAD(&session.auxtrace_index);
	itr.read_finish = read_finish;
	for (i = 0; i < NR_AREAS; i++) {
		struct fake_area *fake = &fakes[i];

		*fake = (struct fake_area){ .seed = i, .fd = eventfd(0, EFD_NONBLOCK) };
		fake->memory = calloc(1, bytes);
		if (!fake->memory || fake->fd < 0)
			err(1, "no memory");
		pthread_mutex_init(&fake->lock, NULL);
		pthread_cond_init(&fake->enabled, NULL);
		rings[i] = (struct ring){ .map = { .base = &fake->page, .cpu = { i } } };
		areas[i] = (struct aux_area){
			.aux = &aux, .ring = &rings[i], .cursor.len = bytes,
			.mm = { .base = fake->memory, .userpg = &fake->page, .len = bytes,
				.idx = i, .cpu = i, .tid = -1 },
		};
		hw_ids__init(&areas[i].hw_ids);
		INIT_LIST_HEAD(&areas[i].index);
	}
	aux_drain__init(&aux, &output);
}

static void free_areas(void)
{
	int i;

	auxtrace_index__free(&session.auxtrace_index);
	for (i = 0; i < NR_AREAS; i++) {
		auxtrace_index__free(&areas[i].index);
		hw_ids__exit(&areas[i].hw_ids);
		close(fakes[i].fd);
		free(fakes[i].memory);
	}
}

static void start_producers(void)
{
	int i;

	producers_end = false;
	for (i = 0; i < NR_AREAS; i++)
		pthread_create(&fakes[i].thread, NULL, produce, &fakes[i]);
}

static void end_producers(void)
{
	int i;

	producers_end = true;
	for (i = 0; i < NR_AREAS; i++) {
		pthread_mutex_lock(&fakes[i].lock);
		pthread_cond_signal(&fakes[i].enabled);
		pthread_mutex_unlock(&fakes[i].lock);
		pthread_join(fakes[i].thread, NULL);
	}
}

/*
 * Readers, one for each area, or none: then the main thread drains all areas
 */

static struct readers readers;
static struct rounds rounds;
static struct pollset own;
static struct reader_place places[NR_AREAS];

static void start_readers(bool no_threads)
{
	int i;

	readers = (struct readers){
		.spec = { places, NR_AREAS }, .no_threads = no_threads, .priority = -1,
		.min_bytes = 1, .rounds = &rounds,
	};
	if (pollset__init(&own) || rounds__init(&rounds, 0, NULL, NULL) ||
	    readers__init(&readers, (struct channel *[]){ &no_stream, &aux_channel }, 2, &own))
		errx(1, "cannot prepare readers");
	for (i = 0; i < NR_AREAS; i++) {
		if (pollset__add_ring(rings[i].pollset, fakes[i].fd, &rings[i], false))
			errx(1, "cannot wait for a ring");
	}
	if (readers__start(&readers))
		errx(1, "cannot start readers");
}

static void free_readers(void)
{
	readers__exit(&readers);
	rounds__exit(&rounds);
	pollset__exit(&own);
}
