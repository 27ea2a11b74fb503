// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test samples around the limit of header.size, 16 bits: each sample is either
 * written completely, or counted as lost without changing the ring. Test
 * samples whose raw data or AUX data cannot be copied.
 */
#include <linux/sizes.h>

#include "ring_buffer_kunit.h"

KUNIT_ARRAY_PARAM_DESC(mode, kring_modes, name);

#define PATTERN		0x5a

/* Return the size of a sample without its raw data [bytes]. */
static u32 overhead(struct kring *ring)
{
	return sizeof(struct perf_event_header) + sizeof(u32) +
	       (kring_is_sized(ring) ? sizeof(struct perf_event_trailer) : 0);
}

static struct kring *new_sample_ring(struct kunit *test, int nr_pages)
{
	const struct kring_mode *mode = test->param_value;
	struct kring *ring = kring_new(test, nr_pages, 0, mode->flags);
	int i;

	ring->event.attr.sample_type |= PERF_SAMPLE_RAW;
	if (kring_is_sized(ring))
		ring->event.header_size = sizeof(struct perf_event_trailer);
	for (i = 0; i < nr_pages; i++)
		memset(kring_page(ring, i), PATTERN, PAGE_SIZE);
	return ring;
}

/*
 * Output a raw sample through core.c, as a tracepoint or BPF program does.
 * @size is the size of the record.
 */
static int output_raw(struct kring *ring, const void *bytes, u32 size)
{
	struct perf_raw_record raw = {
		.frag = {
			.data = (void *)bytes,
			.size = size - overhead(ring),
		},
	};
	struct pt_regs *regs = task_pt_regs(current);

	perf_sample_data_init(&ring->data, 0, 0);
	perf_sample_save_raw_data(&ring->data, &ring->event, &raw);
	return perf_event_output(&ring->event, &ring->data, regs);
}

static bool is_untouched(struct kring *ring)
{
	int i;

	for (i = 0; i < data_page_nr(ring->rb); i++)
		if (memchr_inv(kring_page(ring, i), PATTERN, PAGE_SIZE))
			return false;
	return true;
}

/* Expect that the first record of the ring is a raw sample with @bytes. */
static void expect_raw(struct kring *ring, const void *bytes, u32 size,
		       u32 raw_size)
{
	u8 *record = kunit_kzalloc(ring->test, size, GFP_KERNEL);
	struct perf_event_header *header = (void *)record;

	KUNIT_ASSERT_NOT_NULL(ring->test, record);
	kring_read(ring, kring_is_backward(ring) ? -size : 0, record, size);
	KUNIT_EXPECT_EQ(ring->test, header->type, PERF_RECORD_SAMPLE);
	KUNIT_EXPECT_EQ(ring->test, header->size, size);
	KUNIT_EXPECT_EQ(ring->test, *(u32 *)(header + 1), raw_size);
	KUNIT_EXPECT_EQ(ring->test, memcmp(record + 12, bytes, raw_size), 0);
	if (kring_is_sized(ring))
		kring_expect_trailer(ring, record, 0, size);
	kunit_kfree(ring->test, record);
}

static u8 *test_bytes(struct kunit *test, u32 size)
{
	u8 *bytes = kunit_kmalloc(test, size, GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, bytes);
	for (i = 0; i < size; i++)
		bytes[i] = i * 7 + i / 256;
	return bytes;
}

static void raw_sample_sizes(struct kunit *test)
{
	static const u32 sizes[] = {
		24, 4096, 4104, SZ_16K - 8, SZ_16K, SZ_16K + 8,
		SZ_64K - 24, SZ_64K - 16, SZ_64K - 8, SZ_64K, SZ_64K + 8,
		SZ_64K + 64, SZ_64K + SZ_4K, SZ_128K - 8, SZ_128K,
		SZ_128K + 64, SZ_256K + 64,
	};
	static const int nr_pages[] = { 1, 4, 16, 64 };
	u8 *bytes = test_bytes(test, SZ_256K + 64);
	int i, j;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (j = 0; j < ARRAY_SIZE(nr_pages); j++) {
			struct kring *ring = new_sample_ring(test, nr_pages[j]);
			atomic64_t *lost = &ring->event.lost_samples;
			u32 size = sizes[i], space = ring->rb->size;
			int err;

			if (kring_is_streaming(ring))
				space -= 8;
			err = output_raw(ring, bytes, size);
			if (size <= min(space, LARGEST)) {
				KUNIT_EXPECT_EQ(test, err, 0);
				KUNIT_EXPECT_EQ(test, kring_head(ring), size);
				expect_raw(ring, bytes, size,
					   size - overhead(ring));
			} else {
				KUNIT_EXPECT_EQ(test, err, -ENOSPC);
				KUNIT_EXPECT_EQ(test, kring_head(ring), 0);
				KUNIT_EXPECT_EQ(test, atomic64_read(lost), 1);
				KUNIT_EXPECT_TRUE(test, is_untouched(ring));
			}
		}
	}
}

