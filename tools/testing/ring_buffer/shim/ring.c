// SPDX-License-Identifier: GPL-2.0-only
/* Implement the rings, records and readers of ring.h. */
#include <stdlib.h>
#include <sys/mman.h>

#include "ring.h"

#define MAPPED_PAGES(ring) (1 + ((ring)->size >> PAGE_SHIFT))

static void *check_alloc(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

/* Map control page and data pages, as core.c does. */
static void map_for_user(struct ring *ring)
{
	unsigned int nr = MAPPED_PAGES(ring);
	struct page **pages = check_alloc(calloc(nr, sizeof(*pages)));

	for (unsigned int i = 0; i < nr; i++)
		pages[i] = check_alloc(ring->impl->page(ring->rb, i));
	ring->user = shim_reserve((size_t)nr << PAGE_SHIFT);
	ring->data = (unsigned char *)ring->user + PAGE_SIZE;
	shim_map_pages(ring->user, pages, nr, PROT_READ | PROT_WRITE);
	free(pages);
}

struct ring *ring_new(const struct ring_impl *impl, unsigned int flags, int nr_pages,
		      long watermark)
{
	struct perf_buffer *rb = impl->alloc(nr_pages, watermark, flags);
	struct ring *ring;

	if (!rb)
		return NULL;
	ring = check_alloc(calloc(1, sizeof(*ring)));
	ring->impl = impl;
	ring->flags = flags;
	ring->rb = rb;
	ring->size = (unsigned long)nr_pages << PAGE_SHIFT;
	ring->event.rb = rb;
	ring->event.pmu = &ring->pmu;
	ring->event.id = 4711;
	ring->event.id_header_size = RING_ID_SIZE;
	ring->event.attr.write_backward = !!(flags & RING_BACKWARD);
	ring->event.attr.sample_id_all = !!(flags & RING_WITH_ID);
	ring->event.attr.sample_type = flags & RING_SIZED ? PERF_SAMPLE_SIZE_AT_END : 0;
	map_for_user(ring);
	return ring;
}

void ring_delete(struct ring *ring)
{
	if (!ring)
		return;
	ring->impl->put(ring->rb);
	shim_run_work();
	shim_unreserve(ring->user, MAPPED_PAGES(ring) << PAGE_SHIFT);
	free(ring);
}

/*
 * Writing
 */

unsigned int ring_record_tail(const struct ring *ring)
{
	return (ring->flags & RING_WITH_ID ? RING_ID_SIZE : 0) +
	       (ring->flags & RING_SIZED ? sizeof(struct perf_event_trailer) : 0);
}

unsigned int ring_min_record(const struct ring *ring)
{
	return sizeof(struct perf_event_header) + sizeof(u64) + ring_record_tail(ring);
}

static u64 fill(u64 number, unsigned int offset)
{
	return (number + 1) * 0x9e3779b97f4a7c15ull ^ ((u64)offset << 48 | offset);
}

void ring_fill(struct ring *ring, struct perf_output_handle *handle, unsigned int size, u64 number)
{
	struct perf_event_header header = { .type = PERF_RECORD_SAMPLE, .size = size };
	struct perf_sample_data data = { .id_fill = RING_ID_FILL };
	u64 first;

	memcpy(&first, &header, sizeof(first));
	ring->impl->put_u64(handle, first);
	ring->impl->put_u64(handle, number);
	for (unsigned int at = 16; at < size - ring_record_tail(ring); at += sizeof(u64))
		ring->impl->put_u64(handle, fill(number, at));
	ring->impl->output_id(&ring->event, handle, &data);
}

int ring_write(struct ring *ring, unsigned int size, u64 number)
{
	struct perf_sample_data data = { .id_fill = RING_ID_FILL };
	struct perf_output_handle handle;
	int err = ring->impl->begin(&handle, &data, &ring->event, size);

	if (err)
		return err;
	ring_fill(ring, &handle, size, number);
	ring->impl->end(&handle);
	return 0;
}

/*
 * Reading
 */

static bool is_backward(const struct ring *ring)
{
	return ring->flags & RING_BACKWARD;
}

u64 ring_head(const struct ring *ring)
{
	u64 head = smp_load_acquire(&ring->user->data_head);	/* C, pairs with B */

	/* Heads of 32-bit kernels have 32 bits. */
	return is_backward(ring) ? (unsigned long)-head : head;
}

u64 ring_reserved(const struct ring *ring)
{
	u64 sum = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(ring->user->data_reserved); i++)
		sum += READ_ONCE(ring->user->data_reserved[i]);
	return sum;
}

