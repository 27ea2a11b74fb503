// SPDX-License-Identifier: GPL-2.0-only
/* Test reserve and commit in each mode of the perf ring buffer. */
#include "ring_buffer_kunit.h"

KUNIT_ARRAY_PARAM_DESC(mode, kring_modes, name);

/* Wrap several times, with record sizes that meet the end at every offset. */
static void write_and_wrap(struct kunit *test)
{
	static const u16 sizes[] = { 24, 64, 16 + 8 * 9, 1024, 4096, 8 * 557 };
	struct kring *ring = kring_new_mode(test);
	unsigned int number;

	for (number = 0; ring->end < 8 * KRING_SIZE; number++) {
		u16 size = sizes[number % ARRAY_SIZE(sizes)];
		u64 begin = ring->end;

		kring_write_next(ring, size, number);
		KUNIT_ASSERT_EQ(test, kring_head(ring), ring->end);
		kring_expect_record(ring, begin, size, number);
		kring_set_tail(ring, ring->end);
	}
	KUNIT_EXPECT_EQ(test, local_read(&ring->rb->lost), 0);
	KUNIT_EXPECT_EQ(test, atomic64_read(&ring->event.lost_samples), 0);
}

/*
 * The fields of a record behind its header: a copy, a copy that a fault
 * interrupts, a gap for the rest of it, and another copy.
 */
struct fields {
	struct perf_event_header	header;
	u8				first[21];
	u8				faulting[37];
	u8				gap[23];
	u8				last[159];
} __packed;

static unsigned long copy_and_fault(void *dst, const void *buf,
				    unsigned long off, unsigned long len)
{
	unsigned long n = sizeof_field(struct fields, faulting);

	n = min(len, n - min(off, n));
	memcpy(dst, buf + off, n);
	return len - n;
}

static void put_fields(struct kring *ring, const struct fields *fields)
{
	struct kunit *test = ring->test;
	struct perf_output_handle handle;

	KUNIT_ASSERT_EQ(test, 0, perf_output_begin(&handle, &ring->data,
						   &ring->event,
						   fields->header.size));
	perf_output_put(&handle, fields->header);
	KUNIT_EXPECT_EQ(test, 0, perf_output_copy(&handle, fields->first,
						  sizeof(fields->first)));
	KUNIT_EXPECT_EQ(test, sizeof(fields->gap),
			__output_custom(&handle, copy_and_fault,
					fields->faulting,
					sizeof(fields->faulting) +
					sizeof(fields->gap)));
	KUNIT_EXPECT_EQ(test, 0, perf_output_skip(&handle,
						  sizeof(fields->gap)));
	KUNIT_EXPECT_EQ(test, 0, perf_output_copy(&handle, fields->last,
						  sizeof(fields->last)));
	perf_output_end(&handle);
}

/* Fields of each kind continue on the next page, at any of their words. */
static void fields_across_pages(struct kunit *test)
{
	struct fields fields = { .header.type = PERF_RECORD_SAMPLE };
	struct {
		struct fields fields;
		u64 trailer;
	} __packed record;
	int before, i;

	for (i = 0; i < sizeof(fields.last); i++)
		fields.last[i] = i * 7 + 1;
	memcpy(fields.first, fields.last + 50, sizeof(fields.first));
	memcpy(fields.faulting, fields.last + 100, sizeof(fields.faulting));

	for (before = 8; before < sizeof(fields); before += 8) {
		struct kring *ring = kring_new_mode(test);
		u64 position = PAGE_SIZE - before;
		u16 size = sizeof(fields) + 8 * kring_is_sized(ring);

		fields.header.size = size;
		kring_write_next(ring, position, 0);
		put_fields(ring, &fields);
		KUNIT_ASSERT_EQ(test, kring_head(ring), position + size);
		kring_read(ring, kring_is_backward(ring) ? -(position + size) :
			   position, &record, size);
		KUNIT_ASSERT_MEMEQ(test, &record.fields, &fields,
				   sizeof(fields));
		if (kring_is_sized(ring))
			kring_expect_trailer(ring, &record, position, size);
	}
}

