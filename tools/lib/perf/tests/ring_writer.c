// SPDX-License-Identifier: GPL-2.0-only
/* Write numbered records to rings in memory, and check what a reader returns. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/perf_event_trailer.h>
#include <internal/overwrite.h>

#include "ring_writer.h"

struct numbered {
	struct perf_event_header header;
	u64			 number;
	u64			 payload[];
};

static u64 payload_word(u64 number, u64 id, size_t i)
{
	if (id && !i)
		return id;
	return (number + 1) * 0x9e3779b97f4a7c15ULL ^ i;
}

static bool is_sized(const struct ring_writer *writer)
{
	return writer->kind == PERF_OVERWRITE_SIZED;
}

/* Allocate exactly the size of the mapping, so that AddressSanitizer detects overruns. */
void ring_writer__init(struct ring_writer *writer, enum perf_overwrite_kind kind, size_t size,
		       u64 position)
{
	size_t page_size = sysconf(_SC_PAGESIZE);

	*writer = (struct ring_writer){ .size = size, .kind = kind };
	writer->page = aligned_alloc(page_size, page_size + size);
	if (!writer->page)
		abort();
	memset(writer->page, 0, page_size + size);
	writer->data = (unsigned char *)writer->page + page_size;
	writer->page->cap_data_reserved = true;
	writer->page->cap_size_at_end = is_sized(writer);
	ring_writer__reserve(writer, position);
	ring_writer__publish(writer);
}

void ring_writer__exit(struct ring_writer *writer)
{
	free(writer->page);
}

struct perf_overwrite *ring_writer__reader(struct ring_writer *writer)
{
	struct perf_overwrite *ring;

	ring = perf_overwrite__new(writer->page, writer->size, -1, writer->kind);
	if (!ring)
		abort();
	ring->taken = writer->reserved;
	return ring;
}

u64 ring_writer__reserve(struct ring_writer *writer, size_t size)
{
	u64 position = writer->reserved;

	writer->reserved += size;
	/* Use all words, as nested writers do. */
	writer->page->data_reserved[writer->next % 4] += size;
	return position;
}

void ring_writer__put(struct ring_writer *writer, u64 position, size_t size, size_t offset,
		      const void *src, size_t len)
{
	u64 begin = is_sized(writer) ? position : -(position + size);
	size_t at = (begin + offset) & (writer->size - 1);
	size_t first = len < writer->size - at ? len : writer->size - at;

	memcpy(writer->data + at, src, first);
	memcpy(writer->data, src + first, len - first);
}

void ring_writer__fill(struct ring_writer *writer, u64 position, size_t size, u64 number)
{
	struct perf_event_trailer trailer = {
		.offset_lo = position, .offset_hi = position >> 32, .size = size,
	};
	struct numbered *record = malloc(size);
	size_t words = (size - sizeof(*record)) / sizeof(u64), i;

	if (!record)
		abort();
	record->header = (struct perf_event_header){ .type = PERF_RECORD_SAMPLE, .size = size };
	record->number = number;
	for (i = 0; i < words; i++)
		record->payload[i] = payload_word(number, writer->id, i);
	if (is_sized(writer))
		memcpy((void *)record + size - sizeof(trailer), &trailer, sizeof(trailer));
	ring_writer__put(writer, position, size, 0, record, size);
	free(record);
}

u64 ring_writer__write(struct ring_writer *writer, size_t size)
{
	u64 position = ring_writer__reserve(writer, size);

	ring_writer__fill(writer, position, size, writer->next++);
	return position;
}

void ring_writer__publish(struct ring_writer *writer)
{
	u64 head = is_sized(writer) ? writer->reserved : -writer->reserved;

	writer->page->data_head = writer->is_32_bit ? (u32)head : head;
	writer->next_published = writer->next;
}

static bool is_whole(const struct numbered *record, u64 id)
{
	size_t words = (record->header.size - sizeof(*record)) / sizeof(u64), i;

	for (i = 0; i < words; i++)
		if (record->payload[i] != payload_word(record->number, id, i))
			return false;
	return record->header.type == PERF_RECORD_SAMPLE;
}

bool records_are_numbered(const struct perf_snapshot_records *records,
			  enum perf_overwrite_kind kind, u64 *first, u64 *last)
{
	const size_t min_bytes = RECORD_MIN - (kind == PERF_OVERWRITE_SIZED ? 8 : 0);
	const struct numbered *record = NULL;
	u64 nr = 0;
	size_t pos;

	for (pos = 0; pos < records->bytes; pos += record->header.size) {
		record = records->data + pos;
		if (record->header.size < min_bytes || !is_whole(record, 0))
			return false;
		if (!nr++)
			*first = record->number;
		else if (record->number != *last + 1)
			return false;
		*last = record->number;
	}
	return pos == records->bytes && nr == records->nr && record == (void *)records->newest;
}

bool record_is_whole(const union perf_event *event, u64 id, u64 *number)
{
	const struct numbered *record = (const void *)event;

	*number = record->number;
	return record->header.size >= sizeof(*record) + sizeof(id) && is_whole(record, id);
}
