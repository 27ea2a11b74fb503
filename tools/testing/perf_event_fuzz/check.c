// SPDX-License-Identifier: GPL-2.0-only
/*
 * Check the records of a ring: their sizes, types and trailers, and that they follow each other
 * without a gap.
 *
 *	streaming		all records between data_tail and data_head, which are consumed
 *	overwrite, sized	a copy, walked by trailers from data_head to the first byte that may
 *				have been overwritten during the copy
 *	overwrite, backward	a copy, walked by headers from data_head
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#define NR_RESERVED	(sizeof(((struct perf_event_mmap_page *)0)->data_reserved) / \
			 sizeof(uint64_t))
#define LAST_TYPE	PERF_RECORD_AUX_OUTPUT_HW_ID
#define TRAILER_SIZE	sizeof(struct perf_event_trailer)

union record {
	struct perf_event_header	header;
	unsigned char			bytes[65536];
	uint64_t			words[65536 / 8];
};

/* The bytes of a ring, in place or copied, and where a position is in them. */
struct bytes {
	const unsigned char	*data;
	size_t			size;
};

static void read_bytes(const struct bytes *bytes, uint64_t position, void *to, size_t length)
{
	size_t at = position & (bytes->size - 1);
	size_t first = length < bytes->size - at ? length : bytes->size - at;

	memcpy(to, bytes->data + at, first);
	memcpy((char *)to + first, bytes->data, length - first);
}

static bool is_sized(const struct event *event)
{
	return event->attr.sample_type & PERF_SAMPLE_SIZE_AT_END;
}

static bool trailer_matches(const union record *record, uint64_t position)
{
	struct perf_event_trailer trailer;

	memcpy(&trailer, record->bytes + record->header.size - TRAILER_SIZE, TRAILER_SIZE);
	return trailer.size == record->header.size && trailer.offset_lo == (uint32_t)position &&
	       trailer.offset_hi == (uint16_t)(position >> 32);
}

/*
 * Return what is wrong with the record at @position, of which @space bytes are readable, or NULL.
 */
static const char *check_record(const struct event *event, const struct bytes *bytes,
				uint64_t position, uint64_t space, union record *record)
{
	unsigned int trailer = is_sized(event) ? TRAILER_SIZE : 0;
	unsigned int size, sample;

	if (space < sizeof(record->header))
		return "a header passes the end";
	read_bytes(bytes, position, &record->header, sizeof(record->header));
	size = record->header.size;
	if (size < sizeof(record->header) + trailer || size % 8)
		return "its size is invalid";
	if (size > space)
		return "it passes the end";
	if (!record->header.type || record->header.type > LAST_TYPE)
		return "its type is unknown";
	read_bytes(bytes, position, record->bytes, size);
	if (trailer && !trailer_matches(record, position))
		return "its trailer does not match";
	sample = attr_sample_size(&event->attr);
	if (record->header.type == PERF_RECORD_SAMPLE && sample && !event->shared &&
	    size != sample + trailer)
		return "its size is not that of the sample";
	return NULL;
}

static void count_record(const union record *record)
{
	count(&counts->records, 1);
	if (record->header.type == PERF_RECORD_LOST)
		count(&counts->lost, record->words[2]);
}

static void fail_record(const struct event *event, const char *reason, uint64_t position,
			uint64_t begin, uint64_t end, const union record *record)
{
	fail("%s: record at %#llx in [%#llx, %#llx), type %u size %u; ring of %zu, sample_type %#llx",
	     reason, (unsigned long long)position, (unsigned long long)begin,
	     (unsigned long long)end, record->header.type, record->header.size, event->size,
	     (unsigned long long)event->attr.sample_type);
}

/* Walk up from @begin to @end. @partial: the last record may be incomplete. */
static void walk_up(const struct event *event, const struct bytes *bytes, uint64_t begin,
		    uint64_t end, bool partial)
{
	static union record record;
	uint64_t position;

	for (position = begin; position != end; position += record.header.size) {
		const char *reason = check_record(event, bytes, position, end - position, &record);

		if (partial && (end - position < sizeof(record.header) ||
				record.header.size > end - position))
			return;
		if (reason) {
			fail_record(event, reason, position, begin, end, &record);
			return;
		}
		count_record(&record);
	}
}

static void check_streaming(struct event *event)
{
	struct perf_event_mmap_page *page = event->page;
	struct bytes bytes = { (unsigned char *)page + page->data_offset, event->size };
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);	/* C */
	uint64_t tail = page->data_tail;
	bool backward = event->attr.write_backward;
	uint64_t begin = backward ? head : tail, end = backward ? tail : head;

	if (end - begin > event->size) {
		fail("data_head %#llx, data_tail %#llx in a ring of %zu bytes",
		     (unsigned long long)head, (unsigned long long)tail, event->size);
		return;
	}
	walk_up(event, &bytes, begin, end, false);
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);		/* D */
}

/* Return the sum of the words of data_reserved. */
static uint64_t reserved(const struct perf_event_mmap_page *page)
{
	const volatile uint64_t *words = (const volatile void *)&page->data_reserved;
	uint64_t sum = 0;

	for (unsigned int i = 0; i < NR_RESERVED; i++)
		sum += words[i];
	return sum;
}

/* Walk down by trailers from @end to the last record that begins at or above @begin. */
static void walk_down(const struct event *event, const struct bytes *bytes, uint64_t begin,
		      uint64_t end)
{
	static union record record;
	uint64_t position = end;
	const char *reason;
	uint16_t size;

	while (position - begin >= sizeof(size)) {
		read_bytes(bytes, position - sizeof(size), &size, sizeof(size));
		if (size > position - begin)
			return;
		reason = check_record(event, bytes, position - size, size, &record);
		if (!size || reason) {
			fail_record(event, reason, position - size, begin, end, &record);
			return;
		}
		count_record(&record);
		position -= size;
	}
}

static void check_overwrite(struct event *event)
{
	struct perf_event_mmap_page *page = event->page;
	bool backward = event->attr.write_backward;
	uint64_t head, written, end_reserved, begin;
	unsigned char *copy;
	struct bytes bytes;

	if (!page->cap_data_reserved || (!backward && !is_sized(event)))
		return;
	copy = malloc(event->size);
	bytes = (struct bytes){ copy, event->size };
	head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);		/* C */
	memcpy(copy, (unsigned char *)page + page->data_offset, event->size);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);				/* F */
	end_reserved = reserved(page);

	written = backward ? -head : head;
	if (end_reserved < written) {
		fail("data_reserved %#llx is below data_head %#llx",
		     (unsigned long long)end_reserved, (unsigned long long)head);
	} else if (end_reserved - written < event->size) {
		/* Positions count what was written; a backward ring has them negated. */
		begin = end_reserved > event->size ? end_reserved - event->size : 0;
		if (backward)
			walk_up(event, &bytes, head, -begin, true);
		else
			walk_down(event, &bytes, begin, head);
		count(&counts->snapshots, 1);
	}
	free(copy);
}

void check_ring(struct event *event)
{
	if (event->hostile || !event->mine || !event->page || !event->size)
		return;
	if (event->writable)
		check_streaming(event);
	else
		check_overwrite(event);
}
