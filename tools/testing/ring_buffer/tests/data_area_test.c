// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test the data area of the kernel's ring buffer: all modes, and the boundary cases.
 * tags: fast parallel
 */
#include <stdlib.h>
#include <sanitizer/asan_interface.h>

#include <linux/perf_event.h>
#include <linux/poll.h>
#include "internal.h"

#include "shim/ring.h"
#include "shim/expect.h"

/* All valid combinations: rings of 32-bit kernels, and backward rings, never have trailers. */
static const unsigned int modes[] = {
	0,				RING_STREAMING,
	RING_BACKWARD,			RING_BACKWARD | RING_STREAMING,
#ifdef CONFIG_64BIT
	RING_SIZED,			RING_SIZED | RING_STREAMING,
	RING_WITH_ID | RING_SIZED,	RING_WITH_ID | RING_SIZED | RING_STREAMING,
#endif
	RING_WITH_ID,			RING_WITH_ID | RING_STREAMING,
	RING_WITH_ID | RING_BACKWARD,	RING_WITH_ID | RING_BACKWARD | RING_STREAMING,
};

static struct ring *new_ring(unsigned int flags, int nr_pages, long watermark)
{
	struct ring *ring = ring_new(&ring_impl, flags, nr_pages, watermark);

	if (!ring)
		abort();
	return ring;
}

static bool is_streaming(const struct ring *ring)
{
	return ring->flags & RING_STREAMING;
}

/* Whether the ring maintains data_reserved. */
static bool is_counted(const struct ring *ring)
{
	return IS_ENABLED(CONFIG_64BIT) && !is_streaming(ring);
}

/* Read the one record at @position and compare it with what ring_write() wrote. */
static bool record_is(struct ring *ring, u64 position, unsigned int size, u64 number)
{
	struct ring_records records = {};
	unsigned char *bytes = malloc(size);
	bool is;

	ring_copy(ring, bytes, position, size);
	if (ring->flags & RING_BACKWARD)
		position += size;
	ring_walk_up(ring, bytes, size, position, false, &records);
	is = ring_records_are(&records, number, number);
	ring_records_free(&records);
	free(bytes);
	return is;
}

static u64 sum_of_lost(const struct ring_records *records)
{
	u64 sum = 0;

	for (size_t i = 0; i < records->nr; i++)
		sum += records->record[i].lost;
	return sum;
}

#define for_each_mode(flags)							\
	for (unsigned int mode_ = 0, flags;					\
	     mode_ < ARRAY_SIZE(modes) && (flags = modes[mode_], true); mode_++)

/* A ring of each mode, with @more flags, for one iteration. */
#define for_each_ring(flags, ring, more, nr_pages)				\
	for_each_mode(flags)							\
		for (struct ring *ring = new_ring(flags | (more), nr_pages, 0);	\
		     ring; ring_delete(ring), ring = NULL)

static void test_new(void)
{
	for_each_ring(flags, ring, 0, 4) {
		struct ring_state state;

		ring_impl.get_state(ring->rb, &state);
		EXPECT(state.nr_pages == 4 && state.size == 4 * PAGE_SIZE);
		EXPECT(!state.head && !state.lost && !state.nest && !state.paused);
		EXPECT(state.watermark == state.size / 2);
		EXPECT(state.refcount == 1);
		EXPECT(ring->user->cap_data_reserved == is_counted(ring));
		EXPECT(ring->user->cap_size_at_end == !!(flags & RING_SIZED));
		ring->user->capabilities = 0;
		for (unsigned long i = 0; i < (1 + 4) * PAGE_SIZE; i++)
			if (!EXPECT(!((unsigned char *)ring->user)[i]))
				break;
	}
}

static void read_and_check(struct ring *ring, u64 first, u64 last)
{
	struct ring_records records = {};
	struct ring_snapshot snapshot;

	if (is_streaming(ring)) {
		ring_consume(ring, &records);
		EXPECT(ring_records_are(&records, last, last));
		ring_records_free(&records);
		return;
	}
	ring_snapshot(ring, 0, &snapshot);
	EXPECT(snapshot.dropped == 0);
	if (ring->flags & (RING_BACKWARD | RING_SIZED))
		EXPECT(ring_records_are(&snapshot.records, first, last));
	ring_snapshot_free(&snapshot);
}

/* Write records of varying size at varying offsets, and read the ring back after each. */
static void test_wrap(void)
{
	enum { NR = 1009 };
	static u64 position[NR + 1];

	for_each_mode(flags) {
		for (int nr_pages = 1; nr_pages <= 4; nr_pages *= 2) {
			struct ring *ring = new_ring(flags, nr_pages, 0);
			u64 oldest = 0;

			for (u64 i = 0; i < NR; i++) {
				unsigned int size = ring_min_record(ring) + i * 7919 % 120 * 8;

				EXPECT(!ring_write(ring, size, i));
				EXPECT(ring_head(ring) == position[i] + size);
				EXPECT(record_is(ring, position[i], size, i));
				position[i + 1] = position[i] + size;
				while (position[i + 1] - position[oldest] > ring->size)
					oldest++;
				read_and_check(ring, oldest, i);
			}
			EXPECT(!ring->event.lost_samples.counter);
			ring_delete(ring);
		}
	}
}

