// SPDX-License-Identifier: GPL-2.0-only
/* Test nested writers: an hrtimer interrupts a writing task anywhere. */
#include <linux/hrtimer.h>

#include "ring_buffer_kunit.h"

KUNIT_ARRAY_PARAM_DESC(mode, kring_modes, name);

#define TASK_RECORD	64
#define IRQ_RECORD	48
#define MIN_IRQ_RECORDS	20	/* at boot timers may fire only with the tick */
#define IRQ_PERIOD	ns_to_ktime(100 * NSEC_PER_USEC)
#define IRQ_MS		200
#define IRQ_RING_PAGES	256	/* holds all records of the interrupts */

struct interrupter {
	struct kring	*ring;
	struct hrtimer	timer;
	u64		number;
	int		failed;
};

static enum hrtimer_restart write_from_irq(struct hrtimer *timer)
{
	struct interrupter *irq = container_of(timer, struct interrupter,
					       timer);

	if (kring_write(irq->ring, IRQ_RECORD, irq->number))
		irq->failed++;
	else
		irq->number++;
	hrtimer_forward_now(timer, IRQ_PERIOD);
	return HRTIMER_RESTART;
}

/* All records of the task and of the interrupts are complete and in order. */
static void interrupted_writer(struct kunit *test)
{
	const struct kring_mode *mode = test->param_value;
	struct kring *ring = kring_new(test, IRQ_RING_PAGES, 0, mode->flags);
	struct interrupter *irq = kunit_kzalloc(test, sizeof(*irq), GFP_KERNEL);
	ktime_t deadline = ktime_add_ms(ktime_get(), IRQ_MS);
	u64 task_number = 0, irq_number = 0, position = 0;

	KUNIT_ASSERT_NOT_NULL(test, irq);
	if (kring_is_backward(ring))
		kunit_skip(test, "the reader supports forward rings only");
	irq->ring = ring;
	hrtimer_init(&irq->timer, CLOCK_MONOTONIC,
		     HRTIMER_MODE_REL_PINNED_HARD);
	irq->timer.function = write_from_irq;

	migrate_disable();
	hrtimer_start(&irq->timer, IRQ_PERIOD, HRTIMER_MODE_REL_PINNED_HARD);
	while (ktime_before(ktime_get(), deadline)) {
		u64 head;

		if (kring_write(ring, TASK_RECORD, task_number))
			break;
		head = READ_ONCE(ring->rb->user_page->data_head);
		while (position < head) {
			struct perf_event_header header;

			kring_read(ring, position, &header, sizeof(header));
			if (header.size == TASK_RECORD) {
				kring_expect_record(ring, position, TASK_RECORD,
						    task_number++);
				position += TASK_RECORD;
			} else {
				kring_expect_record(ring, position, IRQ_RECORD,
						    irq_number++);
				position += IRQ_RECORD;
			}
		}
		kring_set_tail(ring, position);
		cond_resched();
	}
	hrtimer_cancel(&irq->timer);
	migrate_enable();

	KUNIT_EXPECT_EQ(test, irq->failed, 0);
	KUNIT_EXPECT_GE(test, irq->number, MIN_IRQ_RECORDS);
	KUNIT_EXPECT_EQ(test, ring->rb->nest, 0);
	KUNIT_EXPECT_EQ(test, local_read(&ring->rb->head),
			task_number * TASK_RECORD + irq->number * IRQ_RECORD);
	KUNIT_EXPECT_EQ(test, kring_head(ring), local_read(&ring->rb->head));
	if (!kring_is_streaming(ring) && IS_ENABLED(CONFIG_64BIT))
		KUNIT_EXPECT_EQ(test, kring_reserved(ring), kring_head(ring));
}

static struct kunit_case perf_ring_irq_cases[] = {
	KUNIT_CASE_PARAM(interrupted_writer, mode_gen_params),
	{}
};

static struct kunit_suite perf_ring_irq_suite = {
	.name = "perf_ring_irq",
	.test_cases = perf_ring_irq_cases,
};

kunit_test_suite(perf_ring_irq_suite);
