// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare our ring buffer with upstream's, byte by byte, after random operations on both.
 * tags: fast parallel
 *
 * Upstream's ring_buffer.c is the one that ours replaces in the prepared tree, compiled beside it.
 * Compared are the ABI (data area, heads, records) and what core.c and drivers see (return values,
 * wake-ups, lost counts). Nested records that do not fit into an overwrite ring together are left
 * out: upstream writes them over each other.
 *
 * Environment: RING_SEED is the seed of the random numbers, RING_ROUNDS the number of rounds.
 */
#include <stdlib.h>

#include "shim/ring.h"
#include "shim/expect.h"

static u64 random_state;

static u32 random_u32(void)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return random_state >> 33;
}

static u32 random_below(u32 limit)
{
	return random_u32() % limit;
}

/* [0] is ours, [1] is upstream's. */
static struct ring *ring[2];
static u64 number;

#define for_both(i) for (int i = 0; i < 2; i++)

static bool same_event(void)
{
	struct perf_event *a = &ring[0]->event, *b = &ring[1]->event;

	return EXPECT(a->pending_wakeup == b->pending_wakeup) &&
	       EXPECT(a->pending_kill == b->pending_kill) &&
	       EXPECT(a->pending_disable == b->pending_disable) &&
	       EXPECT(a->pending_irq.queued == b->pending_irq.queued) &&
	       EXPECT(a->lost_samples.counter == b->lost_samples.counter);
}

/* The head of a backward ring counts up in ours and down in upstream's. */
static bool same_ring(void)
{
	struct ring_state a, b;

	ring_impl.get_state(ring[0]->rb, &a);
	upstream_ring_impl.get_state(ring[1]->rb, &b);
	if (ring[0]->flags & RING_BACKWARD)
		a.head = -a.head;
	return EXPECT(a.head == b.head) && EXPECT(a.lost == b.lost) &&
	       EXPECT(a.wakeup == b.wakeup) && EXPECT(a.watermark == b.watermark) &&
	       EXPECT(a.nest == b.nest) && EXPECT(a.poll == b.poll) &&
	       EXPECT(a.paused == b.paused) && EXPECT(a.refcount == b.refcount) &&
	       EXPECT(a.aux_head == b.aux_head) && EXPECT(a.aux_wakeup == b.aux_wakeup) &&
	       EXPECT(a.aux_nest == b.aux_nest) && EXPECT(a.aux_refcount == b.aux_refcount);
}

static bool same_user(void)
{
	struct perf_event_mmap_page *a = ring[0]->user, *b = ring[1]->user;

	return EXPECT(a->data_head == b->data_head) && EXPECT(a->data_tail == b->data_tail) &&
	       EXPECT(a->aux_head == b->aux_head) && EXPECT(a->aux_tail == b->aux_tail) &&
	       EXPECT(!memcmp(ring[0]->data, ring[1]->data, ring[0]->size));
}

static bool same(void)
{
	return same_event() && same_ring() && same_user();
}

/* Mostly small; some are close to the size of the ring or larger. */
static unsigned int random_size(void)
{
	unsigned int min_size = ring_min_record(ring[0]), size;
	unsigned long ring_size = ring[0]->size;

	switch (random_below(8)) {
	case 0:
		size = ring_size - 64 + random_below(16) * 8;
		break;
	case 1:
		size = min_size + random_below(ring_size / 8) * 8;
		break;
	default:
		size = min_size + random_below(40) * 8;
	}
	return min(size, (unsigned int)RING_MAX_RECORD);
}

/*
 * Whether the ring can hold this record, the LOST record before it, and those being written.
 * Upstream lets nested writers exceed an overwrite ring, and publishes what they overwrote.
 */
static bool fits(unsigned int size)
{
	struct ring_state state;

	ring_impl.get_state(ring[0]->rb, &state);
	size += sizeof(struct ring_lost_record) + ring_record_tail(ring[0]);
	return ring[0]->flags & RING_STREAMING ||
	       state.head - ring_head(ring[0]) + size <= state.size;
}

/*
 * Whether the record, and the LOST record before it, exceed the watermark: then upstream wakes up
 * its reader for the records that follow, too, until it has caught up.
 */