/* An overwrite ring can use all of its bytes, a streaming ring all but one. */
static void test_exact_fit(void)
{
	for_each_mode(flags) {
		for (int nr_pages = 1; nr_pages <= 2; nr_pages *= 2) {
			struct ring *ring = new_ring(flags, nr_pages, 0);
			unsigned int nr = ring->size / 64;
			struct ring_records records = {};

			for (unsigned int i = 0; i < nr; i++)
				EXPECT(!ring_write(ring, 64, i) ||
				       (is_streaming(ring) && i == nr - 1));
			EXPECT(ring->event.lost_samples.counter == is_streaming(ring));
			if (is_streaming(ring)) {
				/* 64 bytes are free, of which 63 can be reserved. */
				EXPECT(ring_write(ring, 64, nr - 1));
				ring_consume(ring, &records);
				EXPECT(ring_records_are(&records, 0, nr - 2));
				EXPECT(!ring_write(ring, 64, nr));
			} else {
				EXPECT(ring_head(ring) == ring->size);
				read_and_check(ring, 0, nr - 1);
			}
			ring_records_free(&records);
			ring_delete(ring);
		}
	}
}

/* One record fills the ring: to the last byte, or to the last 8 bytes if it is streaming. */
static void test_full(void)
{
	for_each_ring(flags, ring, 0, 1) {
		unsigned int most = ring->size - 8 * is_streaming(ring);

		for (u64 i = 0; i < 10; i++) {
			u64 position = ring_head(ring);

			EXPECT(!ring_write(ring, most, i));
			EXPECT(record_is(ring, position, most, i));
			if (is_streaming(ring))
				EXPECT(ring_write(ring, ring_min_record(ring), i));
			ring->user->data_tail = ring->user->data_head;
			local_set(&ring->rb->lost, 0);
		}
		EXPECT(ring->event.lost_samples.counter == 10 * is_streaming(ring));
		EXPECT(ring_write(ring, most + 8, 10));
	}
}

/* With data_tail between records, free space is still counted in bytes, less one. */
static void test_unaligned_tail(void)
{
	for_each_ring(flags, ring, RING_STREAMING, 1) {
		for (unsigned int space = 60; space < 70; space++) {
			u64 tail = ring_head(ring) + space + 1;

			ring->user->data_tail = flags & RING_BACKWARD ? -tail : tail;
			EXPECT(!ring_write(ring, 64, space) == (space >= 64));
			local_set(&ring->rb->lost, 0);
		}
	}
}

/* Write a record of every size to a ring of one page, at varying offsets. */
static void test_one_page(void)
{
	for_each_ring(flags, ring, 0, 1) {
		unsigned int most = ring->size - 8 * is_streaming(ring);
		u64 number = 0;

		for (unsigned int size = ring_min_record(ring); size <= most; size += 8) {
			u64 position = ring_head(ring);

			EXPECT(!ring_write(ring, size, ++number));
			EXPECT(record_is(ring, position, size, number));
			ring->user->data_tail = ring->user->data_head;
		}
	}
}

/* A ring with only a control page. */
static void test_no_data(void)
{
	for_each_ring(flags, ring, 0, 0) {
		EXPECT(!ring->rb->pages && !ring->rb->nr_pages);
		EXPECT(ring_write(ring, 64, 0) == -ENOSPC);
		ring_impl.pause(ring->rb, true);
		ring_impl.pause(ring->rb, false);
		EXPECT(ring_write(ring, 64, 0) == -ENOSPC);
		EXPECT(!local_read(&ring->rb->lost) && !ring->event.lost_samples.counter);
		EXPECT(perf_mmap_to_page(ring->rb, 0) && !perf_mmap_to_page(ring->rb, 1));
	}
}

static void test_no_ring(void)
{
	struct perf_event event = {};
	struct perf_sample_data data = {};
	struct perf_output_handle handle;

	EXPECT(perf_output_begin(&handle, &data, &event, 64) == -ENOSPC);
	EXPECT(!event.lost_samples.counter);
}

static void test_largest(void)
{
	for_each_mode(flags) {
		for (int nr_pages = 16; nr_pages <= 32; nr_pages *= 2) {
			struct ring *ring = new_ring(flags, nr_pages, 0);

			for (u64 i = 0; i < 20; i++) {
				u64 position = ring_head(ring);

				EXPECT(!ring_write(ring, RING_MAX_RECORD, i));
				EXPECT(record_is(ring, position, RING_MAX_RECORD, i));
				ring->user->data_tail = ring->user->data_head;
				/* Move on, so that the next one is at another offset. */
				EXPECT(!ring_write(ring, ring_min_record(ring), i));
				ring->user->data_tail = ring->user->data_head;
			}
			ring_delete(ring);
		}
	}
}

/* A size that header.size cannot hold is counted as lost, even if the ring is large enough. */
static void test_more_than_16_bits(void)
{
	static const unsigned int sizes[] = {
		65535, 65536, 65536 + 64, 2 * 65536 + 64, INT_MAX, UINT_MAX - 64, UINT_MAX,
	};

	for_each_ring(flags, ring, 0, 64) {
		struct perf_sample_data data = { .id_fill = RING_ID_FILL };
		struct perf_output_handle handle;

		for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
			EXPECT(perf_output_begin(&handle, &data, &ring->event, sizes[i]) ==
			       -ENOSPC);
			EXPECT(local_read(&ring->rb->lost) == i + 1);
		}
		EXPECT(!ring_head(ring) && !ring_reserved(ring));
	}
}

