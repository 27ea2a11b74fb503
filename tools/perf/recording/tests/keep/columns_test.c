// SPDX-License-Identifier: GPL-2.0-only
/*
 * Columns: what is decoded is what was encoded, byte for byte, and damaged columns do no harm.
 * tags: fast parallel
 *
 * Records are made up from a fixed seed: samples of events that resemble each other, as those of a
 * tracer do, random bytes that claim to be records, and all that a layout may get wrong. Prints
 * KTAP.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>

#include "recording/keep/columns.h"
#include "perf/tests/tap.h"

#define BLOCK	(1UL << 20)

static const struct columns_layout usual = { .id = 2, .tid = 7, .time = 8, .key = 17 };

static u64 records[BLOCK / 8], restored[BLOCK / 8];
static size_t len;
static u64 seed = 1;

static u32 next_random(u32 below)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed >> 33) % below;
}

/* Ids from 1000 on: one event has them for 8 CPUs. */
static int event_of(void *arg, u64 id)
{
	int nr_events = *(int *)arg;

	return id >= 1000 && id < 1000 + 8 * (u64)nr_events ? (int)(id - 1000) / 8 : -1;
}

/* Append a record of @size bytes, and return its words, or NULL if the block is full. */
static u32 *append(u32 type, unsigned int size)
{
	struct perf_event_header *header = (void *)records + len;

	if (len + size > BLOCK)
		return NULL;
	memset(header, 0, size);
	*header = (struct perf_event_header){ .type = type, .size = size };
	len += size;
	return (u32 *)header;
}

/* A sample of a tracepoint: some words repeat, some count, some are noise. */
static bool append_sample(int nr_events, unsigned int size)
{
	static u64 time;
	unsigned int event = next_random(nr_events), i;
	u32 *words = append(PERF_RECORD_SAMPLE, size);
	u64 id = 1000 + 8 * event + next_random(8);
	u32 tid = 100 + next_random(20);

	if (!words)
		return false;
	time += next_random(10000);
	memcpy(words + 2, &id, sizeof(id));
	words[7] = tid;
	memcpy(words + 8, &time, sizeof(time));
	for (i = 10; i < size / 4; i++)
		words[i] = i % 3 ? tid * i + event : next_random(10) ? 7 : next_random(UINT32_MAX);
	if (size / 4 > 17)
		words[17] = next_random(30);
	return true;
}

/* Return: length of the columns, or 0 if the records were refused. */
static size_t round_trip(struct columns_encoder *encoder, const char *what)
{
	struct columns_decoder *decoder = columns_decoder__new();
	size_t columns_len = 0;
	const void *columns = columns__encode(encoder, records, len, &columns_len);
	void *copy = malloc(columns_len);	/* the address sanitizer sees its end */
	ssize_t ret = 0;

	if (columns) {
		memcpy(copy, columns, columns_len);
		memset(restored, 0xaa, sizeof(restored));
		ret = columns__decode(decoder, copy, columns_len, restored, BLOCK);
	}
	if (columns &&
	    (ret != (ssize_t)len || memcmp(restored, records, len) || columns_len > len)) {
		printf("# %s: %zu bytes of records, %zu of columns, %zd restored\n", what, len,
		       columns_len, ret);
		columns_len = SIZE_MAX;
	}
	free(copy);
	columns_decoder__free(decoder);
	return columns ? columns_len : 0;
}

static bool is_exact(size_t columns_len)
{
	return columns_len && columns_len != SIZE_MAX;
}

/* Encode several blocks: the encoder learns from each for the next. */
static void test_samples(const struct columns_layout *layout, int nr_events, unsigned int size,
			 unsigned int sizes, const char *what)
{
	struct columns_encoder *encoder = columns_encoder__new(BLOCK, layout, event_of, &nr_events);
	size_t columns_len = 0;
	bool exact = true;
	int i;

	for (i = 0; i < 6 && exact; i++) {
		len = 0;
		while (append_sample(nr_events, size + 8 * next_random(sizes)))
			;
		columns_len = round_trip(encoder, what);
		exact = is_exact(columns_len);
	}
	check(exact, what);
	printf("# %zu bytes of records, %zu of columns\n", len, columns_len);
	columns_encoder__free(encoder);
}