/* Copy only the first 16 bytes. */
static unsigned long copy_part(void *dst, const void *src, unsigned long off,
			       unsigned long len)
{
	memcpy(dst, src + off, 16);
	return len - 16;
}

/*
 * A copy of raw data that fails leaves zeros, not bytes of older records, and
 * must not move the fields after it.
 */
static void raw_copy_fails(struct kunit *test)
{
	struct kring *ring = new_sample_ring(test, 1);
	struct perf_raw_record raw = {
		.frag = {
			.data = test_bytes(test, 64),
			.size = 64 + sizeof(u32),
			.copy = copy_part,
		},
	};
	u64 size = overhead(ring) + raw.frag.size + sizeof(u64), at, source;
	u8 rest[64 + sizeof(u32) - 16];

	ring->event.attr.sample_type |= PERF_SAMPLE_DATA_SRC;
	ring->event.header_size += sizeof(u64);
	perf_sample_data_init(&ring->data, 0, 0);
	ring->data.data_src.val = 0x123456789abcdef;
	ring->data.sample_flags |= PERF_SAMPLE_DATA_SRC;
	perf_sample_save_raw_data(&ring->data, &ring->event, &raw);
	KUNIT_EXPECT_EQ(test, 0, perf_event_output(&ring->event, &ring->data,
						   task_pt_regs(current)));
	KUNIT_EXPECT_EQ(test, kring_head(ring), size);
	at = kring_is_backward(ring) ? -size : 0;
	at += overhead(ring) + raw.frag.size;
	if (kring_is_sized(ring))
		at -= sizeof(struct perf_event_trailer);
	kring_read(ring, at, &source, sizeof(source));
	KUNIT_EXPECT_EQ(test, source, ring->data.data_src.val);
	kring_read(ring, at - sizeof(rest), rest, sizeof(rest));
	KUNIT_EXPECT_NULL(test, memchr_inv(rest, 0, sizeof(rest)));
}

/*
 * PERF_SAMPLE_AUX uses the space that the rest of the sample leaves. The AUX
 * event has a ring and an AUX area of its own.
 */

static long snapshot_aux(struct perf_event *event,
			 struct perf_output_handle *handle, unsigned long size)
{
	struct perf_output_handle aux = { .rb = event->rb };

	if (event->state != PERF_EVENT_STATE_ACTIVE)
		return 0;
	return perf_output_copy_aux(&aux, handle, 0, size);
}

static struct kring *new_sampler(struct kunit *test)
{
	static struct pmu pmu = {
		.setup_aux = kring_setup_aux,
		.free_aux = kring_free_aux,
		.snapshot_aux = snapshot_aux,
	};
	struct kring *sampler = kring_new(test, KRING_PAGES, 0, 0);

	KUNIT_ASSERT_EQ(test, kring_alloc_aux(sampler, &pmu, 32, 0), 0);
	return sampler;
}