/* A record larger than the ring is counted as lost and changes no byte of it. */
static void test_too_large(void)
{
	for_each_ring(flags, ring, 0, 1) {
		unsigned char *before = malloc(ring->size);
		struct ring_records records = {};
		u64 head, reserved;

		EXPECT(!ring_write(ring, 1000, 0));
		memcpy(before, ring->data, ring->size);
		head = ring_head(ring);
		reserved = ring_reserved(ring);
		EXPECT(ring_write(ring, ring->size + 8, 1) == -ENOSPC);
		EXPECT(ring_write(ring, 61440, 1) == -ENOSPC);
		EXPECT(ring_write(ring, RING_MAX_RECORD, 1) == -ENOSPC);
		EXPECT(!memcmp(before, ring->data, ring->size));
		EXPECT(ring_head(ring) == head && ring_reserved(ring) == reserved);
		EXPECT(local_read(&ring->rb->lost) == 3);
		EXPECT(ring->event.lost_samples.counter == 3);

		/* The record would fit, but not together with the pending LOST record. */
		EXPECT(ring_write(ring, ring->size, 1) == -ENOSPC);
		EXPECT(ring_reserved(ring) == reserved);
		EXPECT(!ring_write(ring, 104, 1));
		if (is_streaming(ring)) {
			ring_consume(ring, &records);
			EXPECT(!records.error && records.nr == 3);
			EXPECT(sum_of_lost(&records) == 4);
		} else if (flags & (RING_BACKWARD | RING_SIZED)) {
			struct ring_snapshot snapshot;

			ring_snapshot(ring, 0, &snapshot);
			EXPECT(!snapshot.records.error && snapshot.records.nr == 3);
			EXPECT(sum_of_lost(&snapshot.records) == 4);
			ring_snapshot_free(&snapshot);
		}
		ring_records_free(&records);
		free(before);
	}
}

/* The next record that fits is preceded by one LOST record, with sample id, trailer and count. */
static void test_lost(void)
{
	for_each_ring(flags, ring, RING_STREAMING, 1) {
		unsigned int lost_size = sizeof(struct ring_lost_record) + ring_record_tail(ring);
		struct ring_records records = {};
		struct ring_record *r;
		u64 begin;

		for (u64 i = 0; i < 100; i++)
			ring_write(ring, 128, i);
		EXPECT(local_read(&ring->rb->lost) == 100 - 31);
		ring_consume(ring, &records);
		EXPECT(ring_records_are(&records, 0, 30));
		ring_records_free(&records);

		begin = ring_head(ring);
		EXPECT(!ring_write(ring, 128, 31));
		EXPECT(!ring_write(ring, 128, 32));
		EXPECT(ring_head(ring) == begin + lost_size + 2 * 128);
		EXPECT(!local_read(&ring->rb->lost));
		EXPECT(ring->event.lost_samples.counter == 100 - 31);
		ring_consume(ring, &records);
		EXPECT(!records.error);
		r = records.record;
		if (EXPECT(records.nr == 3)) {
			/* Lower address than the record; in a backward ring that means newer. */
			unsigned int at = flags & RING_BACKWARD ? 1 : 0;

			EXPECT(r[at].type == PERF_RECORD_LOST && r[at].size == lost_size);
			EXPECT(r[at].lost == 100 - 31);
			EXPECT(r[1 - at].number == 31 && r[2].number == 32);
		}
		ring_records_free(&records);
	}
}

/* With space for the record but not for the LOST record before it, the record is lost. */
static void test_lost_needs_space(void)
{
	for_each_ring(flags, ring, RING_STREAMING, 1) {
		unsigned int lost_size = sizeof(struct ring_lost_record) + ring_record_tail(ring);
		struct ring_records records = {};
		unsigned int size = 512;

		EXPECT(!ring_write(ring, ring->size - 8, 0));
		EXPECT(ring_write(ring, size, 1));
		for (unsigned int space = 8; space <= size + lost_size; space += 8) {
			/* The full ring had 8 bytes free; tail at space - 8 makes that space. */
			u64 tail = space - 8;

			ring->user->data_tail = flags & RING_BACKWARD ? -tail : tail;
			EXPECT(ring_write(ring, size, 1));
		}
		ring->user->data_tail = flags & RING_BACKWARD ? -(u64)(size + lost_size) :
								size + lost_size;
		EXPECT(!ring_write(ring, size, 1));
		EXPECT(ring_head(ring) == ring->size - 8 + size + lost_size);
		ring->user->data_tail = flags & RING_BACKWARD ? -(u64)(ring->size - 8) :
								ring->size - 8;
		ring_consume(ring, &records);
		EXPECT(!records.error && records.nr == 2);
		EXPECT(sum_of_lost(&records) == 1 + (size + lost_size) / 8);
		ring_records_free(&records);
	}
}

static void test_paused(void)
{
	for_each_ring(flags, ring, 0, 1) {
		u64 head;

		EXPECT(!ring_write(ring, 64, 0));
		head = ring_head(ring);
		ring_impl.pause(ring->rb, true);
		for (unsigned int i = 0; i < 7; i++)
			EXPECT(ring_write(ring, 64, 1) == -ENOSPC);
		EXPECT(ring_head(ring) == head);
		EXPECT(local_read(&ring->rb->lost) == 7);
		EXPECT(ring->event.lost_samples.counter == 7);
		ring_impl.pause(ring->rb, false);
		EXPECT(!ring_write(ring, 64, 1));
		EXPECT(!local_read(&ring->rb->lost));
		EXPECT(ring_head(ring) == head + 64 + sizeof(struct ring_lost_record) +
					  ring_record_tail(ring));
		EXPECT(ring_reserved(ring) == (is_counted(ring) ? ring_head(ring) : 0));
	}
}

/*
 * An inherited event uses its parent's ring, lost count and wake-ups. A LOST record in front of its
 * sample leaves the id and the time of the sample alone.
 */
static void test_inherited(void)
{
	for_each_mode(flags) {
		struct ring *ring = new_ring(flags, 1, 128);
		struct perf_event child = ring->event;
		struct perf_sample_data data = {
			.id_fill = RING_ID_FILL, .stream_id = 77, .time = 88,
		};
		struct perf_output_handle handle;

		child.parent = &ring->event;
		child.rb = NULL;
		EXPECT(perf_output_begin(&handle, &data, &child, 8192) == -ENOSPC);
		EXPECT(!perf_output_begin(&handle, &data, &child, 192));
		EXPECT(data.stream_id == 77 && data.time == 88);
		ring_fill(ring, &handle, 192, 0);
		perf_output_end(&handle);
		EXPECT(ring->event.lost_samples.counter == 1 && !child.lost_samples.counter);
		EXPECT(ring->event.pending_irq.queued == 1 && !child.pending_irq.queued);
		EXPECT(ring_head(ring) > 192);
		ring_delete(ring);
	}
}

