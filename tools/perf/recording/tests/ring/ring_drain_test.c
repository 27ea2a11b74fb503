// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drain a ring whose kernel counts with 64 bits, or with 32.
 * tags: fast parallel
 *
 * A 32-bit kernel publishes data_head modulo 2^32.
 *
 * Prints KTAP.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include <internal/lib.h>

#include "recording/lib/records.h"
#include "recording/ring/channel.h"
#include "recording/ring/drain.h"
#include "recording/ring/sample_ids.h"
#include "perf/tests/tap.h"
#include "recording/tests/stubs/debug.h"

#define RING_BYTES	4096

void *ring__data(const struct ring *ring)
{
	return ring->map.base + page_size;
}

int sample_ids__pass(const struct records *records, struct record_sink *sink, struct ring *ring)
{
	return sink->write(sink, records, ring);
}

static size_t drained_bytes;

static int sum_up(struct record_sink *sink, const struct records *records, struct ring *ring)
{
	(void)sink, (void)ring;
	drained_bytes += records__len(records);
	return 0;
}

static u32 max_size;		/* of the records before */
static bool was_full;

/* Drain records of @bytes behind position @tail. Return whether the sink has got all of them. */
static bool drains(u64 tail, u64 head, size_t bytes)
{
	static struct record_sink sink = { .write = sum_up };
	struct perf_event_mmap_page *page = aligned_alloc(page_size, page_size + RING_BYTES);
	struct ring ring = { .map = { .base = page, .mask = RING_BYTES - 1, .prev = tail } };
	size_t counted = 0;
	bool ok;

	memset(page, 0, page_size + RING_BYTES);
	page->data_head = head;
	ring.stats.max_size = max_size;
	drained_bytes = 0;
	ok = !ring__drain(&ring, 0, &sink, &counted) && drained_bytes == bytes &&
	     counted == bytes && page->data_tail == head && ring.map.prev == head;
	was_full = ring.stats.is_full;
	free(page);
	return ok;
}

int main(void)
{
	const u64 limit = 1ULL << 32;

	page_size = sysconf(_SC_PAGESIZE);
	check(drains(0, RING_BYTES, RING_BYTES), "a full ring is drained");
	check(drains(limit - 64, limit + 192, 256), "a 64-bit kernel counts on after 4 GB");
	check(drains(limit - 64, 192, 256), "a 32-bit kernel begins again after 4 GB");
	check(drains(limit - RING_BYTES, 0, RING_BYTES), "... also when data_head is 0 then");
	check(!debug_nr_messages && !drains(0, RING_BYTES + 8, 0) && debug_nr_messages == 1,
	      "more data than the ring can hold is an error");
	check(!drains(limit - 8, RING_BYTES, 0) && debug_nr_messages == 2,
	      "... also where a 32-bit kernel begins again");
	check(drains(0, RING_BYTES, RING_BYTES) && was_full, "a full ring may lose records");
	check(drains(0, RING_BYTES / 2, RING_BYTES / 2) && !was_full, "one with space loses none");
	max_size = RING_BYTES / 4 + 8;
	check(drains(0, RING_BYTES / 2, RING_BYTES / 2) && was_full,
	      "one that has too little space for two records may");
	return tap_end();
}
