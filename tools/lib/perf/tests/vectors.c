// SPDX-License-Identifier: GPL-2.0-only
/* Make test vectors: write a ring, log what was written, and keep what a reader can find. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/perf_event_trailer.h>

#include "ring_writer.h"
#include "vectors.h"

#define MAX_LOGGED	1024
#define TRAILER		sizeof(struct perf_event_trailer)

/*
 * @log:	all records written
 * @nr:		number of them
 * @nr_published: number of those that are below data_head
 * @stop:	a reader must stop above this record, or -1
 */
struct scene {
	struct ring_writer	 writer;
	struct vector		*vector;
	struct logged {
		u64		 position;
		size_t		 size;
		unsigned char	 bytes[VECTOR_SIZE];
	}			 log[MAX_LOGGED];
	unsigned int		 nr, nr_published;
	int			 stop;
};

/*
 * Writing
 */

static unsigned char *byte_at(struct scene *scene, const struct logged *record, size_t offset)
{
	u64 begin = scene->writer.kind == PERF_OVERWRITE_SIZED ?
		    record->position : -(record->position + record->size);

	return &scene->writer.data[(begin + offset) % VECTOR_SIZE];
}

static void write_record(struct scene *scene, size_t size)
{
	static const u32 types[] = { PERF_RECORD_SAMPLE, PERF_RECORD_COMM, PERF_RECORD_SAMPLE,
				     PERF_RECORD_LOST };
	struct logged *record = &scene->log[scene->nr];
	const u32 *type = &types[scene->nr % ARRAY_SIZE(types)];
	size_t i;

	if (scene->nr++ == MAX_LOGGED)
		abort();
	record->size = size;
	record->position = ring_writer__write(&scene->writer, size);
	ring_writer__put(&scene->writer, record->position, size, 0, type, sizeof(*type));
	for (i = 0; i < size; i++)
		record->bytes[i] = *byte_at(scene, record, i);
}

/* Sizes are multiples of 8, and differ from record to record. */
static void write_records(struct scene *scene, unsigned int nr)
{
	while (nr--)
		write_record(scene, RECORD_MIN + 8 * (scene->nr * 7 % 11));
}

static void publish(struct scene *scene)
{
	ring_writer__publish(&scene->writer);
	scene->nr_published = scene->nr;
}

/* Begin the next snapshot here. */
static void take(struct scene *scene)
{
	scene->vector->taken = scene->writer.reserved;
}

/* Overwrite bytes of record @index. A negative @offset counts from the end of the record. */
static void damage(struct scene *scene, int index, int offset, const void *src, size_t len)
{
	const struct logged *record = &scene->log[index];

	ring_writer__put(&scene->writer, record->position, record->size,
			 offset < 0 ? record->size + offset : offset, src, len);
	scene->stop = index;
}

static void damage_size(struct scene *scene, int index, u16 size)
{
	if (scene->writer.kind == PERF_OVERWRITE_SIZED)
		damage(scene, index, -2, &size, sizeof(size));
	damage(scene, index, offsetof(struct perf_event_header, size), &size, sizeof(size));
}

/*
 * Scenes
 */

static void empty(struct scene *scene)
{
	publish(scene);
}

static void few(struct scene *scene)
{
	write_records(scene, 5);
	publish(scene);
}

static void full(struct scene *scene)
{
	unsigned int i;

	for (i = 0; i < VECTOR_SIZE / 64; i++)
		write_record(scene, 64);
	publish(scene);
}

static void wrapped(struct scene *scene)
{
	write_records(scene, 200);
	publish(scene);
}

static void largest(struct scene *scene)
{
	write_records(scene, 9);
	write_record(scene, VECTOR_SIZE);
	publish(scene);
}

static void writing(struct scene *scene)
{
	wrapped(scene);
	write_records(scene, 7);
}

static void overrun(struct scene *scene)
{
	wrapped(scene);
	write_records(scene, 100);
}

static void second(struct scene *scene)
{
	wrapped(scene);
	take(scene);
	write_records(scene, 20);
	publish(scene);
}

static void nothing_new(struct scene *scene)
{
	wrapped(scene);
	take(scene);
}

static void writing_second(struct scene *scene)
{
	second(scene);
	write_records(scene, 3);
}

static void late(struct scene *scene)
{
	few(scene);
	take(scene);
	write_records(scene, 100);
	publish(scene);
}

static void zero_size(struct scene *scene)
{
	write_records(scene, 20);
	damage_size(scene, 11, 0);
	publish(scene);
}

static void odd_size(struct scene *scene)
{
	write_records(scene, 20);
	damage_size(scene, 11, scene->log[11].size - 4);
	publish(scene);
}

static void long_size(struct scene *scene)
{
	write_records(scene, 20);
	damage_size(scene, 1, 4000);
	publish(scene);
}

static void zeroes(struct scene *scene)
{
	static const unsigned char zero[RECORD_MIN];

	wrapped(scene);
	damage(scene, 180, 0, zero, sizeof(zero));
	damage(scene, 180, -(int)sizeof(zero), zero, sizeof(zero));
}

static void other_position(struct scene *scene)
{
	u32 offset_lo = scene->writer.reserved;

	wrapped(scene);
	damage(scene, 180, -(int)TRAILER, &offset_lo, sizeof(offset_lo));
}

static void other_header(struct scene *scene)
{
	u16 size = 64;

	wrapped(scene);
	damage(scene, 180, offsetof(struct perf_event_header, size), &size, sizeof(size));
}