/* A wake-up is due each time that more than the watermark was written since the last one. */
static void test_wakeup(void)
{
	static const long watermarks[] = { 1, 64, 256, 1000, 4096, 0, 1 << 20 };

	for_each_mode(flags) {
		for (unsigned int w = 0; w < ARRAY_SIZE(watermarks); w++) {
			struct ring *ring = new_ring(flags, 1, watermarks[w]);
			unsigned long effective = watermarks[w] ?: 2048, due = 0, wakeups = 0;
			struct fasync_struct *fasync = (void *)ring;

			effective = min(effective, ring->size);
			EXPECT(ring->rb->watermark == effective);
			for (u64 i = 0; i < 300; i++) {
				unsigned int size = 64 + i % 5 * 8;

				ring->event.pending_wakeup = 0;
				ring->event.pending_kill = 0;
				ring->event.fasync = i % 2 ? fasync : NULL;
				atomic_set(&ring->rb->poll, 0);
				ring->event.pending_irq.queued = 0;
				EXPECT(!ring_write(ring, size, i));
				ring->user->data_tail = ring->user->data_head;
				if (ring_head(ring) - due > effective) {
					due = max(due + effective,
						  (unsigned long)ring_head(ring) - effective);
					wakeups++;
					EXPECT(ring->event.pending_irq.queued == 1);
					EXPECT(ring->event.pending_wakeup == 1);
					EXPECT(atomic_read(&ring->rb->poll) ==
					       (EPOLLIN | EPOLLRDNORM));
					EXPECT(ring->event.pending_kill ==
					       (i % 2 ? POLL_IN : 0));
				} else {
					EXPECT(!ring->event.pending_irq.queued);
					EXPECT(!ring->event.pending_wakeup &&
					       !ring->event.pending_kill);
					EXPECT(!atomic_read(&ring->rb->poll));
				}
			}
			EXPECT(wakeups);
			ring_delete(ring);
		}
	}
}

/*
 * Records larger than the watermark wake the reader up, each of them: more than 4 GiB of them,
 * after which heads of 32-bit kernels have wrapped.
 */
static void test_wakeup_large(void)
{
	for_each_mode(flags) {
		struct perf_sample_data data = { .id_fill = RING_ID_FILL };
		struct ring *ring = new_ring(flags & ~RING_WITH_ID, 32, 1);
		unsigned int size = RING_MAX_RECORD, nr = 70001;
		struct perf_output_handle handle;

		for (unsigned int i = 0; i < nr; i++) {
			if (!EXPECT(!perf_output_begin(&handle, &data, &ring->event, size)))
				break;
			perf_output_skip(&handle, size - ring_record_tail(ring));
			perf_output_end(&handle);
			ring->user->data_tail = ring->user->data_head;
			if (!EXPECT(ring->event.pending_irq.queued == i + 1))
				break;
		}
		/*
		 * The next wake-up comes one watermark later, whatever the size of the last record.
		 */
		EXPECT(local_read(&ring->rb->head) - local_read(&ring->rb->wakeup) == 1);
		ring_delete(ring);
	}
}

/* ABI of backward rings: the newest record begins at data_head, older ones follow. */
static void test_backward_layout(void)
{
	struct ring *ring = new_ring(RING_BACKWARD, 1, 0);
	struct perf_event_header header;
	unsigned long offset;
	u64 number;

	EXPECT(!ring_write(ring, 48, 1));
	EXPECT(ring->user->data_head == -48ul);
	EXPECT(!ring_write(ring, 64, 2));
	EXPECT(ring->user->data_head == -112ul);
	offset = ring->user->data_head & (ring->size - 1);
	EXPECT(offset == 4096 - 112);
	memcpy(&header, ring->data + offset, sizeof(header));
	memcpy(&number, ring->data + offset + 8, sizeof(number));
	EXPECT(header.size == 64 && number == 2);
	memcpy(&header, ring->data + offset + 64, sizeof(header));
	memcpy(&number, ring->data + offset + 72, sizeof(number));
	EXPECT(header.size == 48 && number == 1);
	ring_delete(ring);
}

/* Check the trailer of a sized ring field by field. */
static void test_trailer_layout(void)
{
	struct ring *ring = new_ring(RING_SIZED, 1, 0);
	struct perf_event_trailer trailer;

	EXPECT(sizeof(trailer) == 8 && offsetof(struct perf_event_trailer, size) == 6);
	for (unsigned int i = 0; i < 200; i++) {
		EXPECT(!ring_write(ring, 64, i));
		memcpy(&trailer, ring->data + i * 64 % 4096 + 56, sizeof(trailer));
		EXPECT(trailer.offset_lo == i * 64 && !trailer.offset_hi && trailer.size == 64);
	}
	ring_delete(ring);
}

/* Move an empty ring to @position. */
static void start_at(struct ring *ring, u64 position)
{
	local_set(&ring->rb->head, position);
	local_set(&ring->rb->wakeup, position);
	if (is_counted(ring))
		ring->user->data_reserved[0] = ring->rb->reserved[0] = position;
	ring->user->data_head = (unsigned long)(ring->flags & RING_BACKWARD ? -position : position);
	ring->user->data_tail = ring->user->data_head;
}

