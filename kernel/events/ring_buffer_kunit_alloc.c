// SPDX-License-Identifier: GPL-2.0-only
/* Test the memory of the perf ring buffer: allocate, map and free. */
#include <linux/delay.h>

#include "ring_buffer_kunit.h"

KUNIT_ARRAY_PARAM_DESC(mode, kring_modes, name);

static void alloc(struct kunit *test)
{
	static const int sizes[] = { 0, 1, 2, 16, 256 };
	const struct kring_mode *mode = test->param_value;
	int i, j;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct kring *ring = kring_new(test, sizes[i], 0, mode->flags);
		struct perf_buffer *rb = ring->rb;

		KUNIT_EXPECT_EQ(test, data_page_nr(rb), sizes[i]);
		KUNIT_EXPECT_EQ(test, perf_data_size(rb), sizes[i] * PAGE_SIZE);
		KUNIT_EXPECT_EQ(test, rb->watermark, sizes[i] * PAGE_SIZE / 2);
		KUNIT_EXPECT_EQ(test, refcount_read(&rb->refcount), 1);
		KUNIT_EXPECT_EQ(test, rb->overwrite, !kring_is_streaming(ring));
		KUNIT_EXPECT_EQ(test, rb->backward, kring_is_backward(ring));
		KUNIT_EXPECT_EQ(test, rb->trailer, kring_is_sized(ring));
		KUNIT_EXPECT_FALSE(test, rb_has_aux(rb));
		KUNIT_EXPECT_TRUE(test, rb->user_page->cap_data_reserved ==
				  (IS_ENABLED(CONFIG_64BIT) && rb->overwrite));
		KUNIT_EXPECT_TRUE(test, rb->user_page->cap_size_at_end ==
				  kring_is_sized(ring));
		rb->user_page->capabilities = 0;
		KUNIT_EXPECT_NULL(test,
				  memchr_inv(rb->user_page, 0, PAGE_SIZE));
		for (j = 0; j < sizes[i]; j++)
			KUNIT_EXPECT_NULL(test, memchr_inv(kring_page(ring, j),
							   0, PAGE_SIZE));
	}
}

static void alloc_watermark(struct kunit *test)
{
	static const struct {
		long requested;
		unsigned long set;
	} watermarks[] = {
		{ 0, KRING_SIZE / 2 }, { -1, KRING_SIZE / 2 },
		{ 1, 1 }, { 4097, 4097 },
		{ KRING_SIZE, KRING_SIZE }, { KRING_SIZE + 1, KRING_SIZE },
		{ LONG_MAX, KRING_SIZE },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(watermarks); i++) {
		struct kring *ring = kring_new(test, KRING_PAGES,
					       watermarks[i].requested, 0);

		KUNIT_EXPECT_EQ(test, ring->rb->watermark, watermarks[i].set);
	}
}

/* The memory is on the NUMA node of the CPU that writes. */
static void alloc_on_cpu_node(struct kunit *test)
{
	int cpu, i;

	if (num_online_nodes() == 1)
		kunit_skip(test, "needs two NUMA nodes");
	if (IS_ENABLED(CONFIG_PERF_USE_VMALLOC))
		kunit_skip(test, "vmalloc_user() takes no node");
	for_each_online_cpu(cpu) {
		struct perf_buffer *rb = rb_alloc(KRING_PAGES, 0, cpu, 0);
		int node = cpu_to_node(cpu);

		KUNIT_ASSERT_NOT_NULL(test, rb);
		for (i = 0; i <= KRING_PAGES; i++) {
			struct page *page = perf_mmap_to_page(rb, i);

			KUNIT_EXPECT_EQ(test, page_to_nid(page), node);
		}
		ring_buffer_put(rb);
	}
}

/* A ring with only a control page stays paused and accepts no record. */
static void alloc_without_data(struct kunit *test)
{
	struct kring *ring = kring_new(test, 0, 0, RING_BUFFER_WRITABLE);

	KUNIT_EXPECT_EQ(test, ring->rb->max_record, 0);
	rb_toggle_paused(ring->rb, false);
	KUNIT_EXPECT_EQ(test, ring->rb->max_record, 0);
	KUNIT_EXPECT_EQ(test, kring_write(ring, 16, 0), -ENOSPC);
	KUNIT_EXPECT_EQ(test, local_read(&ring->rb->lost), 0);
	KUNIT_EXPECT_EQ(test, kring_head(ring), 0);
}

/* Wait until the test holds the last reference to @page, 10 s at most. */
static bool wait_for_last_ref(struct page *page)
{
	int tries;

	for (tries = 0; tries < 500; tries++) {
		if (page_count(page) == 1)
			return true;
		msleep(20);
	}
	return false;
}

/* The last reference may be dropped in atomic context; all pages are freed. */
static void free_in_atomic(struct kunit *test)
{
	struct perf_buffer *rb = rb_alloc(KRING_PAGES, 0, -1, 0);
	struct page *pages[KRING_PAGES + 1];
	int i;

	KUNIT_ASSERT_NOT_NULL(test, rb);
	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		pages[i] = perf_mmap_to_page(rb, i);
		get_page(pages[i]);
	}

	local_irq_disable();
	ring_buffer_put(rb);
	local_irq_enable();

	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		KUNIT_EXPECT_TRUE(test, wait_for_last_ref(pages[i]));
		put_page(pages[i]);
	}
}

/* perf_mmap_to_page() finds each page, and none outside of the ring. */
static void mmap_to_page(struct kunit *test)
{
	struct perf_buffer *rb = kring_new(test, KRING_PAGES, 0, 0)->rb;
	struct perf_event_mmap_page *user_page;
	int i, j;

	user_page = page_address(perf_mmap_to_page(rb, 0));
	rb->user_page->data_tail = 0x1234;
	KUNIT_EXPECT_EQ(test, user_page->data_tail, 0x1234);
	for (i = 0; i <= KRING_PAGES; i++)
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_PTR_NE(test, perf_mmap_to_page(rb, i),
					    perf_mmap_to_page(rb, j));
	KUNIT_EXPECT_NULL(test, perf_mmap_to_page(rb, KRING_PAGES + 1));
	KUNIT_EXPECT_NULL(test, perf_mmap_to_page(rb, INT_MAX));
	KUNIT_EXPECT_NULL(test, perf_mmap_to_page(rb, ULONG_MAX));
}

static struct kunit_case perf_ring_alloc_cases[] = {
	KUNIT_CASE_PARAM(alloc, mode_gen_params),
	KUNIT_CASE(alloc_watermark),
	KUNIT_CASE(alloc_on_cpu_node),
	KUNIT_CASE(alloc_without_data),
	KUNIT_CASE(free_in_atomic),
	KUNIT_CASE(mmap_to_page),
	{}
};

static struct kunit_suite perf_ring_alloc_suite = {
	.name = "perf_ring_alloc",
	.test_cases = perf_ring_alloc_cases,
};

kunit_test_suite(perf_ring_alloc_suite);
