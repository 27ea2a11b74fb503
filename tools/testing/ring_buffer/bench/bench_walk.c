// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measure the cost of finding records: walking backward by trailers, against forward by headers.
 *
 * Both walk over a copy of a ring from record to record, and check the header or trailer of each.
 * "copy" is the cost of copying one record out of the ring, to memory that is not cached. "after
 * copy": the copy is still cached, as far as it fits. "cold": the copy was evicted from the caches.
 *
 * A second table compares sized and backward rings: the cost of bringing a copy into the order of
 * time, without trailers, as a file has it.
 *
 * Prints median and quartiles of all rounds, and lines RESULT <name> <value> <unit>.
 */
#include "bench.h"

#include <stdio.h>
#include <string.h>
#include "shim/ring.h"

#define ROUNDS		51

static const unsigned int ring_pages[] = { 128, 1024 };		/* 512 KB, 4 MB */
static const unsigned int sizes[] = { 24, 72, 264, 1032, 8200 };

static FILE *results;		/* RESULT lines, printed after the table */

/* A snapshot: all records in [begin, head) are complete. */
static struct {
	unsigned char	*bytes;
	u64		mask, begin, head;
} copy;

static const void *at(u64 position)
{
	return copy.bytes + (position & copy.mask);
}

/* Sizes and positions are multiples of 8, so neither header nor trailer wraps. */
static unsigned int walk_backward(void)
{
	unsigned int nr = 0;
	u64 position = copy.head;

	while (position > copy.begin) {
		const struct perf_event_trailer *t = at(position - sizeof(*t));
		u64 begin = position - t->size;

		if (t->size < 16 || t->offset_lo != (u32)begin ||
		    t->offset_hi != (u16)(begin >> 32))
			break;
		position = begin;
		nr++;
	}
	return nr;
}

static unsigned int walk_forward(void)
{
	unsigned int nr = 0;
	u64 position = copy.begin;

	while (position < copy.head) {
		const struct perf_event_header *header = at(position);

		if (header->size < 16 || header->type != PERF_RECORD_SAMPLE)
			break;
		position += header->size;
		nr++;
	}
	return nr;
}

static void evict(void)
{
#ifdef __x86_64__
	for (u64 i = 0; i <= copy.mask; i += 64)
		asm volatile("clflush %0" : : "m" (copy.bytes[i]));
	asm volatile("mfence" : : : "memory");
#endif
}

static void take_copy(const struct ring *ring)
{
	memcpy(copy.bytes, ring->data, ring->size);
}

enum { COPY, FORWARD, BACKWARD, FORWARD_COLD, BACKWARD_COLD, NR_COLUMNS };

static const char *const names[] = {
	"copy", "forward, after copy", "backward, after copy", "forward, cold", "backward, cold",
};

static double measure(int column, const struct ring *ring, unsigned int expected)
{
	bool backward = column == BACKWARD || column == BACKWARD_COLD;
	unsigned int nr = expected;
	double start;

	if (column == FORWARD || column == BACKWARD)
		take_copy(ring);
	else
		evict();

	start = now_ns();
	if (column == COPY)
		take_copy(ring);
	else
		nr = backward ? walk_backward() : walk_forward();
	start = now_ns() - start;
	if (nr != expected) {
		fprintf(stderr, "bench_walk: %s: found %u of %u records\n", names[column], nr,
			expected);
		exit(1);
	}
	return start / nr;
}

static void bench(const struct ring *ring, unsigned int size)
{
	static double times[NR_COLUMNS][ROUNDS];
	unsigned int nr = ring->size / size;
	unsigned long kb = ring->size / 1024;
	double medians[NR_COLUMNS];

	copy.mask = ring->size - 1;
	copy.head = ring_head(ring);
	copy.begin = copy.head - (u64)nr * size;
	take_copy(ring);

	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < NR_COLUMNS; i++) {
			int column = (i + round) % NR_COLUMNS;

			times[column][round] = measure(column, ring, nr);
		}

	printf("%5lu %5u ", kb, size);
	for (int i = 0; i < NR_COLUMNS; i++) {
		struct spread time = spread_of(times[i], ROUNDS);

		printf(" %7.2f (%6.2f-%6.2f)", time.median, time.low, time.high);
		medians[i] = time.median;
	}
	printf("\n");
	fprintf(results, "RESULT walk-copy-ns-%luk-%u %.2f ns\n", kb, size, medians[COPY]);
	fprintf(results, "RESULT walk-ratio-after-copy-%luk-%u %.2f x\n", kb, size,
		medians[BACKWARD] / medians[FORWARD]);
	fprintf(results, "RESULT walk-ratio-cold-%luk-%u %.2f x\n", kb, size,
		medians[BACKWARD_COLD] / medians[FORWARD_COLD]);
}

/* A snapshot in one piece: of a backward ring, the newest record is the first. */
static unsigned char *linear, *file;
static u32 *offsets;