/* Write across positions where a counter, or a field made from it, wraps. */
static void test_counter_wrap(void)
{
	static const unsigned int bits[] = { 31, 32, 47, 48, 49, 63, 64 };

	for_each_mode(flags) {
		for (unsigned int b = 0; b < ARRAY_SIZE(bits); b++) {
			u64 start = (bits[b] < 64 ? 1ull << bits[b] : 0) - 5 * 4096;
			unsigned long wakeups = 0;
			u64 position = start;
			struct ring *ring;

			if (bits[b] > BITS_PER_LONG)
				break;
			ring = new_ring(flags, 1, 1024);
			start_at(ring, start);
			for (u64 i = 0; i < 200; i++) {
				unsigned int size = ring_min_record(ring) + i * 31 % 90 * 8;

				EXPECT(!ring_write(ring, size, i));
				EXPECT(ring_head(ring) == (unsigned long)(position + size));
				EXPECT(record_is(ring, position, size, i));
				position += size;
				ring->user->data_tail = ring->user->data_head;
				if (is_counted(ring))
					EXPECT(ring_reserved(ring) == position);
			}
			wakeups = ring->event.pending_irq.queued;
			/* A record advances wakeup once; the next record catches up. */
			EXPECT(wakeups >= (position - start) / 1024 - 1 &&
			       wakeups <= (position - start) / 1024);
			ring_delete(ring);
		}
	}
}

/*
 * data_reserved is advanced at perf_output_begin(), data_head by the outermost writer's
 * perf_output_end().
 */
static void test_reserve_and_publish(void)
{
	for_each_mode(flags) {
		struct perf_sample_data data = { .id_fill = RING_ID_FILL };
		struct perf_output_handle outer, inner, innermost;
		struct ring *ring = new_ring(flags, 1, 300);
		bool counted = is_counted(ring);

		outer.flags = ~0ULL;
		EXPECT(!perf_output_begin(&outer, &data, &ring->event, 128));
		EXPECT(!outer.flags);
		EXPECT(ring_reserved(ring) == (counted ? 128 : 0));
		EXPECT(!ring_head(ring) && shim.preempt == 1);
		EXPECT(!perf_output_begin(&inner, &data, &ring->event, 256));
		EXPECT(ring_reserved(ring) == (counted ? 384 : 0));
		EXPECT(!perf_output_begin(&innermost, &data, &ring->event, 64));
		EXPECT(shim.preempt == 3 && ring->rb->nest == 3);
		ring_fill(ring, &innermost, 64, 2);
		perf_output_end(&innermost);
		EXPECT(!ring_head(ring) && !ring->event.pending_irq.queued);
		ring_fill(ring, &inner, 256, 1);
		perf_output_end(&inner);
		EXPECT(!ring_head(ring) && !ring->event.pending_irq.queued);
		ring_fill(ring, &outer, 128, 0);
		perf_output_end(&outer);
		EXPECT(ring_head(ring) == 448 && !ring->rb->nest);
		EXPECT(ring->event.pending_irq.queued == 1);
		EXPECT(record_is(ring, 0, 128, 0));
		EXPECT(record_is(ring, 128, 256, 1));
		EXPECT(record_is(ring, 384, 64, 2));
		EXPECT(ring_reserved(ring) == (counted ? 448 : 0));
		ring_delete(ring);
	}
}

/*
 * A snapshot taken while a record is being written contains neither that record nor what it
 * overwrites.
 */
static void test_snapshot_while_writing(void)
{
	for_each_mode(flags) {
		struct perf_sample_data data = { .id_fill = RING_ID_FILL };
		struct perf_output_handle handle;
		struct ring_snapshot snapshot;
		struct ring *ring;

		if (!is_counted(&(struct ring){ .flags = flags }) ||
		    !(flags & (RING_BACKWARD | RING_SIZED)))
			continue;
		ring = new_ring(flags, 1, 0);
		for (u64 i = 0; i < 100; i++)
			EXPECT(!ring_write(ring, 64, i));
		EXPECT(!perf_output_begin(&handle, &data, &ring->event, 200));
		memset(handle.addr, 0xee, 100);
		ring_snapshot(ring, 0, &snapshot);
		EXPECT(snapshot.end == 6400 && snapshot.begin == 6600 - 4096);
		EXPECT(snapshot.dropped == 200);
		EXPECT(ring_records_are(&snapshot.records, 40, 99));
		ring_snapshot_free(&snapshot);

		ring_fill(ring, &handle, 200, 100);
		perf_output_end(&handle);
		EXPECT(!ring_write(ring, 64, 101));
		ring_snapshot(ring, 6400, &snapshot);
		EXPECT(snapshot.begin == 6400 && snapshot.first == 6400 + (flags & RING_BACKWARD ?
									   200 : 0));
		EXPECT(ring_records_are(&snapshot.records, 100, 101));
		ring_snapshot_free(&snapshot);
		ring_delete(ring);
	}
}

/*
 * Each nesting depth advances its own word of data_reserved. At the first depth without a word, a
 * record is lost; a streaming ring accepts it.
 */
static void test_depths(void)
{
	for_each_ring(flags, ring, 0, 1) {
		enum { NR = 5 };
		struct perf_sample_data data = { .id_fill = RING_ID_FILL };
		struct perf_output_handle handle[NR];
		bool counted = is_counted(ring);
		int nr;

		for (nr = 0; nr < NR; nr++) {
			if (perf_output_begin(&handle[nr], &data, &ring->event, 64 + 8 * nr))
				break;
			if (nr < 4)
				EXPECT(ring->user->data_reserved[nr] == counted * (64 + 8 * nr));
		}
		EXPECT(nr == (is_streaming(ring) ? 5 : 4) && ring->rb->nest == nr);
		EXPECT(ring->event.lost_samples.counter == !is_streaming(ring));
		EXPECT(ring_reserved(ring) == counted * local_read(&ring->rb->head));
		while (nr--) {
			ring_fill(ring, &handle[nr], 64 + 8 * nr, nr);
			perf_output_end(&handle[nr]);
		}
		EXPECT(ring_head(ring) == local_read(&ring->rb->head));

		/* The words do not depend on what user space stored in them. */
		memset(ring->user->data_reserved, 0xee, sizeof(ring->user->data_reserved));
		local_set(&ring->rb->lost, 0);
		EXPECT(!ring_write(ring, 64, 9));
		if (counted)
			EXPECT(ring->user->data_reserved[0] == 128);
	}
}

