// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test the AUX area of the kernel's ring buffer.
 * tags: fast parallel
 */
#include <stdlib.h>

#include <linux/perf_event.h>
#include "internal.h"

#include "shim/ring.h"
#include "shim/expect.h"

#define AUX_SIZE (8 * PAGE_SIZE)

static int driver, frees;

static void *setup_aux(struct perf_event *event, void **pages, int nr_pages, bool overwrite)
{
	return &driver;
}

static void free_driver(void *aux)
{
	frees++;
}

/*
 * Make a ring with an AUX area of @pages. The watermark of the data area is never reached, so only
 * the AUX area causes wake-ups.
 */
static struct ring *new_sized_ring(unsigned int flags, int pages, long watermark, int capabilities)
{
	struct ring *ring = ring_new(&ring_impl, RING_STREAMING, 16, LONG_MAX);

	ring->pmu.capabilities = capabilities;
	ring->pmu.setup_aux = setup_aux;
	ring->pmu.free_aux = free_driver;
	if (ring_impl.alloc_aux(ring->rb, &ring->event, pages, watermark, flags))
		abort();
	frees = 0;
	return ring;
}

static struct ring *new_driver_ring(unsigned int flags, long watermark, int capabilities)
{
	return new_sized_ring(flags, AUX_SIZE / PAGE_SIZE, watermark, capabilities);
}

static struct ring *new_ring(unsigned int flags, long watermark)
{
	return new_driver_ring(flags, watermark, 0);
}

static void delete_ring(struct ring *ring)
{
	ring_impl.close_aux(ring->rb);
	EXPECT(frees == 1 && !rb_has_aux(ring->rb));
	ring_delete(ring);
}

/* Replace the area of the ring by another one, the first that delete_ring() counts. */
static void replace_area(struct ring *ring, struct perf_event *event, int pages, unsigned int flags)
{
	ring_impl.close_aux(ring->rb);
	EXPECT(!ring_impl.alloc_aux(ring->rb, event, pages, 0, flags));
	frees = 0;
}

/* Read one record; return whether it is a PERF_RECORD_AUX with these values. */
static bool next_record_is(struct ring *ring, u64 offset, u64 size, u64 flags)
{
	struct ring_aux_record record;
	u64 tail = ring->user->data_tail;

	if (ring->user->data_head - tail < sizeof(record))
		return false;
	ring_copy(ring, &record, tail, sizeof(record));
	ring->user->data_tail = tail + sizeof(record);
	return record.header.type == PERF_RECORD_AUX && record.offset == offset &&
	       record.size == size && record.flags == flags;
}

static bool no_record(struct ring *ring)
{
	return ring->user->data_head == ring->user->data_tail;
}

static unsigned long wakeups(struct ring *ring)
{
	unsigned long nr = ring->event.pending_irq.queued;

	ring->event.pending_irq.queued = 0;
	return nr;
}

static unsigned long disables(struct ring *ring)
{
	unsigned long nr = ring->event.pending_disable_irq.queued;

	ring->event.pending_disable_irq.queued = 0;
	return ring->event.pending_disable ? nr : 0;
}

static void test_no_aux(void)
{
	struct ring *ring = ring_new(&ring_impl, RING_STREAMING, 1, 0);
	struct perf_output_handle handle = { .event = &ring->event };

	EXPECT(!perf_aux_output_begin(&handle, &ring->event));
	EXPECT(!perf_get_aux(&handle));
	EXPECT(refcount_read(&ring->rb->refcount) == 1);
	ring->event.rb = NULL;
	EXPECT(!perf_aux_output_begin(&handle, &ring->event));
	ring->event.rb = ring->rb;
	ring_delete(ring);
}

/* One byte of the area always stays free; heads count bytes and never wrap at the size. */
static void test_full_trace(void)
{
	struct ring *ring = new_ring(RING_STREAMING, 0);
	struct perf_output_handle handle;
	u64 head = 0;

	EXPECT(ring->rb->aux_watermark == AUX_SIZE / 2);
	for (unsigned int i = 0; i < 100; i++) {
		unsigned long size = 1 + i * 2003 % (AUX_SIZE - 1);

		EXPECT(perf_aux_output_begin(&handle, &ring->event) == &driver);
		EXPECT(perf_get_aux(&handle) == &driver);
		EXPECT(handle.head == head && handle.size == AUX_SIZE - 1);
		EXPECT(refcount_read(&ring->rb->aux_refcount) == 2);
		EXPECT(refcount_read(&ring->rb->refcount) == 2);
		EXPECT(ring->rb->aux_nest == 1 && !shim.preempt && !shim.rcu);
		EXPECT(ring->user->aux_head == head);
		perf_aux_output_end(&handle, size);
		EXPECT(!perf_get_aux(&handle) && !handle.event);
		EXPECT(next_record_is(ring, head, size, 0) && no_record(ring));
		head += size;
		EXPECT(ring->user->aux_head == head);
		ring->user->aux_tail = head;
		EXPECT(refcount_read(&ring->rb->aux_refcount) == 1);
		EXPECT(refcount_read(&ring->rb->refcount) == 1);
		EXPECT(!ring->rb->aux_nest);
	}
	delete_ring(ring);
}