static bool exceeds_watermark(unsigned int size)
{
	struct ring_state state;

	ring_impl.get_state(ring[0]->rb, &state);
	return size + sizeof(struct ring_lost_record) + ring_record_tail(ring[0]) > state.watermark;
}

static void write_nested(unsigned int depth)
{
	struct perf_sample_data data = { .id_fill = RING_ID_FILL };
	struct perf_output_handle handle[2];
	unsigned int size = random_size(), skip = random_below(8) ? 0 : 8;
	u64 mine = ++number;
	int err[2];

	if (!fits(size) || exceeds_watermark(size))
		return;
	for_both(i)
		err[i] = ring[i]->impl->begin(&handle[i], &data, &ring[i]->event, size);
	EXPECT(err[0] == err[1]);
	if (err[0])
		return;
	if (depth && !random_below(4))
		write_nested(depth - 1);
	for_both(i) {
		if (skip)
			ring[i]->impl->skip(&handle[i], size);
		else
			ring_fill(ring[i], &handle[i], size, mine);
	}
	if (depth && !random_below(4))
		write_nested(depth - 1);
	for_both(i)
		ring[i]->impl->end(&handle[i]);
}

/* Move data_tail to the head, to some place before it, or to an invalid position. */
static void move_tail(void)
{
	struct perf_event_mmap_page *user = ring[0]->user;
	u64 tail = user->data_tail, used = user->data_head - tail;

	switch (random_below(16)) {
	case 0:
		tail = (u64)random_u32() << 32 | random_u32();
		break;
	case 1:
		tail = user->data_head + random_below(64) - 32;
		break;
	case 2 ... 5:
		tail += (long)used / 8 / 2 * 8;
		break;
	default:
		tail = user->data_head;
	}
	for_both(i)
		ring[i]->user->data_tail = tail;
}

static void reset_wakeups(void)
{
	struct fasync_struct *fasync = random_below(2) ? (void *)&number : NULL;

	for_both(i) {
		ring[i]->event.pending_wakeup = 0;
		ring[i]->event.pending_kill = 0;
		ring[i]->event.pending_disable = 0;
		ring[i]->event.fasync = fasync;
	}
}

static void new_rings(unsigned int flags, int nr_pages, long watermark)
{
	ring[0] = ring_new(&ring_impl, flags, nr_pages, watermark);
	ring[1] = ring_new(&upstream_ring_impl, flags, nr_pages, watermark);
	if (!ring[0] || !ring[1])
		abort();
}

static void delete_rings(void)
{
	for_both(i)
		ring_delete(ring[i]);
}

static unsigned int rounds(unsigned int default_rounds)
{
	return getenv("RING_ROUNDS") ? atoi(getenv("RING_ROUNDS")) : default_rounds;
}

static void write_and_compare(unsigned int flags)
{
	static const int sizes[] = { 1, 1, 2, 4, 16 };

	for (unsigned int round = 0; round < rounds(30); round++) {
		u64 seed = random_state;
		unsigned int step = 0;

		new_rings(flags, sizes[random_below(ARRAY_SIZE(sizes))],
			  random_below(2) ? LONG_MAX : random_below(10000));
		for (; step < 300 && same(); step++) {
			switch (random_below(32)) {
			case 0:
				reset_wakeups();
				break;
			case 1:
				for_both(i)
					ring[i]->impl->pause(ring[i]->rb, step % 2);
				break;
			case 2 ... 9:
				move_tail();
				break;
			default:
				write_nested(2);
			}
		}
		if (step < 300)
			printf("# mode %#x, step %u, RING_SEED=%llu\n", flags, step,
			       (unsigned long long)seed);
		delete_rings();
	}
}

static void test_forward_overwrite(void)
{
	write_and_compare(0);
	write_and_compare(RING_WITH_ID);
}

static void test_forward_streaming(void)
{
	write_and_compare(RING_STREAMING);
	write_and_compare(RING_STREAMING | RING_WITH_ID);
}

static void test_backward_overwrite(void)
{
	write_and_compare(RING_BACKWARD);
	write_and_compare(RING_BACKWARD | RING_WITH_ID);
}

