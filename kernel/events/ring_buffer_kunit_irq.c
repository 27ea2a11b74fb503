// SPDX-License-Identifier: GPL-2.0-only
/* Test nested writers: a timer's interrupt writes while a task does. */
#include "ring_buffer_kunit.h"

KUNIT_ARRAY_PARAM_DESC(mode, kring_modes, name);

#define TASK_RECORD	64
#define IRQ_RECORD	48
#define MIN_IRQ_RECORDS	20	/* at boot timers may fire only with the tick */
#define IRQ_PERIOD	(100 * NSEC_PER_USEC)
#define IRQ_MS		200
#define MAX_IRQ_MS	20000	/* a virtual CPU may stand still for IRQ_MS */
#define IRQ_RING_PAGES	256	/* holds all records of the interrupts */

struct interrupter {
	struct kring	*ring;
	u64		number;
	int		failed;
};

/* Handle an overflow of the event: its hrtimer has expired. */
static void write_from_irq(struct perf_event *clock,
			   struct perf_sample_data *data, struct pt_regs *regs)
{
	struct interrupter *irq = clock->overflow_handler_context;

	if (kring_write(irq->ring, IRQ_RECORD, irq->number))
		irq->failed++;
	else
		irq->number++;
}

/* Interrupt this CPU periodically. */
static struct perf_event *start_clock(struct interrupter *irq)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_SOFTWARE,
		.config		= PERF_COUNT_SW_CPU_CLOCK,
		.size		= sizeof(attr),
		.sample_period	= IRQ_PERIOD,
		.pinned		= 1,
	};

	return perf_event_create_kernel_counter(&attr, smp_processor_id(), NULL,
						write_from_irq, irq);
}

static bool goes_on(const struct interrupter *irq, ktime_t begin)
{
	s64 ms = ktime_ms_delta(ktime_get(), begin);

	return ms < IRQ_MS ||
	       (READ_ONCE(irq->number) < MIN_IRQ_RECORDS && ms < MAX_IRQ_MS);
}

/* All records of the task and of the interrupts are complete and in order. */
static void interrupted_writer(struct kunit *test)
{
	const struct kring_mode *mode = test->param_value;
	struct kring *ring = kring_new(test, IRQ_RING_PAGES, 0, mode->flags);
	struct interrupter *irq = kunit_kzalloc(test, sizeof(*irq), GFP_KERNEL);
	u64 task_number = 0, irq_number = 0, position = 0;
	struct perf_event *clock;
	ktime_t begin;

	KUNIT_ASSERT_NOT_NULL(test, irq);
	if (kring_is_backward(ring))
		kunit_skip(test, "the reader supports forward rings only");
	irq->ring = ring;

	migrate_disable();
	clock = start_clock(irq);
	if (IS_ERR(clock)) {
		migrate_enable();
		KUNIT_FAIL_AND_ABORT(test, "no cpu-clock event: %pe", clock);
	}
	begin = ktime_get();
	while (goes_on(irq, begin)) {
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
	perf_event_release_kernel(clock);
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