/* A full area disables the event and wakes the reader up; so does an invalid aux_tail. */
static void test_no_space(void)
{
	struct ring *ring = new_ring(RING_STREAMING, 0);
	struct perf_output_handle handle;

	EXPECT(perf_aux_output_begin(&handle, &ring->event));
	perf_aux_output_end(&handle, AUX_SIZE - 1);
	EXPECT(next_record_is(ring, 0, AUX_SIZE - 1, 0));
	EXPECT(wakeups(ring) == 1 && !disables(ring));
	EXPECT(!perf_aux_output_begin(&handle, &ring->event));
	EXPECT(!handle.event && disables(ring) == 1 && wakeups(ring) == 1);
	EXPECT(ring->event.pending_wakeup && atomic_read(&ring->rb->poll));
	EXPECT(refcount_read(&ring->rb->aux_refcount) == 1 && !ring->rb->aux_nest);
	EXPECT(refcount_read(&ring->rb->refcount) == 1);

	ring->user->aux_tail = 100;
	EXPECT(perf_aux_output_begin(&handle, &ring->event));
	EXPECT(handle.size == 100 && handle.head == AUX_SIZE - 1);
	perf_aux_output_end(&handle, 0);
	EXPECT(no_record(ring));

	ring->user->aux_tail = AUX_SIZE;	/* ahead of the head */
	EXPECT(!perf_aux_output_begin(&handle, &ring->event));
	ring->user->aux_tail = -1ull;		/* exactly a full area behind */
	EXPECT(!perf_aux_output_begin(&handle, &ring->event));
	ring->user->aux_tail = 1ull << 63;
	EXPECT(!perf_aux_output_begin(&handle, &ring->event));
	delete_ring(ring);
}

/* aux_head is an offset set by the driver; PERF_AUX_FLAG_OVERWRITE alone makes no record. */
static void test_overwrite(void)
{
	struct ring *ring = new_ring(0, 4096);
	struct perf_output_handle handle;

	EXPECT(!ring->rb->aux_watermark && ring->rb->aux_overwrite);
	for (unsigned int i = 0; i < 50; i++) {
		unsigned long head = i * 1234 % AUX_SIZE;

		ring->user->aux_tail = i * 0x123456789abull;
		EXPECT(perf_aux_output_begin(&handle, &ring->event) == &driver);
		EXPECT(handle.head == (i ? (i - 1) * 1234 % AUX_SIZE : 0) && !handle.size);
		handle.head = head;
		perf_aux_output_end(&handle, i % 2 ? 4096 : 0);
		EXPECT(ring->user->aux_head == head);
		if (i % 2)
			EXPECT(next_record_is(ring, head, 4096, PERF_AUX_FLAG_OVERWRITE));
		EXPECT(no_record(ring) && !wakeups(ring));
	}
	delete_ring(ring);
}

/* With PERF_PMU_CAP_AUX_WRITTEN, records and aux_written count every byte across wraps. */
static void test_written(void)
{
	for (unsigned int flags = 0; flags <= RING_STREAMING; flags++) {
		struct ring *ring = new_driver_ring(flags, 0, PERF_PMU_CAP_AUX_WRITTEN);
		u64 overwrite = flags ? 0 : PERF_AUX_FLAG_OVERWRITE, written = 0;
		struct perf_output_handle handle;

		EXPECT(ring->user->cap_aux_written && !ring->user->aux_written);
		for (unsigned int i = 0; i < 50; i++) {
			unsigned long size = i * 7919 % (flags ? AUX_SIZE : 3 * AUX_SIZE);

			EXPECT(perf_aux_output_begin(&handle, &ring->event));
			EXPECT(ring->user->aux_written == written);
			if (!flags)
				handle.head = (written + size) % AUX_SIZE;
			perf_aux_output_end(&handle, size);
			if (size)
				EXPECT(next_record_is(ring, flags ? written : handle.head,
						      size, overwrite));
			EXPECT(no_record(ring));
			written += size;
			EXPECT(ring->user->aux_written == written);
			EXPECT(ring->user->aux_head == (flags ? written : written % AUX_SIZE));
			ring->user->aux_tail = written;
		}

		/* The kernel never reads the field back: corrupt it. */
		ring->user->aux_written = 1;
		EXPECT(perf_aux_output_begin(&handle, &ring->event));
		perf_aux_output_end(&handle, 0);
		EXPECT(ring->user->aux_written == written);
		delete_ring(ring);
	}
}

