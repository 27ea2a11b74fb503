/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Provide a test fixture for the KUnit tests of the perf ring buffer.
 *
 * An event without a PMU writes numbered records. The tests read them through
 * the pages of the ring, as a reader does, and not through the addresses that
 * the kernel writes to.
 *
 * A position is the number of bytes written before. The size of a record
 * includes its trailer.
 */
#ifndef _KERNEL_EVENTS_RING_BUFFER_KUNIT_H
#define _KERNEL_EVENTS_RING_BUFFER_KUNIT_H

#include <kunit/test.h>
#include <linux/irq_work.h>
#include <linux/mm.h>
#include <linux/perf_event.h>

#include "internal.h"

#define KRING_PAGES	4
#define KRING_SIZE	(KRING_PAGES * PAGE_SIZE)
#define KRING_AUX_PGOFF	8

/* The largest size of a record [bytes] */
#define LARGEST		65528

/* Mode of a ring; the name is the description of a test parameter. */
struct kring_mode {
	char	name[32];
	int	flags;		/* RING_BUFFER_* */
};

extern const struct kring_mode kring_modes[6];

/**
 * struct kring - a ring buffer and the event that writes to it
 * @test:	the test that owns it
 * @rb:		the ring buffer
 * @event:	the event
 * @data:	sample data of the event
 * @flags:	RING_BUFFER_*
 * @wakeups:	number of runs of the irq_work that wakes up readers
 * @disables:	number of runs of the irq_work that disables the event
 * @end:	number of bytes written, as the test counts them
 */
struct kring {
	struct kunit		*test;
	struct perf_buffer	*rb;
	struct perf_event	event;
	struct perf_sample_data	data;
	int			flags;
	int			wakeups;
	int			disables;
	u64			end;
};

static inline bool kring_is_streaming(struct kring *ring)
{
	return ring->flags & RING_BUFFER_WRITABLE;
}

static inline bool kring_is_backward(struct kring *ring)
{
	return ring->flags & RING_BUFFER_BACKWARD;
}

static inline bool kring_is_sized(struct kring *ring)
{
	return ring->flags & RING_BUFFER_TRAILER;
}

/*
 * Allocate a ring buffer, which is freed at the end of the test.
 * kring_new_mode() allocates KRING_PAGES pages, and takes the mode from the
 * parameter of the test.
 */
struct kring *kring_new(struct kunit *test, int nr_pages, long watermark,
			int flags);
struct kring *kring_new_mode(struct kunit *test);

/*
 * Read data_head and set data_tail, as positions. In a backward ring both
 * fields of the control page count down.
 */
u64 kring_head(struct kring *ring);
void kring_set_tail(struct kring *ring, u64 position);

/* Read data_reserved: the sum of its words. */
u64 kring_reserved(struct kring *ring);

/* Return true if poll() would have returned since the last call. */
bool kring_was_woken(struct kring *ring);

/*
 * Write a record: a header followed by copies of @number.
 *
 * kring_fill() writes the fields of a reserved record. kring_write() reserves,
 * fills and commits a record, and returns 0 or -ENOSPC. kring_write_next() does
 * the same, asserts success, and advances @ring->end.
 */
void kring_fill(struct kring *ring, struct perf_output_handle *handle, u16 size,
		u64 number);
int kring_write(struct kring *ring, u32 size, u64 number);
void kring_write_next(struct kring *ring, u32 size, u64 number);

/* Return the address of page @nr of the data area, in the direct mapping. */
void *kring_page(struct kring *ring, unsigned long nr);

/* Copy @size bytes at @offset from the pages of the data area; wraps. */
void kring_read(struct kring *ring, u64 offset, void *to, size_t size);

void kring_expect_record(struct kring *ring, u64 position, u16 size,
			 u64 number);
void kring_expect_trailer(struct kring *ring, const void *record, u64 position,
			  u16 size);

/*
 * Expect a LOST record at @position, and the record @number that was written
 * with it.
 */
void kring_expect_lost(struct kring *ring, u64 position, u64 lost, u16 size,
		       u64 number);
u16 kring_lost_size(struct kring *ring);

/*
 * Allocate an AUX area and mark it as mapped. The caller frees it with
 * rb_free_aux(). Return: as rb_alloc_aux().
 */
int kring_alloc_aux(struct kring *ring, struct pmu *pmu, int nr_pages,
		    int flags);

/* setup_aux() and free_aux() of a driver that accepts every area. */
void *kring_setup_aux(struct perf_event *event, void **pages, int nr_pages,
		      bool overwrite);
void kring_free_aux(void *aux);

#endif /* _KERNEL_EVENTS_RING_BUFFER_KUNIT_H */
