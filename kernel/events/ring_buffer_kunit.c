// SPDX-License-Identifier: GPL-2.0-only
/* Implement the test fixture for the KUnit tests of the perf ring buffer. */
#include "ring_buffer_kunit.h"

const struct kring_mode kring_modes[6] = {
	{ "streaming",		RING_BUFFER_WRITABLE },
	{ "streaming, sized",	RING_BUFFER_WRITABLE | RING_BUFFER_TRAILER },
	{ "streaming backward",	RING_BUFFER_WRITABLE | RING_BUFFER_BACKWARD },
	{ "overwrite",		0 },
	{ "overwrite, sized",	RING_BUFFER_TRAILER },
	{ "overwrite backward",	RING_BUFFER_BACKWARD },
};

static void count_wakeup(struct irq_work *work)
{
	container_of(work, struct kring, event.pending_irq)->wakeups++;
}

static void count_disable(struct irq_work *work)
{
	container_of(work, struct kring, event.pending_disable_irq)->disables++;
}

static void put_ring(void *context)
{
	struct kring *ring = context;

	irq_work_sync(&ring->event.pending_disable_irq);
	irq_work_sync(&ring->event.pending_irq);
	ring_buffer_put(ring->rb);
}

struct kring *kring_new(struct kunit *test, int nr_pages, long watermark,
			int flags)
{
	struct kring *ring = kunit_kzalloc(test, sizeof(*ring), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ring);
	ring->test = test;
	ring->flags = flags;
	ring->rb = rb_alloc(nr_pages, watermark, -1, flags);
	KUNIT_ASSERT_NOT_NULL(test, ring->rb);

	ring->event.id = 4711;
	ring->event.attr.write_backward = !!(flags & RING_BUFFER_BACKWARD);
	if (flags & RING_BUFFER_TRAILER)
		ring->event.attr.sample_type = PERF_SAMPLE_SIZE_AT_END;
	init_irq_work(&ring->event.pending_irq, count_wakeup);
	init_irq_work(&ring->event.pending_disable_irq, count_disable);
	ring->event.rb = ring->rb;
	perf_sample_data_init(&ring->data, 0, 0);
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, put_ring, ring));
	return ring;
}

struct kring *kring_new_mode(struct kunit *test)
{
	const struct kring_mode *mode = test->param_value;

	return kring_new(test, KRING_PAGES, 0, mode->flags);
}

/* Convert a position to data_head or data_tail, or back. */
static u64 user_position(struct kring *ring, u64 position)
{
	return kring_is_backward(ring) ? -position : position;
}

u64 kring_head(struct kring *ring)
{
	return user_position(ring, ring->rb->user_page->data_head);
}

void kring_set_tail(struct kring *ring, u64 position)
{
	WRITE_ONCE(ring->rb->user_page->data_tail,
		   user_position(ring, position));
}

u64 kring_reserved(struct kring *ring)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < PERF_RING_DEPTHS; i++)
		sum += READ_ONCE(ring->rb->user_page->data_reserved[i]);
	return sum;
}

bool kring_was_woken(struct kring *ring)
{
	irq_work_sync(&ring->event.pending_irq);
	return atomic_xchg(&ring->rb->poll, 0);
}

/* The trailer, if there is one, is written by the kernel. */
void kring_fill(struct kring *ring, struct perf_output_handle *handle, u16 size,
		u64 number)
{
	struct perf_event_header header = {
		.type = PERF_RECORD_SAMPLE,
		.size = size,
	};
	int words = size / sizeof(u64) - 1 - kring_is_sized(ring);

	perf_output_put(handle, header);
	while (words--)
		perf_output_put(handle, number);
}

int kring_write(struct kring *ring, u32 size, u64 number)
{
	struct perf_output_handle handle;
	int err = perf_output_begin(&handle, &ring->data, &ring->event, size);

	if (err)
		return err;
	kring_fill(ring, &handle, size, number);
	perf_output_end(&handle);
	return 0;
}

void kring_write_next(struct kring *ring, u32 size, u64 number)
{
	KUNIT_ASSERT_EQ(ring->test, kring_write(ring, size, number), 0);
	ring->end += size;
}

