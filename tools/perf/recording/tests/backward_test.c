// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copies of write_backward rings: what is kept is whole, newest without a hole, oldest first.
 * tags: fast
 * link: backward.c
 *
 * A ring is written here as the kernel does it, one step at a time: reserve, fill, publish. The
 * copy is made to see writers at work by taking bytes of it again after they went on: a copy that
 * takes time sees each byte as it was at some moment between its begin and its end, and so do
 * these. Every record carries a number that counts up and a filling that depends on it.
 *
 * Prints TAP. The seed is fixed; BACKWARD_TEST_SEED=n tries another one.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>

#include "../backward.h"

struct record {
	struct perf_event_header header;
	uint64_t number;
	uint64_t fill[];
};

struct ring {
	unsigned char *data;
	size_t size;
	uint64_t reserved;	/* the kernel's own head */
	uint64_t published;	/* data_head */
	uint64_t next;		/* number of the next record */
	uint64_t next_published;	/* the same when data_head was published */
};

static unsigned int nr_tests, nr_failed;

static bool check(bool ok, const char *what)
{
	printf("%sok %u - %s\n", ok ? "" : "not ", ++nr_tests, what);
	nr_failed += !ok;
	return ok;
}

static uint64_t fill_word(uint64_t number, size_t i)
{
	return (number + 1) * 0x9e3779b97f4a7c15ULL ^ i;
}

static void ring__new(struct ring *ring, size_t size)
{
	*ring = (struct ring){ .data = calloc(1, size), .size = size };
	if (!ring->data)
		abort();
}

static void put(struct ring *ring, uint64_t pos, const void *src, size_t len)
{
	const unsigned char *byte = src;

	while (len--)
		ring->data[pos++ & (ring->size - 1)] = *byte++;
}

/* Returns where the record begins; @words of filling. Nothing is published. */
static uint64_t ring__write(struct ring *ring, size_t words)
{
	struct record record = {
		.header = { .type = PERF_RECORD_SAMPLE,
			    .size = sizeof(record) + words * sizeof(uint64_t) },
		.number = ring->next++,
	};
	uint64_t pos = ring->reserved -= record.header.size, word;
	size_t i;

	put(ring, pos, &record, sizeof(record));
	for (i = 0; i < words; i++) {
		word = fill_word(record.number, i);
		put(ring, pos + sizeof(record) + i * sizeof(word), &word, sizeof(word));
	}
	return pos;
}

static void ring__publish(struct ring *ring)
{
	ring->published = ring->reserved;
	ring->next_published = ring->next;
}

static bool record__whole(const struct record *record)
{
	size_t words = (record->header.size - sizeof(*record)) / sizeof(uint64_t), i;

	for (i = 0; i < words; i++)
		if (record->fill[i] != fill_word(record->number, i))
			return false;
	return true;
}

/* Numbers of the first and last record, if all are whole and count up by one; else false. */
static bool counts_up(const unsigned char *data, const struct backward_records *records,
		      uint64_t *first, uint64_t *last)
{
	size_t pos;

	for (pos = 0; pos < records->bytes; pos += ((struct record *)(data + pos))->header.size) {
		const struct record *record = (const void *)(data + pos);

		if (!record__whole(record))
			return false;
		if (!pos)
			*first = record->number;
		else if (record->number != *last + 1)
			return false;
		*last = record->number;
	}
	return true;
}

static void test_empty(void)
{
	struct backward_image image;
	struct backward_records found;
	unsigned char none[1];
	struct ring ring;

	ring__new(&ring, 4096);
	backward_image__init(&image, ring.size);
	backward_image__copy(&image, ring.data, ring.published, 0);
	backward_image__settle(&image, ring.published);
	found = backward_image__oldest_first(&image, none);
	check(!found.nr && !found.bytes && !image.unread, "an empty ring gives nothing");
	backward_image__exit(&image);
	free(ring.data);
}

static void test_exact_fit(void)
{
	struct backward_image image;
	struct backward_records found;
	unsigned char *dst = malloc(4096);
	uint64_t first = 0, last = 0;
	struct ring ring;
	int i;

	ring__new(&ring, 4096);
	backward_image__init(&image, ring.size);
	for (i = 0; i < 128; i++)
		ring__write(&ring, 2);		/* 32 bytes: 128 of them fill the ring */
	ring__publish(&ring);
	backward_image__copy(&image, ring.data, ring.published, 0);
	backward_image__settle(&image, ring.published);
	found = backward_image__oldest_first(&image, dst);
	check(found.nr == 128 && counts_up(dst, &found, &first, &last) && first == 0 && last == 127,
	      "a ring that is exactly full gives all of it");

	ring__write(&ring, 0);			/* 16 bytes: eats into the oldest */
	ring__publish(&ring);
	backward_image__copy(&image, ring.data, ring.published, 0);
	backward_image__settle(&image, ring.published);
	found = backward_image__oldest_first(&image, dst);
	check(found.nr == 128 && counts_up(dst, &found, &first, &last) && first == 1 && last == 128,
	      "the record whose end is overwritten is left out");
	check(image.unread - found.bytes == 32, "and counted");
	backward_image__exit(&image);
	free(dst);
	free(ring.data);
}

