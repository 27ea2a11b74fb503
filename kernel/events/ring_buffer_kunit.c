// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the ring that perf events are written to.
 *
 * An event that no PMU knows of writes numbered records; they are looked at through the ring's
 * pages, as a reader sees them, never through the mirrored mapping that the kernel writes to.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/poll.h>

#include "internal.h"

#define RING_PAGES	4
#define RING_SIZE	(RING_PAGES * PAGE_SIZE)

struct mode {
	char	name[32];
	int	flags;		/* RING_BUFFER_* */
};

static const struct mode modes[] = {
	{ "streaming",		RING_BUFFER_WRITABLE },
	{ "streaming, sized",	RING_BUFFER_WRITABLE | RING_BUFFER_TRAILER },
	{ "streaming backward",	RING_BUFFER_WRITABLE | RING_BUFFER_BACKWARD },
	{ "overwrite",		0 },
	{ "overwrite, sized",	RING_BUFFER_TRAILER },
	{ "overwrite backward",	RING_BUFFER_BACKWARD },
};

KUNIT_ARRAY_PARAM_DESC(mode, modes, name);

/* A ring, and the event that writes to it. */
struct writer {
	struct kunit		*test;
	struct perf_buffer	*rb;
	struct perf_event	event;
	struct perf_sample_data	data;
	int			flags;
	int			wakeups;
	u64			end;	/* bytes written, as the test counts them */
};

static void count_wakeup(struct irq_work *work)
{
	container_of(work, struct writer, event.pending_irq)->wakeups++;
}

static void put_writer(void *context)
{
	struct writer *w = context;

	irq_work_sync(&w->event.pending_irq);
	ring_buffer_put(w->rb);
}

static struct writer *new_writer(struct kunit *test, int nr_pages, long watermark, int flags)
{
	struct writer *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, w);
	w->test = test;
	w->flags = flags;
	w->rb = rb_alloc(nr_pages, watermark, -1, flags);
	KUNIT_ASSERT_NOT_NULL(test, w->rb);

	w->event.id = 4711;
	w->event.attr.write_backward = !!(flags & RING_BUFFER_BACKWARD);
	if (flags & RING_BUFFER_TRAILER)
		w->event.attr.sample_type = PERF_SAMPLE_SIZE_AT_END;
	init_irq_work(&w->event.pending_irq, count_wakeup);
	rcu_assign_pointer(w->event.rb, w->rb);
	perf_sample_data_init(&w->data, 0, 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, put_writer, w), 0);
	return w;
}

static struct writer *new_mode_writer(struct kunit *test)
{
	const struct mode *mode = test->param_value;

	return new_writer(test, RING_PAGES, 0, mode->flags);
}

static bool is_streaming(struct writer *w)
{
	return w->flags & RING_BUFFER_WRITABLE;
}

static bool is_backward(struct writer *w)
{
	return w->flags & RING_BUFFER_BACKWARD;
}

static bool is_sized(struct writer *w)
{
	return w->flags & RING_BUFFER_TRAILER;
}

/* What the ring's owner sees: data_head and data_tail count down in a backward ring. */
static u64 user_position(struct writer *w, u64 position)
{
	return is_backward(w) ? -position : position;
}

static u64 data_head(struct writer *w)
{
	return user_position(w, w->rb->user_page->data_head);
}

static void set_data_tail(struct writer *w, u64 position)
{
	WRITE_ONCE(w->rb->user_page->data_tail, user_position(w, position));
}

static bool was_woken(struct writer *w)
{
	irq_work_sync(&w->event.pending_irq);
	return atomic_xchg(&w->rb->poll, 0);
}

/* A record is a header, and then its number over and over, up to the trailer if there is one. */
static void fill(struct writer *w, struct perf_output_handle *handle, u16 size, u64 number)
{
	struct perf_event_header header = { .type = PERF_RECORD_SAMPLE, .size = size };
	int words = size / sizeof(u64) - 1 - is_sized(w);

	perf_output_put(handle, header);
	while (words--)
		perf_output_put(handle, number);
}

static int write_record(struct writer *w, u16 size, u64 number)
{
	struct perf_output_handle handle;
	int err = perf_output_begin(&handle, &w->data, &w->event, size);

	if (err)
		return err;
	fill(w, &handle, size, number);
	perf_output_end(&handle);
	return 0;
}

/* The same where it must succeed. */
static void write_next(struct writer *w, u16 size, u64 number)
{
	KUNIT_ASSERT_EQ(w->test, write_record(w, size, number), 0);
	w->end += size;
}

/* Copies a part of the ring page by page. */
static void read_ring(struct writer *w, u64 offset, void *to, size_t size)
{
	while (size) {
		size_t at = offset & (w->rb->size - 1);
		size_t n = min(size, PAGE_SIZE - offset_in_page(at));

		memcpy(to, page_address(w->rb->pages[at >> PAGE_SHIFT]) + offset_in_page(at), n);
		to += n;
		offset += n;
		size -= n;
	}
}

