// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzz recovery of records from images that contain rings and other data (libFuzzer target).
 *
 * The input is a sequence of operations: one byte selects the operation, the following bytes are
 * its arguments. The operations write to two rings, and build an image from bytes, pages and copies
 * of the rings. The figures of the recovery must be consistent for any image. The records must be
 * intact and in order per ring if the image contains each ring in the state of one moment, with the
 * pages in any order, or in the states of several moments, each contiguous.
 */
#include <string.h>
#include <linux/perf_event_trailer.h>
#include <perf/event.h>

#include "fuzz.h"
#include "image.h"

#define NR_RINGS	2
#define SIZE		(4 * IMAGE_PAGE)
#define MAX_IMAGE	(64 * IMAGE_PAGE)

static struct ring_writer ring[NR_RINGS];
static struct image image;
static unsigned int copies[NR_RINGS];	/* in the image */
static bool in_parts, shuffled, intact, is_long;

int perf_overwrite__probe(void)
{
	return PERF_OVERWRITE_SIZED;
}

static void write_records(struct ring_writer *writer)
{
	unsigned int nr = take() % 64, size = take() % 128 * 8, i;

	writer->id = 1 + (writer - ring) + take() % 2 * NR_RINGS;
	if (nr == 63)
		size *= 16;
	is_long |= size > IMAGE_PAGE;
	for (i = 0; i <= nr; i++)
		ring_writer__write(writer, size < 32 ? 32 : size > SIZE ? SIZE : size);
}

static void append_page(const struct ring_writer *writer)
{
	image__append(&image, writer->data + take() % (SIZE / IMAGE_PAGE) * IMAGE_PAGE, IMAGE_PAGE);
	intact = false;
}

/* A part begins with a page, unless nothing is before it that could be taken for its beginning. */
static void append_part(const struct ring_writer *writer)
{
	size_t from = (take() << 8 | take()) % SIZE, len = (take() << 8 | take()) % (SIZE - from);

	if (image.size)
		from -= from % IMAGE_PAGE;
	image__append(&image, writer->data + from, len);
	in_parts = true;
	copies[writer - ring]++;
}

static void append_ring(const struct ring_writer *writer)
{
	image__append_ring(&image, writer);
	copies[writer - ring]++;
}

/* Return whether perf/recover.h guarantees intact records. Parts are not page aligned. */
static bool has_guarantee(void)
{
	return intact && !(shuffled && (in_parts || is_long || copies[0] > 1 || copies[1] > 1));
}

static void empty(void)
{
	image__exit(&image);
	memset(copies, 0, sizeof(copies));
	in_parts = shuffled = false;
	intact = true;
}

static void append_bytes(void)
{
	unsigned char bytes[64];
	size_t len = take() % sizeof(bytes), i;

	for (i = 0; i < len; i++)
		bytes[i] = take();
	image__append(&image, bytes, len);
	intact = false;
}

/* Append a record as a malicious program would write it. */
static void append_fake(void)
{
	struct {
		struct perf_event_header	header;
		__u64				number, id;
		struct perf_event_trailer	trailer;
	} fake = {
		.header = { .type = take(), .size = sizeof(fake) },
		.number = take(), .id = take(),
		.trailer = { .offset_lo = take() << 3, .offset_hi = take(), .size = sizeof(fake) },
	};

	if (take() % 2)
		fake.trailer.size = take() << 8 | take();
	image__append(&image, &fake, sizeof(fake));
	intact = false;
}

static void scribble(void)
{
	size_t at = take() << 16 | take() << 8 | take(), len = 1 + take() % 16;

	intact = false;
	while (image.size && len--)
		image.data[at++ % image.size] = take();
}

/* Recover from a copy of exact size, so that AddressSanitizer detects overruns. */
static void recover(void)
{
	unsigned char *data = malloc(image.size + !image.size);
	struct image copy = { .data = data, .size = image.size };
	struct recovered recovered[IMAGE_IDS];
	struct perf_recovery_stats stats;
	bool ok;

	MUST(data);
	if (image.size)
		memcpy(data, image.data, image.size);
	ok = image__recover(&copy, recovered, &stats);
	MUST(ok || !has_guarantee());
	MUST(stats.records * 32 <= image.size + SIZE || !has_guarantee());
	MUST(stats.rings <= IMAGE_IDS && stats.rings <= stats.records);
	MUST(stats.gaps <= stats.records);
	free(data);
}

static void operate(void)
{
	unsigned int what = take();
	struct ring_writer *writer = &ring[what / 16 % NR_RINGS];

	if (image.size > MAX_IMAGE)
		empty();
	switch (what % 16) {
	case 0 ... 3:
		write_records(writer);
		break;
	case 4 ... 6:
		append_page(writer);
		break;
	case 7:
		append_part(writer);
		break;
	case 8:
		append_ring(writer);
		break;
	case 9:
		append_bytes();
		break;
	case 10:
		append_fake();
		break;
	case 11:
		scribble();
		break;
	case 12:
		image__append_random(&image, take() << 4);
		in_parts = true;
		break;
	case 13:
		recover();
		break;
	case 14:
		image__shuffle(&image, 0);
		shuffled = true;
		break;
	case 15:
		empty();
		break;
	}
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static const u64 positions[] = { 0, 4000, (1ull << 32) - 400, (1ull << 48) - 4000 };
	unsigned int i;

	input = data;
	input_left = size;
	is_long = false;
	random_seed(1);
	empty();
	for (i = 0; i < NR_RINGS; i++)
		ring_writer__init(&ring[i], PERF_OVERWRITE_SIZED, SIZE, positions[take() % 4]);
	while (input_left)
		operate();
	recover();
	for (i = 0; i < NR_RINGS; i++)
		ring_writer__exit(&ring[i]);
	empty();
	return 0;
}
