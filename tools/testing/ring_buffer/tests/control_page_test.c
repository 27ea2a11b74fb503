// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test the kernel's ring buffer while another thread corrupts the control page.
 * tags: fast parallel
 * timeout: 60
 *
 * A thread overwrites the page with random and with plausible wrong values, as fast as it can,
 * while records are written. Whatever the page contains, the kernel must not crash or loop forever
 * (the time limit catches that), heads must advance by what was written, and each record must stay
 * within its reservation. Guard pages surround the data area. The contents of an overwrite ring are
 * compared with those of a second ring that received the same records undisturbed.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include <linux/perf_event.h>
#include "internal.h"

#include "shim/ring.h"
#include "shim/expect.h"

/*
 * Run for MILLISECONDS, and longer on a busy machine, until both threads made progress; fail if
 * they did not within MAX_CPU_MILLISECONDS of CPU time of the writer.
 */
#define MILLISECONDS		150
#define MAX_CPU_MILLISECONDS	5000
#define MIN_CORRUPTED		20
#define MIN_WRITTEN		20

static struct ring *ring;
static volatile bool stop;
static volatile unsigned long passes;		/* over the control page */

static u64 next_random(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A value near @head, where a tail looks valid, far from it, or any. */
static u64 bad_value(u64 *state, u64 head)
{
	u64 r = next_random(state);

	switch (r >> 60) {
	case 0:
		return 0;
	case 1:
		return ~0ull;
	case 2:
		return 1ull << 63;
	case 3:
		return (1ull << 63) - 1;
	case 4:
		return head + 1;
	case 5:
		return head - 1;
	case 6:
		return head - ring->size;
	case 7:
		return head + ring->size;
	case 8 ... 11:
		return head - r % (2 * ring->size);
	case 12:
		return -head;
	default:
		return r;
	}
}

static void *corrupt_page(void *arg)
{
	u64 state = 88172645463325252ull;
	volatile u64 *page = (volatile u64 *)ring->user;

	while (!stop) {
		for (unsigned int i = 0; i < PAGE_SIZE / sizeof(u64); i += 16) {
			page[i + next_random(&state) % 16] = next_random(&state);
			/* The fields of the ring more often than the others. */
			ring->user->data_tail = bad_value(&state, local_read(&ring->rb->head));
			ring->user->aux_tail = bad_value(&state, ring->rb->aux_head);
			ring->user->data_head = bad_value(&state, local_read(&ring->rb->head));
			ring->user->data_reserved[i / 16 % 4] = bad_value(&state, 0);
		}
		passes++;
	}
	return NULL;
}

static u64 now_ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000ull + now.tv_nsec / 1000000;
}

static u64 start_ms, start_cpu_ms;

static pthread_t start_corrupting(void)
{
	pthread_t thread;

	stop = false;
	passes = 0;
	if (pthread_create(&thread, NULL, corrupt_page, NULL))
		abort();
	while (!passes)
		sched_yield();
	start_ms = now_ms(CLOCK_MONOTONIC);
	start_cpu_ms = now_ms(CLOCK_THREAD_CPUTIME_ID);
	return thread;
}

static void stop_corrupting(pthread_t thread)
{
	stop = true;
	pthread_join(thread, NULL);
}

static bool is_done(unsigned long written)
{
	u64 passed = now_ms(CLOCK_MONOTONIC) - start_ms;
	u64 cpu_time = now_ms(CLOCK_THREAD_CPUTIME_ID) - start_cpu_ms;

	if (tap_complaints || !EXPECT(cpu_time < MAX_CPU_MILLISECONDS))
		return true;
	return passed >= MILLISECONDS && passes >= MIN_CORRUPTED && written >= MIN_WRITTEN;
}

static unsigned int random_size(u64 *state)
{
	u64 r = next_random(state);

	return r % 8 ? ring_min_record(ring) + r / 8 % 40 * 8 :
		       min(ring_min_record(ring) + r / 8 % (ring->size / 4) * 8,
			   (u64)RING_MAX_RECORD);
}

/*
 * Write a record and check head, lost count and handle against the expected values; interrupted by
 * up to @depth nested writers.
 */
static void write_checked(unsigned int size, u64 number, int depth, u64 *state)
{
	struct perf_sample_data data = { .id_fill = RING_ID_FILL };
	unsigned long before = local_read(&ring->rb->head);
	unsigned long lost = local_read(&ring->rb->lost), after, at;
	struct perf_output_handle handle;
	unsigned int reserved = size;

	if (lost)
		reserved += sizeof(struct ring_lost_record) + ring_record_tail(ring);
	if (perf_output_begin(&handle, &data, &ring->event, size)) {
		EXPECT(local_read(&ring->rb->head) == before);
		EXPECT(local_read(&ring->rb->lost) == lost + 1);
		EXPECT((ring->flags & RING_STREAMING) || reserved > ring->size || depth < 2);
		return;
	}
	after = local_read(&ring->rb->head);
	EXPECT(after == before + reserved && reserved <= ring->size);
	EXPECT(!local_read(&ring->rb->lost));
	at = (ring->flags & RING_BACKWARD ? -after : before) & (ring->size - 1);
	EXPECT(handle.addr == ring_addr(ring, (at + reserved - size) & (ring->rb->size - 1)));
	if (depth && next_random(state) % 4 == 0)
		write_checked(random_size(state), number + 1, depth - 1, state);
	ring_fill(ring, &handle, size, number);
	perf_output_end(&handle);
	EXPECT(ring->rb->nest == 2u - depth);
}