static void test_backward_streaming(void)
{
	write_and_compare(RING_BACKWARD | RING_STREAMING);
	write_and_compare(RING_BACKWARD | RING_STREAMING | RING_WITH_ID);
}

/*
 * AUX
 */

static int driver;

static void *setup_aux(struct perf_event *event, void **pages, int nr_pages, bool overwrite)
{
	for (int i = 0; i < nr_pages; i++)
		memset(pages[i], i + 1, PAGE_SIZE);
	return &driver;
}

static void free_driver(void *aux)
{
}

/* Whether both AUX areas were allocated with the same page orders. */
static bool same_runs(void)
{
	struct ring_state state[2];

	for_both(i)
		ring[i]->impl->get_state(ring[i]->rb, &state[i]);
	if (!EXPECT(state[0].aux_nr_pages == state[1].aux_nr_pages) ||
	    !EXPECT(state[0].aux_watermark == state[1].aux_watermark))
		return false;
	for (int p = 0; p < state[0].aux_nr_pages; p++) {
		struct page *page[2];

		for_both(i)
			page[i] = virt_to_page(state[i].aux_pages[p]);
		if (!EXPECT(PagePrivate(page[0]) == PagePrivate(page[1])) ||
		    !EXPECT(page_private(page[0]) == page_private(page[1])))
			return false;
	}
	return true;
}

static bool same_handle(const struct perf_output_handle *handle)
{
	return EXPECT(!handle[0].event == !handle[1].event) &&
	       (!handle[0].event || (EXPECT(handle[0].head == handle[1].head) &&
				     EXPECT(handle[0].size == handle[1].size) &&
				     EXPECT(handle[0].wakeup == handle[1].wakeup) &&
				     EXPECT(handle[0].aux_flags == handle[1].aux_flags)));
}

/* Write a sample with a part of the AUX area. */
static void copy_aux(struct perf_output_handle *aux)
{
	unsigned long from = random_u32(), to = from + random_below(5000);
	unsigned int size = round_up(to - from + (from == to), 8);
	struct perf_sample_data data = {};
	struct perf_output_handle handle;
	long copied[2] = {};

	if (to - from > ring[0]->size - 64)
		return;
	for_both(i) {
		if (ring[i]->impl->begin(&handle, &data, &ring[i]->event, size))
			continue;
		if (from != to)
			copied[i] = ring[i]->impl->copy_aux(&aux[i], &handle, from, to);
		ring[i]->impl->skip(&handle, size - copied[i]);
		ring[i]->impl->end(&handle);
	}
	EXPECT(copied[0] == copied[1]);
}

static void trace_once(bool overwrite)
{
	struct perf_output_handle handle[2] = {};
	void *begun[2];
	unsigned long size, head;
	u64 flags = 0;

	for_both(i)
		begun[i] = ring[i]->impl->aux_begin(&handle[i], &ring[i]->event);
	if (!EXPECT(begun[0] == begun[1]) || !same_handle(handle) || !begun[0])
		return;
	for_both(i)
		EXPECT(ring[i]->impl->get_aux(&handle[i]) == &driver);
	for (; !overwrite && !random_below(3);) {
		unsigned long skip = random_below(random_below(4) ? 3000 : handle[0].size * 2 + 1);
		int err[2];

		for_both(i)
			err[i] = ring[i]->impl->aux_skip(&handle[i], skip);
		EXPECT(err[0] == err[1]);
		same_handle(handle);
	}
	if (!random_below(4))
		copy_aux(handle);
	if (!random_below(3))
		flags = (1ull << random_below(5)) & ~PERF_AUX_FLAG_OVERWRITE;
	if (!random_below(3))
		flags |= random_below(256) << 8;
	size = random_below(4) ? random_below(handle[0].size + 1) : 0;
	head = random_u32();
	for_both(i) {
		ring[i]->impl->aux_flag(&handle[i], flags);
		if (overwrite)
			handle[i].head = head;
		ring[i]->impl->aux_end(&handle[i], size);
		EXPECT(!ring[i]->impl->get_aux(&handle[i]));
	}
}

