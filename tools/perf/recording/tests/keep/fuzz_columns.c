// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzz the columns of kept records (libFuzzer target).
 *
 * The first byte of the input selects what the others are: columns, which are decoded to exactly as
 * much space as the records need; or a layout and records, which are encoded and come back as they
 * were. Whatever is decoded is encoded again.
 */
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>

#include "../../../../lib/perf/tests/fuzz.h"
#include "recording/keep/columns.h"

#define MAX_RECORDS	(16UL << 10)

static int event_of(void *arg, u64 id)
{
	(void)arg;
	return id % 256 == 255 ? -1 : (int)(id % 256);
}

static struct columns_decoder *decoder;

/* Encode twice: the encoder has learned from the first time. */
static void round_trip(struct columns_encoder *encoder, const void *records, size_t len)
{
	void *restored = malloc(len + 1);
	const void *columns;
	size_t size, i;

	for (i = 0; i < 2; i++) {
		columns = columns__encode(encoder, records, len, &size);
		if (!columns)
			continue;
		MUST(size <= len);
		MUST(columns__decode(decoder, columns, size, restored, len) == (ssize_t)len);
		MUST(!memcmp(restored, records, len));
	}
	free(restored);
}

/* Give each record a size with which it may be one. */
static size_t make_records(u8 *records, size_t len)
{
	struct perf_event_header *header;
	size_t pos, size;

	len -= len % sizeof(u64);
	for (pos = 0; pos < len; pos += size) {
		header = (void *)records + pos;
		size = max((size_t)(header->size & 1023) & ~7UL, sizeof(*header));
		size = min(size, len - pos);
		header->size = size;
		if (header->type % 4)
			header->type = PERF_RECORD_SAMPLE;
	}
	return len;
}

static void fuzz_encode(const u8 *data, size_t len)
{
	struct columns_layout layout = {
		.id = data[0] % 63, .tid = data[1] % 64, .time = data[2] % 63, .key = data[3] % 64,
	};
	struct columns_encoder *encoder = columns_encoder__new(MAX_RECORDS, &layout, event_of,
							       NULL);
	u8 *records = malloc(len);

	memcpy(records, data + 4, len - 4);
	round_trip(encoder, records, make_records(records, min(len - 4, MAX_RECORDS)));
	columns_encoder__free(encoder);
	free(records);
}

static void fuzz_decode(const u8 *data, size_t len)
{
	static const struct columns_layout layout = { .id = 2, .tid = 7, .time = 8, .key = 17 };
	static struct columns_encoder *encoder;
	u8 *copy = malloc(len), *records = malloc(MAX_RECORDS), *exact;
	ssize_t size;

	if (!encoder)
		encoder = columns_encoder__new(MAX_RECORDS, &layout, event_of, NULL);
	memcpy(copy, data, len);
	size = columns__decode(decoder, copy, len, records, MAX_RECORDS);
	MUST(size <= (ssize_t)MAX_RECORDS);
	if (size > 0) {
		exact = malloc(size);
		MUST(columns__decode(decoder, copy, len, exact, size) == size);
		MUST(columns__decode(decoder, copy, len, exact, size - 1) < 0);
		MUST(columns__decode(decoder, copy, len, exact, size) == size);
		round_trip(encoder, exact, size);
		free(exact);
	}
	free(records);
	free(copy);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	if (len < 8)
		return 0;
	if (!decoder)
		decoder = columns_decoder__new();
	if (data[0] & 1)
		fuzz_encode(data + 1, len - 1);
	else
		fuzz_decode(data + 1, len - 1);
	return 0;
}