/* In overwrite mode a driver may let aux_head count, as CoreSight does. */
static void test_written_free_running(void)
{
	struct ring *ring = new_driver_ring(0, 0, PERF_PMU_CAP_AUX_WRITTEN);
	struct perf_output_handle handle;
	u64 written = 0;

	for (unsigned int i = 0; i < 50; i++) {
		unsigned long size = 1 + i * 7919 % (2 * AUX_SIZE);

		EXPECT(perf_aux_output_begin(&handle, &ring->event));
		EXPECT(handle.head == written);
		handle.head += size;
		perf_aux_output_end(&handle, size);
		written += size;
		EXPECT(next_record_is(ring, written, size, PERF_AUX_FLAG_OVERWRITE));
		EXPECT(ring->user->aux_head == written && ring->user->aux_written == written);
	}
	delete_ring(ring);
}

/* Skipped bytes are counted in aux_written, as they are in aux_head. */
static void test_written_skip(void)
{
	struct ring *ring = new_driver_ring(RING_STREAMING, 0, PERF_PMU_CAP_AUX_WRITTEN);
	struct perf_output_handle handle;

	EXPECT(perf_aux_output_begin(&handle, &ring->event));
	EXPECT(perf_aux_output_skip(&handle, 100) == 0 && ring->user->aux_written == 100);
	EXPECT(perf_aux_output_skip(&handle, AUX_SIZE) == -ENOSPC);
	perf_aux_output_end(&handle, 11);
	EXPECT(ring->user->aux_written == 111 && ring->user->aux_head == 111);
	delete_ring(ring);
}

/* A new AUX area in the same ring starts counting at 0. */
static void test_written_again(void)
{
	struct ring *ring = new_driver_ring(0, 0, PERF_PMU_CAP_AUX_WRITTEN);
	struct perf_output_handle handle;

	EXPECT(perf_aux_output_begin(&handle, &ring->event));
	perf_aux_output_end(&handle, 1000);
	ring->pmu.capabilities = 0;
	replace_area(ring, &ring->event, 2, 0);
	EXPECT(!ring->user->cap_aux_written && !ring->user->aux_written);
	ring->pmu.capabilities = PERF_PMU_CAP_AUX_WRITTEN;
	replace_area(ring, &ring->event, 2, 0);
	EXPECT(perf_aux_output_begin(&handle, &ring->event));
	perf_aux_output_end(&handle, 300);
	EXPECT(ring->user->cap_aux_written && ring->user->aux_written == 300);
	delete_ring(ring);
}

/*
 * Other CPUs change cap_user_* of the same control page by loads and stores. The functions of
 * the AUX area must not store to that word.
 */
static void test_capabilities_of(__u64 value)
{
	struct ring *ring = new_ring(RING_STREAMING, 0);
	volatile __u64 *capabilities = &ring->user->capabilities;
	struct perf_output_handle handle;

	ring->pmu.capabilities = PERF_PMU_CAP_AUX_WRITTEN;
	*capabilities = value;
	replace_area(ring, &ring->event, 2, 0);
	EXPECT(*capabilities == value && ring->user->cap_aux_written);
	EXPECT(perf_aux_output_begin(&handle, &ring->event));
	perf_aux_output_end(&handle, 1000);
	EXPECT(*capabilities == value && ring->user->cap_aux_written);
	delete_ring(ring);
}

/* Find stores that clear bits, and stores that set bits. */
static void test_capabilities(void)
{
	test_capabilities_of(~0ULL);
	test_capabilities_of(0);
}

static void test_flags(void)
{
	struct ring *ring = new_ring(RING_STREAMING, 0);
	struct perf_output_handle handle;

	EXPECT(perf_aux_output_begin(&handle, &ring->event));
	perf_aux_output_flag(&handle, PERF_AUX_FLAG_COLLISION);
	perf_aux_output_flag(&handle, PERF_AUX_FLAG_PARTIAL);
	perf_aux_output_end(&handle, 0);
	EXPECT(next_record_is(ring, 0, 0, PERF_AUX_FLAG_COLLISION | PERF_AUX_FLAG_PARTIAL));

	/* Flags are cleared for the next output; a format alone makes no record. */
	EXPECT(perf_aux_output_begin(&handle, &ring->event));
	perf_aux_output_flag(&handle, PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK);
	perf_aux_output_end(&handle, 0);
	EXPECT(no_record(ring));
	EXPECT(perf_aux_output_begin(&handle, &ring->event));
	perf_aux_output_flag(&handle, 0x100);
	perf_aux_output_end(&handle, 1);
	EXPECT(next_record_is(ring, 0, 1, 0x100));

	EXPECT(perf_aux_output_begin(&handle, &ring->event));
	shim.quiet = true;
	perf_aux_output_flag(&handle, PERF_AUX_FLAG_OVERWRITE | PERF_AUX_FLAG_COLLISION);
	shim.quiet = false;
	EXPECT(shim.warnings-- == 1);
	perf_aux_output_end(&handle, 0);
	EXPECT(no_record(ring));
	delete_ring(ring);
}