/* Where the record lies whose bytes in the order of writing are [@position, @position + @size). */
static u64 record_offset(struct writer *w, u64 position, u16 size)
{
	return is_backward(w) ? -(position + size) : position;
}

static void expect_trailer(struct writer *w, const void *record, u64 position, u16 size)
{
	struct perf_event_trailer trailer;

	memcpy(&trailer, record + size - sizeof(trailer), sizeof(trailer));
	KUNIT_EXPECT_EQ(w->test, trailer.offset_lo, (u32)position);
	KUNIT_EXPECT_EQ(w->test, trailer.offset_hi, (u16)(position >> 32));
	KUNIT_EXPECT_EQ(w->test, trailer.size, size);
}

static void expect_record(struct writer *w, u64 position, u16 size, u64 number)
{
	int words = size / sizeof(u64) - 1 - is_sized(w), wrong = 0, i;
	struct perf_event_header *header;
	u64 *record = kunit_kzalloc(w->test, size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(w->test, record);
	read_ring(w, record_offset(w, position, size), record, size);
	header = (void *)record;
	KUNIT_EXPECT_EQ(w->test, header->type, PERF_RECORD_SAMPLE);
	KUNIT_EXPECT_EQ(w->test, header->size, size);
	for (i = 1; i <= words; i++)
		wrong += record[i] != number;
	KUNIT_EXPECT_EQ_MSG(w->test, wrong, 0, "in record %llu at %llu", number, position);
	if (is_sized(w))
		expect_trailer(w, record, position, size);
	kunit_kfree(w->test, record);
}

/* A LOST record stands at @position; returns its size. */
static u16 expect_lost(struct writer *w, u64 position, u64 lost)
{
	struct {
		struct perf_event_header header;
		u64 id, lost, trailer;
	} record;
	u16 size = sizeof(record) - (is_sized(w) ? 0 : sizeof(record.trailer));

	/* In a backward ring it lies below the record that comes after it in memory. */
	read_ring(w, is_backward(w) ? -w->end : position, &record, sizeof(record));
	KUNIT_EXPECT_EQ(w->test, record.header.type, PERF_RECORD_LOST);
	KUNIT_EXPECT_EQ(w->test, record.header.size, size);
	KUNIT_EXPECT_EQ(w->test, record.id, w->event.id);
	KUNIT_EXPECT_EQ(w->test, record.lost, lost);
	if (is_sized(w))
		expect_trailer(w, &record, position, size);
	return size;
}

static u16 lost_size(struct writer *w)
{
	return 24 + (is_sized(w) ? sizeof(struct perf_event_trailer) : 0);
}

/* Fills a streaming ring up; returns the number of records. */
static int fill_up(struct writer *w, u16 size)
{
	int n = 0;

	while (!write_record(w, size, n)) {
		w->end += size;
		KUNIT_ASSERT_LE(w->test, w->end, w->rb->size);
		n++;
	}
	return n;
}

/*
 * Allocating and freeing
 */

static void alloc(struct kunit *test)
{
	static const int sizes[] = { 0, 1, 2, 16, 256 };
	const struct mode *mode = test->param_value;
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct writer *w = new_writer(test, sizes[i], 0, mode->flags);
		struct perf_buffer *rb = w->rb;

		KUNIT_EXPECT_EQ(test, data_page_nr(rb), sizes[i]);
		KUNIT_EXPECT_EQ(test, perf_data_size(rb), sizes[i] * PAGE_SIZE);
		KUNIT_EXPECT_EQ(test, rb->watermark, sizes[i] * PAGE_SIZE / 2);
		KUNIT_EXPECT_EQ(test, refcount_read(&rb->refcount), 1);
		KUNIT_EXPECT_EQ(test, rb->overwrite, !is_streaming(w));
		KUNIT_EXPECT_EQ(test, rb->backward, is_backward(w));
		KUNIT_EXPECT_EQ(test, rb->trailer, is_sized(w));
		KUNIT_EXPECT_FALSE(test, rb_has_aux(rb));
		KUNIT_EXPECT_NULL(test, memchr_inv(rb->user_page, 0, PAGE_SIZE));
		if (rb->data)
			KUNIT_EXPECT_NULL(test, memchr_inv(rb->data, 0, 2 * rb->size));
	}
}

static void alloc_watermark(struct kunit *test)
{
	static const struct {
		long wanted;
		unsigned long got;
	} watermarks[] = {
		{ 0, RING_SIZE / 2 }, { -1, RING_SIZE / 2 }, { 1, 1 }, { 4097, 4097 },
		{ RING_SIZE, RING_SIZE }, { RING_SIZE + 1, RING_SIZE }, { LONG_MAX, RING_SIZE },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(watermarks); i++) {
		struct writer *w = new_writer(test, RING_PAGES, watermarks[i].wanted, 0);

		KUNIT_EXPECT_EQ(test, w->rb->watermark, watermarks[i].got);
	}
}

