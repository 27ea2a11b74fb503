// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test recovery from images with the pages of a ring in order: truncated, several rings or copies
 * tags: fast parallel
 *
 * recover_pages_test.c tests images with the pages in any order.
 *
 * Prints KTAP.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event_trailer.h>
#include <perf/event.h>

#include "image.h"
#include "tap.h"

#define SIZE	(8 * IMAGE_PAGE)
#define TRAILER	sizeof(struct perf_event_trailer)

static struct recovered got[IMAGE_IDS];
static struct perf_recovery_stats stats;

/* Stub: pretend that the kernel supports data_reserved. */
int perf_overwrite__probe(void)
{
	return PERF_OVERWRITE_SIZED;
}

/*
 * Rings, and the positions of their records
 */

#define MAX_RECORDS	(5 * SIZE / 32)

struct written {
	struct ring_writer	writer;
	u64			first;		/* number of the first record in @position */
	u64			position[MAX_RECORDS];
};

static void write_one(struct written *ring, size_t size)
{
	u64 i = ring->writer.next - ring->first;

	if (i + 1 >= MAX_RECORDS)
		abort();
	ring->position[i] = ring_writer__write(&ring->writer, size);
	ring->position[i + 1] = ring->writer.reserved;
}

/* Write records of @size to @size + 24 bytes until at least @bytes are written. */
static void write_many(struct written *ring, size_t size, size_t bytes)
{
	u64 from = ring->writer.reserved;

	while (ring->writer.reserved - from < bytes)
		write_one(ring, size + random_number() % 4 * 8);
}

static void begin(struct written *ring, u64 position, u64 id)
{
	ring_writer__init(&ring->writer, PERF_OVERWRITE_SIZED, SIZE, position);
	ring->writer.id = id;
	ring->first = 0;
}

static void end(struct written *ring, struct image *image)
{
	ring_writer__exit(&ring->writer);
	image__exit(image);
}

/*
 * Count the records in bytes [@from, @to) of the ring that recovery must find: those that do not
 * wrap and that follow another record. With @optional, also count those that it may find: the
 * others, if they consist of two parts at most.
 */
static u64 count(const struct written *ring, size_t from, size_t to, bool optional)
{
	u64 head = ring->writer.reserved, nr = 0, i;

	for (i = 0; i < ring->writer.next - ring->first; i++) {
		u64 position = ring->position[i], size = ring->position[i + 1] - position;
		size_t at = position % SIZE;
		/* The trailer of the record before it is not in the image, or unknown. */
		bool is_first = !i || head - position + 8 > SIZE || at < from + 8;

		if (head - position > SIZE)
			continue;
		if (at >= from && at + size <= to)
			nr += optional || !is_first;
		else if (optional && at + size > SIZE)
			nr++;
	}
	return nr;
}

/* A record that wraps can be joined only if its pages contain other complete records. */
static bool may_be_missing(const struct written *ring, u64 number)
{
	u64 position = ring->position[number - ring->first];
	u64 size = ring->position[number - ring->first + 1] - position;

	return position % SIZE + size > SIZE && size > IMAGE_PAGE / 2;
}

static bool is_all(const struct written *ring, const struct recovered *of)
{
	u64 last = ring->writer.next - 1, i;
	bool may_have_hole = false;

	for (i = of->first; i < of->last; i++)
		may_have_hole |= may_be_missing(ring, i);
	return of->nr >= count(ring, 0, SIZE, false) && of->nr <= count(ring, 0, SIZE, true) &&
	       of->last >= last - may_be_missing(ring, last) && of->holes <= may_have_hole;
}

static bool recovered(const struct image *image)
{
	return image__recover(image, got, &stats);
}

/*
 * Tests
 */

static const size_t sizes[] = { 32, 64, 120, 1000, 4096, 10000 };
static const u64 positions[] = {
	0, 8, 4000, (1ull << 32) - 4000, (1ull << 48) - 80, (1ull << 48) - 2 * SIZE, -8ull,
};