static void test_dense(void)
{
	int nr_events = 4;
	struct columns_encoder *encoder = columns_encoder__new(BLOCK, &usual, event_of, &nr_events);
	size_t columns_len = 0;
	unsigned int i;
	u64 time = 5;
	u32 *words;

	len = 0;
	for (i = 0; (words = append(PERF_RECORD_SAMPLE, 88)); i++) {
		words[2] = 1000 + 8 * (i % 4);
		words[7] = 100 + i % 4;
		words[10] = 0xdead;
		words[17] = 5;
		memcpy(words + 8, &time, sizeof(time));
		time += 100;
	}
	columns_len = round_trip(encoder, "repeated");
	check(is_exact(columns_len) && columns_len < len / 88 * 31 / 10,
	      "records that repeat take three bytes: their template, task and time");
	columns_encoder__free(encoder);
}

/*
 * Samples of a clock whose tick has @tick_ps picoseconds, off by one @odd_ps now and then. Some
 * follow each other after a second, or are earlier, as where the records of another CPU begin.
 */
static size_t encode_ticks(unsigned int tick_ps, unsigned int odd_ps, unsigned int nr_blocks)
{
	int nr_events = 1;
	struct columns_encoder *encoder = columns_encoder__new(BLOCK, &usual, event_of, &nr_events);
	size_t columns_len = 0, sum = 0;
	u64 ps = 1000000, time, odd;
	u32 *words;

	while (nr_blocks--) {
		len = 0;
		while ((words = append(PERF_RECORD_SAMPLE, 48))) {
			odd = next_random(16) ? 0 : odd_ps;
			time = (ps + odd) / 1000;
			words[2] = 1000;
			memcpy(words + 8, &time, sizeof(time));
			ps += (u64)tick_ps * (20000 / tick_ps + next_random(680000 / tick_ps));
			if (!next_random(500))
				ps += 1000000000000ULL;
			else if (!next_random(500))
				ps -= 1000000000ULL;
		}
		columns_len = round_trip(encoder, "ticks");
		if (!is_exact(columns_len))
			sum = SIZE_MAX / 2;
		sum += columns_len;
	}
	columns_encoder__free(encoder);
	return sum;
}

static void test_clock(void)
{
	size_t nanoseconds = encode_ticks(1000, 0, 3), ticks = encode_ticks(10019, 0, 3);
	size_t odd = encode_ticks(10019, 1000, 3), arm = encode_ticks(41667, 0, 3);

	printf("# ticks of 1 ns: %zu bytes, of 10 ns: %zu, odd: %zu, of 41 ns: %zu\n", nanoseconds,
	       ticks, odd, arm);
	check(nanoseconds < SIZE_MAX / 2 && ticks < SIZE_MAX / 2 && odd < SIZE_MAX / 2 &&
	      arm < SIZE_MAX / 2, "times of any clock come back as they were");
	check(nanoseconds < 3 * (BLOCK / 48) * 3, "two bytes and a template, for most times");
	check(ticks < nanoseconds * 9 / 10 && arm < nanoseconds * 9 / 10,
	      "a clock that ticks more slowly takes fewer bytes");
	check(odd < ticks * 101 / 100, "a time that is 1 ns off does not spoil those behind it");
}

/* The keys of three tasks, each of which repeats a sequence, as programs repeat their calls. */
static void test_keys(void)
{
	static const u8 sequences[3][7] = {
		{ 1, 2, 1, 3, 4, 4, 5 }, { 9, 2, 7, 1, 2, 9, 3 }, { 6, 1, 8, 8, 8, 7, 0 },
	};
	int nr_events = 1;
	struct columns_encoder *encoder = columns_encoder__new(BLOCK, &usual, event_of, &nr_events);
	size_t columns_len;
	unsigned int i, task;
	u64 time = 5;
	u32 *words;

	len = 0;
	for (i = 0; (words = append(PERF_RECORD_SAMPLE, 88)); i++, time += 100) {
		task = i / 700 % 3;
		words[2] = 1000;
		words[7] = 100 + task;
		memcpy(words + 8, &time, sizeof(time));
		words[17] = sequences[task][i % 7];
	}
	columns_len = round_trip(encoder, "keys");
	check(is_exact(columns_len) && columns_len < len / 88 * 21 / 10,
	      "keys that follow each other as before take no byte");
	columns_encoder__free(encoder);
}