/* Only a control page: there is nowhere to write to, and no one can unpause it. */
static void alloc_without_data(struct kunit *test)
{
	struct writer *w = new_writer(test, 0, 0, RING_BUFFER_WRITABLE);

	KUNIT_EXPECT_TRUE(test, w->rb->paused);
	rb_toggle_paused(w->rb, false);
	KUNIT_EXPECT_TRUE(test, w->rb->paused);
	KUNIT_EXPECT_EQ(test, write_record(w, 16, 0), -ENOSPC);
	KUNIT_EXPECT_EQ(test, local_read(&w->rb->lost), 0);
	KUNIT_EXPECT_EQ(test, data_head(w), 0);
}

static void mirrored(struct kunit *test)
{
	struct writer *w = new_writer(test, RING_PAGES, 0, 0);
	void *data = w->rb->data, *again = data + w->rb->size;
	u8 *first = page_address(w->rb->pages[0]);
	u8 *last = page_address(w->rb->pages[RING_PAGES - 1]);
	int i;

	for (i = 0; i < RING_PAGES; i++) {
		u64 *page = page_address(w->rb->pages[i]);

		*(u64 *)(data + i * PAGE_SIZE) = 0x100 + i;
		KUNIT_EXPECT_EQ(test, page[0], 0x100 + i);
		*(u64 *)(again + i * PAGE_SIZE + 8) = 0x200 + i;
		KUNIT_EXPECT_EQ(test, page[1], 0x200 + i);
	}

	memset(again - 8, 0x5a, 16);
	KUNIT_EXPECT_NULL(test, memchr_inv(last + PAGE_SIZE - 8, 0x5a, 8));
	KUNIT_EXPECT_NULL(test, memchr_inv(first, 0x5a, 8));
	KUNIT_EXPECT_EQ(test, first[8], 0);
	KUNIT_EXPECT_EQ(test, last[PAGE_SIZE - 9], 0);
}

static bool is_ours_alone(struct page *page)
{
	int tries;

	for (tries = 0; tries < 500; tries++) {
		if (page_count(page) == 1)
			return true;
		msleep(20);
	}
	return false;
}

/* The last reference may go where nothing can sleep; all pages come back. */
static void put_in_atomic(struct kunit *test)
{
	struct perf_buffer *rb = rb_alloc(RING_PAGES, 0, -1, 0);
	struct page *pages[RING_PAGES + 1];
	int i;

	KUNIT_ASSERT_NOT_NULL(test, rb);
	for (i = 0; i < RING_PAGES; i++)
		pages[i] = rb->pages[i];
	pages[i] = virt_to_page(rb->user_page);
	for (i = 0; i < ARRAY_SIZE(pages); i++)
		get_page(pages[i]);

	local_irq_disable();
	ring_buffer_put(rb);
	local_irq_enable();

	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		KUNIT_EXPECT_TRUE(test, is_ours_alone(pages[i]));
		put_page(pages[i]);
	}
}

static void page_of_offset(struct kunit *test)
{
	struct perf_buffer *rb = new_writer(test, RING_PAGES, 0, 0)->rb;
	int i;

	KUNIT_EXPECT_PTR_EQ(test, perf_mmap_to_page(rb, 0), virt_to_page(rb->user_page));
	for (i = 0; i < RING_PAGES; i++)
		KUNIT_EXPECT_PTR_EQ(test, perf_mmap_to_page(rb, 1 + i), rb->pages[i]);
	KUNIT_EXPECT_NULL(test, perf_mmap_to_page(rb, RING_PAGES + 1));
	KUNIT_EXPECT_NULL(test, perf_mmap_to_page(rb, INT_MAX));
	KUNIT_EXPECT_NULL(test, perf_mmap_to_page(rb, ULONG_MAX));
}

/*
 * Reserve and commit
 */

/* Several times round, with sizes that meet the end at every offset. */
static void write_and_wrap(struct kunit *test)
{
	static const u16 sizes[] = { 24, 64, 16 + 8 * 9, 1024, 4096, 8 * 557 };
	struct writer *w = new_mode_writer(test);
	u64 number;

	for (number = 0; w->end < 8 * RING_SIZE; number++) {
		u16 size = sizes[number % ARRAY_SIZE(sizes)];
		u64 begin = w->end;

		write_next(w, size, number);
		KUNIT_ASSERT_EQ(test, data_head(w), w->end);
		expect_record(w, begin, size, number);
		set_data_tail(w, w->end);
	}
	KUNIT_EXPECT_EQ(test, local_read(&w->rb->lost), 0);
	KUNIT_EXPECT_EQ(test, atomic64_read(&w->event.lost_samples), 0);
}