static void move_aux_tail(void)
{
	u64 tail = ring[0]->user->aux_tail, head = ring[0]->user->aux_head;

	switch (random_below(16)) {
	case 0:
		tail = (u64)random_u32() << 32 | random_u32();
		break;
	case 1:
		tail = head + random_below(64) - 32;
		break;
	case 2 ... 6:
		tail += (long)(head - tail) / 2;
		break;
	default:
		tail = head;
	}
	for_both(i)
		ring[i]->user->aux_tail = tail;
}

static void trace_and_compare(unsigned int flags)
{
	static const int capabilities[] = {
		0, PERF_PMU_CAP_AUX_NO_SG, PERF_PMU_CAP_AUX_PREFER_LARGE,
	};

	for (unsigned int round = 0; round < rounds(50); round++) {
		int nr_pages = 1 << random_below(6), cap = capabilities[random_below(3)], err[2];
		long watermark = random_below(2) ? 0 : 1 + random_below(nr_pages * PAGE_SIZE);
		u64 seed = random_state;
		unsigned int step = 0;

		new_rings(RING_STREAMING, 4, LONG_MAX);
		shim.fail_order = random_below(3) ? 0 : 1 + random_below(4);
		for_both(i) {
			ring[i]->pmu = (struct pmu){ cap, setup_aux, free_driver };
			err[i] = ring[i]->impl->alloc_aux(ring[i]->rb, &ring[i]->event, nr_pages,
							  watermark, flags);
		}
		shim.fail_order = 0;
		EXPECT(err[0] == err[1]);
		if (!err[0] && !err[1] && same_runs()) {
			for (; step < 200 && same(); step++) {
				if (random_below(2))
					move_aux_tail();
				if (!random_below(4))
					move_tail();
				if (!random_below(8))
					reset_wakeups();
				trace_once(!(flags & RING_STREAMING));
			}
			if (step < 200)
				printf("# step %u, RING_SEED=%llu\n", step,
				       (unsigned long long)seed);
			for_both(i)
				ring[i]->impl->close_aux(ring[i]->rb);
		}
		delete_rings();
	}
}

static void test_aux_full(void)
{
	trace_and_compare(RING_STREAMING);
}

static void test_aux_overwrite(void)
{
	trace_and_compare(0);
}

/*
 * Compare which page offsets can be mapped. For the one behind the last AUX page upstream returns
 * the first AUX page again, ours returns none; a mapping cannot reach it.
 */
static void test_pages(void)
{
	for (int nr_pages = 0; nr_pages <= 8; nr_pages += nr_pages ? nr_pages : 1) {
		new_rings(0, nr_pages, 0);
		for (unsigned int with_aux = 0; with_aux < 2; with_aux++) {
			for (long pgoff = 0; pgoff < 20; pgoff++)
				EXPECT((with_aux && pgoff == nr_pages + 1 + 4) ||
				       !ring_impl.page(ring[0]->rb, pgoff) ==
				       !upstream_ring_impl.page(ring[1]->rb, pgoff));
			for_both(i) {
				ring[i]->pmu = (struct pmu){ 0, setup_aux, free_driver };
				if (!with_aux)
					ring[i]->impl->alloc_aux(ring[i]->rb, &ring[i]->event, 4,
								 0, 0);
				else
					ring[i]->impl->close_aux(ring[i]->rb);
			}
		}
		delete_rings();
	}
}

int main(void)
{
	random_state = getenv("RING_SEED") ? strtoull(getenv("RING_SEED"), NULL, 0) : 20160405;
	TAP_RUN(test_forward_overwrite, "same as upstream: forward overwrite");
	TAP_RUN(test_forward_streaming, "same as upstream: forward streaming");
	TAP_RUN(test_backward_overwrite, "same as upstream: backward overwrite");
	TAP_RUN(test_backward_streaming, "same as upstream: backward streaming");
	TAP_RUN(test_aux_full, "same as upstream: AUX full trace");
	TAP_RUN(test_aux_overwrite, "same as upstream: AUX overwrite");
	TAP_RUN(test_pages, "same as upstream: pages that can be mapped");
	return tap_end();
}
