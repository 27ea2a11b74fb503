// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test runs of records: whatever the parts are, all functions return the same as for one part.
 *
 * tags: fast parallel
 * Prints KTAP.
 */
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <perf/event.h>

#include "recording/lib/records.h"
#include "perf/tests/tap.h"

#define NR_RECORDS	20
#define MAX_BYTES	2000

static char bytes[MAX_BYTES];
static size_t pos_of[NR_RECORDS + 1];

static size_t make_records(void)
{
	size_t len = 0;
	int i;

	for (i = 0; i < (int)sizeof(bytes); i++)
		bytes[i] = i * 2654435761u >> 24;
	for (i = 0; i < NR_RECORDS; i++) {
		struct perf_event_header header = { .type = 100 + i, .size = 8 + 8 * (i % 7) };

		memcpy(bytes + len, &header, sizeof(header));
		pos_of[i] = len;
		len += header.size;
	}
	pos_of[i] = len;
	return len;
}

/*
 * Parts of the sizes @a, @b - @a, @c - @b, @len - @c; each in memory of its own, to find overruns.
 */
static struct records cut(size_t len, size_t a, size_t b, size_t c)
{
	const size_t ends[] = { a, b, c, len };
	struct records records = { 0 };
	size_t i, start = 0;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		size_t size = ends[i] - start;

		records.part[i].iov_base = memcpy(malloc(size), bytes + start, size);
		records.part[i].iov_len = size;
		start = ends[i];
	}
	return records;
}

static void free_parts(struct records *records)
{
	int i;

	for (i = 0; i < RECORDS_MAX_PARTS; i++)
		free(records->part[i].iov_base);
}

static bool iterates(const struct records *records, size_t len)
{
	struct record_iter iter;
	int nr = 0;

	records__for_each(records, iter) {
		if (nr == NR_RECORDS || iter.pos != pos_of[nr] || iter.header.type != 100u + nr)
			return false;
		nr++;
	}
	return nr == NR_RECORDS && iter.pos == len;
}

static bool copies(const struct records *records, size_t pos, size_t len)
{
	char copy[MAX_BYTES], buffer[MAX_BYTES];
	struct records part = records__part(records, pos, len);

	records__copy(records, pos, copy, len);
	if (memcmp(copy, bytes + pos, len))
		return false;
	if (memcmp(records__at(records, pos, len, buffer), bytes + pos, len))
		return false;
	records__copy(&part, 0, copy, len);
	return records__len(&part) == len && !memcmp(copy, bytes + pos, len);
}

static bool cursor_finds(const struct records *records, size_t len, size_t step)
{
	struct records_cursor cursor = records_cursor__init(records, false);
	char copy[MAX_BYTES];
	int nr = 0;

	while (cursor.pos < len) {
		size_t pos = cursor.pos, n = min(step, len - pos);

		records_cursor__copy(&cursor, copy, n);
		records_cursor__find(&cursor);
		while (pos_of[nr] < cursor.pos)
			nr++;
		if (memcmp(copy, bytes + pos, n) || cursor.next != pos_of[nr] ||
		    cursor.record != pos_of[nr - 1] || cursor.type != 99u + nr)
			return false;
	}
	return cursor.pos == len;
}

static void test_parts(size_t len)
{
	unsigned int nr = 0, good = 0;
	size_t a, b, c, pos;

	for (a = 0; a <= len; a += 97) {
		for (b = a; b <= len; b += 61) {
			for (c = b; c <= len; c += 53, nr++) {
				struct records records = cut(len, a, b, c);
				bool ok = records__len(&records) == len && iterates(&records, len);

				for (pos = 0; pos < len; pos += 41)
					ok &= copies(&records, pos, min((size_t)120, len - pos));
				good += ok && cursor_finds(&records, len, 1 + nr % 50);
				free_parts(&records);
			}
		}
	}
	check(nr && good == nr, "all functions work with any four parts");
}

static void test_malformed(size_t len)
{
	struct perf_event_header header;
	struct records records = records__of(bytes, len - 1);
	u32 type;

	check(!records__header(&records, pos_of[NR_RECORDS - 1], &header),
	      "a truncated record is not returned");
	check(records__extent(&records, pos_of[NR_RECORDS - 1], &type) ==
	      len - pos_of[NR_RECORDS - 1],
	      "the extent of a truncated record is its full length");
	records = records__of(bytes, pos_of[1] + 7);
	check(!records__extent(&records, pos_of[1], &type), "a truncated header has no extent");
	check(!records__extent(&records, pos_of[1] + 7, &type), "there is no record at the end");
}

static void test_auxtrace(void)
{
	struct perf_record_auxtrace auxtrace = {
		.header = { .type = PERF_RECORD_AUXTRACE, .size = sizeof(auxtrace) }, .size = 4096,
	};
	struct records records = records__of(&auxtrace, sizeof(auxtrace));
	u32 type;

	check(records__extent(&records, 0, &type) == sizeof(auxtrace) + 4096 &&
	      type == PERF_RECORD_AUXTRACE,
	      "the extent of an AUXTRACE record includes its data");
}

int main(void)
{
	size_t len = make_records();

	test_parts(len);
	test_malformed(len);
	test_auxtrace();
	return tap_end();
}