/* A reader that starts from data_head finds all records that the ring holds. */
static void walk_backward(struct kunit *test)
{
	struct kring *ring = kring_new(test, KRING_PAGES, 0,
				       RING_BUFFER_TRAILER);
	unsigned int number = 0;
	u64 position, oldest;
	u16 size;

	while (ring->end < 3 * KRING_SIZE) {
		kring_write_next(ring, 24 + 8 * (number % 61), number);
		number++;
	}
	oldest = ring->end - KRING_SIZE;
	for (position = kring_head(ring); ; position -= size) {
		kring_read(ring, position - sizeof(size), &size, sizeof(size));
		if (position - size < oldest)
			break;
		number--;
		KUNIT_ASSERT_EQ(test, size, 24 + 8 * (number % 61));
		kring_expect_record(ring, position - size, size, number);
	}
	KUNIT_EXPECT_LT(test, position - oldest, 24 + 8 * 61);
}

/*
 * A record can fill an overwrite ring completely, but not a streaming ring:
 * one byte of it always stays free. With pages of 64 kB, the ring is larger
 * than any record.
 */
static void largest_record(struct kunit *test)
{
	struct kring *ring = kring_new_mode(test);
	u32 space = KRING_SIZE - (kring_is_streaming(ring) ? 8 : 0);
	u32 largest = min(space, LARGEST);

	if (kring_is_streaming(ring))
		KUNIT_EXPECT_EQ(test, kring_write(ring, largest + 8, 0),
				-ENOSPC);
	local_set(&ring->rb->lost, 0);

	kring_write_next(ring, 24, 1);
	kring_set_tail(ring, ring->end);
	kring_write_next(ring, largest, 2);
	KUNIT_EXPECT_EQ(test, kring_head(ring), ring->end);
	kring_expect_record(ring, 24, largest, 2);
}

/* A record larger than the ring is counted as lost, and reported. */
static void record_larger_than_ring(struct kunit *test)
{
	struct kring *ring = kring_new_mode(test);

	kring_write_next(ring, 64, 0);
	kring_set_tail(ring, ring->end);
	KUNIT_EXPECT_EQ(test, kring_write(ring, KRING_SIZE + 8, 1), -ENOSPC);
	KUNIT_EXPECT_EQ(test, kring_write(ring, max(KRING_SIZE + 8, LARGEST), 2),
			-ENOSPC);
	KUNIT_EXPECT_EQ(test, kring_head(ring), ring->end);
	KUNIT_EXPECT_EQ(test, atomic64_read(&ring->event.lost_samples), 2);

	/* Together with the LOST record, this record is too large as well. */
	KUNIT_EXPECT_EQ(test, kring_write(ring, KRING_SIZE, 3), -ENOSPC);

	kring_write_next(ring, 64, 4);
	ring->end += kring_lost_size(ring);
	KUNIT_EXPECT_EQ(test, kring_head(ring), ring->end);
	KUNIT_EXPECT_EQ(test, ring->rb->nest, 0);
	kring_expect_lost(ring, 64, 3, 64, 4);
}

/* Fill a streaming ring. Return: the number of records written. */
static int fill_up(struct kring *ring, u16 size)
{
	int n = 0;

	while (!kring_write(ring, size, n)) {
		ring->end += size;
		KUNIT_ASSERT_LE(ring->test, ring->end, ring->rb->size);
		n++;
	}
	return n;
}

static void full_ring(struct kunit *test)
{
	struct kring *ring = kring_new_mode(test);
	int n, i;
	u64 end;

	if (!kring_is_streaming(ring))
		kunit_skip(test, "an overwrite ring is never full");
	n = fill_up(ring, 64);
	KUNIT_EXPECT_EQ(test, n, KRING_SIZE / 64 - 1);
	KUNIT_EXPECT_EQ(test, kring_write(ring, 64, n), -ENOSPC);
	KUNIT_EXPECT_EQ(test, kring_head(ring), ring->end);
	KUNIT_EXPECT_TRUE(test, kring_was_woken(ring));
	for (i = 0; i < n; i++)
		kring_expect_record(ring, 64 * i, 64, i);

	/* Enough space for this record, but not for a LOST record as well. */
	end = ring->end;
	kring_set_tail(ring, 16);
	KUNIT_EXPECT_EQ(test, kring_write(ring, 64, n), -ENOSPC);
	KUNIT_EXPECT_EQ(test, kring_head(ring), end);

	kring_set_tail(ring, 128);
	kring_write_next(ring, 64, n);
	ring->end += kring_lost_size(ring);
	KUNIT_EXPECT_EQ(test, kring_head(ring), ring->end);
	KUNIT_EXPECT_EQ(test, local_read(&ring->rb->lost), 0);
	KUNIT_EXPECT_EQ(test, atomic64_read(&ring->event.lost_samples), 3);
	kring_expect_lost(ring, end, 3, 64, n);
}