static void test_mixed(void)
{
	int nr_events = 5;
	struct columns_encoder *encoder = columns_encoder__new(BLOCK, &usual, event_of, &nr_events);
	bool exact = true, whole = true;
	unsigned int i, j, size;
	u32 *words;

	for (i = 0; i < 4; i++) {
		len = 0;
		do {
			whole = next_random(4);
			if (whole) {
				words = append_sample(nr_events, 64 + 8 * next_random(10)) ?
					(u32 *)records : NULL;
				continue;
			}
			/* Side-band, samples that are too short, or of an unknown event, or long */
			size = 8 + 8 * next_random(100);
			words = append(next_random(2) ? PERF_RECORD_SAMPLE : 1 + next_random(90),
				       size);
			for (j = 2; words && j < size / 4; j++)
				words[j] = next_random(3) ? 0 : next_random(UINT32_MAX);
		} while (words);
		exact &= is_exact(round_trip(encoder, "mixed"));
	}
	check(exact, "side-band, short, long and unknown samples come back as they were");
	columns_encoder__free(encoder);
}

/* Any words, so every mask: more templates and columns than there can be. */
static void test_noise(void)
{
	int nr_events = 200;
	struct columns_encoder *encoder = columns_encoder__new(BLOCK, &usual, event_of, &nr_events);
	size_t columns_len = 0;
	bool exact = true, refused = false;
	unsigned int i, j, k, odds;
	u32 *words;

	for (k = 0; k < 12; k++) {
		odds = 1 + k % 6;
		len = 0;
		while ((words = append(PERF_RECORD_SAMPLE, 40 + 8 * next_random(60)))) {
			i = words[1] >> 18;
			for (j = 2; j < i; j++)
				words[j] = next_random(odds) ? j : next_random(UINT32_MAX) * 2;
			words[2] = 1000 + next_random(1700);
			words[3] = 0;
		}
		columns_len = round_trip(encoder, "noise");
		refused |= !columns_len;
		exact &= columns_len != SIZE_MAX;
	}
	check(exact && refused,
	      "noise comes back as it was, or is refused if columns would be larger");
	columns_encoder__free(encoder);
}

static void test_layouts(void)
{
	const struct columns_layout layouts[] = {
		{ 0 }, { .time = 2 }, { .tid = 2, .key = 2 },
		{ .id = 2, .tid = 3, .time = 2, .key = 3 },
		{ .id = 62, .tid = 63, .time = 62, .key = 63 }, { .key = 63 },
		{ .tid = 1, .key = 1 }, { .time = 1 },
	};
	bool exact = true;
	int nr_events = 3;
	size_t i, columns_len;
	int j;

	for (i = 0; i < ARRAY_SIZE(layouts); i++) {
		struct columns_encoder *encoder = columns_encoder__new(BLOCK, &layouts[i], event_of,
								       &nr_events);

		for (j = 0; j < 3; j++) {
			len = 0;
			while (append_sample(nr_events, 64 + 8 * next_random(40)))
				;
			columns_len = round_trip(encoder, "layout");
			exact &= columns_len != SIZE_MAX;
		}
		columns_encoder__free(encoder);
	}
	check(exact, "a wrong layout costs space, but no byte");
}

static bool is_refused(struct columns_encoder *encoder, unsigned int size)
{
	size_t columns_len;
	u32 *words;

	len = 0;
	append_sample(1, 64);
	words = append(PERF_RECORD_SAMPLE, 64);
	words[1] = size << 16;
	return !columns__encode(encoder, records, len, &columns_len);
}

