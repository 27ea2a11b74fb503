/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For KUnit tests of the ring that perf events are written to.
 *
 * An event that no PMU knows of writes numbered records; they are looked at through the ring's
 * pages, as a reader sees them, never through the mirrored mapping that the kernel writes to.
 *
 * A position counts the bytes written before; sizes are those of whole records, trailer included.
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

struct kring_mode {
	char	name[32];
	int	flags;		/* RING_BUFFER_* */
};

extern const struct kring_mode kring_modes[6];

/**
 * struct kring - a ring, and the event that writes to it
 * @data:	its samples
 * @flags:	RING_BUFFER_*
 * @wakeups:	how often the event's irq_work that wakes readers up has run
 * @disablings:	and the one that disables it
 * @end:	bytes written, as the test counts them
 */
struct kring {
	struct kunit		*test;
	struct perf_buffer	*rb;
	struct perf_event	event;
	struct perf_sample_data	data;
	int			flags;
	int			wakeups;
	int			disablings;
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

/* Ends with the test. The second one has the mode that is the test's parameter, and KRING_PAGES. */
struct kring *kring_new(struct kunit *test, int nr_pages, long watermark, int flags);
struct kring *kring_new_mode(struct kunit *test);

/* What the owner sees and sets, as a position: both count down in a backward ring. */
u64 kring_head(struct kring *ring);
void kring_set_tail(struct kring *ring, u64 position);

/* Whether poll() had something to tell; once. */
bool kring_was_woken(struct kring *ring);

/*
 * A record is a header, and then its number over and over. kring_fill() goes between begin and end;
 * kring_write() is all of it, and returns 0 or -ENOSPC; kring_write_next() must succeed.
 */
void kring_fill(struct kring *ring, struct perf_output_handle *handle, u16 size, u64 number);
int kring_write(struct kring *ring, u16 size, u64 number);
void kring_write_next(struct kring *ring, u16 size, u64 number);

/* Copies bytes from the pages, whose order is that of the data area. */
void kring_read(struct kring *ring, u64 offset, void *to, size_t size);

void kring_expect_record(struct kring *ring, u64 position, u16 size, u64 number);
void kring_expect_trailer(struct kring *ring, const void *record, u64 position, u16 size);

/* A LOST record and the one that was written with it begin at @position. */
void kring_expect_lost(struct kring *ring, u64 position, u64 lost, u16 size, u64 number);
u16 kring_lost_size(struct kring *ring);

/* Gives the ring an AUX area, mapped: to be ended by rb_free_aux(). Returns as rb_alloc_aux(). */
int kring_alloc_aux(struct kring *ring, struct pmu *pmu, int nr_pages, int flags);

/* A driver's that accepts everything and keeps nothing. */
void *kring_setup_aux(struct perf_event *event, void **pages, int nr_pages, bool overwrite);
void kring_free_aux(void *aux);

#endif /* _KERNEL_EVENTS_RING_BUFFER_KUNIT_H */