static void test_all(void)
{
	static struct written ring;
	bool ok = true, part = true;
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (j = 0; j < ARRAY_SIZE(positions); j++) {
			struct image image = { 0 };

			begin(&ring, positions[j], 1);
			write_many(&ring, sizes[i], SIZE / 2);
			image__append_ring(&image, &ring.writer);
			part &= recovered(&image) && is_all(&ring, got) && stats.doubtful <= 1;
			write_many(&ring, sizes[i], 3 * SIZE);
			image__exit(&image);
			image__append_ring(&image, &ring.writer);
			ok &= recovered(&image) && is_all(&ring, got);
			end(&ring, &image);
		}
	}
	check(part, "all records of a ring that is not full");
	check(ok, "all records of a ring that has wrapped");
}

static void test_cut(void)
{
	static struct written ring;
	bool ok = true;
	size_t i, n;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		begin(&ring, 0, 1);
		write_many(&ring, sizes[i], 2 * SIZE + SIZE / 3);
		for (n = 0; n < 200; n++) {
			size_t from = random_number() % SIZE, to = random_number() % SIZE;
			struct image image = { 0 };

			if (from > to)
				continue;
			image__append(&image, ring.writer.data + from, to - from);
			ok &= recovered(&image) && got[0].nr >= count(&ring, from, to, false) &&
			      got[0].nr <= count(&ring, from, to, true);
			image__exit(&image);
		}
		end(&ring, &(struct image){ 0 });
	}
	check(ok, "complete records of a ring truncated at any place");
}

static void test_surrounded(void)
{
	static struct written ring;
	bool ok = true;
	size_t i;

	for (i = 0; i < 40; i++) {
		struct image image = { 0 };

		begin(&ring, 0, 1);
		write_many(&ring, 56, 2 * SIZE);
		image__append_random(&image, random_number() % 100000);
		image__append_ring(&image, &ring.writer);
		image__append_random(&image, random_number() % 100000);
		ok &= recovered(&image) && is_all(&ring, got) && stats.rings == 1;
		end(&ring, &image);
	}
	check(ok, "random bytes before and after the ring, at any alignment");
}

static void test_two_rings(void)
{
	static struct written a, b;
	bool ok = true;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct image image = { 0 };

		begin(&a, 0, 1);
		begin(&b, 0, 2);
		write_many(&a, sizes[i], 3 * SIZE);
		write_many(&b, sizes[i], 3 * SIZE);
		image__append_ring(&image, &a.writer);
		image__append_ring(&image, &b.writer);
		ok &= recovered(&image) && is_all(&a, &got[0]) && is_all(&b, &got[1]) &&
		      stats.rings == 2;
		end(&a, &image);
		end(&b, &image);
	}
	check(ok, "two rings at the same positions");
}

static void test_two_events(void)
{
	static struct written ring;
	struct image image = { 0 };

	begin(&ring, 0, 1);
	while (ring.writer.reserved < 3 * SIZE) {
		ring.writer.id = 1 + random_number() % 3;
		write_one(&ring, 72);
	}
	image__append_ring(&image, &ring.writer);
	check(recovered(&image) && stats.rings == 1 && !stats.gaps &&
	      got[0].nr + got[1].nr + got[2].nr >= count(&ring, 0, SIZE, false),
	      "several events in one ring are recognized as one ring");
	end(&ring, &image);
}

static void test_copies(void)
{
	static struct written ring;
	struct image image = { 0 };
	u64 nr_old;

	begin(&ring, 0, 1);
	write_many(&ring, 72, 3 * SIZE);
	nr_old = count(&ring, 0, SIZE, false);
	image__append_ring(&image, &ring.writer);
	image__append_random(&image, 100);
	write_many(&ring, 72, SIZE / 2);
	image__append_ring(&image, &ring.writer);
	check(recovered(&image) && !got[0].holes && got[0].last == ring.writer.next - 1 &&
	      got[0].nr > nr_old + SIZE / 2 / 100 && stats.copies >= nr_old / 3 && stats.rings == 1,
	      "a ring and an older copy of it: each record once");
	image__exit(&image);

	image__append_ring(&image, &ring.writer);
	image__append_ring(&image, &ring.writer);
	check(recovered(&image) && is_all(&ring, got) && stats.copies >= got[0].nr - 1,
	      "two identical copies of a ring: each record once");
	end(&ring, &image);
}

