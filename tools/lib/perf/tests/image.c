// SPDX-License-Identifier: GPL-2.0-only
/* Build memory images and recover their records. */
#include <stdlib.h>
#include <string.h>
#include <perf/event.h>

#include "image.h"

static u64 random_state;

void random_seed(u64 seed)
{
	random_state = seed * 2 + 1;
}

u64 random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static unsigned char *grow(struct image *image, size_t len)
{
	unsigned char *at;

	image->data = realloc(image->data, image->size + len + !(image->size + len));
	if (!image->data)
		abort();
	at = image->data + image->size;
	image->size += len;
	return at;
}

void image__append(struct image *image, const void *data, size_t len)
{
	memcpy(grow(image, len), data, len);
}

void image__append_random(struct image *image, size_t len)
{
	unsigned char *at = grow(image, len);

	while (len--)
		*at++ = random_number() >> 24;
}

void image__append_ring(struct image *image, const struct ring_writer *writer)
{
	image__append(image, writer->data, writer->size);
}

void image__shuffle(struct image *image, size_t skip)
{
	unsigned char *pages, other[IMAGE_PAGE];
	size_t i;

	if (!image->size)
		return;
	pages = image->data + skip;
	for (i = (image->size - skip) / IMAGE_PAGE; i > 1; i--) {
		unsigned char *a = pages + (i - 1) * IMAGE_PAGE;
		unsigned char *b = pages + random_number() % i * IMAGE_PAGE;

		memcpy(other, a, IMAGE_PAGE);
		memmove(a, b, IMAGE_PAGE);
		memcpy(b, other, IMAGE_PAGE);
	}
}

void image__exit(struct image *image)
{
	free(image->data);
	*image = (struct image){ 0 };
}

/* The id is the second u64 of a record's body. */
static const __u64 all_ids[IMAGE_IDS] = { 3, 1, 4, 2 };
static const struct perf_recovery_ids ids = {
	.ids = all_ids, .nr = IMAGE_IDS, .id_pos = 1, .is_pos = 1,
};

static bool add_event(struct recovered *recovered, const union perf_event *event)
{
	struct recovered *of;
	u64 id = 0, number;

	if (event->header.size < 24)
		return false;
	memcpy(&id, (const void *)event + 16, sizeof(id));
	if (!id || id > IMAGE_IDS || !record_is_whole(event, id, &number))
		return false;
	of = &recovered[id - 1];
	if (!of->nr++)
		of->first = number;
	else if (number <= of->last)
		return false;
	else
		of->holes += number - of->last - 1;
	of->last = number;
	return true;
}

bool image__recover(const struct image *image, struct recovered *recovered,
		    struct perf_recovery_stats *stats)
{
	struct perf_recovery *recovery = perf_recovery__new(image->data, image->size, &ids);
	union perf_event *event;
	bool ok = true;
	u64 nr = 0;

	if (!recovery)
		abort();
	memset(recovered, 0, IMAGE_IDS * sizeof(*recovered));
	while ((event = perf_recovery__read_event(recovery))) {
		ok &= add_event(recovered, event);
		nr++;
	}
	perf_recovery__stats(recovery, stats);
	perf_recovery__delete(recovery);
	return ok && nr == stats->records;
}