/* A reader that starts from data_head finds all that the ring can hold, the oldest included. */
static void walk_back(struct kunit *test)
{
	struct writer *w = new_writer(test, RING_PAGES, 0, RING_BUFFER_TRAILER);
	u64 number = 0, position, oldest;
	u16 size;

	while (w->end < 3 * RING_SIZE) {
		write_next(w, 24 + 8 * (number % 61), number);
		number++;
	}
	oldest = w->end - RING_SIZE;
	for (position = data_head(w); ; position -= size) {
		read_ring(w, position - sizeof(size), &size, sizeof(size));
		if (position - size < oldest)
			break;
		number--;
		KUNIT_ASSERT_EQ(test, size, 24 + 8 * (number % 61));
		expect_record(w, position - size, size, number);
	}
	KUNIT_EXPECT_LT(test, position - oldest, 24 + 8 * 61);
}

/* All of a ring that overwrites itself can be one record; a streaming ring is never quite full. */
static void largest_record(struct kunit *test)
{
	struct writer *w = new_mode_writer(test);
	u16 largest = RING_SIZE - (is_streaming(w) ? 8 : 0);

	if (is_streaming(w))
		KUNIT_EXPECT_EQ(test, write_record(w, largest + 8, 0), -ENOSPC);
	local_set(&w->rb->lost, 0);

	write_next(w, 24, 1);
	set_data_tail(w, w->end);
	write_next(w, largest, 2);
	KUNIT_EXPECT_EQ(test, data_head(w), w->end);
	expect_record(w, 24, largest, 2);
}

/* It would run past the second mapping. It is lost, and said to be. */
static void record_larger_than_ring(struct kunit *test)
{
	struct writer *w = new_mode_writer(test);

	write_next(w, 64, 0);
	set_data_tail(w, w->end);
	KUNIT_EXPECT_EQ(test, write_record(w, RING_SIZE + 8, 1), -ENOSPC);
	KUNIT_EXPECT_EQ(test, write_record(w, 65528, 2), -ENOSPC);
	KUNIT_EXPECT_EQ(test, data_head(w), w->end);
	KUNIT_EXPECT_EQ(test, atomic64_read(&w->event.lost_samples), 2);

	/* With the LOST record in front this one is too large as well. */
	KUNIT_EXPECT_EQ(test, write_record(w, RING_SIZE, 3), -ENOSPC);

	write_next(w, 64, 4);
	w->end += lost_size(w);
	KUNIT_EXPECT_EQ(test, data_head(w), w->end);
	KUNIT_EXPECT_EQ(test, w->rb->nest, 0);
	if (is_backward(w)) {
		expect_record(w, 64, 64, 4);
		expect_lost(w, 128, 3);
	} else {
		expect_lost(w, 64, 3);
		expect_record(w, 64 + lost_size(w), 64, 4);
	}
}

static void full(struct kunit *test)
{
	struct writer *w = new_mode_writer(test);
	int n, i;
	u64 end;

	if (!is_streaming(w))
		kunit_skip(test, "it overwrites itself: there is room always");
	n = fill_up(w, 64);
	KUNIT_EXPECT_EQ(test, n, RING_SIZE / 64 - 1);
	KUNIT_EXPECT_EQ(test, write_record(w, 64, n), -ENOSPC);
	KUNIT_EXPECT_EQ(test, data_head(w), w->end);
	KUNIT_EXPECT_TRUE(test, was_woken(w));
	for (i = 0; i < n; i++)
		expect_record(w, 64 * i, 64, i);

	/* Room for one record, but not for it and a LOST record. */
	end = w->end;
	set_data_tail(w, 16);
	KUNIT_EXPECT_EQ(test, write_record(w, 64, n), -ENOSPC);
	KUNIT_EXPECT_EQ(test, data_head(w), end);

	set_data_tail(w, 128);
	write_next(w, 64, n);
	w->end += lost_size(w);
	KUNIT_EXPECT_EQ(test, data_head(w), w->end);
	KUNIT_EXPECT_EQ(test, local_read(&w->rb->lost), 0);
	KUNIT_EXPECT_EQ(test, atomic64_read(&w->event.lost_samples), 3);
	if (!is_backward(w)) {
		expect_lost(w, end, 3);
		expect_record(w, end + lost_size(w), 64, n);
	}
}

/* The ids of a LOST record go between its fields and its trailer. */
static void lost_with_sample_id(struct kunit *test)
{
	struct writer *w = new_writer(test, RING_PAGES, 0, RING_BUFFER_TRAILER);
	struct {
		struct perf_event_header header;
		u64 id, lost, cpu, identifier, trailer;
	} record;

	w->event.attr.sample_id_all = 1;
	w->event.attr.sample_type |= PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU;
	w->event.id_header_size = 16;
	KUNIT_EXPECT_EQ(test, write_record(w, RING_SIZE + 8, 0), -ENOSPC);
	write_next(w, 64, 1);

	read_ring(w, 0, &record, sizeof(record));
	KUNIT_EXPECT_EQ(test, record.header.type, PERF_RECORD_LOST);
	KUNIT_EXPECT_EQ(test, record.header.size, sizeof(record));
	KUNIT_EXPECT_EQ(test, record.id, w->event.id);
	KUNIT_EXPECT_EQ(test, record.lost, 1);
	KUNIT_EXPECT_LT(test, record.cpu, nr_cpu_ids);
	KUNIT_EXPECT_EQ(test, record.identifier, w->event.id);
	expect_trailer(w, &record, 0, sizeof(record));
	expect_record(w, sizeof(record), 64, 1);
}