/* The ring wrapped with records of equal size, and a writer has stored only the next header. */
static void test_unfinished(void)
{
	static struct written ring;
	bool ok = true;
	size_t n;

	for (n = 0; n < SIZE / 64; n++) {
		struct image image = { 0 };
		u64 position, fill[2] = { 0, 1 };

		begin(&ring, 0, 1);
		write_many(&ring, 64, 0);
		while (ring.writer.reserved < SIZE + n * 64)
			write_one(&ring, 64);
		position = ring_writer__reserve(&ring.writer, 64);
		ring_writer__put(&ring.writer, position, 64, 8, fill, sizeof(fill));
		image__append_ring(&image, &ring.writer);
		/* With n == 0 this place is where the ring begins, and cannot be detected. */
		ok &= !n || (recovered(&image) && stats.doubtful == 1 && !stats.gaps &&
			     got[0].nr == SIZE / 64 - 1 && got[0].last == ring.writer.next - 1);
		end(&ring, &image);
	}
	check(ok, "a record whose header may have been replaced is not returned");
}

static void test_payload(void)
{
	static struct written inner, outer;
	struct image image = { 0 };
	u64 position;

	begin(&inner, 0, 1);
	write_many(&inner, 64, SIZE / 2);
	begin(&outer, 0, 2);
	write_one(&outer, 64);
	write_one(&outer, 4000);
	/* Make the payload of this record a copy of the other ring. */
	position = outer.position[1];
	ring_writer__put(&outer.writer, position, 4000, 24, inner.writer.data, 3960);
	write_one(&outer, 64);
	image__append_ring(&image, &outer.writer);
	check(!recovered(&image) && stats.records == 3 && !got[0].nr && got[1].nr == 2,
	      "records in the payload of a record are not returned");
	end(&inner, &(struct image){ 0 });
	end(&outer, &image);
}

static void test_foreign(void)
{
	static struct written ring;
	struct image image = { 0 };

	begin(&ring, 0, 77);
	write_many(&ring, 64, 2 * SIZE);
	image__append_ring(&image, &ring.writer);
	check(recovered(&image) && !stats.records && !stats.doubtful,
	      "no records with unknown ids");
	end(&ring, &image);
}

/* In records other than samples, the id is last. */
static void test_other_type(void)
{
	const __u64 id = 0x1234;
	const struct perf_recovery_ids wanted = {
		.ids = &id, .nr = 1, .id_pos = 0, .is_pos = 1,
	};
	struct {
		struct perf_event_header	header;
		__u64				lost, id;
		struct perf_event_trailer	trailer;
	} record[] = { {
		.header = { .type = PERF_RECORD_LOST_SAMPLES, .size = sizeof(*record) },
		.lost = 5, .id = id,
		.trailer = { .offset_lo = 0x1000, .offset_hi = 3, .size = sizeof(*record) },
	}, {
		.header = { .type = PERF_RECORD_THROTTLE, .size = sizeof(*record) },
		.lost = 6, .id = id,
		.trailer = { .offset_lo = 0x1020, .offset_hi = 3, .size = sizeof(*record) },
	} };
	struct perf_recovery *recovery = perf_recovery__new(record, sizeof(record), &wanted);
	union perf_event *event = perf_recovery__read_event(recovery);

	check(event && event->header.size == sizeof(*record) - TRAILER &&
	      event->header.type == PERF_RECORD_LOST_SAMPLES &&
	      perf_recovery__read_event(recovery) && !perf_recovery__read_event(recovery),
	      "records other than samples");
	perf_recovery__delete(recovery);

	record[1].id++;
	recovery = perf_recovery__new(record, sizeof(record), &wanted);
	check(recovery && !perf_recovery__read_event(recovery),
	      "a single unconfirmed record is not returned");
	perf_recovery__delete(recovery);
}