/* One pass from the newest record to the oldest one, and one that strips the trailers. */
static unsigned int order_sized(u64 size)
{
	unsigned int nr = 0;
	u64 at = size, out = 0;

	while (at) {
		const struct perf_event_trailer *t = (void *)(linear + at) - sizeof(*t);

		if (t->size < 16 || t->size > at)
			break;
		at -= t->size;
	}
	for (; at < size; nr++) {
		struct perf_event_header *header = (void *)(linear + at);
		unsigned int len = header->size - sizeof(struct perf_event_trailer);

		memcpy(file + out, header, len);
		((struct perf_event_header *)(file + out))->size = len;
		at += header->size;
		out += len;
	}
	return nr;
}

/* One pass from the newest record to the oldest one that notes each, and one back. */
static unsigned int order_backward(u64 size)
{
	unsigned int nr = 0, i;
	u64 at = 0, out = 0;

	while (at + sizeof(struct perf_event_header) <= size) {
		const struct perf_event_header *header = (void *)(linear + at);

		if (header->size < 16 || at + header->size > size)
			break;
		offsets[nr++] = at;
		at += header->size;
	}
	for (i = nr; i--; ) {
		const struct perf_event_header *header = (void *)(linear + offsets[i]);

		memcpy(file + out, header, header->size);
		out += header->size;
	}
	return nr;
}

static void bench_order(unsigned int pages, unsigned int bytes)
{
	static double times[2][ROUNDS];
	struct spread spread[2];
	unsigned int nr[2];

	for (int round = 0; round < ROUNDS; round++)
		for (int sized = 0; sized < 2; sized++) {
			unsigned int size = bytes + sized * sizeof(struct perf_event_trailer);
			unsigned int expected = pages * PAGE_SIZE / size;
			u64 used = (u64)expected * size, at = 0;
			double start;

			for (unsigned int i = 0; i < expected; i++, at += size) {
				u64 end = at + size;
				struct perf_event_header header = {
					.type = PERF_RECORD_SAMPLE, .size = size,
				};
				struct perf_event_trailer trailer = { .size = size };

				memcpy(linear + at, &header, sizeof(header));
				if (sized)
					memcpy(linear + end - sizeof(trailer), &trailer,
					       sizeof(trailer));
			}
			start = now_ns();
			nr[sized] = sized ? order_sized(used) : order_backward(used);
			times[sized][round] = (now_ns() - start) / nr[sized];
			if (nr[sized] != expected)
				abort();
		}
	printf("%5lu %5u ", pages * PAGE_SIZE / 1024, bytes);
	for (int sized = 0; sized < 2; sized++) {
		spread[sized] = spread_of(times[sized], ROUNDS);
		printf(" %7.2f (%6.2f-%6.2f)", spread[sized].median, spread[sized].low,
		       spread[sized].high);
	}
	printf(" %6u\n", (unsigned int)(nr[0] * sizeof(*offsets) / 1024));
}

int main(void)
{
	size_t results_size;
	char *results_text;

#ifndef __x86_64__
	printf("# \"cold\" is not cold: cannot flush the caches of this architecture\n");
#endif
	results = open_memstream(&results_text, &results_size);
	pin_to_current_cpu();
	printf("# ns/record, median and quartiles of %d rounds\n", ROUNDS);
	printf("# %3s %5s ", "KB", "bytes");
	for (int i = 0; i < NR_COLUMNS; i++)
		printf(" %-23s", names[i]);
	printf("\n");

	for (size_t i = 0; i < ARRAY_SIZE(ring_pages); i++) {
		copy.bytes = aligned_alloc(PAGE_SIZE, ring_pages[i] * PAGE_SIZE);
		for (size_t j = 0; j < ARRAY_SIZE(sizes); j++) {
			struct ring *ring = ring_new(&ring_impl, RING_SIZED, ring_pages[i], 0);

			if (!copy.bytes || !ring)
				abort();
			/* More than the ring holds, so that it has wrapped. */
			for (u64 n = 0; n < ring->size * 5 / 4 / sizes[j]; n++)
				ring_write(ring, sizes[j], n);
			bench(ring, sizes[j]);
			ring_delete(ring);
		}
		free(copy.bytes);
	}

	printf("# the order of time: ns/record; kB of offsets that backward rings need\n");
	printf("# %3s %5s  %-23s %-23s %s\n", "KB", "bytes", "backward", "sized", "offsets");
	for (size_t i = 0; i < ARRAY_SIZE(ring_pages); i++) {
		linear = malloc(ring_pages[i] * PAGE_SIZE);
		file = malloc(ring_pages[i] * PAGE_SIZE);
		offsets = malloc(ring_pages[i] * PAGE_SIZE / 16 * sizeof(*offsets));
		if (!linear || !file || !offsets)
			abort();
		for (size_t j = 0; j < ARRAY_SIZE(sizes); j++)
			bench_order(ring_pages[i], sizes[j] - 8);
		free(linear);
		free(file);
		free(offsets);
	}
	fclose(results);
	fputs(results_text, stdout);
	return 0;
}
