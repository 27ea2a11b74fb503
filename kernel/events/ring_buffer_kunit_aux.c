// SPDX-License-Identifier: GPL-2.0-only
/* Test the AUX area of the perf ring buffer: its pages and its output. */
#include "ring_buffer_kunit.h"

/* Disable interrupts: drivers call this from pmu::start(). */
static void *begin_aux(struct kring *ring, struct perf_output_handle *handle)
{
	void *aux;

	local_irq_disable();
	aux = perf_aux_output_begin(handle, &ring->event);
	local_irq_enable();
	return aux;
}

static void end_aux(struct perf_output_handle *handle, unsigned long size)
{
	local_irq_disable();
	perf_aux_output_end(handle, size);
	local_irq_enable();
}

static void *refuse_aux(struct perf_event *event, void **pages, int nr_pages,
			bool overwrite)
{
	return NULL;
}

#define AUX_PAGES	4
#define AUX_SIZE	(AUX_PAGES * PAGE_SIZE)

static int alloc_aux(struct kring *ring, struct pmu *pmu)
{
	return kring_alloc_aux(ring, pmu, AUX_PAGES, RING_BUFFER_WRITABLE);
}

static void aux_pages(struct kunit *test)
{
	static struct pmu no_aux;
	static struct pmu refusing = {
		.setup_aux = refuse_aux,
		.free_aux = kring_free_aux,
	};
	static struct pmu accepting = {
		.setup_aux = kring_setup_aux,
		.free_aux = kring_free_aux,
	};
	struct kring *ring = kring_new(test, KRING_PAGES, 0,
				       RING_BUFFER_WRITABLE);
	struct perf_buffer *rb = ring->rb;
	int i;

	KUNIT_EXPECT_EQ(test, alloc_aux(ring, &no_aux), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, alloc_aux(ring, &refusing), -ENOMEM);
	KUNIT_EXPECT_FALSE(test, rb_has_aux(rb));
	KUNIT_EXPECT_NULL(test, perf_mmap_to_page(rb, KRING_AUX_PGOFF));

	KUNIT_ASSERT_EQ(test, alloc_aux(ring, &accepting), 0);
	KUNIT_EXPECT_EQ(test, perf_aux_size(rb), AUX_SIZE);
	KUNIT_EXPECT_EQ(test, rb->aux_watermark, AUX_SIZE / 2);
	for (i = 0; i < AUX_PAGES; i++) {
		struct page *page = perf_mmap_to_page(rb, KRING_AUX_PGOFF + i);

		KUNIT_EXPECT_PTR_EQ(test, page, virt_to_page(rb->aux_pages[i]));
		KUNIT_EXPECT_NULL(test,
				  memchr_inv(rb->aux_pages[i], 0, PAGE_SIZE));
	}
	KUNIT_EXPECT_NULL(test,
			  perf_mmap_to_page(rb, KRING_AUX_PGOFF + AUX_PAGES));
	KUNIT_EXPECT_NULL(test, perf_mmap_to_page(rb, ULONG_MAX));
	KUNIT_EXPECT_NULL(test, perf_mmap_to_page(rb, KRING_PAGES + 1));
	KUNIT_EXPECT_NOT_NULL(test, perf_mmap_to_page(rb, KRING_PAGES));

	rb_free_aux(rb);
	KUNIT_EXPECT_FALSE(test, rb_has_aux(rb));
	KUNIT_EXPECT_NULL(test, perf_mmap_to_page(rb, KRING_AUX_PGOFF));
}

/* Check free space and PERF_RECORD_AUX while the reader advances aux_tail. */
static void aux_output(struct kunit *test)
{
	static struct pmu pmu = {
		.setup_aux = kring_setup_aux,
		.free_aux = kring_free_aux,
	};
	int flags = RING_BUFFER_WRITABLE | RING_BUFFER_TRAILER;
	struct kring *ring = kring_new(test, KRING_PAGES, 0, flags);
	struct perf_event_mmap_page *page = ring->rb->user_page;
	struct perf_output_handle handle;
	struct {
		struct perf_event_header header;
		u64 offset, size, flags, trailer;
	} record;

	KUNIT_ASSERT_EQ(test, alloc_aux(ring, &pmu), 0);
	KUNIT_ASSERT_NOT_NULL(test, begin_aux(ring, &handle));
	KUNIT_EXPECT_EQ(test, handle.head, 0);
	KUNIT_EXPECT_EQ(test, handle.size, AUX_SIZE - 1);
	KUNIT_EXPECT_EQ(test, perf_aux_output_skip(&handle, 64), 0);
	KUNIT_EXPECT_EQ(test, perf_aux_output_skip(&handle, AUX_SIZE), -ENOSPC);
	end_aux(&handle, 100);
	KUNIT_EXPECT_EQ(test, page->aux_head, 164);

	kring_read(ring, 0, &record, sizeof(record));
	KUNIT_EXPECT_EQ(test, record.header.type, PERF_RECORD_AUX);
	KUNIT_EXPECT_EQ(test, record.offset, 64);
	KUNIT_EXPECT_EQ(test, record.size, 100);
	KUNIT_EXPECT_EQ(test, record.flags, 0);
	kring_expect_trailer(ring, &record, 0, sizeof(record));

	KUNIT_ASSERT_NOT_NULL(test, begin_aux(ring, &handle));
	KUNIT_EXPECT_EQ(test, handle.head, 164);
	KUNIT_EXPECT_EQ(test, handle.size, AUX_SIZE - 1 - 164);
	KUNIT_EXPECT_FALSE(test, kring_was_woken(ring));
	end_aux(&handle, AUX_SIZE - 1 - 164);
	KUNIT_EXPECT_TRUE(test, kring_was_woken(ring));

	irq_work_sync(&ring->event.pending_disable_irq);
	KUNIT_EXPECT_EQ(test, ring->disables, 0);
	KUNIT_EXPECT_NULL(test, begin_aux(ring, &handle));
	irq_work_sync(&ring->event.pending_disable_irq);
	KUNIT_EXPECT_EQ(test, ring->disables, 1);
	WRITE_ONCE(page->aux_tail, AUX_SIZE / 2);
	KUNIT_ASSERT_NOT_NULL(test, begin_aux(ring, &handle));
	KUNIT_EXPECT_EQ(test, handle.size, AUX_SIZE / 2);
	end_aux(&handle, 0);
	rb_free_aux(ring->rb);
}