/* PERF_AUX_FLAG_TRUNCATED wakes up the reader and disables the event. */
static void test_truncated(void)
{
	for (unsigned int flags = 0; flags <= RING_STREAMING; flags++) {
		struct ring *ring = new_ring(flags, 0);
		struct perf_output_handle handle;
		u64 overwrite = flags ? 0 : PERF_AUX_FLAG_OVERWRITE;

		EXPECT(perf_aux_output_begin(&handle, &ring->event));
		perf_aux_output_flag(&handle, PERF_AUX_FLAG_TRUNCATED);
		EXPECT(!disables(ring));
		perf_aux_output_end(&handle, 0);
		EXPECT(wakeups(ring) == 1 && disables(ring) == 1);
		EXPECT(next_record_is(ring, 0, 0, PERF_AUX_FLAG_TRUNCATED | overwrite));
		delete_ring(ring);
	}
}

/* One wake-up for each output that crosses one or more multiples of the watermark. */
static void test_watermark(void)
{
	struct ring *ring = new_ring(RING_STREAMING, 5000);
	struct perf_output_handle handle;
	u64 head = 0;

	for (unsigned int i = 0; i < 200; i++) {
		unsigned long size = i * 771 % 12000;

		EXPECT(perf_aux_output_begin(&handle, &ring->event));
		EXPECT(handle.wakeup == head / 5000 * 5000 + 5000);
		perf_aux_output_end(&handle, size);
		EXPECT(wakeups(ring) == ((head + size) / 5000 > head / 5000));
		EXPECT(!disables(ring));
		head += size;
		ring->user->aux_tail = head;
		ring->user->data_tail = ring->user->data_head;
	}
	delete_ring(ring);
}

static void test_skip(void)
{
	struct ring *ring = new_ring(RING_STREAMING, 3000);
	struct perf_output_handle handle;

	EXPECT(perf_aux_output_begin(&handle, &ring->event));
	EXPECT(perf_aux_output_skip(&handle, AUX_SIZE) == -ENOSPC);
	EXPECT(handle.size == AUX_SIZE - 1 && !handle.head);
	EXPECT(perf_aux_output_skip(&handle, 0) == 0);
	EXPECT(perf_aux_output_skip(&handle, 100) == 0);
	EXPECT(handle.size == AUX_SIZE - 101 && handle.head == 100);
	EXPECT(ring->user->aux_head == 100 && ring->rb->aux_head == 100 && !wakeups(ring));
	EXPECT(perf_aux_output_skip(&handle, 2900) == 0);
	EXPECT(wakeups(ring) == 1 && handle.wakeup == 6000 && handle.head == 3000);
	perf_aux_output_end(&handle, 50);
	EXPECT(next_record_is(ring, 3000, 50, 0) && ring->user->aux_head == 3050 && !wakeups(ring));

	EXPECT(perf_aux_output_begin(&handle, &ring->event));
	EXPECT(handle.size == AUX_SIZE - 1 - 3050);
	EXPECT(perf_aux_output_skip(&handle, handle.size) == 0);
	EXPECT(!handle.size && perf_aux_output_skip(&handle, 1) == -ENOSPC);
	perf_aux_output_end(&handle, 0);
	EXPECT(ring->user->aux_head == AUX_SIZE - 1 && no_record(ring));
	delete_ring(ring);
}

/* A second perf_aux_output_begin() before the first one's end warns and fails. */
static void test_nesting(void)
{
	struct ring *ring = new_ring(RING_STREAMING, 0);
	struct perf_output_handle first, second;

	EXPECT(perf_aux_output_begin(&first, &ring->event));
	shim.quiet = true;
	EXPECT(!perf_aux_output_begin(&second, &ring->event));
	shim.quiet = false;
	EXPECT(shim.warnings-- == 1);
	EXPECT(!perf_get_aux(&second) && perf_get_aux(&first) == &driver);
	EXPECT(refcount_read(&ring->rb->aux_refcount) == 2);
	perf_aux_output_end(&first, 10);
	EXPECT(next_record_is(ring, 0, 10, 0) && !ring->rb->aux_nest);
	delete_ring(ring);
}

/*
 * Events of two PMUs may share a ring, if both are redirected to the ring of an event without AUX
 * data. The area is that of the PMU that set it up.
 */