/* How a vector is read. Without data_reserved, only the backward kind exists. */
enum {
	BOTH	= 1,
	SIZED	= 2,
	GRACE	= 4,
};

static const struct {
	const char *name, *about;
	void (*make)(struct scene *scene);
	int kinds;
	u64 start;
} scenes[] = {
	{ "empty", "no record", empty, BOTH | GRACE },
	{ "few", "the ring has not wrapped", few, BOTH | GRACE },
	{ "full", "the records fill the ring exactly", full, BOTH | GRACE },
	{ "wrapped", "the oldest record is cut, another one crosses the end of the data area",
	  wrapped, BOTH | GRACE },
	{ "largest", "one record fills the ring", largest, BOTH | GRACE },
	{ "writing", "records above data_head overwrite the oldest ones", writing, BOTH | GRACE },
	{ "overrun", "all records were overwritten during the copy", overrun, BOTH | GRACE },
	{ "second", "an earlier snapshot has the older records", second, BOTH | GRACE },
	{ "nothing-new", "an earlier snapshot has all records", nothing_new, BOTH | GRACE },
	{ "writing-second", "as writing, but only bytes of the earlier snapshot are overwritten",
	  writing_second, BOTH | GRACE },
	{ "late", "records were overwritten since the earlier snapshot", late, BOTH | GRACE },
	{ "position-32", "positions pass 2^32", wrapped, BOTH, (1ULL << 32) - 5000 },
	{ "position-48", "positions pass 2^48, where the one in a trailer restarts at 0", wrapped,
	  BOTH, (1ULL << 48) - 9000 },
	{ "position-64", "positions pass 2^64", wrapped, BOTH, -9000ULL },
	{ "zero-size", "a record of size 0", zero_size, BOTH },
	{ "odd-size", "a size that is no multiple of 8", odd_size, BOTH },
	{ "long-size", "a size beyond the bytes that were ever written", long_size, BOTH },
	{ "zeroes", "a record was cleared in a ring that has wrapped", zeroes, BOTH },
	{ "other-position", "a trailer with another position", other_position, SIZED },
	{ "other-header", "a header whose size differs from that of the trailer", other_header,
	  SIZED },
};

/*
 * Expectations
 */

static void expect(struct vector *vector, const struct logged *record)
{
	struct perf_event_header header;
	size_t size = record->size;

	if (vector->kind == PERF_OVERWRITE_SIZED)
		size -= TRAILER;
	memmove(vector->records + size, vector->records, vector->bytes);
	memcpy(vector->records, record->bytes, size);
	memcpy(&header, vector->records, sizeof(header));
	header.size = size;
	memcpy(vector->records, &header, sizeof(header));
	vector->bytes += size;
	vector->nr++;
	vector->oldest = record->position;
}

/* A reader finds the records of which no byte can have been overwritten, or was taken before. */
static void expect_records(const struct scene *scene, u64 head, u64 limit)
{
	struct vector *vector = scene->vector;
	u64 intact = VECTOR_SIZE - min(limit - head, (u64)VECTOR_SIZE);
	u64 reach = min(head - vector->taken, intact);
	int i;

	vector->oldest = head;
	for (i = scene->nr_published - 1; i >= 0; i--) {
		if (head - scene->log[i].position > reach)
			break;
		if (i == scene->stop) {
			vector->malformed = true;
			break;
		}
		expect(vector, &scene->log[i]);
	}
}

static void make(struct vector *vector, enum perf_overwrite_kind kind, bool grace, size_t index)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	const struct perf_event_mmap_page *page;

	if (!scene)
		abort();
	memset(vector, 0, sizeof(*vector));
	snprintf(vector->name, sizeof(vector->name), "%s%s-%s",
		 kind == PERF_OVERWRITE_SIZED ? "sized" : "backward", grace ? "-grace" : "",
		 scenes[index].name);
	vector->about = scenes[index].about;
	vector->kind = kind;
	vector->has_data_reserved = !grace;
	vector->taken = scenes[index].start;
	scene->vector = vector;
	scene->stop = -1;
	ring_writer__init(&scene->writer, kind, VECTOR_SIZE, scenes[index].start);
	scenes[index].make(scene);

	page = scene->writer.page;
	vector->data_head = page->data_head;
	if (!grace)
		memcpy(vector->data_reserved, page->data_reserved, sizeof(vector->data_reserved));
	memcpy(vector->data, scene->writer.data, VECTOR_SIZE);
	expect_records(scene, kind == PERF_OVERWRITE_SIZED ? page->data_head : -page->data_head,
		       scene->writer.reserved);
	publish(scene);
	if (grace)
		vector->data_head_later = page->data_head;
	ring_writer__exit(&scene->writer);
	free(scene);
}

bool vector__make(unsigned int index, struct vector *vector)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(scenes); i++) {
		int kinds = scenes[i].kinds;

		if (kinds & (BOTH | SIZED) && !index--) {
			make(vector, PERF_OVERWRITE_SIZED, false, i);
			return true;
		}
		if (kinds & BOTH && !index--) {
			make(vector, PERF_OVERWRITE_BACKWARD, false, i);
			return true;
		}
		if (kinds & GRACE && !index--) {
			make(vector, PERF_OVERWRITE_BACKWARD, true, i);
			return true;
		}
	}
	return false;
}