void ring_copy(const struct ring *ring, void *dst, u64 begin, size_t len)
{
	size_t offset = (is_backward(ring) ? -(begin + len) : begin) & (ring->size - 1);
	size_t until_end = min_t(size_t, len, ring->size - offset);

	memcpy(dst, ring->data + offset, until_end);
	memcpy(dst + until_end, ring->data, len - until_end);
}

void ring_records_free(struct ring_records *records)
{
	free(records->record);
	*records = (struct ring_records){};
}

bool ring_records_are(const struct ring_records *records, u64 first, u64 last)
{
	if (records->error || records->nr != last + 1 - first)
		return false;
	for (size_t i = 0; i < records->nr; i++)
		if (records->record[i].type != PERF_RECORD_SAMPLE ||
		    records->record[i].number != first + i)
			return false;
	return true;
}

static void append(struct ring_records *records, const struct ring_record *record)
{
	size_t bytes;

	if (records->nr == records->allocated) {
		records->allocated = 2 * records->allocated + 64;
		bytes = records->allocated * sizeof(*record);
		records->record = check_alloc(realloc(records->record, bytes));
	}
	records->record[records->nr++] = *record;
}

static u64 u64_at(const void *bytes)
{
	u64 value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static const char *check_sample(const struct ring *ring, const unsigned char *bytes,
				struct ring_record *record)
{
	if (record->size < ring_min_record(ring))
		return "sample is too short";
	record->number = u64_at(bytes + 8);
	for (unsigned int at = 16; at < record->size - ring_record_tail(ring); at += sizeof(u64))
		if (u64_at(bytes + at) != fill(record->number, at))
			return "sample is torn";
	return NULL;
}

static const char *check_id(const struct ring *ring, const unsigned char *bytes,
			    const struct ring_record *record)
{
	unsigned int end = record->size - ring_record_tail(ring) + RING_ID_SIZE;

	if (!(ring->flags & RING_WITH_ID))
		return NULL;
	for (unsigned int at = end - RING_ID_SIZE; at < end; at++)
		if (bytes[at] != RING_ID_FILL)
			return "wrong sample id";
	return NULL;
}

static const char *check_trailer(const struct ring *ring, const unsigned char *bytes,
				 const struct ring_record *record)
{
	struct perf_event_trailer trailer;

	if (!(ring->flags & RING_SIZED))
		return NULL;
	memcpy(&trailer, bytes + record->size - sizeof(trailer), sizeof(trailer));
	if (trailer.size != record->size)
		return "wrong size in trailer";
	if (((u64)trailer.offset_hi << 32 | trailer.offset_lo) !=
	    (record->position & ((1ull << 48) - 1)))
		return "wrong position in trailer";
	return NULL;
}

/*
 * Parse and check a record of at most @left bytes; record->position is set by the caller. Returns
 * the error, or NULL.
 */
static const char *parse(const struct ring *ring, const unsigned char *bytes, size_t left,
			 struct ring_record *record)
{
	struct perf_event_header header;
	const char *error = NULL;

	if (left < sizeof(header))
		return "incomplete header";
	memcpy(&header, bytes, sizeof(header));
	record->type = header.type;
	record->size = header.size;
	if (header.size < sizeof(header) + ring_record_tail(ring) || header.size % 8 || header.misc)
		return "invalid header";
	if (header.size > left)
		return "incomplete record";

	switch (header.type) {
	case PERF_RECORD_SAMPLE:
		error = check_sample(ring, bytes, record);
		break;
	case PERF_RECORD_LOST:
		if (header.size != sizeof(struct ring_lost_record) + ring_record_tail(ring) ||
		    u64_at(bytes + offsetof(struct ring_lost_record, id)) != ring->event.id)
			return "invalid LOST record";
		record->lost = u64_at(bytes + offsetof(struct ring_lost_record, lost));
		break;
	case PERF_RECORD_AUX:
		if (header.size != sizeof(struct ring_aux_record) + ring_record_tail(ring))
			return "invalid AUX record";
		break;
	default:
		return "unknown record type";
	}
	if (!error)
		error = check_id(ring, bytes, record);
	if (!error)
		error = check_trailer(ring, bytes, record);
	return error;
}

static void reverse(struct ring_record *record, size_t nr)
{
	for (size_t i = 0; i < nr / 2; i++) {
		struct ring_record other = record[i];

		record[i] = record[nr - 1 - i];
		record[nr - 1 - i] = other;
	}
}

/* Return header.size of the record at @bytes, or 0 if the header is incomplete. */
static unsigned int length_at(const unsigned char *bytes, size_t left)
{
	struct perf_event_header header;

	if (left < sizeof(header))
		return 0;
	memcpy(&header, bytes, sizeof(header));
	return header.size;
}

void ring_walk_up(const struct ring *ring, const void *bytes, size_t len, u64 position,
		  bool partial, struct ring_records *records)
{
	size_t before = records->nr;

	for (size_t at = 0; at < len && !records->error;) {
		struct ring_record record = {
			.position = is_backward(ring) ? position - at : position + at,
		};
		unsigned int length = length_at(bytes + at, len - at);

		/* Never written, or partly overwritten. */
		if (partial && (!length || length > len - at))
			break;
		records->error = parse(ring, bytes + at, len - at, &record);
		if (!records->error)
			append(records, &record);
		at += record.size;
	}
	if (is_backward(ring))
		reverse(records->record + before, records->nr - before);
}

void ring_walk_trailers(const struct ring *ring, const void *bytes, size_t len, u64 position,
			struct ring_records *records)
{
	const unsigned char *end = bytes + len;
	size_t before = records->nr;

	while (end - (const unsigned char *)bytes >= sizeof(struct perf_event_trailer)) {
		size_t left = end - (const unsigned char *)bytes;
		struct perf_event_trailer trailer;
		struct ring_record record = {};

		memcpy(&trailer, end - sizeof(trailer), sizeof(trailer));
		if (trailer.size > left)
			break;
		record.position = position - trailer.size;
		records->error = parse(ring, end - trailer.size, trailer.size, &record);
		if (!records->error && record.size != trailer.size)
			records->error = "sizes in trailer and header differ";
		if (records->error)
			break;
		append(records, &record);
		end -= record.size;
		position -= record.size;
	}
	reverse(records->record + before, records->nr - before);
}

void ring_consume(struct ring *ring, struct ring_records *records)
{
	u64 head = ring_head(ring);
	u64 tail = is_backward(ring) ? (unsigned long)-ring->user->data_tail :
				       ring->user->data_tail;
	unsigned char *bytes;

	if (head - tail > ring->size) {
		records->error = "data_head is further ahead than the ring is large";
		return;
	}
	bytes = check_alloc(malloc(head - tail + 1));
	ring_copy(ring, bytes, tail, head - tail);
	ring_walk_up(ring, bytes, head - tail, is_backward(ring) ? head : tail, false, records);
	free(bytes);
	smp_mb();	/* D, pairs with A */
	WRITE_ONCE(ring->user->data_tail, ring->user->data_head);
}

void ring_snapshot(const struct ring *ring, u64 since, struct ring_snapshot *snapshot)
{
	unsigned char *bytes = check_alloc(malloc(ring->size));
	u64 head = ring_head(ring);			/* C, pairs with B */
	u64 oldest = head > ring->size ? head - ring->size : 0;
	u64 reserved, valid;

	*snapshot = (struct ring_snapshot){ .begin = max(oldest, since), .end = head };
	ring_copy(ring, bytes, snapshot->begin, head - snapshot->begin);
	smp_rmb();					/* F, pairs with E */
	reserved = ring_reserved(ring);
	valid = reserved > ring->size ? reserved - ring->size : 0;
	if (valid > snapshot->begin) {
		u64 drop = min(valid, head) - snapshot->begin;

		snapshot->dropped = valid > oldest ? min(valid, head) - oldest : 0;
		if (!is_backward(ring))
			memmove(bytes, bytes + drop, head - snapshot->begin - drop);
		snapshot->begin += drop;
	}

	if (ring->flags & RING_SIZED)
		ring_walk_trailers(ring, bytes, head - snapshot->begin, head, &snapshot->records);
	else if (is_backward(ring))
		ring_walk_up(ring, bytes, head - snapshot->begin, head, true, &snapshot->records);
	snapshot->first = snapshot->records.nr ? snapshot->records.record[0].position : head;
	free(bytes);
}

void ring_snapshot_free(struct ring_snapshot *snapshot)
{
	ring_records_free(&snapshot->records);
}