/*
 * Nested writers that exceed the ring while the outer writer has still to write its record: the
 * outer writer must not write into newer records, which a reader takes to be complete.
 */
static void test_nested_overflow(void)
{
	for_each_mode(flags) {
		struct perf_sample_data data = { .id_fill = RING_ID_FILL };
		struct perf_output_handle handle;
		struct ring_snapshot snapshot;
		struct ring *ring;

		if (flags & RING_STREAMING || !(flags & (RING_BACKWARD | RING_SIZED)))
			continue;
		ring = new_ring(flags, 1, 0);
		EXPECT(!perf_output_begin(&handle, &data, &ring->event, 256));
		for (u64 i = 1; i <= 100; i++)
			ring_write(ring, 64, i);
		ring_fill(ring, &handle, 256, 0);
		perf_output_end(&handle);
		ring_snapshot(ring, 0, &snapshot);
		EXPECT(!snapshot.records.error);
		EXPECT(snapshot.records.nr >= 2048 / 256);
		ring_snapshot_free(&snapshot);
		ring_delete(ring);
	}
}

static void test_mmap_to_page(void)
{
	struct ring *ring = new_ring(0, 4, 0);
	struct perf_event_mmap_page *page = page_address(perf_mmap_to_page(ring->rb, 0));

	ring->rb->user_page->data_tail = 0x1234;
	EXPECT(page->data_tail == 0x1234);
	for (unsigned int i = 0; i < 4; i++) {
		memset(ring_addr(ring, i * PAGE_SIZE), i + 1, PAGE_SIZE);
		EXPECT(*(u8 *)page_address(perf_mmap_to_page(ring->rb, i + 1)) == i + 1);
	}
	EXPECT(!perf_mmap_to_page(ring->rb, 5));
	EXPECT(!perf_mmap_to_page(ring->rb, 6));
	EXPECT(!perf_mmap_to_page(ring->rb, 1ul << 31));
	EXPECT(!perf_mmap_to_page(ring->rb, (unsigned long)(1ull << 32) - 1));
	EXPECT(!perf_mmap_to_page(ring->rb, ~0ul));
	ring_delete(ring);
}

/* rb_free_rcu() leaves freeing to a work item. */
static void test_free(void)
{
	struct perf_buffer *rb = rb_alloc(4, 0, -1, 0);
	long pages = shim.pages;

	EXPECT(rb && pages == 5);
	shim.preempt++;
	rb_free_rcu(&rb->rcu_head);
	shim.preempt--;
	EXPECT(shim.pages == pages);
	EXPECT(shim_run_work() == 1);
	EXPECT(!shim.pages && !shim.mappings && !shim.objects);
}

/* perf_output_begin_forward() and perf_output_begin_backward(). */
static void test_directions(void)
{
	for_each_ring(flags, ring, 0, 1) {
		struct perf_sample_data data = { .id_fill = RING_ID_FILL };
		struct perf_output_handle handle;

		for (u64 i = 0; i < 200; i++) {
			u64 position = ring_head(ring);
			int err = (flags & RING_BACKWARD ? perf_output_begin_backward :
				   perf_output_begin_forward)(&handle, &data, &ring->event, 72);

			if (!EXPECT(!err))
				break;
			ring_fill(ring, &handle, 72, i);
			perf_output_end(&handle);
			EXPECT(record_is(ring, position, 72, i));
			ring->user->data_tail = ring->user->data_head;
		}
	}
}

static unsigned long copy_half(void *dst, const void *src, unsigned long off, unsigned long len)
{
	memcpy(dst, src + off, len / 2);
	return len - len / 2;
}

static unsigned long copy_all(void *dst, const void *src, unsigned long off, unsigned long len)
{
	memcpy(dst, src + off, len);
	return 0;
}

/* The other functions that write a field, across the end of the area. */
static void test_fields(void)
{
	struct perf_sample_data data = {};
	struct perf_output_handle handle;
	struct ring *ring = new_ring(RING_STREAMING, 1, 0);
	unsigned char bytes[64], *at = ring->data;

	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = i + 1;
	start_at(ring, 4096 - 16);
	EXPECT(!perf_output_begin(&handle, &data, &ring->event, 256));
	EXPECT(handle.addr == ring_addr(ring, 4096 - 16));
	EXPECT(perf_output_copy(&handle, bytes, 40) == 0);
	EXPECT(handle.addr == ring_addr(ring, 24) && !memcmp(at, bytes + 16, 24));
	EXPECT(!memcmp(at + 4096 - 16, bytes, 16));

	EXPECT(perf_output_skip(&handle, 24) == 0 && handle.addr == ring_addr(ring, 48));
	EXPECT(__output_skip(&handle, NULL, 8) == 0 && handle.addr == ring_addr(ring, 56));
	for (unsigned int i = 24; i < 56; i++)
		EXPECT(!at[i]);

	EXPECT(__output_custom(&handle, copy_half, bytes, 32) == 16);
	EXPECT(handle.addr == ring_addr(ring, 72) && !memcmp(at + 56, bytes, 16) && !at[72]);

	shim.user_readable = 10;
	EXPECT(__output_copy_user(&handle, bytes, 32) == 22);
	EXPECT(handle.addr == ring_addr(ring, 82) && !memcmp(at + 72, bytes, 10) && !at[82]);
	shim.user_readable = ~0ul;
	EXPECT(__output_copy_user(&handle, bytes, 32) == 0);
	EXPECT(handle.addr == ring_addr(ring, 114) && !memcmp(at + 82, bytes, 32));
	EXPECT(perf_output_skip(&handle, 256 - 130) == 0);
	perf_output_end(&handle);
	ring_delete(ring);
}

