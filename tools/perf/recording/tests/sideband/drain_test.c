// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drain tracking rings that fill as fast as they are drained.
 * tags: fast parallel
 *
 * Two rings together hold more than the backlog. After each drain, a ring is full again.
 *
 * Prints KTAP.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <perf/event.h>

#include "recording/lib/records.h"
#include "recording/ring/channel.h"
#include "recording/ring/readers.h"
#include "recording/sideband/drain_thread.h"
#include "perf/tests/tap.h"

#define NR_RINGS	4
#define RING_BYTES	(BACKLOG_BYTES / 8 * 5)
#define RECORD_BYTES	(UINT16_MAX & ~7)
#define MAX_DRAINS	100		/* then the storm ends, and so does the test */

static struct ring rings[NR_RINGS];
static struct channel channel = { .rings = rings, .nr = NR_RINGS, .nr_mapped = NR_RINGS - 1 };
static char *contents;
static size_t content_bytes;
static int nr_attempts;
static char order[MAX_DRAINS + 2];	/* number of each ring that was drained */
static bool woken;			/* the thread has drained, and woken the main thread up */

/* Replace ring__drain(): each ring is always full. */
int ring__drain(struct ring *ring, size_t min_bytes, struct record_sink *sink, size_t *bytes)
{
	struct records records = records__of(contents, content_bytes);
	int ret;

	(void)min_bytes;
	if (nr_attempts++ > MAX_DRAINS)
		return 0;
	ret = sink->write(sink, &records, ring);
	if (ret < 0)
		return ret;
	order[strlen(order)] = '0' + (ring - rings);
	*bytes += content_bytes;
	return ret;
}

/*
 * Replacements of functions that are not under test
 */

int fixup__pass(struct evlist *evlist, const struct records *records, union fixup_copy *copy,
		struct record_sink *sink, struct ring *ring)
{
	(void)evlist, (void)copy;
	return sink->write(sink, records, ring);
}

size_t ring_stats__add(struct ring_stats *stats, const struct records *records, size_t end)
{
	(void)stats, (void)records;
	return end;
}

unsigned int readers__recorder(const struct readers *readers)
{
	(void)readers;
	return 0;
}

int readers__raise(struct readers *readers, pthread_t thread, bool drains)
{
	(void)readers, (void)thread, (void)drains;
	return 0;
}

int rounds__end(struct rounds *rounds, unsigned int visitor, u64 round, size_t bytes, bool whole)
{
	(void)rounds, (void)visitor, (void)round, (void)bytes, (void)whole;
	return 0;
}

void readers__wake_recorder(struct readers *readers)
{
	(void)readers;
	__atomic_store_n(&woken, true, __ATOMIC_RELEASE);
}

/*
 * Tests
 */

static struct readers readers = { .no_threads = true };
static struct drain_thread drain_thread;
static size_t consumed_bytes;

static void consume(void *arg, const struct records *records)
{
	(void)arg;
	consumed_bytes += records__len(records);
}

static void fill_rings(void)
{
	size_t pos;
	int i;

	content_bytes = RING_BYTES / RECORD_BYTES * RECORD_BYTES;
	contents = calloc(1, content_bytes);
	for (pos = 0; pos < content_bytes; pos += RECORD_BYTES)
		*(struct perf_event_header *)(contents + pos) = (struct perf_event_header){
			.type = PERF_RECORD_COMM, .size = RECORD_BYTES,
		};
	for (i = 0; i < NR_RINGS; i++)
		rings[i].map.mask = BACKLOG_BYTES - 1;
	/* CPU 1 is offline. */
	rings[0].map.base = rings[2].map.base = rings[3].map.base = contents;
}

static void start(bool no_threads)
{
	readers.no_threads = no_threads;
	if (drain_thread__init(&drain_thread, &channel, NULL, &readers, false))
		exit(1);
	drain_thread.to_backlog = true;
	memset(order, 0, sizeof(order));
	nr_attempts = 0;
	consumed_bytes = 0;
}

static void test_storm(void)
{
	ssize_t bytes;

	start(true);
	bytes = drain_thread__drain(&drain_thread, consume, NULL);
	check(bytes == 3 * (ssize_t)content_bytes && !strcmp(order, "023"),
	      "a drain takes from each ring once, although the rings fill further");
	check(consumed_bytes == 3 * content_bytes, "... and leaves nothing in the backlog");
	drain_thread__exit(&drain_thread);
}

static void test_full_backlog(void)
{
	start(false);
	woken = false;
	if (drain_thread__start(&drain_thread))
		exit(1);
	pollset__wake(&drain_thread.pollset);
	while (!__atomic_load_n(&woken, __ATOMIC_ACQUIRE))
		usleep(1000);
	drain_thread__stop(&drain_thread);
	check(!strcmp(order, "0"), "the thread drains until the backlog is full");
	drain_thread__drain(&drain_thread, consume, NULL);
	check(!strcmp(order, "0230") && consumed_bytes == 4 * content_bytes,
	      "the next drain begins with the ring that had to wait");
	drain_thread__exit(&drain_thread);
}

int main(void)
{
	alarm(60);		/* a drain that does not end ends the test */
	fill_rings();
	test_storm();
	test_full_backlog();
	free(contents);
	return tap_end();
}