/* The sample id of a LOST record is between its fields and its trailer. */
static void lost_with_sample_id(struct kunit *test)
{
	struct kring *ring = kring_new(test, KRING_PAGES, 0,
				       RING_BUFFER_TRAILER);
	struct {
		struct perf_event_header header;
		u64 id, lost, cpu, identifier, trailer;
	} record;

	ring->event.attr.sample_id_all = 1;
	ring->event.attr.sample_type |= PERF_SAMPLE_IDENTIFIER |
					PERF_SAMPLE_CPU;
	ring->event.id_header_size = 16;
	KUNIT_EXPECT_EQ(test, kring_write(ring, KRING_SIZE + 8, 0), -ENOSPC);
	kring_write_next(ring, 64, 1);

	kring_read(ring, 0, &record, sizeof(record));
	KUNIT_EXPECT_EQ(test, record.header.type, PERF_RECORD_LOST);
	KUNIT_EXPECT_EQ(test, record.header.size, sizeof(record));
	KUNIT_EXPECT_EQ(test, record.id, ring->event.id);
	KUNIT_EXPECT_EQ(test, record.lost, 1);
	KUNIT_EXPECT_LT(test, record.cpu, nr_cpu_ids);
	KUNIT_EXPECT_EQ(test, record.identifier, ring->event.id);
	kring_expect_trailer(ring, &record, 0, sizeof(record));
	kring_expect_record(ring, sizeof(record), 64, 1);
}

static void paused(struct kunit *test)
{
	struct kring *ring = kring_new_mode(test);

	kring_write_next(ring, 64, 0);
	rb_toggle_paused(ring->rb, true);
	KUNIT_EXPECT_EQ(test, kring_write(ring, 64, 1), -ENOSPC);
	KUNIT_EXPECT_EQ(test, kring_write(ring, 64, 2), -ENOSPC);
	KUNIT_EXPECT_EQ(test, kring_head(ring), 64);
	KUNIT_EXPECT_EQ(test, atomic64_read(&ring->event.lost_samples), 2);

	rb_toggle_paused(ring->rb, false);
	kring_write_next(ring, 64, 3);
	ring->end += kring_lost_size(ring);
	KUNIT_EXPECT_EQ(test, kring_head(ring), ring->end);
	kring_expect_lost(ring, 64, 2, 64, 3);

	/* The loss is reported only once. */
	kring_write_next(ring, 64, 4);
	KUNIT_EXPECT_EQ(test, kring_head(ring), ring->end);
}

static void watermark(struct kunit *test)
{
	const struct kring_mode *mode = test->param_value;
	struct kring *ring = kring_new(test, KRING_PAGES, 200, mode->flags);
	int round;

	/*
	 * The first wake-up comes with the 4th record, which passes 200 bytes.
	 * Further wake-ups come every 3 or 4 records, 200 bytes on average.
	 */
	for (round = 0; round < 3; round++)
		kring_write_next(ring, 64, round);
	KUNIT_EXPECT_FALSE(test, kring_was_woken(ring));
	KUNIT_EXPECT_EQ(test, ring->wakeups, 0);
	kring_write_next(ring, 64, round);
	KUNIT_EXPECT_TRUE(test, kring_was_woken(ring));
	KUNIT_EXPECT_EQ(test, ring->wakeups, 1);
	KUNIT_EXPECT_EQ(test, ring->event.pending_wakeup, 1);

	while (ring->end < 64 * 100) {
		kring_write_next(ring, 64, 0);
		irq_work_sync(&ring->event.pending_irq);
	}
	KUNIT_EXPECT_EQ(test, ring->wakeups, (64 * 100 - 1) / 200);
}