static void paused(struct kunit *test)
{
	struct writer *w = new_mode_writer(test);

	write_next(w, 64, 0);
	rb_toggle_paused(w->rb, true);
	KUNIT_EXPECT_EQ(test, write_record(w, 64, 1), -ENOSPC);
	KUNIT_EXPECT_EQ(test, write_record(w, 64, 2), -ENOSPC);
	KUNIT_EXPECT_EQ(test, data_head(w), 64);
	KUNIT_EXPECT_EQ(test, atomic64_read(&w->event.lost_samples), 2);

	rb_toggle_paused(w->rb, false);
	write_next(w, 64, 3);
	w->end += lost_size(w);
	KUNIT_EXPECT_EQ(test, data_head(w), w->end);
	if (is_backward(w))
		expect_lost(w, 128, 2);
	else
		expect_lost(w, 64, 2);

	write_next(w, 64, 4);		/* and it is told once */
	KUNIT_EXPECT_EQ(test, data_head(w), w->end);
}

static void watermark(struct kunit *test)
{
	const struct mode *mode = test->param_value;
	struct writer *w = new_writer(test, RING_PAGES, 200, mode->flags);
	int round;

	/* 4 records are more than 200 bytes; then it is 3 or 4 of them, 200 bytes on average. */
	for (round = 0; round < 3; round++)
		write_next(w, 64, round);
	KUNIT_EXPECT_FALSE(test, was_woken(w));
	KUNIT_EXPECT_EQ(test, w->wakeups, 0);
	write_next(w, 64, round);
	KUNIT_EXPECT_TRUE(test, was_woken(w));
	KUNIT_EXPECT_EQ(test, w->wakeups, 1);
	KUNIT_EXPECT_EQ(test, w->event.pending_wakeup, 1);

	while (w->end < 64 * 100) {
		write_next(w, 64, 0);
		irq_work_sync(&w->event.pending_irq);
	}
	KUNIT_EXPECT_EQ(test, w->wakeups, (64 * 100 - 1) / 200);
}

/* Announced before, published after; nothing else moves data_reserved. */
static void reserved_and_head(struct kunit *test)
{
	struct writer *w = new_mode_writer(test);
	struct perf_event_mmap_page *page = w->rb->user_page;
	u64 counted = is_streaming(w) || !IS_ENABLED(CONFIG_64BIT) ? 0 : 1;
	struct perf_output_handle handle;

	KUNIT_ASSERT_EQ(test, perf_output_begin(&handle, &w->data, &w->event, 64), 0);
	KUNIT_EXPECT_EQ(test, page->data_reserved, 64 * counted);
	KUNIT_EXPECT_EQ(test, page->data_head, 0);
	fill(w, &handle, 64, 1);
	KUNIT_EXPECT_EQ(test, page->data_head, 0);
	perf_output_end(&handle);
	KUNIT_EXPECT_EQ(test, data_head(w), 64);
	KUNIT_EXPECT_EQ(test, page->data_reserved, 64 * counted);

	KUNIT_EXPECT_EQ(test, write_record(w, RING_SIZE + 8, 2), -ENOSPC);
	KUNIT_EXPECT_EQ(test, page->data_reserved, 64 * counted);
	write_next(w, 64, 3);
	KUNIT_EXPECT_EQ(test, page->data_reserved, (128 + lost_size(w)) * counted);
}

/* Inner writers end before outer ones; the outermost publishes. */
static void nested(struct kunit *test)
{
	struct writer *w = new_mode_writer(test);
	struct perf_output_handle outer, middle;
	int i;

	KUNIT_ASSERT_EQ(test, perf_output_begin(&outer, &w->data, &w->event, 64), 0);
	KUNIT_ASSERT_EQ(test, perf_output_begin(&middle, &w->data, &w->event, 128), 0);
	KUNIT_EXPECT_EQ(test, write_record(w, 32, 2), 0);
	KUNIT_EXPECT_EQ(test, data_head(w), 0);
	fill(w, &middle, 128, 1);
	perf_output_end(&middle);
	KUNIT_EXPECT_EQ(test, write_record(w, 32, 3), 0);
	KUNIT_EXPECT_EQ(test, write_record(w, RING_SIZE + 8, 4), -ENOSPC);
	KUNIT_EXPECT_EQ(test, data_head(w), 0);
	fill(w, &outer, 64, 0);
	perf_output_end(&outer);

	KUNIT_EXPECT_EQ(test, data_head(w), 64 + 128 + 32 + 32);
	KUNIT_EXPECT_EQ(test, w->rb->nest, 0);
	expect_record(w, 0, 64, 0);
	expect_record(w, 64, 128, 1);
	for (i = 0; i < 2; i++)
		expect_record(w, 192 + 32 * i, 32, 2 + i);
}