static void aux_fills_sample(struct kunit *test)
{
	static const struct {
		u32 without_aux, aux_size;
		bool fits;
	} samples[] = {
		{ 64, LARGEST - 64 - 8, true },
		{ SZ_32K, LARGEST - SZ_32K - 8, true },
		{ LARGEST - 24, 16, true },
		{ LARGEST - 16, 8, true },
		{ LARGEST - 8, 0, true },
		{ LARGEST, 0, false },
		{ LARGEST + 8, 0, false },
	};
	struct kring *sampler = new_sampler(test);
	u8 *bytes = test_bytes(test, SZ_64K);
	int i, err;

	for (i = 0; i < ARRAY_SIZE(samples); i++) {
		u32 size = samples[i].without_aux;
		struct kring *ring = new_sample_ring(test, 32);
		u64 aux_at, aux_size;

		ring->event.attr.sample_type |= PERF_SAMPLE_AUX;
		ring->event.attr.aux_sample_size = LARGEST;
		ring->event.aux_event = &sampler->event;

		preempt_disable();
		sampler->event.state = PERF_EVENT_STATE_ACTIVE;
		sampler->event.oncpu = smp_processor_id();
		err = output_raw(ring, bytes, size);
		preempt_enable();

		KUNIT_EXPECT_EQ(test, err, samples[i].fits ? 0 : -ENOSPC);
		if (!samples[i].fits) {
			KUNIT_EXPECT_TRUE(test, is_untouched(ring));
			continue;
		}
		KUNIT_EXPECT_EQ(test, kring_head(ring), LARGEST);
		expect_raw(ring, bytes, LARGEST, size - overhead(ring));
		aux_at = kring_is_backward(ring) ? -LARGEST : 0;
		aux_at += size;
		if (kring_is_sized(ring))
			aux_at -= sizeof(struct perf_event_trailer);
		kring_read(ring, aux_at, &aux_size, sizeof(aux_size));
		KUNIT_EXPECT_EQ(test, aux_size, samples[i].aux_size);
	}
	rb_free_aux(sampler->rb);
}

static unsigned long stop_sampler(void *dst, const void *sampler,
				  unsigned long off, unsigned long len)
{
	struct kring *ring = (struct kring *)sampler;

	ring->event.state = PERF_EVENT_STATE_INACTIVE;
	memset(dst, 0, len);
	return 0;
}

static unsigned long detach_sampler(void *dst, const void *sampler,
				    unsigned long off, unsigned long len)
{
	struct kring *ring = (struct kring *)sampler;

	ring->event.rb = NULL;
	memset(dst, 0, len);
	return 0;
}

/*
 * The AUX event is stopped, or loses its ring, while a sample is written. The
 * copy function of the raw data does it. Zeros take the place of the AUX data.
 */
static void aux_is_gone(struct kunit *test)
{
	static const perf_copy_f copies[] = { stop_sampler, detach_sampler };
	struct kring *sampler = new_sampler(test);
	struct perf_buffer *rb = sampler->rb;
	int i;

	for (i = 0; i < ARRAY_SIZE(copies); i++) {
		struct kring *ring = new_sample_ring(test, 1);
		struct perf_raw_record raw = {
			.frag = {
				.data = sampler,
				.size = sizeof(u32),
				.copy = copies[i],
			},
		};
		u64 size = overhead(ring) + raw.frag.size + 8 + 32, at;
		u64 aux[5];

		ring->event.attr.sample_type |= PERF_SAMPLE_AUX;
		ring->event.attr.aux_sample_size = 32;
		ring->event.aux_event = &sampler->event;
		perf_sample_data_init(&ring->data, 0, 0);
		perf_sample_save_raw_data(&ring->data, &ring->event, &raw);

		preempt_disable();
		sampler->event.state = PERF_EVENT_STATE_ACTIVE;
		sampler->event.oncpu = smp_processor_id();
		perf_event_output(&ring->event, &ring->data,
				  task_pt_regs(current));
		preempt_enable();
		sampler->event.rb = rb;

		KUNIT_EXPECT_EQ(test, kring_head(ring), size);
		at = (kring_is_backward(ring) ? -size : 0) + 16;
		kring_read(ring, at, aux, sizeof(aux));
		KUNIT_EXPECT_EQ(test, aux[0], 32);
		KUNIT_EXPECT_NULL(test, memchr_inv(aux + 1, 0, 32));
	}
	rb_free_aux(rb);
}

static struct kunit_case perf_ring_samples_cases[] = {
	KUNIT_CASE_PARAM(raw_sample_sizes, mode_gen_params),
	KUNIT_CASE_PARAM(raw_copy_fails, mode_gen_params),
	KUNIT_CASE_PARAM(aux_fills_sample, mode_gen_params),
	KUNIT_CASE_PARAM(aux_is_gone, mode_gen_params),
	{}
};

static struct kunit_suite perf_ring_samples_suite = {
	.name = "perf_ring_samples",
	.test_cases = perf_ring_samples_cases,
};

kunit_test_suite(perf_ring_samples_suite);