static void write_while_corrupted(unsigned int flags, int nr_pages)
{
	u64 state = 1234567, reference_state = state, number = 0;
	struct ring *reference, *corrupted;
	pthread_t thread;

	ring = ring_new(&ring_impl, flags, nr_pages, 0);
	reference = ring_new(&ring_impl, flags, nr_pages, 0);
	thread = start_corrupting();
	for (; !is_done(number); number++)
		write_checked(random_size(&state), 2 * number, 2, &state);
	stop_corrupting(thread);

	if (!(flags & RING_STREAMING)) {
		corrupted = ring;
		ring = reference;
		for (u64 i = 0; i < number; i++)
			write_checked(random_size(&reference_state), 2 * i, 2, &reference_state);
		ring = corrupted;
		EXPECT(!memcmp(ring->data, reference->data, ring->size));
		EXPECT(local_read(&ring->rb->head) == local_read(&reference->rb->head));
	}
	/* Once the page is left alone, the next record restores the kernel's fields. */
	ring->user->data_tail = flags & RING_BACKWARD ? -local_read(&ring->rb->head) :
							local_read(&ring->rb->head);
	EXPECT(!ring_write(ring, ring_min_record(ring), 0));
	EXPECT(ring_head(ring) == local_read(&ring->rb->head));
	ring_delete(reference);
	ring_delete(ring);
}

static void test_overwrite(void)
{
	write_while_corrupted(0, 4);
	write_while_corrupted(RING_WITH_ID, 1);
}

static void test_streaming(void)
{
	write_while_corrupted(RING_STREAMING, 4);
	write_while_corrupted(RING_STREAMING | RING_WITH_ID, 1);
}

static void test_backward(void)
{
	write_while_corrupted(RING_BACKWARD, 4);
	write_while_corrupted(RING_BACKWARD | RING_STREAMING, 4);
}

static void test_sized(void)
{
	write_while_corrupted(RING_SIZED, 4);
	write_while_corrupted(RING_SIZED | RING_WITH_ID, 1);
	write_while_corrupted(RING_SIZED | RING_STREAMING, 4);
}

static void *setup_aux(struct perf_event *event, void **pages, int nr_pages, bool overwrite)
{
	return pages;
}

static void free_driver(void *aux)
{
}

static void trace_while_corrupted(unsigned int flags)
{
	u64 state = 7654321, head = 0;
	const unsigned long area = 8 * PAGE_SIZE;
	unsigned long begun = 0;
	pthread_t thread;

	ring = ring_new(&ring_impl, RING_STREAMING, 4, 0);
	ring->pmu = (struct pmu){ 0, setup_aux, free_driver };
	EXPECT(!ring_impl.alloc_aux(ring->rb, &ring->event, 8, 0, flags));
	thread = start_corrupting();
	while (!is_done(begun)) {
		struct perf_output_handle handle;
		unsigned long skip = next_random(&state) % 100, size;

		if (!perf_aux_output_begin(&handle, &ring->event)) {
			EXPECT(flags & RING_STREAMING);
			continue;
		}
		begun++;
		EXPECT(handle.head == head && handle.size < area);
		if (flags & RING_STREAMING) {
			EXPECT(handle.size);
			if (!perf_aux_output_skip(&handle, skip))
				head += skip;
			size = next_random(&state) % (handle.size + 1);
			head += size;
		} else {
			size = next_random(&state) % area;
			head = handle.head = size;
		}
		perf_aux_output_end(&handle, size);
		EXPECT(ring->rb->aux_head == head);
	}
	stop_corrupting(thread);
	ring_impl.close_aux(ring->rb);
	ring_delete(ring);
}

static void test_aux(void)
{
	trace_while_corrupted(RING_STREAMING);
	trace_while_corrupted(0);
}

int main(void)
{
	TAP_RUN(test_overwrite, "control page corrupted: forward overwrite");
	TAP_RUN(test_streaming, "control page corrupted: forward streaming");
	TAP_RUN(test_backward, "control page corrupted: backward");
	TAP_RUN(test_sized, "control page corrupted: sized");
	TAP_RUN(test_aux, "control page corrupted: AUX area");
	return tap_end();
}