static void test_overtaken(void)
{
	struct backward_image image;
	struct backward_records found;
	unsigned char *dst = malloc(4096);
	struct ring ring;
	int i;

	ring__new(&ring, 4096);
	backward_image__init(&image, ring.size);
	for (i = 0; i < 200; i++)
		ring__write(&ring, 2);
	ring__publish(&ring);
	backward_image__copy(&image, ring.data, ring.published, 0);
	backward_image__settle(&image, ring.published - 4096);
	found = backward_image__oldest_first(&image, dst);
	check(!found.nr, "writers that went round once leave nothing");
	backward_image__settle(&image, ring.published - (1ULL << 40));
	found = backward_image__oldest_first(&image, dst);
	check(!found.nr, "nor do those that went round many times");
	backward_image__exit(&image);
	free(dst);
	free(ring.data);
}

static void test_nonsense(void)
{
	struct backward_image image;
	struct backward_records found;
	unsigned char *dst = malloc(4096);
	struct perf_event_header zero = { 0 };
	struct ring ring;
	uint64_t pos;

	ring__new(&ring, 4096);
	backward_image__init(&image, ring.size);
	ring__write(&ring, 3);
	pos = ring__write(&ring, 3);
	ring__write(&ring, 3);
	ring__publish(&ring);
	put(&ring, pos, &zero, sizeof(zero));
	backward_image__copy(&image, ring.data, ring.published, 0);
	backward_image__settle(&image, ring.published);
	found = backward_image__oldest_first(&image, dst);
	check(found.corrupt && found.nr == 1, "a header without a size ends the walk, and is told");
	backward_image__exit(&image);
	free(dst);
	free(ring.data);
}

static size_t some(size_t below)
{
	return (size_t)random() % below;
}

/* Takes some stretches of the copy again: what a slow copy would have seen. */
static void copy_again(struct backward_image *image, const struct ring *ring)
{
	unsigned char *data = image->data;
	size_t pos, end, times = some(4);

	while (times-- && image->len) {
		pos = some(image->len);
		end = pos + some(image->len - pos) + 1;
		for (; pos < end; pos++)
			data[pos] = ring->data[(image->head + pos) & (ring->size - 1)];
	}
}

/*
 * Snapshots at random moments of a writer that never stops: before, within and after a record
 * that is published late. Taken together they must hold every number once, but for what the ring
 * could not hold, and that must be counted to the byte.
 */
static bool random_run(size_t size, size_t max_words, unsigned int rounds)
{
	unsigned char *dst = malloc(size);
	struct backward_image image;
	uint64_t prev = 0, expected = 0, written = 0, kept = 0, gone = 0;
	struct ring ring;
	bool ok = true;

	ring__new(&ring, size);
	backward_image__init(&image, size);
	while (rounds-- && ok) {
		struct backward_records found;
		uint64_t first = 0, last = 0, end;
		size_t n;

		for (n = some(3 * size / (sizeof(struct record) + max_words * 4)); n; n--)
			ring__write(&ring, some(max_words));
		ring__publish(&ring);

		/* A writer is under way: its bytes are there, data_head is not. */
		if (some(2))
			ring__write(&ring, some(max_words));

		backward_image__copy(&image, ring.data, ring.published, prev);
		end = ring.next_published;
		for (n = some(8); n; n--) {
			ring__write(&ring, some(max_words));
			copy_again(&image, &ring);
		}
		ring__publish(&ring);		/* the grace period */
		backward_image__settle(&image, ring.published);
		found = backward_image__oldest_first(&image, dst);

		written += prev - image.head;
		prev = image.head;
		kept += found.bytes;
		gone += image.unread - found.bytes;

		ok = !found.corrupt && counts_up(dst, &found, &first, &last);
		if (ok && found.nr)
			ok = first >= expected && last == end - 1;
		/* Without a loss this snapshot starts where the previous one ended. */
		if (ok && image.unread == found.bytes)
			ok = found.nr ? first == expected : end == expected;
		expected = end;
	}
	ok = ok && written == kept + gone;
	backward_image__exit(&image);
	free(dst);
	free(ring.data);
	return ok;
}

static void test_random(void)
{
	static const size_t sizes[] = { 4096, 8192, 65536 };
	static const size_t words[] = { 2, 17, 500 };
	char name[96];
	size_t i, j;

	for (i = 0; i < 3; i++) {
		for (j = 0; j < 3; j++) {
			snprintf(name, sizeof(name),
				 "random snapshots of a ring of %zu bytes, records up to %zu words",
				 sizes[i], words[j]);
			check(random_run(sizes[i], words[j], 2003), name);
		}
	}
}

int main(void)
{
	const char *seed = getenv("BACKWARD_TEST_SEED");

	srandom(seed ? atoi(seed) : 1);
	test_empty();
	test_exact_fit();
	test_overtaken();
	test_nonsense();
	test_random();
	printf("1..%u\n", nr_tests);
	return nr_failed != 0;
}
