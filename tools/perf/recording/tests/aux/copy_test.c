// SPDX-License-Identifier: GPL-2.0-only
/*
 * AUX areas: which bytes are new, and what a copy holds, for any contents of the control page.
 * tags: fast parallel
 *
 * A trace with known bytes is written to a small area in steps of all sizes. Each byte of each
 * snapshot is compared: it must be there or be counted as lost. Prints KTAP.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording/aux/copy.h"
#include "perf/tests/tap.h"

/* Return: byte @n of the trace. */
static unsigned char trace(uint64_t n)
{
	return (n * 2654435761u) >> 11;
}

struct area {
	unsigned char	*data;
	uint64_t	 len;
	uint64_t	 written;
};

static void area__init(struct area *area, uint64_t len)
{
	*area = (struct area){ .data = calloc(1, len), .len = len };
	if (!area->data)
		exit(1);
}

static void area__write(struct area *area, uint64_t bytes)
{
	for (; bytes; bytes--, area->written++)
		area->data[area->written % area->len] = trace(area->written);
}

static uint64_t area__head(const struct area *area)
{
	return area->written % area->len;
}

/* Does the copy have the bytes of the trace up to @end? */
static bool holds(const struct aux_copy *image, uint64_t end)
{
	struct aux_news news = aux_copy__news(image);
	struct records records = aux_news__records(&news, image->data, image->len);
	uint64_t n = end - image->bytes, i;
	unsigned char byte;

	if (records__len(&records) != image->bytes)
		return false;
	for (i = 0; i < image->bytes; i++, n++) {
		records__copy(&records, i, &byte, 1);
		if (byte != trace(n))
			return false;
	}
	return true;
}

/* Each step is a snapshot of its own. Copied and lost bytes add up to all of them. */
static bool snapshots(uint64_t len, uint64_t most, uint64_t step)
{
	struct aux_cursor cursor = { .len = len };
	struct aux_copy image;
	uint64_t told = 0, i;
	struct area area;
	bool ok = true;

	area__init(&area, len);
	if (aux_copy__init(&image, len, most))
		exit(1);
	for (i = 0; i < 4 * len + 7 && ok; i++) {
		struct aux_news news;

		area__write(&area, step);
		news = aux_cursor__count(&cursor, area__head(&area), area.written);
		told += aux_copy__add(&image, area.data, &news);
		told += image.bytes;
		ok = told == area.written && holds(&image, area.written) &&
		     image.bytes == (step < most ? step : most);
		aux_copy__clear(&image);
	}
	aux_copy__exit(&image);
	free(area.data);
	return ok;
}

/* Take @takes copies for one snapshot, with steps of different sizes. */
static bool extended(uint64_t len, uint64_t most, unsigned int takes)
{
	struct aux_cursor cursor = { .len = len };
	uint64_t told = 0, step = 1, i;
	struct aux_copy image;
	struct area area;
	bool ok = true;

	area__init(&area, len);
	if (aux_copy__init(&image, len, most))
		exit(1);
	for (i = 1; i < 50 * takes && ok; i++) {
		struct aux_news news;

		step = (step * 31 + 17) % (len + len / 2);
		area__write(&area, step);
		news = aux_cursor__count(&cursor, area__head(&area), area.written);
		told += aux_copy__add(&image, area.data, &news);
		ok = holds(&image, area.written) && image.bytes <= most &&
		     told + image.bytes == area.written;
		if (i % takes == 0) {
			told += image.bytes;
			aux_copy__clear(&image);
		}
	}
	aux_copy__exit(&image);
	free(area.data);
	return ok;
}

static bool all_sizes(void)
{
	static const uint64_t lens[] = { 1, 2, 8, 13, 64, 101 };
	uint64_t i, most, step;

	for (i = 0; i < sizeof(lens) / sizeof(*lens); i++)
		for (most = 1; most <= lens[i]; most += 1 + lens[i] / 7)
			for (step = 0; step <= 3 * lens[i]; step++)
				if (!snapshots(lens[i], most, step)) {
					printf("# area %d, most %d, step %d\n", (int)lens[i],
					       (int)most, (int)step);
					return false;
				}
	return true;
}

static bool all_takes(void)
{
	uint64_t len, most;
	unsigned int takes;

	for (len = 3; len <= 101; len += 14)
		for (most = 1; most <= len; most += 1 + len / 5)
			for (takes = 1; takes < 9; takes++)
				if (!extended(len, most, takes)) {
					printf("# area %d, most %d, %u takes\n", (int)len,
					       (int)most, takes);
					return false;
				}
	return true;
}

/* The control page is hostile. No byte outside the area is accessed: ASan checks. */
static bool hostile(void)
{
	static const uint64_t words[] = { 0, 1, 63, 64, 65, 127, UINT32_MAX, 1ULL << 63,
					  UINT64_MAX - 63, UINT64_MAX };
	const uint64_t nr = sizeof(words) / sizeof(*words), len = 64;
	unsigned char area[64] = { 0 };
	struct aux_copy image;
	uint64_t i, j, k;
	bool ok = true;

	if (aux_copy__init(&image, len, len))
		exit(1);
	for (i = 0; i < nr; i++)
		for (j = 0; j < nr; j++)
			for (k = 0; k < nr; k++) {
				struct aux_cursor cursor = { .len = len, .written = words[k] };
				struct aux_news news = aux_cursor__count(&cursor, words[i],
									 words[j]);

				ok = ok && news.end < len && news.bytes <= len;
				aux_copy__add(&image, area, &news);
				ok = ok && image.bytes <= len && image.end < len;
				news = aux_news__range(len, words[i], words[j]);
				ok = ok && news.end < len && news.bytes <= len;
				aux_copy__add(&image, area, &news);
				ok = ok && image.bytes <= len && image.end < len;
			}
	aux_copy__exit(&image);
	return ok;
}

static bool backward(void)
{
	struct aux_cursor cursor = { .len = 64 };
	struct aux_news news;

	aux_cursor__count(&cursor, 10, 138);
	news = aux_cursor__count(&cursor, 12, 130);
	return news.bytes == 64 && news.end == 12 && !news.overwritten;
}

static bool ranges(void)
{
	struct aux_news nothing = aux_news__range(64, 5, 5), some = aux_news__range(64, 60, 64 + 4);
	struct aux_news all = aux_news__range(64, 5, 64 + 5);
	struct aux_news odd = aux_news__range(96, 90, 96 + 10);

	return !nothing.bytes && some.bytes == 8 && some.end == 4 && all.bytes == 64 &&
	       all.end == 5 && odd.bytes == 16 && odd.end == 10;
}

int main(void)
{
	check(all_sizes(),
	      "each snapshot has the bytes since the previous one, and counts lost ones");
	check(all_takes(),
	      "copies that are written together have the newest bytes, and count the others");
	check(ranges(), "ranges from offsets, as util computes them");
	check(backward(), "a count that goes back makes the whole area new");
	check(hostile(), "no value of the control page leads out of the area");
	return tap_end();
}