static void test_other_pmu(void)
{
	struct ring *ring = new_ring(RING_STREAMING, 0);
	struct pmu other = ring->pmu;
	struct perf_event child = { .parent = &ring->event, .pmu = &ring->pmu };
	struct perf_event event = ring->event;
	struct perf_output_handle handle;

	event.pmu = &other;
	EXPECT(!perf_aux_output_begin(&handle, &event));
	EXPECT(!perf_get_aux(&handle) && !shim.warnings);
	EXPECT(!disables(ring) && !wakeups(ring) && !ring->rb->aux_nest);
	EXPECT(refcount_read(&ring->rb->aux_refcount) == 1);
	EXPECT(refcount_read(&ring->rb->refcount) == 1);

	EXPECT(perf_aux_output_begin(&handle, &child) == &driver);
	perf_aux_output_end(&handle, 0);

	/* The next area may be that of the other one. */
	replace_area(ring, &event, 2, RING_STREAMING);
	EXPECT(!perf_aux_output_begin(&handle, &ring->event));
	EXPECT(perf_aux_output_begin(&handle, &event) == &driver);
	perf_aux_output_end(&handle, 0);
	delete_ring(ring);
}

/* Unmapped during output: no new output begins, and the pages are freed when it ends. */
static void test_unmap(void)
{
	struct ring *ring = new_ring(RING_STREAMING, 0);
	struct perf_output_handle handle, other;

	EXPECT(perf_aux_output_begin(&handle, &ring->event));
	refcount_set(&ring->rb->aux_mmap_count, 0);
	rb_free_aux(ring->rb);
	EXPECT(rb_has_aux(ring->rb) && !frees);
	EXPECT(!perf_aux_output_begin(&other, &ring->event) && !shim.warnings);
	memset(ring->rb->aux_pages[0], 1, PAGE_SIZE);
	perf_aux_output_end(&handle, 1);
	EXPECT(!rb_has_aux(ring->rb) && frees == 1);
	EXPECT(refcount_read(&ring->rb->refcount) == 1);

	/* The reference count is 0 although aux_mmap_count is not: begin must fail. */
	refcount_set(&ring->rb->aux_mmap_count, 1);
	EXPECT(!perf_aux_output_begin(&other, &ring->event));

	/* A new area can take the place of the old one. */
	EXPECT(!ring_impl.alloc_aux(ring->rb, &ring->event, 2, 0, RING_STREAMING));
	EXPECT(perf_aux_output_begin(&handle, &ring->event));
	perf_aux_output_end(&handle, 1);
	frees = 0;
	delete_ring(ring);
}

/* Dropping the last reference in atomic context is a bug of the caller and warns. */
static void test_freed_atomic(void)
{
	struct ring *ring = new_ring(RING_STREAMING, 0);

	shim.quiet = true;
	shim.preempt++;
	ring_impl.close_aux(ring->rb);
	shim.preempt--;
	shim.quiet = false;
	EXPECT(shim.warnings-- == 1);
	ring_delete(ring);
}

/* Copy ranges of the area into a record, across page boundaries and its end. */
static void test_copy(void)
{
	struct ring *ring = new_ring(RING_STREAMING, 0);
	struct ring *big = ring_new(&ring_impl, RING_STREAMING, 32, 0);
	static const unsigned long ranges[][2] = {
		{ 0, 1 }, { 0, 4095 }, { 0, 4096 }, { 0, 4097 }, { 4095, 4097 }, { 100, 20000 },
		{ AUX_SIZE - 1, AUX_SIZE }, { AUX_SIZE - 1, AUX_SIZE + 1 }, { 20000, 20000 },
		{ 0, AUX_SIZE }, { 20000, AUX_SIZE + 19999 }, { 5 * AUX_SIZE + 7, 6 * AUX_SIZE },
		{ 30000, 100 }, { 0, 0 }, { ~0ul - 100, 100 },
	};
	struct perf_output_handle aux, handle;
	struct perf_sample_data data = {};
	static unsigned char area[AUX_SIZE], out[AUX_SIZE + 8];

	for (unsigned long i = 0; i < AUX_SIZE; i++)
		area[i] = i * 2654435761u >> 13;
	for (unsigned int i = 0; i < AUX_SIZE / PAGE_SIZE; i++)
		memcpy(ring->rb->aux_pages[i], area + i * PAGE_SIZE, PAGE_SIZE);
	EXPECT(perf_aux_output_begin(&aux, &ring->event));
	for (unsigned int r = 0; r < ARRAY_SIZE(ranges); r++) {
		unsigned long from = ranges[r][0] % AUX_SIZE, to = ranges[r][1] % AUX_SIZE;
		unsigned long size = to > from ? to - from : to + AUX_SIZE - from, differing = 0;
		u64 begin = ring_head(big);

		memset(big->data, 0xbb, big->size);
		EXPECT(!perf_output_begin(&handle, &data, &big->event, AUX_SIZE + 8));
		EXPECT(perf_output_copy_aux(&aux, &handle, ranges[r][0], ranges[r][1]) == size);
		ring_copy(big, out, begin, sizeof(out));
		for (unsigned long i = 0; i < size; i++)
			differing += out[i] != area[(from + i) % AUX_SIZE];
		EXPECT(!differing && out[size] == 0xbb);
		perf_output_skip(&handle, AUX_SIZE + 8 - size);
		perf_output_end(&handle);
		big->user->data_tail = big->user->data_head;
	}

	/* More than the record has space for */
	shim.quiet = true;
	EXPECT(!perf_output_begin(&handle, &data, &big->event, 64));
	EXPECT(perf_output_copy_aux(&aux, &handle, 0, 72) == -EFAULT && shim.warnings == 1);
	perf_output_end(&handle);
	shim.warnings = shim.deferred_warnings = 0;
	shim.quiet = false;

	perf_aux_output_end(&aux, 0);
	ring_delete(big);
	delete_ring(ring);
}