/* A nested writer that passes the watermark leaves the wake-up to the outermost. */
static void nested_wakeup(struct kunit *test)
{
	struct writer *w = new_writer(test, RING_PAGES, 100, 0);
	struct perf_output_handle outer;

	KUNIT_ASSERT_EQ(test, perf_output_begin(&outer, &w->data, &w->event, 64), 0);
	KUNIT_EXPECT_EQ(test, write_record(w, 64, 1), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&w->rb->poll), 0);
	fill(w, &outer, 64, 0);
	perf_output_end(&outer);
	KUNIT_EXPECT_TRUE(test, was_woken(w));
}

/* Whatever data_tail says: the record lies within the mapping, or there is none. */
static void hostile_tail(struct kunit *test)
{
	struct writer *w = new_mode_writer(test);
	static const u64 tails[] = {
		1, 3, 7, 9, 63, RING_SIZE - 1, RING_SIZE, RING_SIZE + 1, 1ULL << 31, 1ULL << 32,
		S64_MAX, 1ULL << 63, U64_MAX - 7, U64_MAX,
	};
	unsigned long head = 0, i;

	for (i = 0; i < 64 * ARRAY_SIZE(tails); i++) {
		u64 tail = tails[i % ARRAY_SIZE(tails)] + (i & 1 ? local_read(&w->rb->head) : 0);
		struct perf_output_handle handle;
		unsigned long at;

		WRITE_ONCE(w->rb->user_page->data_tail, tail);
		WRITE_ONCE(w->rb->user_page->data_head, tail);
		WRITE_ONCE(w->rb->user_page->data_reserved, ~tail);
		if (!perf_output_begin(&handle, &w->data, &w->event, 1024)) {
			at = handle.addr - w->rb->data;
			KUNIT_ASSERT_LE(test, at, 2 * RING_SIZE - 1024);
			KUNIT_ASSERT_EQ(test, at % 8, 0);
			fill(w, &handle, 1024, i);
			perf_output_end(&handle);
			head = local_read(&w->rb->head);
			KUNIT_ASSERT_EQ(test, data_head(w), head);
		}
		KUNIT_ASSERT_EQ(test, local_read(&w->rb->head), head);
	}
	KUNIT_EXPECT_EQ(test, w->rb->nest, 0);
	KUNIT_EXPECT_GT(test, head, 0);
}

/* An inherited event writes to the ring of the one that was opened, or not at all. */
static void inherited(struct kunit *test)
{
	struct writer *w = new_writer(test, RING_PAGES, 0, 0);
	struct perf_event *child = kunit_kzalloc(test, sizeof(*child), GFP_KERNEL);
	struct perf_output_handle handle;

	KUNIT_ASSERT_NOT_NULL(test, child);
	KUNIT_EXPECT_EQ(test, perf_output_begin(&handle, &w->data, child, 64), -ENOSPC);

	child->parent = &w->event;
	KUNIT_ASSERT_EQ(test, perf_output_begin(&handle, &w->data, child, 64), 0);
	KUNIT_EXPECT_PTR_EQ(test, handle.event, &w->event);
	fill(w, &handle, 64, 1);
	perf_output_end(&handle);
	KUNIT_EXPECT_EQ(test, data_head(w), 64);
	expect_record(w, 0, 64, 1);
}

/*
 * Interrupts
 */

#define TASK_RECORD	64
#define IRQ_RECORD	48
#define IRQ_RECORDS	20	/* at least: at boot timers may come only with the tick */
#define IRQ_US		100
#define IRQ_MS		200
#define IRQ_RING_PAGES	256	/* holds what interrupts write in all that time */

struct interrupter {
	struct writer	*w;
	struct hrtimer	timer;
	u64		number;
	int		failed;
};

static enum hrtimer_restart write_from_irq(struct hrtimer *timer)
{
	struct interrupter *irq = container_of(timer, struct interrupter, timer);

	if (write_record(irq->w, IRQ_RECORD, irq->number))
		irq->failed++;
	else
		irq->number++;
	hrtimer_forward_now(timer, ns_to_ktime(IRQ_US * NSEC_PER_USEC));
	return HRTIMER_RESTART;
}