static void test_malformed(void)
{
	int nr_events = 1;
	struct columns_encoder *encoder = columns_encoder__new(BLOCK, &usual, event_of, &nr_events);
	size_t columns_len;

	check(is_refused(encoder, 0) && is_refused(encoder, 4) && is_refused(encoder, 60) &&
	      is_refused(encoder, 72), "records of an impossible size are refused");
	len = 0;
	check(!columns__encode(encoder, records, len, &columns_len), "no records take no columns");
	while (append_sample(1, 64))
		;
	check(is_exact(round_trip(encoder, "after refusal")), "later blocks are encoded");
	columns_encoder__free(encoder);
}

/* Decode exactly @size bytes to exactly @space bytes: the address sanitizer sees both ends. */
static ssize_t decode(struct columns_decoder *decoder, const u8 *columns, size_t size, size_t space)
{
	u8 *in = malloc(size), *out = malloc(space);
	ssize_t ret;

	memcpy(in, columns, size);
	ret = columns__decode(decoder, in, size, out, space);
	free(out);
	free(in);
	return ret;
}

static void test_damaged(void)
{
	int nr_events = 4;
	struct columns_encoder *encoder = columns_encoder__new(BLOCK, &usual, event_of, &nr_events);
	struct columns_decoder *decoder = columns_decoder__new();
	unsigned int i, j, cut = 0, small = 0, damaged = 0;
	size_t columns_len, pos;
	const u8 *columns;
	u8 *copy, old;

	len = 0;
	while (len < 6000 && append_sample(nr_events, 64 + 8 * next_random(30)))
		;
	append(PERF_RECORD_COMM, 40);
	columns = columns__encode(encoder, records, len, &columns_len);
	copy = malloc(columns_len);
	memcpy(copy, columns, columns_len);
	for (pos = 0; pos < columns_len; pos++)
		cut += decode(decoder, copy, pos, len) == -EINVAL;
	check(cut == columns_len, "columns that are cut off are refused");
	for (pos = 0; pos < len; pos += 8)
		small += decode(decoder, copy, columns_len, pos) == -EINVAL;
	check(small == len / 8, "records that do not fit are refused");
	for (i = 0; i < 20000; i++) {
		memcpy(copy, columns, columns_len);
		for (j = 0; j <= i % 4; j++)
			copy[next_random(i % 2 ? columns_len : 120)] = next_random(256);
		damaged += decode(decoder, copy, columns_len, len) <= (ssize_t)len;
	}
	check(damaged == 20000,
	      "damaged columns are refused, or restored to no more than there is space");
	memcpy(copy, columns, columns_len);
	old = copy[1];
	copy[1] = 1;
	check(decode(decoder, copy, columns_len, len) == -EINVAL,
	      "an impossible layout is refused");
	copy[1] = old;
	check(decode(decoder, copy, columns_len, len) == (ssize_t)len &&
	      columns__decode(decoder, copy, columns_len, restored, BLOCK) == (ssize_t)len &&
	      !memcmp(restored, records, len), "after that, good ones are restored");
	free(copy);
	columns_encoder__free(encoder);
	columns_decoder__free(decoder);
}

static void test_cuts(void)
{
	int nr_events = 3;
	struct columns_encoder *encoder = columns_encoder__new(BLOCK, &usual, event_of, &nr_events);
	size_t columns_len, pos = 0, next;
	unsigned int nr = 0;

	len = 0;
	while (append_sample(nr_events, 96))
		;
	columns__encode(encoder, records, len, &columns_len);
	while (pos < columns_len && (next = columns__cut(encoder, pos)) > pos &&
	       next <= columns_len) {
		pos = next;
		nr++;
	}
	check(pos == columns_len && nr > 3, "the columns can be cut into pieces of one kind");
	columns_encoder__free(encoder);
}

int main(void)
{
	test_samples(&usual, 4, 88, 1, "samples of one size come back as they were");
	test_samples(&usual, 30, 72, 24, "so do samples of many events and sizes");
	test_samples(&usual, 127, 240, 8, "and samples around the longest that columns have");
	test_samples(&usual, 3, 8000, 1000, "and samples with stacks");
	test_dense();
	test_clock();
	test_keys();
	test_mixed();
	test_noise();
	test_layouts();
	test_malformed();
	test_damaged();
	test_cuts();
	return tap_end();
}