/*
 * Areas of any size. The driver writes a trace in which each byte follows from its number; a reader
 * checks every byte that heads and counters say is valid.
 */

#define MAX_PAGES	14	/* that fit in a record */

struct model {
	struct ring		*ring;
	struct ring		*samples;
	unsigned long		 size;
	u64			 written;	/* bytes of the trace so far */
	unsigned char		 bytes[MAX_PAGES * PAGE_SIZE];	/* expected contents */
};

static u32 random_below(u32 n)
{
	static u64 state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 16) % n;
}

static unsigned char trace_byte(u64 n)
{
	return n * 0x9e3779b97f4a7c15ull >> 53;
}

static unsigned char *area_byte(struct model *m, u64 position)
{
	unsigned long at = position % m->size;

	return (unsigned char *)m->ring->rb->aux_pages[at / PAGE_SIZE] + at % PAGE_SIZE;
}

static void write_trace(struct model *m, u64 position, unsigned long size)
{
	for (; size--; position++, m->written++) {
		*area_byte(m, position) = trace_byte(m->written);
		m->bytes[m->written % m->size] = trace_byte(m->written);
	}
}

/*
 * Copy the @size bytes before @end into a sample and check them. @from and @to are the same range
 * in one of the forms that drivers use.
 */
static bool copy_matches(struct model *m, struct perf_output_handle *aux, unsigned long from,
			 unsigned long to, u64 end, unsigned long size)
{
	struct perf_sample_data data = {};
	struct perf_output_handle handle;
	unsigned char out[MAX_PAGES * PAGE_SIZE + 1];
	u64 begin = ring_head(m->samples);
	unsigned long differing = 0;

	m->samples->data[(begin + size) & (m->samples->size - 1)] = 0xbb;
	if (!EXPECT(!perf_output_begin(&handle, &data, &m->samples->event,
				       round_up(size + 1, 8))))
		return false;
	EXPECT(perf_output_copy_aux(aux, &handle, from, to) == size);
	ring_copy(m->samples, out, begin, size + 1);
	for (unsigned long i = 0; i < size; i++)
		differing += out[i] != m->bytes[(end + m->size - size + i) % m->size];
	perf_output_skip(&handle, round_up(size + 1, 8) - size);
	perf_output_end(&handle);
	m->samples->user->data_tail = m->samples->user->data_head;
	return EXPECT(!differing && out[size] == 0xbb);
}

/* Copy ranges given as length before an offset, as wrapped offsets, and as byte counts. */
static bool all_copies_match(struct model *m, struct perf_output_handle *aux)
{
	unsigned long at = m->written % m->size, size = 1 + random_below(m->size);
	unsigned long from = (at + m->size - size) % m->size, count = m->size * 12345 + at;

	return copy_matches(m, aux, at - size, at, at, size) &&
	       copy_matches(m, aux, from, at, at, size) &&
	       copy_matches(m, aux, count - size, count, at, size) &&
	       copy_matches(m, aux, count - size - 3 * m->size, count, at, size) &&
	       copy_matches(m, aux, at, at, at, m->size);
}

/* Check what a reader of a full trace finds, and consume a part of it. */
static bool read_full(struct model *m)
{
	struct perf_event_mmap_page *user = m->ring->user;
	unsigned long differing = 0, unread = user->aux_head - user->aux_tail;

	if (!EXPECT(user->aux_head == m->written && unread < m->size))
		return false;
	for (u64 n = user->aux_tail; n < user->aux_head; n++)
		differing += *area_byte(m, n) != trace_byte(n);
	user->aux_tail += random_below(4) ? random_below(unread + 1) : unread;
	return EXPECT(!differing);
}

