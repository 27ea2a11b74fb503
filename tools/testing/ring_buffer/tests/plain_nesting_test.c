// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupt the output of a plain sample at each of its instructions, by another record; and the
 * output of a record, by a plain sample.
 * tags: fast parallel
 *
 * The sample and the record are known: after each run, the whole ring is compared with what it must
 * hold, in the order of reservation.
 */
#include <stdlib.h>
#include <linux/perf_event.h>
#include <linux/pid_namespace.h>
#include "internal.h"
#include "plain_sample.h"

#include "shim/nested_writer.h"
#include "shim/expect.h"

#define RECORD_NUMBER	5000
#define RECORD_SIZE	64
#define FIELDS (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD)

static const unsigned int modes[] = { 0, RING_BACKWARD, RING_SIZED, RING_STREAMING };

static struct ring *ring;
static unsigned long inner_at;	/* where the interrupting writer's record is */
static unsigned long runs, orders[2];

static u64 shim_clock(void)
{
	return 0x7777777777777777;
}

void write_plain(void *unused);

/* Not static, so that its name can be found. */
void write_plain(void *unused)
{
	static const u32 none;

	perf_output_plain(&ring->event, 2, 0x5555555555555555, 0x6666666666666666,
			  &none, sizeof(none));
}

void write_record(void *unused);

void write_record(void *unused)
{
	EXPECT(!ring_write(ring, RECORD_SIZE, RECORD_NUMBER));
}

static void interrupt(void *inner, unsigned int i, const void *ip)
{
	inner_at = local_read(&ring->rb->head);
	(*(step_fn *)inner)(NULL);
}

/* Write the same records one after the other: both rings must be the same. */
static void compare_with(const struct ring_backup *start, step_fn first, step_fn second)
{
	static struct ring_backup found;

	ring_backup__save(ring, &found);
	ring_backup__restore(ring, start);
	first(NULL);
	second(NULL);
	EXPECT(!memcmp(ring->data, found.data, sizeof(found.data)));
	EXPECT(ring->user->data_head == found.user.data_head);
	EXPECT(local_read(&ring->rb->head) == local_read(&found.rb.head));
	EXPECT(!found.rb.nest && !local_read(&found.rb.lost));
	EXPECT(local_read(&ring->rb->wakeup) == local_read(&found.rb.wakeup));
	EXPECT(atomic_read(&ring->rb->poll) == atomic_read(&found.rb.poll));
	ring_backup__restore(ring, &found);
	if (!(ring->flags & RING_STREAMING))
		EXPECT(ring_reserved(ring) == ring_head(ring));
}

/* Interrupt @outer by @inner. */
static void interrupt_each_instruction(const struct ring_backup *start, step_fn outer,
				       step_fn inner)
{
	static struct step_path path;

	step__trace(&path, outer, NULL, NULL, NULL);
	for (unsigned int i = 0; i < path.nr && !tap_complaints; i++) {
		bool inner_first;

		ring_backup__restore(ring, start);
		EXPECT(step__stop(&path, i, outer, NULL, interrupt, &inner));
		inner_first = inner_at == local_read(&start->rb.head);
		compare_with(start, inner_first ? inner : outer, inner_first ? outer : inner);
		orders[inner_first]++;
		runs++;
	}
	ring_backup__restore(ring, start);
}

/* @before_end: bytes between the place of the sample and the end of the area */
static void interrupt_writers_of(u64 fields, unsigned int flags, unsigned int before_end,
				 bool wakeup_due)
{
	static struct ring_backup start;
	u64 number = 1;

	ring = ring_new(&ring_impl, flags, 1, 1024);
	if (!ring)
		abort();
	while (ring_head(ring) < 2 * ring->size - before_end) {
		if (ring_write(ring, 64, number++))
			abort();
		ring->user->data_tail = ring->user->data_head;
	}
	ring->event.ns = &init_pid_ns;
	ring->event.attr.sample_period = 1;
	ring->event.attr.sample_type |= fields;
	ring->event.clock = shim_clock;
	ring->event.overflow_handler = perf_event_output_forward;
	ring->event.plain_size = perf_plain_size(&ring->event);
	EXPECT(ring->event.plain_size);
	if (wakeup_due)
		local_set(&ring->rb->wakeup, local_read(&ring->rb->head) - ring->rb->watermark);
	atomic_set(&ring->rb->poll, 0);
	ring_backup__save(ring, &start);

	interrupt_each_instruction(&start, write_plain, write_record);
	interrupt_each_instruction(&start, write_record, write_plain);
	interrupt_each_instruction(&start, write_plain, write_plain);
	ring_delete(ring);
}

static void interrupt_writers(unsigned int flags, unsigned int before_end, bool wakeup_due)
{
	interrupt_writers_of(FIELDS, flags, before_end, wakeup_due);
}

/* The fields that have code of their own. */
static void test_common(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(modes); i++)
		interrupt_writers_of(PLAIN_COMMON, modes[i], 1024, false);
}

static void test_contiguous(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(modes); i++)
		interrupt_writers(modes[i], 1024, false);
}

static void test_wraps(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(modes); i++)
		for (unsigned int before_end = 0; before_end <= 128; before_end += 64)
			interrupt_writers(modes[i], before_end, false);
}

static void test_wakes_up(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(modes); i++)
		interrupt_writers(modes[i], 1024, true);
}

int main(void)
{
	const char *reason = step__init();

	if (reason) {
		printf("1..0 # SKIP %s\n", reason);
		return 2;
	}
	TAP_RUN(test_common, "common fields");
	TAP_RUN(test_contiguous, "interrupts at each instruction");
	TAP_RUN(test_wraps, "interrupts at each instruction at the end of the area");
	TAP_RUN(test_wakes_up, "interrupts at each instruction with a wake-up due");
	printf("# %lu runs, %lu of them with the record of the interrupt first\n", runs, orders[1]);
	check(orders[0] && orders[1], "both orders of the records");
	return tap_end();
}