static unsigned char pattern[16384], zeros[16384];

/* Write a field of @len bytes by one of the functions. Returns the number of bytes not written. */
static unsigned long write_field(struct perf_output_handle *handle, unsigned int how,
				 unsigned int len)
{
	for (unsigned int i = 0; i < sizeof(pattern); i++)
		pattern[i] = i % 251 + 1;
	switch (how) {
	case 0:
		return perf_output_copy(handle, pattern, len);
	case 1:
		return perf_output_skip(handle, len);
	case 2:
		return __output_copy(handle, pattern, len);
	case 3:
		return __output_custom(handle, copy_all, pattern, len);
	default:
		return __output_copy_user(handle, pattern, len);
	}
}

/*
 * Fields that begin shortly before the end of a page and fill the rest of the record, on up to four
 * pages, written by each function.
 */
static void test_split_fields(void)
{
	struct perf_sample_data data = {};
	struct perf_output_handle handle;
	unsigned char *copy = malloc(16384);

	for (unsigned int how = 0; how < 5; how++) {
		for (unsigned int before = 0; before <= 16; before++) {
			unsigned int len = 3 * 4096 + 512 + before;
			struct ring *ring = new_ring(RING_STREAMING, 4, 0);
			unsigned int at = 3 * 4096 - before;

			start_at(ring, 3 * 4096 - 16);
			EXPECT(!perf_output_begin(&handle, &data, &ring->event, 16 - before + len));
			EXPECT(!perf_output_skip(&handle, 16 - before));
			EXPECT(!write_field(&handle, how, len));
			perf_output_end(&handle);
			for (unsigned int i = 0; i < len; i++)
				copy[i] = ring->data[(at + i) % 16384];
			EXPECT(!memcmp(copy, how == 1 ? zeros : pattern, len));
			EXPECT(!ring->data[(at + len) % 16384] && !ring->data[at - 1]);
			ring_delete(ring);
		}
	}
	free(copy);
}

/* Functions that do not write all of a field that is split at the end of the area. */
static void test_partial_fields(void)
{
	struct perf_sample_data data = {};
	struct perf_output_handle handle;
	struct ring *ring = new_ring(RING_STREAMING, 4, 0);

	start_at(ring, ring->size - 16);
	EXPECT(!perf_output_begin(&handle, &data, &ring->event, 8192));
	/* 8 of the 16 bytes on the last page; the first page is not tried. */
	EXPECT(__output_custom(&handle, copy_half, pattern, 64) == 56);
	EXPECT(handle.addr == ring_addr(ring, ring->size - 8));

	/* 8 bytes on the last page; the first page faults after 100 bytes. */
	shim.user_readable = 100;
	EXPECT(__output_copy_user(&handle, pattern, 200) == 92);
	EXPECT(handle.addr == ring_addr(ring, 100));
	EXPECT(!memcmp(ring->data + ring->size - 8, pattern, 8));
	EXPECT(!memcmp(ring->data, pattern + 8, 100) && !ring->data[100]);
	shim.user_readable = ~0ul;
	EXPECT(!perf_output_skip(&handle, 8192 - 116));
	perf_output_end(&handle);
	ring_delete(ring);
}

/*
 * Write more than was reserved, where the area ends: it has one page, and is full up to its last 8
 * bytes. The field that does not fit, and each later one, is dropped. The neighbors of the record
 * and its trailer stay as they are. An irq_work prints the warnings, as the writer may be an NMI.
 */
static void test_overrun(void)
{
	struct perf_sample_data data = { .id_fill = RING_ID_FILL };
	unsigned char before[4096];
	struct perf_output_handle handle;

	shim.quiet = true;
	for_each_mode(flags) {
		for (unsigned int how = 0; how < 5; how++) {
			struct ring *ring = new_ring(flags, 1, 0);
			unsigned int size = ring->size - 8 * is_streaming(ring);
			unsigned int len = size - (flags & RING_SIZED ? 8 : 0);

			start_at(ring, flags & RING_BACKWARD ? 2 * 4096 - 4088 - size : 4088);
			EXPECT(!perf_output_begin(&handle, &data, &ring->event, size));
			EXPECT(handle.addr == ring_addr(ring, 4088));
			EXPECT(!perf_output_skip(&handle, len - 8));
			memcpy(before, ring->data, sizeof(before));
			EXPECT(write_field(&handle, how, 16) == 16 && shim.warnings == 1);
			EXPECT(write_field(&handle, how, 8) == 8 && shim.warnings == 2);
			EXPECT(handle.addr == handle.end && !handle.rest);
			EXPECT(!memcmp(before, ring->data, sizeof(before)));
			perf_output_end(&handle);
			EXPECT(ring_head(ring) == local_read(&ring->rb->head));
			EXPECT(shim.deferred_warnings == 2);
			shim.warnings = shim.deferred_warnings = 0;
			ring_delete(ring);
		}
	}
	shim.quiet = false;
}

