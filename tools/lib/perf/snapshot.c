// SPDX-License-Identifier: GPL-2.0-only
/* Hold the contents of one ring: memory, copying, reading. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <linux/kernel.h>
#include <linux/perf_event_trailer.h>
#include <internal/overwrite.h>
#include <internal/snapshot-records.h>
#include <internal/snapshot.h>
#include <perf/event.h>

/*
 * Memory
 */

/* Return @size bytes of memory that is mapped a second time directly after the first, or NULL. */
static void *shadow__new(size_t size)
{
	void *reserved, *first, *second;

	reserved = mmap(NULL, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (reserved == MAP_FAILED)
		return NULL;
	first = mmap(reserved, size, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE, -1, 0);
	/* With an old size of 0, mremap() creates a second mapping of the same pages. */
	second = first == MAP_FAILED ? MAP_FAILED :
		 mremap(first, 0, size, MREMAP_MAYMOVE | MREMAP_FIXED, first + size);
	if (second == MAP_FAILED) {
		munmap(reserved, 2 * size);
		return NULL;
	}
	return first;
}

struct perf_snapshot *perf_snapshot__new(struct perf_overwrite *ring)
{
	struct perf_snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (!snapshot)
		return NULL;
	snapshot->ring = ring;
	snapshot->shadow = shadow__new(ring->size);
	if (!snapshot->shadow) {
		free(snapshot);
		return NULL;
	}
	snapshot->account_from = snapshot->start = snapshot->head = ring->taken;
	return snapshot;
}

void perf_snapshot__delete(struct perf_snapshot *snapshot)
{
	if (!snapshot)
		return;
	munmap(snapshot->shadow, 2 * snapshot->ring->size);
	free(snapshot);
}

/*
 * Taking
 */

/* Prepare for data from position ring->taken on: drop data that were read, or do not adjoin it. */
static void begin_take(struct perf_snapshot *snapshot)
{
	u64 taken = snapshot->ring->taken;

	/* A snapshot that was not read still accounts for the data it held. */
	if (snapshot->was_read)
		snapshot->account_from = taken;
	else
		snapshot->account_from += taken - snapshot->head;
	if (snapshot->was_read || snapshot->head != taken)
		snapshot->start = snapshot->head = taken;
	snapshot->was_read = false;
}

/* Copy the oldest part first, as writers will reach it first. */
static void copy_bytes(struct perf_snapshot *snapshot)
{
	const struct perf_overwrite *ring = snapshot->ring;
	size_t len = snapshot->copy_head - snapshot->copy_low;
	size_t offset = perf_overwrite__offset(ring, snapshot->copy_low, snapshot->copy_head);
	size_t first = min(len, ring->size - offset);

	if (ring->kind == PERF_OVERWRITE_BACKWARD)
		memcpy(snapshot->shadow, ring->data, len - first);
	memcpy(snapshot->shadow + offset, ring->data + offset, first);
	if (ring->kind == PERF_OVERWRITE_SIZED)
		memcpy(snapshot->shadow, ring->data, len - first);
}

void perf_snapshot__copy(struct perf_snapshot *snapshot)
{
	const struct perf_overwrite *ring = snapshot->ring;
	u64 head = perf_overwrite__head(ring);				/* (C) */

	begin_take(snapshot);
	snapshot->copy_head = head;
	snapshot->copy_low = head - min(head - ring->taken, (u64)ring->size);
	copy_bytes(snapshot);
}

u64 perf_snapshot__overtaken(const struct perf_snapshot *snapshot)
{
	u64 size = snapshot->ring->size;
	u64 copied = snapshot->copy_head - snapshot->copy_low;
	u64 moved = snapshot->write_limit - snapshot->copy_head;

	if (moved >= size)
		return copied;
	return copied + moved > size ? copied + moved - size : 0;
}

void perf_snapshot__settle(struct perf_snapshot *snapshot)
{
	struct perf_overwrite *ring = snapshot->ring;
	u64 low = snapshot->copy_low + perf_snapshot__overtaken(snapshot);

	if (low != snapshot->head)			/* a gap, or nothing was held */
		snapshot->start = low;
	else if (snapshot->copy_head - snapshot->start > ring->size)
		snapshot->start = snapshot->copy_head - ring->size;
	snapshot->head = ring->taken = snapshot->copy_head;
}

struct perf_snapshot *perf_overwrite__peek(struct perf_overwrite *ring)
{
	struct perf_snapshot *snapshot = perf_snapshot__new(ring);
	u64 taken = ring->taken;

	if (!snapshot)
		return NULL;
	perf_snapshot__copy(snapshot);
	snapshot->write_limit = perf_overwrite__write_limit(ring);
	perf_snapshot__settle(snapshot);
	ring->taken = taken;
	return snapshot;
}

/*
 * Reading
 */

static void find_records(struct perf_snapshot *snapshot)
{
	struct perf_snapshot_records *records = &snapshot->records;
	const struct perf_overwrite *ring = snapshot->ring;
	size_t len = snapshot->head - snapshot->start, left;
	u64 overwritten = snapshot->start - snapshot->account_from;
	struct perf_walk walk;
	void *data = snapshot->shadow +
		     perf_overwrite__offset(ring, snapshot->start, snapshot->head);

	*records = (struct perf_snapshot_records){ .data = data };
	if (ring->kind == PERF_OVERWRITE_SIZED) {
		records->data = perf_records__strip(data + len, len, snapshot->head, &walk);
		records->bytes = walk.bytes - walk.nr * sizeof(struct perf_event_trailer);
	} else {
		perf_records__reverse(data, len, &walk);
		records->bytes = walk.bytes;
	}
	records->nr = walk.nr;
	if (walk.nr)
		records->newest = records->data + records->bytes - walk.newest;

	/* If data were overwritten, the rest of a record may precede the oldest complete one. */
	left = len - walk.bytes;
	if (overwritten && walk.truncated) {
		records->overwritten = overwritten + left;
	} else {
		records->overwritten = overwritten;
		records->malformed = left;
	}
}

void perf_snapshot__records(struct perf_snapshot *snapshot, struct perf_snapshot_records *records)
{
	if (!snapshot->was_read) {
		find_records(snapshot);
		snapshot->pos = 0;
		snapshot->was_read = true;
	}
	*records = snapshot->records;
}

union perf_event *perf_snapshot__read_event(struct perf_snapshot *snapshot)
{
	struct perf_snapshot_records records;
	union perf_event *event;

	perf_snapshot__records(snapshot, &records);
	if (snapshot->pos == records.bytes)
		return NULL;
	event = records.data + snapshot->pos;
	snapshot->pos += event->header.size;
	return event;
}