/*
 * data_reserved is increased before the record is written, data_head after it.
 * A record that is refused does not change data_reserved.
 */
static void reserved_and_head(struct kunit *test)
{
	struct kring *ring = kring_new_mode(test);
	struct perf_event_mmap_page *page = ring->rb->user_page;
	bool is_counted = !kring_is_streaming(ring) && IS_ENABLED(CONFIG_64BIT);
	struct perf_output_handle handle;
	u64 counted = is_counted;

	KUNIT_ASSERT_EQ(test, 0, perf_output_begin(&handle, &ring->data,
						   &ring->event, 64));
	KUNIT_EXPECT_EQ(test, kring_reserved(ring), 64 * counted);
	KUNIT_EXPECT_EQ(test, page->data_head, 0);
	kring_fill(ring, &handle, 64, 1);
	KUNIT_EXPECT_EQ(test, page->data_head, 0);
	perf_output_end(&handle);
	KUNIT_EXPECT_EQ(test, kring_head(ring), 64);
	KUNIT_EXPECT_EQ(test, kring_reserved(ring), 64 * counted);

	KUNIT_EXPECT_EQ(test, kring_write(ring, KRING_SIZE + 8, 2), -ENOSPC);
	KUNIT_EXPECT_EQ(test, kring_reserved(ring), 64 * counted);
	kring_write_next(ring, 64, 3);
	KUNIT_EXPECT_EQ(test, kring_reserved(ring),
			(128 + kring_lost_size(ring)) * counted);
}

/* Nested writers end before the outermost writer, which publishes. */
static void nested_writers(struct kunit *test)
{
	struct kring *ring = kring_new_mode(test);
	struct perf_output_handle outer, middle;
	int i;

	KUNIT_ASSERT_EQ(test, 0, perf_output_begin(&outer, &ring->data,
						   &ring->event, 64));
	KUNIT_ASSERT_EQ(test, 0, perf_output_begin(&middle, &ring->data,
						   &ring->event, 128));
	KUNIT_EXPECT_EQ(test, kring_write(ring, 32, 2), 0);
	KUNIT_EXPECT_EQ(test, kring_head(ring), 0);
	kring_fill(ring, &middle, 128, 1);
	perf_output_end(&middle);
	KUNIT_EXPECT_EQ(test, kring_write(ring, 32, 3), 0);
	KUNIT_EXPECT_EQ(test, kring_write(ring, KRING_SIZE + 8, 4), -ENOSPC);
	KUNIT_EXPECT_EQ(test, kring_head(ring), 0);
	kring_fill(ring, &outer, 64, 0);
	perf_output_end(&outer);

	KUNIT_EXPECT_EQ(test, kring_head(ring), 64 + 128 + 32 + 32);
	KUNIT_EXPECT_EQ(test, ring->rb->nest, 0);
	kring_expect_record(ring, 0, 64, 0);
	kring_expect_record(ring, 64, 128, 1);
	for (i = 0; i < 2; i++)
		kring_expect_record(ring, 192 + 32 * i, 32, 2 + i);
}

/*
 * A nested writer that passes the watermark leaves the wake-up to the outermost
 * writer.
 */
static void nested_wakeup(struct kunit *test)
{
	struct kring *ring = kring_new(test, KRING_PAGES, 100, 0);
	struct perf_output_handle outer;

	KUNIT_ASSERT_EQ(test, 0, perf_output_begin(&outer, &ring->data,
						   &ring->event, 64));
	KUNIT_EXPECT_EQ(test, kring_write(ring, 64, 1), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&ring->rb->poll), 0);
	kring_fill(ring, &outer, 64, 0);
	perf_output_end(&outer);
	KUNIT_EXPECT_TRUE(test, kring_was_woken(ring));
}

/* Return true if the part of the record at @handle is in one page of the ring. */
static bool is_in_area(struct kring *ring, struct perf_output_handle *handle)
{
	void *last = handle->end - 1;
	int i;

	for (i = 1; i <= KRING_PAGES; i++) {
		struct page *page = perf_mmap_to_page(ring->rb, i);

		if (is_vmalloc_addr(handle->addr) ?
		    vmalloc_to_page(handle->addr) == page :
		    virt_to_page(handle->addr) == page &&
		    virt_to_page(last) == page)
			return true;
	}
	return false;
}