/* With a driver that counts, aux_written increases while aux_head wraps. */
static void aux_written(struct kunit *test)
{
	struct pmu pmu = {
		.setup_aux = kring_setup_aux,
		.free_aux = kring_free_aux,
		.capabilities = PERF_PMU_CAP_AUX_WRITTEN,
	};
	struct kring *ring = kring_new(test, KRING_PAGES, 0,
				       RING_BUFFER_WRITABLE);
	struct perf_event_mmap_page *page = ring->rb->user_page;
	struct perf_output_handle handle;
	struct {
		struct perf_event_header header;
		u64 offset, size, flags;
	} record;

	KUNIT_ASSERT_EQ(test, kring_alloc_aux(ring, &pmu, AUX_PAGES, 0), 0);
	KUNIT_EXPECT_TRUE(test, page->cap_aux_written);
	KUNIT_ASSERT_NOT_NULL(test, begin_aux(ring, &handle));
	handle.head = 100;
	end_aux(&handle, 2 * AUX_SIZE + 100);
	KUNIT_EXPECT_EQ(test, page->aux_head, 100);
	KUNIT_EXPECT_EQ(test, page->aux_written, 2 * AUX_SIZE + 100);

	kring_read(ring, 0, &record, sizeof(record));
	KUNIT_EXPECT_EQ(test, record.header.type, PERF_RECORD_AUX);
	KUNIT_EXPECT_EQ(test, record.offset, 100);
	KUNIT_EXPECT_EQ(test, record.size, 2 * AUX_SIZE + 100);
	KUNIT_EXPECT_EQ(test, record.flags, PERF_AUX_FLAG_OVERWRITE);

	KUNIT_ASSERT_NOT_NULL(test, begin_aux(ring, &handle));
	KUNIT_EXPECT_EQ(test, handle.head, 100);
	handle.head = 107;
	end_aux(&handle, 7);
	KUNIT_EXPECT_EQ(test, page->aux_written, 2 * AUX_SIZE + 107);
	rb_free_aux(ring->rb);

	pmu.capabilities = 0;
	KUNIT_ASSERT_EQ(test, alloc_aux(ring, &pmu), 0);
	KUNIT_EXPECT_FALSE(test, page->cap_aux_written);
	KUNIT_EXPECT_EQ(test, page->aux_written, 0);
	rb_free_aux(ring->rb);
}

/*
 * Contiguous areas whose size is not a power of two, from the real page
 * allocator. Each page must be freed exactly once.
 */
static void aux_any_size(struct kunit *test)
{
	struct pmu pmu = {
		.setup_aux = kring_setup_aux,
		.free_aux = kring_free_aux,
		.capabilities = PERF_PMU_CAP_AUX_NO_SG |
				PERF_PMU_CAP_AUX_ANY_SIZE,
	};
	struct kring *ring = kring_new(test, KRING_PAGES, 0,
				       RING_BUFFER_WRITABLE);
	struct perf_buffer *rb = ring->rb;
	struct perf_output_handle handle;
	int nr_pages, i;

	for (nr_pages = 1; nr_pages < 12; nr_pages++) {
		unsigned long size = nr_pages * PAGE_SIZE;

		KUNIT_ASSERT_EQ(test, 0,
				kring_alloc_aux(ring, &pmu, nr_pages, 0));
		KUNIT_EXPECT_EQ(test, perf_aux_size(rb), size);
		for (i = 0; i < nr_pages; i++) {
			void *page = rb->aux_pages[i];

			KUNIT_EXPECT_PTR_EQ(test, page,
					    rb->aux_pages[0] + i * PAGE_SIZE);
			KUNIT_EXPECT_EQ(test, page_count(virt_to_page(page)),
					1);
		}
		KUNIT_ASSERT_NOT_NULL(test, begin_aux(ring, &handle));
		KUNIT_EXPECT_LT(test, handle.head, size);
		handle.head = size - 1;
		end_aux(&handle, 0);
		rb_free_aux(rb);

		KUNIT_ASSERT_EQ(test, 0,
				kring_alloc_aux(ring, &pmu, nr_pages,
						RING_BUFFER_WRITABLE));
		KUNIT_EXPECT_EQ(test, rb->aux_watermark, size / 2);
		WRITE_ONCE(rb->user_page->aux_tail, rb->aux_head);
		KUNIT_ASSERT_NOT_NULL(test, begin_aux(ring, &handle));
		KUNIT_EXPECT_EQ(test, handle.size, size - 1);
		end_aux(&handle, size - 1);
		rb_free_aux(rb);
	}
}

static struct kunit_case perf_ring_aux_cases[] = {
	KUNIT_CASE(aux_pages),
	KUNIT_CASE(aux_output),
	KUNIT_CASE(aux_written),
	KUNIT_CASE(aux_any_size),
	{}
};

static struct kunit_suite perf_ring_aux_suite = {
	.name = "perf_ring_aux",
	.test_cases = perf_ring_aux_cases,
};

kunit_test_suite(perf_ring_aux_suite);
