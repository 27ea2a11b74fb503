// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "backward.h"
#include "span.h"

int backward_image__init(struct backward_image *image, size_t size)
{
	void *data = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	*image = (struct backward_image){ .size = size };
	if (data == MAP_FAILED)
		return -ENOMEM;
	image->data = data;
	return 0;
}

void backward_image__exit(struct backward_image *image)
{
	if (image->data)
		munmap(image->data, image->size);
	image->data = NULL;
}

void backward_image__copy(struct backward_image *image, const void *ring, u64 head, u64 prev)
{
	size_t start = head & (image->size - 1);
	size_t to_end = image->size - start;

	image->head = head;
	image->unread = prev - head;
	image->len = image->unread < image->size ? image->unread : image->size;
	image->whole = 0;

	if (image->len <= to_end) {
		memcpy(image->data, ring + start, image->len);
		return;
	}
	/* The oldest part first: it is the one that the writers are about to reach. */
	memcpy(image->data + to_end, ring, image->len - to_end);
	memcpy(image->data, ring + start, to_end);
}

void backward_image__settle(struct backward_image *image, u64 now)
{
	u64 moved = image->head - now;
	size_t left = moved < image->size ? image->size - moved : 0;

	image->whole = image->len < left ? image->len : left;
}

struct backward_records backward_image__oldest_first(const struct backward_image *image,
						     void *dst)
{
	const struct span span = span__of(image->data, image->whole);
	struct backward_records found = { 0 };
	struct perf_event_header header = { .size = sizeof(header) };
	size_t size, pos;

	while ((size = span__header(&span, found.bytes, &header))) {
		found.bytes += size;
		found.nr++;
	}
	found.corrupt = header.size < sizeof(header);

	/* A record's distance from the newest end becomes its distance from the oldest. */
	for (pos = 0; pos < found.bytes; pos += size) {
		size = span__header(&span, pos, &header);
		memcpy(dst + found.bytes - pos - size, image->data + pos, size);
	}
	return found;
}