/* The smallest records: only an id, which is first in samples and last in other records */
static void test_smallest(void)
{
	const __u64 id = 0x1234;
	struct perf_recovery_ids wanted = { .ids = &id, .nr = 1, .id_pos = 0, .is_pos = 1 };
	struct {
		struct perf_event_header	header;
		__u64				id;
		struct perf_event_trailer	trailer;
	} *record = calloc(2, sizeof(*record));
	struct perf_recovery *recovery;
	size_t i;

	if (!record)
		abort();
	for (i = 0; i < 2; i++) {
		record[i].header.type = i ? PERF_RECORD_SAMPLE : PERF_RECORD_SWITCH;
		record[i].header.size = record[i].trailer.size = sizeof(*record);
		record[i].trailer.offset_lo = i * sizeof(*record);
		record[i].id = id;
	}
	recovery = perf_recovery__new(record, 2 * sizeof(*record), &wanted);
	check(perf_recovery__read_event(recovery) && perf_recovery__read_event(recovery) &&
	      !perf_recovery__read_event(recovery), "records with nothing but an id");
	perf_recovery__delete(recovery);

	/* The id would be outside of the record, or of the image. */
	wanted.id_pos = 2;
	wanted.is_pos = 3;
	recovery = perf_recovery__new(record, 2 * sizeof(*record), &wanted);
	check(recovery && !perf_recovery__read_event(recovery), "records too short for an id");
	perf_recovery__delete(recovery);
	free(record);
}

/* Ids that never are in one page, but that others link */
static void test_linked_ids(void)
{
	static const struct { u64 first, last; } pages[] = { { 2, 4 }, { 3, 2 }, { 3, 3 } };
	static struct written ring;
	struct image image = { 0 };
	size_t i, n, nr = IMAGE_PAGE / 64;

	begin(&ring, 0, 1);
	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		for (n = 0; n < nr; n++) {
			ring.writer.id = n + 1 < nr ? pages[i].first : pages[i].last;
			write_one(&ring, 64);
		}
	}
	image__append(&image, ring.writer.data, ARRAY_SIZE(pages) * IMAGE_PAGE);
	check(recovered(&image) && stats.rings == 1 && !stats.gaps &&
	      stats.records == nr * ARRAY_SIZE(pages), "ids that others link are of one ring");
	memset(image.data + 5 * 64, 0, 64);
	memset(image.data + IMAGE_PAGE + 7 * 64, 0, 3 * 64);
	check(recovered(&image) && stats.gaps == 2 && stats.records == nr * ARRAY_SIZE(pages) - 4,
	      "gaps are counted");
	end(&ring, &image);
}

static void test_nothing(void)
{
	const __u64 id = 1;
	struct perf_recovery_ids wanted = { .ids = &id };
	struct image image = { 0 };
	bool ok = true;
	size_t i;

	check(!perf_recovery__new("", 0, &wanted) && errno == EINVAL, "EINVAL without ids");
	for (i = 0; i < 100; i++) {
		ok &= recovered(&image) && !stats.records && !stats.doubtful;
		image__append_random(&image, 1 + i * 10);
	}
	check(ok, "no records in random bytes, nor in an empty image");
	image__exit(&image);
	perf_recovery__delete(NULL);
}

int main(void)
{
	random_seed(1);
	test_all();
	test_cut();
	test_surrounded();
	test_two_rings();
	test_two_events();
	test_copies();
	test_unfinished();
	test_payload();
	test_foreign();
	test_other_type();
	test_smallest();
	test_linked_ids();
	test_nothing();
	return tap_end();
}