/* A field that does not fit is dropped on the first page of a record, too, with all later ones. */
static void test_overrun_early(void)
{
	struct perf_sample_data data = {};
	struct perf_output_handle handle;

	shim.quiet = true;
	for (unsigned int how = 0; how < 5; how++) {
		struct ring *ring = new_ring(RING_STREAMING, 2, 0);

		start_at(ring, 4096 - 16);
		EXPECT(!perf_output_begin(&handle, &data, &ring->event, 64));
		EXPECT(write_field(&handle, how, 72) == 72 && shim.warnings == 1);
		EXPECT(write_field(&handle, how, 8) == 8 && shim.warnings == 2);
		EXPECT(!memcmp(ring->data, zeros, ring->size));
		perf_output_end(&handle);
		EXPECT(ring_head(ring) == 4096 + 48);
		shim.warnings = shim.deferred_warnings = 0;
		ring_delete(ring);
	}
	shim.quiet = false;
}

/*
 * A writer that writes less than it reserved causes one warning, which an irq_work prints, and its
 * record is published.
 */
static void test_underrun(void)
{
	struct perf_sample_data data = { .id_fill = RING_ID_FILL };
	struct perf_output_handle handle;

	shim.quiet = true;
	for_each_ring(flags, ring, 0, 1) {
		EXPECT(!perf_output_begin(&handle, &data, &ring->event, 64));
		perf_output_skip(&handle, 32);
		EXPECT(!shim.warnings);
		perf_output_end(&handle);
		EXPECT(shim.warnings == 1 && shim.deferred_warnings == 1);
		EXPECT(ring_head(ring) == 64);
		shim.warnings = shim.deferred_warnings = 0;
	}
	shim.quiet = false;
}

/* A size that is not a multiple of 8, of a caller with a bug, lets no store leave the area. */
static void test_odd_size(void)
{
	struct perf_sample_data data = {};
	struct perf_output_handle handle;
	struct ring *ring = new_ring(RING_SIZED, 1, 0);
	struct perf_event_mmap_page user;

	start_at(ring, 4096 - 16);
	user = *ring->user;
	EXPECT(!perf_output_begin(&handle, &data, &ring->event, 20));
	EXPECT(handle.end - handle.addr == 12 && !handle.rest);
	EXPECT(!memcmp(ring->data, zeros, 4096 - 16));
	user.data_reserved[0] = ring->user->data_reserved[0];
	EXPECT(!memcmp(ring->user, &user, sizeof(user)));
	EXPECT(!perf_output_skip(&handle, 12));
	perf_output_end(&handle);
	ring_delete(ring);
}

#ifdef __SANITIZE_ADDRESS__
/* Check what lets AddressSanitizer find a store beyond any page of the direct mapping. */
static void test_guards(void)
{
	struct ring *ring = new_ring(RING_STREAMING, 8, 0);

	for (unsigned int i = 0; i <= 8; i++) {
		unsigned char *page = page_address(ring_impl.page(ring->rb, i));

		EXPECT(__asan_address_is_poisoned(page - 1));
		EXPECT(!__asan_region_is_poisoned(page, PAGE_SIZE));
		EXPECT(__asan_address_is_poisoned(page + PAGE_SIZE));
	}
	ring_delete(ring);
}
#endif

int main(void)
{
	TAP_RUN(test_new, "a new ring is empty");
#ifdef __SANITIZE_ADDRESS__
	TAP_RUN(test_guards, "memory before and behind each page is poisoned");
#endif
	TAP_RUN(test_wrap, "records of all sizes wrap, in each mode");
	TAP_RUN(test_exact_fit, "equal records fill the ring exactly");
	TAP_RUN(test_full, "one record fills the ring");
	TAP_RUN(test_unaligned_tail, "data_tail between records");
	TAP_RUN(test_one_page, "every record size in a ring of one page");
	TAP_RUN(test_no_data, "ring without data pages");
	TAP_RUN(test_no_ring, "event without a ring");
	TAP_RUN(test_largest, "largest possible record");
	TAP_RUN(test_more_than_16_bits, "record of more than 65,528 bytes");
	TAP_RUN(test_too_large, "record larger than the ring is counted as lost");
	TAP_RUN(test_lost, "LOST record before the next one that fits");
	TAP_RUN(test_lost_needs_space, "LOST record and the next one need space together");
	TAP_RUN(test_paused, "paused output is counted as lost");
	TAP_RUN(test_inherited, "inherited event writes to its parent's ring");
	TAP_RUN(test_wakeup, "wake-ups at the watermark");
	TAP_RUN(test_wakeup_large, "records larger than the watermark");
	TAP_RUN(test_backward_layout, "backward: newest record at data_head");
	TAP_RUN(test_trailer_layout, "sized: contents of the trailer");
	TAP_RUN(test_counter_wrap, "positions near 2^31 ... 2^64");
	TAP_RUN(test_reserve_and_publish, "data_reserved is set first, data_head last");
	TAP_RUN(test_snapshot_while_writing, "snapshot while a record is being written");
	TAP_RUN(test_depths, "one word of data_reserved for each nesting depth");
	TAP_RUN(test_nested_overflow, "nested writers exceed the ring");
	TAP_RUN(test_mmap_to_page, "bounds of perf_mmap_to_page()");
	TAP_RUN(test_free, "freeing by a work item");
	TAP_RUN(test_directions, "begin_forward and begin_backward");
	TAP_RUN(test_fields, "copy, skip, custom and user copies");
	TAP_RUN(test_split_fields, "fields on several pages");
	TAP_RUN(test_partial_fields, "fields across the end, not copied in full");
	TAP_RUN(test_overrun, "writes beyond the reservation are dropped");
	TAP_RUN(test_overrun_early, "writes beyond the reservation on its first page");
	TAP_RUN(test_underrun, "a record that is not filled causes a warning");
	TAP_RUN(test_odd_size, "a size that is not a multiple of 8");
	return tap_end();
}