/*
 * Whatever the value of data_tail, a record is within the data area or is not
 * written at all.
 */
static void hostile_tail(struct kunit *test)
{
	struct kring *ring = kring_new_mode(test);
	static const u64 tails[] = {
		1, 3, 7, 9, 63, KRING_SIZE - 1, KRING_SIZE, KRING_SIZE + 1,
		1ULL << 31, 1ULL << 32, S64_MAX, 1ULL << 63, U64_MAX - 7,
		U64_MAX,
	};
	unsigned long head = 0, i;

	for (i = 0; i < 64 * ARRAY_SIZE(tails); i++) {
		u64 tail = tails[i % ARRAY_SIZE(tails)];
		struct perf_output_handle handle;

		if (i & 1)
			tail += local_read(&ring->rb->head);
		WRITE_ONCE(ring->rb->user_page->data_tail, tail);
		WRITE_ONCE(ring->rb->user_page->data_head, tail);
		WRITE_ONCE(ring->rb->user_page->data_reserved[i & 3], ~tail);
		if (!perf_output_begin(&handle, &ring->data, &ring->event,
				       1024)) {
			KUNIT_ASSERT_TRUE(test, is_in_area(ring, &handle));
			KUNIT_ASSERT_EQ(test, (unsigned long)handle.addr % 8,
					0);
			kring_fill(ring, &handle, 1024, i);
			perf_output_end(&handle);
			head = local_read(&ring->rb->head);
			KUNIT_ASSERT_EQ(test, kring_head(ring), head);
		}
		KUNIT_ASSERT_EQ(test, local_read(&ring->rb->head), head);
	}
	KUNIT_EXPECT_EQ(test, ring->rb->nest, 0);
	KUNIT_EXPECT_GT(test, head, 0);
}

/* An inherited event writes to the ring of its parent, or not at all. */
static void inherited_event(struct kunit *test)
{
	struct kring *ring = kring_new(test, KRING_PAGES, 0, 0);
	struct perf_output_handle handle;
	struct perf_event *child;

	child = kunit_kzalloc(test, sizeof(*child), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, child);
	KUNIT_EXPECT_EQ(test, -ENOSPC,
			perf_output_begin(&handle, &ring->data, child, 64));

	child->parent = &ring->event;
	KUNIT_ASSERT_EQ(test, 0,
			perf_output_begin(&handle, &ring->data, child, 64));
	KUNIT_EXPECT_PTR_EQ(test, handle.event, &ring->event);
	kring_fill(ring, &handle, 64, 1);
	perf_output_end(&handle);
	KUNIT_EXPECT_EQ(test, kring_head(ring), 64);
	kring_expect_record(ring, 0, 64, 1);
}

static struct kunit_case perf_ring_data_cases[] = {
	KUNIT_CASE_PARAM(write_and_wrap, mode_gen_params),
	KUNIT_CASE_PARAM(fields_across_pages, mode_gen_params),
	KUNIT_CASE(walk_backward),
	KUNIT_CASE_PARAM(largest_record, mode_gen_params),
	KUNIT_CASE_PARAM(record_larger_than_ring, mode_gen_params),
	KUNIT_CASE_PARAM(full_ring, mode_gen_params),
	KUNIT_CASE(lost_with_sample_id),
	KUNIT_CASE_PARAM(paused, mode_gen_params),
	KUNIT_CASE_PARAM(watermark, mode_gen_params),
	KUNIT_CASE_PARAM(reserved_and_head, mode_gen_params),
	KUNIT_CASE_PARAM(nested_writers, mode_gen_params),
	KUNIT_CASE(nested_wakeup),
	KUNIT_CASE_PARAM(hostile_tail, mode_gen_params),
	KUNIT_CASE(inherited_event),
	{}
};

static struct kunit_suite perf_ring_data_suite = {
	.name = "perf_ring_data",
	.test_cases = perf_ring_data_cases,
};

kunit_test_suite(perf_ring_data_suite);