/* Check what a reader of an overwrite area finds. */
static bool read_overwritten(struct model *m)
{
	struct perf_event_mmap_page *user = m->ring->user;
	u64 valid = user->aux_written < m->size ? user->aux_written : m->size;
	unsigned long differing = 0;

	if (!EXPECT(user->aux_head < m->size && user->aux_written == m->written))
		return false;
	for (u64 i = 1; i <= valid; i++)
		differing += *area_byte(m, user->aux_head + m->size - i) !=
			     trace_byte(m->written - i);
	return EXPECT(!differing);
}

static bool trace_full(struct model *m)
{
	struct perf_event_mmap_page *user = m->ring->user;
	unsigned long space = m->size - 1 - (user->aux_head - user->aux_tail), size, skip;
	struct perf_output_handle handle;
	u64 tail = user->aux_tail;

	if (!random_below(8)) {
		/* aux_tail is ahead of the head, or too far behind it: nothing is free. */
		user->aux_tail = user->aux_head + 1 + random_below(100);
		EXPECT(!perf_aux_output_begin(&handle, &m->ring->event));
		user->aux_tail = user->aux_head - m->size - random_below(100);
		EXPECT(!perf_aux_output_begin(&handle, &m->ring->event));
		/* Any other aux_tail: no more than the area has is free. */
		user->aux_tail = user->aux_head - random_below(m->size - 1);
		if (EXPECT(perf_aux_output_begin(&handle, &m->ring->event))) {
			EXPECT(handle.size == m->size - 1 - (user->aux_head - user->aux_tail));
			perf_aux_output_end(&handle, 0);
		}
		user->aux_tail = tail;
	}
	if (!perf_aux_output_begin(&handle, &m->ring->event))
		return EXPECT(!space);
	if (!EXPECT(handle.head == m->written && handle.size == space))
		return false;
	skip = random_below(3) ? 0 : random_below(handle.size + 1);
	write_trace(m, handle.head, skip);
	EXPECT(!perf_aux_output_skip(&handle, skip));
	size = random_below(handle.size + 1);
	write_trace(m, handle.head, size);
	if (!all_copies_match(m, &handle))
		return false;
	perf_aux_output_end(&handle, size);
	return !size || EXPECT(next_record_is(m->ring, m->written - size, size, 0));
}

static bool trace_overwriting(struct model *m)
{
	unsigned long size = random_below(random_below(4) ? m->size : 3 * m->size);
	struct perf_output_handle handle;

	if (!EXPECT(perf_aux_output_begin(&handle, &m->ring->event)) ||
	    !EXPECT(handle.head == m->written % m->size))
		return false;
	write_trace(m, handle.head, size);
	if (!all_copies_match(m, &handle))
		return false;
	handle.head = m->written % m->size;
	perf_aux_output_end(&handle, size);
	return !size || EXPECT(next_record_is(m->ring, handle.head, size, PERF_AUX_FLAG_OVERWRITE));
}

static void test_any_size(void)
{
	static struct model m;

	for (unsigned int round = 0; round < 4 * MAX_PAGES; round++) {
		int pages = 1 + round % MAX_PAGES;
		bool overwrite = round / MAX_PAGES % 2, ok = true;
		unsigned int step;

		memset(&m, 0, sizeof(m));
		m.size = pages * PAGE_SIZE;
		m.ring = new_sized_ring(overwrite ? 0 : RING_STREAMING, pages, 0,
					PERF_PMU_CAP_AUX_WRITTEN | PERF_PMU_CAP_AUX_ANY_SIZE);
		m.samples = ring_new(&ring_impl, RING_STREAMING, 32, 0);
		EXPECT(overwrite || m.ring->rb->aux_watermark == m.size / 2);
		for (step = 0; step < 60 && ok; step++)
			ok = overwrite ? trace_overwriting(&m) && read_overwritten(&m) :
			     trace_full(&m) && read_full(&m);
		EXPECT(m.written > 3 * m.size);
		if (!ok)
			printf("# %d pages, step %u\n", pages, step);
		ring_delete(m.samples);
		delete_ring(m.ring);
	}
}