void *kring_page(struct kring *ring, unsigned long nr)
{
	return page_address(perf_mmap_to_page(ring->rb, nr + 1));
}

void kring_read(struct kring *ring, u64 offset, void *to, size_t size)
{
	while (size) {
		size_t at = offset & (ring->rb->size - 1);
		size_t n = min(size, PAGE_SIZE - offset_in_page(at));
		void *page = kring_page(ring, at >> PAGE_SHIFT);

		memcpy(to, page + offset_in_page(at), n);
		to += n;
		offset += n;
		size -= n;
	}
}

/* Return the offset of the record that was written at @position. */
static u64 record_offset(struct kring *ring, u64 position, u16 size)
{
	return kring_is_backward(ring) ? -(position + size) : position;
}

void kring_expect_trailer(struct kring *ring, const void *record, u64 position,
			  u16 size)
{
	struct perf_event_trailer trailer;

	memcpy(&trailer, record + size - sizeof(trailer), sizeof(trailer));
	KUNIT_EXPECT_EQ(ring->test, trailer.offset_lo, (u32)position);
	KUNIT_EXPECT_EQ(ring->test, trailer.offset_hi, (u16)(position >> 32));
	KUNIT_EXPECT_EQ(ring->test, trailer.size, size);
}

void kring_expect_record(struct kring *ring, u64 position, u16 size, u64 number)
{
	int words = size / sizeof(u64) - 1 - kring_is_sized(ring), wrong = 0, i;
	struct perf_event_header *header;
	u64 *record = kunit_kzalloc(ring->test, size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(ring->test, record);
	kring_read(ring, record_offset(ring, position, size), record, size);
	header = (void *)record;
	KUNIT_EXPECT_EQ(ring->test, header->type, PERF_RECORD_SAMPLE);
	KUNIT_EXPECT_EQ(ring->test, header->size, size);
	for (i = 1; i <= words; i++)
		wrong += record[i] != number;
	KUNIT_EXPECT_EQ_MSG(ring->test, wrong, 0,
			    "wrong words in record %llu at position %llu",
			    number, position);
	if (kring_is_sized(ring))
		kring_expect_trailer(ring, record, position, size);
	kunit_kfree(ring->test, record);
}

u16 kring_lost_size(struct kring *ring)
{
	return 24 + (kring_is_sized(ring) ?
		     sizeof(struct perf_event_trailer) : 0);
}

/* The LOST record has the lower address, in backward rings, too. */
void kring_expect_lost(struct kring *ring, u64 position, u64 lost, u16 size,
		       u64 number)
{
	u16 lost_size = kring_lost_size(ring);
	u64 offset = record_offset(ring, position, lost_size + size);
	struct {
		struct perf_event_header header;
		u64 id, lost, trailer;
	} record;

	kring_read(ring, offset, &record, sizeof(record));
	KUNIT_EXPECT_EQ(ring->test, record.header.type, PERF_RECORD_LOST);
	KUNIT_EXPECT_EQ(ring->test, record.header.size, lost_size);
	KUNIT_EXPECT_EQ(ring->test, record.id, ring->event.id);
	KUNIT_EXPECT_EQ(ring->test, record.lost, lost);
	if (kring_is_sized(ring))
		kring_expect_trailer(ring, &record, position, lost_size);
	if (kring_is_backward(ring))
		kring_expect_record(ring, position, size, number);
	else
		kring_expect_record(ring, position + lost_size, size, number);
}

int kring_alloc_aux(struct kring *ring, struct pmu *pmu, int nr_pages,
		    int flags)
{
	int err;

	ring->event.pmu = pmu;
	ring->event.cpu = -1;
	mutex_lock(&ring->rb->aux_mutex);
	err = rb_alloc_aux(ring->rb, &ring->event, KRING_AUX_PGOFF, nr_pages, 0,
			   flags);
	mutex_unlock(&ring->rb->aux_mutex);
	if (!err)
		refcount_set(&ring->rb->aux_mmap_count, 1);
	return err;
}

void *kring_setup_aux(struct perf_event *event, void **pages, int nr_pages,
		      bool overwrite)
{
	return pages;
}

void kring_free_aux(void *aux)
{
}
