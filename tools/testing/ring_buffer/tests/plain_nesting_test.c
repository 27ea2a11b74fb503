// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupt the output of a plain sample at each of its instructions, by another record; and the
 * output of a record, by a plain sample. Let another CPU change the ring at each instruction.
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

/* Make a ring. @before_end: bytes between the place of the sample and the end of the area */
static void make_ring(u64 fields, unsigned int flags, unsigned int before_end)
{
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
}

static void interrupt_writers_of(u64 fields, unsigned int flags, unsigned int before_end,
				 bool wakeup_due)
{
	static struct ring_backup start;

	make_ring(fields, flags, before_end);
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

/*
 * Another CPU changes the ring or the event while this one writes a sample: PAUSE_OUTPUT,
 * SET_OUTPUT to the ring @other and to none.
 */
static struct ring *other;

static void pause_ring(void *unused)
{
	rb_toggle_paused(ring->rb, true);
}

static void redirect_event(void *unused)
{
	ring->event.rb = other->rb;
}

static void detach_event(void *unused)
{
	ring->event.rb = NULL;
}

static void change(void *action, unsigned int i, const void *ip)
{
	(*(step_fn *)action)(NULL);
}

static bool is_idle(struct ring *which)
{
	return !which->rb->nest && ring_head(which) == (u64)local_read(&which->rb->head) &&
	       (which->flags & RING_STREAMING || ring_reserved(which) == ring_head(which));
}

static bool same_data(const struct ring *which, const struct ring_backup *state)
{
	return !memcmp(which->data, state->data, sizeof(state->data));
}

/* Change the ring at each instruction: the sample is whole, and in one ring or in none. */
static void change_at_each_instruction(unsigned int flags, unsigned int before_end, step_fn action)
{
	static struct ring_backup start, written, other_start, other_written;
	static struct step_path path;
	unsigned long here = 0, elsewhere = 0;

	other = ring_new(&ring_impl, flags, 1, 1024);
	make_ring(FIELDS, flags, before_end);
	ring_backup__save(ring, &start);
	ring_backup__save(other, &other_start);
	step__trace(&path, write_plain, NULL, NULL, NULL);
	ring_backup__restore(ring, &start);
	redirect_event(NULL);
	write_plain(NULL);
	ring_backup__save(other, &other_written);
	ring_backup__restore(ring, &start);
	write_plain(NULL);
	ring_backup__save(ring, &written);

	for (unsigned int i = 0; i < path.nr && !tap_complaints; i++) {
		bool done;

		ring_backup__restore(ring, &start);
		ring_backup__restore(other, &other_start);
		EXPECT(step__stop(&path, i, write_plain, NULL, change, &action));
		EXPECT(is_idle(ring) && is_idle(other));
		done = ring_head(ring) != (u64)local_read(&start.rb.head);
		here += done;
		elsewhere += !done;
		EXPECT(same_data(ring, done ? &written : &start));
		EXPECT(same_data(other, !done && action == redirect_event ? &other_written :
				 &other_start));
		EXPECT(local_read(&ring->rb->lost) == (!done && action == pause_ring));
	}
	EXPECT(here && elsewhere);
	ring_delete(ring);
	ring_delete(other);
}

static void test_changes(void)
{
	static const step_fn actions[] = { pause_ring, redirect_event, detach_event };

	for (unsigned int i = 0; i < ARRAY_SIZE(modes); i++)
		for (unsigned int j = 0; j < ARRAY_SIZE(actions); j++)
			for (unsigned int before_end = 0; before_end <= 16; before_end += 16)
				change_at_each_instruction(modes[i], before_end, actions[j]);
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
	TAP_RUN(test_changes, "PAUSE_OUTPUT and SET_OUTPUT at each instruction");
	printf("# %lu runs, %lu of them with the record of the interrupt first\n", runs, orders[1]);
	check(orders[0] && orders[1], "both orders of the records");
	return tap_end();
}