/* A writer that is interrupted anywhere by another: all records are there, whole and in order. */
static void interrupted(struct kunit *test)
{
	const struct mode *mode = test->param_value;
	struct writer *w = new_writer(test, IRQ_RING_PAGES, 0, mode->flags);
	struct interrupter *irq = kunit_kzalloc(test, sizeof(*irq), GFP_KERNEL);
	ktime_t deadline = ktime_add_ms(ktime_get(), IRQ_MS);
	u64 task_number = 0, irq_number = 0, position = 0;

	KUNIT_ASSERT_NOT_NULL(test, irq);
	if (is_backward(w))
		kunit_skip(test, "read in the order of writing: forward rings only");
	irq->w = w;
	hrtimer_init(&irq->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	irq->timer.function = write_from_irq;

	migrate_disable();
	hrtimer_start(&irq->timer, ns_to_ktime(IRQ_US * NSEC_PER_USEC), HRTIMER_MODE_REL_PINNED_HARD);
	while (ktime_before(ktime_get(), deadline)) {
		u64 head;

		if (write_record(w, TASK_RECORD, task_number))
			break;
		for (head = READ_ONCE(w->rb->user_page->data_head); position < head;) {
			struct perf_event_header header;

			read_ring(w, position, &header, sizeof(header));
			if (header.size == TASK_RECORD)
				expect_record(w, position, TASK_RECORD, task_number++);
			else
				expect_record(w, position, IRQ_RECORD, irq_number++);
			position += header.size == TASK_RECORD ? TASK_RECORD : IRQ_RECORD;
		}
		set_data_tail(w, position);
		cond_resched();
	}
	hrtimer_cancel(&irq->timer);
	migrate_enable();

	KUNIT_EXPECT_EQ(test, irq->failed, 0);
	KUNIT_EXPECT_GE(test, irq->number, IRQ_RECORDS);
	KUNIT_EXPECT_EQ(test, w->rb->nest, 0);
	KUNIT_EXPECT_EQ(test, local_read(&w->rb->head),
			task_number * TASK_RECORD + irq->number * IRQ_RECORD);
	KUNIT_EXPECT_EQ(test, data_head(w), local_read(&w->rb->head));
	if (!is_streaming(w) && IS_ENABLED(CONFIG_64BIT))
		KUNIT_EXPECT_EQ(test, w->rb->user_page->data_reserved, data_head(w));
}

/*
 * The AUX area
 */

/* Drivers do this from pmu::start(), with interrupts off. */
static void *begin_aux(struct writer *w, struct perf_output_handle *handle)
{
	void *aux;

	local_irq_disable();
	aux = perf_aux_output_begin(handle, &w->event);
	local_irq_enable();
	return aux;
}

static void end_aux(struct perf_output_handle *handle, unsigned long size)
{
	local_irq_disable();
	perf_aux_output_end(handle, size);
	local_irq_enable();
}

static void *setup_aux(struct perf_event *event, void **pages, int nr_pages, bool overwrite)
{
	return pages;
}

static void *refuse_aux(struct perf_event *event, void **pages, int nr_pages, bool overwrite)
{
	return NULL;
}

static void free_aux(void *aux)
{
}

#define AUX_PGOFF	8
#define AUX_PAGES	4
#define AUX_SIZE	(AUX_PAGES * PAGE_SIZE)

static int alloc_aux(struct writer *w, struct pmu *pmu, int flags)
{
	int err;

	w->event.pmu = pmu;
	w->event.cpu = -1;
	mutex_lock(&w->rb->aux_mutex);
	err = rb_alloc_aux(w->rb, &w->event, AUX_PGOFF, AUX_PAGES, 0, flags);
	mutex_unlock(&w->rb->aux_mutex);
	if (!err)
		atomic_set(&w->rb->aux_mmap_count, 1);
	return err;
}

static void aux_pages(struct kunit *test)
{
	static struct pmu none, refuses = { .setup_aux = refuse_aux, .free_aux = free_aux };
	static struct pmu takes = { .setup_aux = setup_aux, .free_aux = free_aux };
	struct writer *w = new_writer(test, RING_PAGES, 0, RING_BUFFER_WRITABLE);
	struct perf_buffer *rb = w->rb;
	int i;

	KUNIT_EXPECT_EQ(test, alloc_aux(w, &none, RING_BUFFER_WRITABLE), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, alloc_aux(w, &refuses, RING_BUFFER_WRITABLE), -ENOMEM);
	KUNIT_EXPECT_FALSE(test, rb_has_aux(rb));
	KUNIT_EXPECT_NULL(test, perf_mmap_to_page(rb, AUX_PGOFF));

	KUNIT_ASSERT_EQ(test, alloc_aux(w, &takes, RING_BUFFER_WRITABLE), 0);
	KUNIT_EXPECT_EQ(test, perf_aux_size(rb), AUX_SIZE);
	KUNIT_EXPECT_EQ(test, rb->aux_watermark, AUX_SIZE / 2);
	for (i = 0; i < AUX_PAGES; i++) {
		KUNIT_EXPECT_PTR_EQ(test, perf_mmap_to_page(rb, AUX_PGOFF + i),
				    virt_to_page(rb->aux_pages[i]));
		KUNIT_EXPECT_NULL(test, memchr_inv(rb->aux_pages[i], 0, PAGE_SIZE));
	}
	KUNIT_EXPECT_NULL(test, perf_mmap_to_page(rb, AUX_PGOFF + AUX_PAGES));
	KUNIT_EXPECT_NULL(test, perf_mmap_to_page(rb, ULONG_MAX));
	KUNIT_EXPECT_NULL(test, perf_mmap_to_page(rb, RING_PAGES + 1));
	KUNIT_EXPECT_PTR_EQ(test, perf_mmap_to_page(rb, RING_PAGES), rb->pages[RING_PAGES - 1]);

	rb_free_aux(rb);
	KUNIT_EXPECT_FALSE(test, rb_has_aux(rb));
	KUNIT_EXPECT_NULL(test, perf_mmap_to_page(rb, AUX_PGOFF));
}

/* Room, and what PERF_RECORD_AUX says, as the reader gives bytes back. */
static void aux_output(struct kunit *test)
{
	static struct pmu pmu = { .setup_aux = setup_aux, .free_aux = free_aux };
	struct writer *w = new_writer(test, RING_PAGES, 0,
				      RING_BUFFER_WRITABLE | RING_BUFFER_TRAILER);
	struct perf_event_mmap_page *page = w->rb->user_page;
	struct perf_output_handle handle;
	struct {
		struct perf_event_header header;
		u64 offset, size, flags, trailer;
	} record;

	KUNIT_ASSERT_EQ(test, alloc_aux(w, &pmu, RING_BUFFER_WRITABLE), 0);
	KUNIT_ASSERT_NOT_NULL(test, begin_aux(w, &handle));
	KUNIT_EXPECT_EQ(test, handle.head, 0);
	KUNIT_EXPECT_EQ(test, handle.size, AUX_SIZE - 1);
	KUNIT_EXPECT_EQ(test, perf_aux_output_skip(&handle, 64), 0);
	KUNIT_EXPECT_EQ(test, perf_aux_output_skip(&handle, AUX_SIZE), -ENOSPC);
	end_aux(&handle, 100);
	KUNIT_EXPECT_EQ(test, page->aux_head, 164);

	read_ring(w, 0, &record, sizeof(record));
	KUNIT_EXPECT_EQ(test, record.header.type, PERF_RECORD_AUX);
	KUNIT_EXPECT_EQ(test, record.offset, 64);
	KUNIT_EXPECT_EQ(test, record.size, 100);
	KUNIT_EXPECT_EQ(test, record.flags, 0);
	expect_trailer(w, &record, 0, sizeof(record));

	KUNIT_ASSERT_NOT_NULL(test, begin_aux(w, &handle));
	KUNIT_EXPECT_EQ(test, handle.head, 164);
	KUNIT_EXPECT_EQ(test, handle.size, AUX_SIZE - 1 - 164);
	KUNIT_EXPECT_FALSE(test, was_woken(w));
	end_aux(&handle, AUX_SIZE - 1 - 164);
	KUNIT_EXPECT_TRUE(test, was_woken(w));

	KUNIT_EXPECT_NULL(test, begin_aux(w, &handle));
	WRITE_ONCE(page->aux_tail, AUX_SIZE / 2);
	KUNIT_ASSERT_NOT_NULL(test, begin_aux(w, &handle));
	KUNIT_EXPECT_EQ(test, handle.size, AUX_SIZE / 2);
	end_aux(&handle, 0);
	rb_free_aux(w->rb);
}

static struct kunit_case ring_buffer_cases[] = {
	KUNIT_CASE_PARAM(alloc, mode_gen_params),
	KUNIT_CASE(alloc_watermark),
	KUNIT_CASE(alloc_without_data),
	KUNIT_CASE(mirrored),
	KUNIT_CASE(put_in_atomic),
	KUNIT_CASE(page_of_offset),
	KUNIT_CASE_PARAM(write_and_wrap, mode_gen_params),
	KUNIT_CASE(walk_back),
	KUNIT_CASE_PARAM(largest_record, mode_gen_params),
	KUNIT_CASE_PARAM(record_larger_than_ring, mode_gen_params),
	KUNIT_CASE_PARAM(full, mode_gen_params),
	KUNIT_CASE(lost_with_sample_id),
	KUNIT_CASE_PARAM(paused, mode_gen_params),
	KUNIT_CASE_PARAM(watermark, mode_gen_params),
	KUNIT_CASE_PARAM(reserved_and_head, mode_gen_params),
	KUNIT_CASE_PARAM(nested, mode_gen_params),
	KUNIT_CASE(nested_wakeup),
	KUNIT_CASE_PARAM(hostile_tail, mode_gen_params),
	KUNIT_CASE(inherited),
	KUNIT_CASE_PARAM(interrupted, mode_gen_params),
	KUNIT_CASE(aux_pages),
	KUNIT_CASE(aux_output),
	{}
};

static struct kunit_suite ring_buffer_suite = {
	.name = "perf_ring_buffer",
	.test_cases = ring_buffer_cases,
};

kunit_test_suite(ring_buffer_suite);

MODULE_DESCRIPTION("KUnit tests of the perf ring buffer");
MODULE_LICENSE("GPL");