/* A smaller area replaces a larger one: the inherited aux_head is wrapped to its size. */
static void test_other_size(void)
{
	struct ring *ring = new_ring(0, 0);
	struct perf_output_handle handle;

	EXPECT(perf_aux_output_begin(&handle, &ring->event));
	handle.head = AUX_SIZE - 10;
	perf_aux_output_end(&handle, 0);
	replace_area(ring, &ring->event, 3, 0);
	EXPECT(ring->user->aux_head == (AUX_SIZE - 10) % (3 * PAGE_SIZE));
	EXPECT(perf_aux_output_begin(&handle, &ring->event));
	EXPECT(handle.head == (AUX_SIZE - 10) % (3 * PAGE_SIZE));
	perf_aux_output_end(&handle, 0);
	delete_ring(ring);

	/* The head of a full trace is a count, and continues unchanged. */
	ring = new_ring(RING_STREAMING, 0);
	EXPECT(perf_aux_output_begin(&handle, &ring->event));
	perf_aux_output_end(&handle, AUX_SIZE - 10);
	replace_area(ring, &ring->event, 3, RING_STREAMING);
	ring->user->aux_tail = AUX_SIZE - 10;
	EXPECT(perf_aux_output_begin(&handle, &ring->event));
	EXPECT(handle.head == AUX_SIZE - 10 && handle.size == 3 * PAGE_SIZE - 1);
	perf_aux_output_end(&handle, 0);
	delete_ring(ring);
}

/* valid_aux_nr_pages(), which perf_mmap() calls. 32-bit kernels need a power of two. */
static void test_sizes_accepted(void)
{
	struct pmu pmu = {};
	struct perf_event event = { .pmu = &pmu };

	for (unsigned long pages = 0; pages < 70; pages++) {
		pmu.capabilities = ~PERF_PMU_CAP_AUX_ANY_SIZE;
		EXPECT(valid_aux_nr_pages(&event, pages) == (pages && !(pages & (pages - 1))));
		pmu.capabilities = PERF_PMU_CAP_AUX_ANY_SIZE;
		if (IS_ENABLED(CONFIG_64BIT))
			EXPECT(valid_aux_nr_pages(&event, pages) == (pages != 0));
		else
			EXPECT(valid_aux_nr_pages(&event, pages) ==
			       (pages && !(pages & (pages - 1))));
	}
}

static void test_mmap_to_page(void)
{
	struct ring *ring = new_ring(RING_STREAMING, 0);
	struct perf_buffer *rb = ring->rb;

	EXPECT(rb->aux_pgoff == 17);
	for (unsigned int i = 0; i < 8; i++)
		EXPECT(perf_mmap_to_page(rb, 17 + i) == virt_to_page(rb->aux_pages[i]));
	EXPECT(!perf_mmap_to_page(rb, 25));
	EXPECT(!perf_mmap_to_page(rb, ~0ul));
	EXPECT(perf_mmap_to_page(rb, 0));
	EXPECT(perf_mmap_to_page(rb, 16) == virt_to_page(rb->pages[15]));

	/* The area may start further behind; the gap cannot be mapped. */
	rb->aux_pgoff = 100;
	EXPECT(!perf_mmap_to_page(rb, 17) && !perf_mmap_to_page(rb, 99));
	EXPECT(perf_mmap_to_page(rb, 100) == virt_to_page(rb->aux_pages[0]));
	EXPECT(!perf_mmap_to_page(rb, 108));
	delete_ring(ring);
}

int main(void)
{
	TAP_RUN(test_no_aux, "ring without an AUX area");
	TAP_RUN(test_full_trace, "full trace: free space, heads, records, references");
	TAP_RUN(test_no_space, "full trace: no free space");
	TAP_RUN(test_overwrite, "overwrite mode");
	TAP_RUN(test_written, "aux_written counts all bytes");
	TAP_RUN(test_written_free_running, "aux_head counts in overwrite mode as well");
	TAP_RUN(test_written_skip, "aux_written counts skipped bytes");
	TAP_RUN(test_written_again, "aux_written starts at 0 in a new area");
	TAP_RUN(test_capabilities, "AUX areas leave the word of cap_user_* alone");
	TAP_RUN(test_flags, "flags of PERF_RECORD_AUX");
	TAP_RUN(test_truncated, "PERF_AUX_FLAG_TRUNCATED disables the event");
	TAP_RUN(test_watermark, "wake-ups at the watermark");
	TAP_RUN(test_skip, "perf_aux_output_skip()");
	TAP_RUN(test_nesting, "nested begin is refused");
	TAP_RUN(test_other_pmu, "area of another PMU is refused");
	TAP_RUN(test_unmap, "unmap during output");
	TAP_RUN(test_freed_atomic, "last reference dropped in atomic context");
	TAP_RUN(test_copy, "perf_output_copy_aux()");
	TAP_RUN(test_any_size, "areas of any number of pages");
	TAP_RUN(test_other_size, "new area of another size in the same ring");
	TAP_RUN(test_sizes_accepted, "sizes that a PMU accepts");
	TAP_RUN(test_mmap_to_page, "bounds of perf_mmap_to_page()");
	return tap_end();
}
