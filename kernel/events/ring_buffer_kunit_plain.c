// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare plain samples with those of the general output: the same bytes at the
 * same places, for random fields, raw data and positions, in each mode. Test
 * which attributes make an event plain, and when core.c outputs a sample.
 */
#include <linux/pid_namespace.h>
#include <linux/prandom.h>

#include "ring_buffer_kunit.h"
#include "plain_sample.h"

KUNIT_ARRAY_PARAM_DESC(mode, kring_modes, name);

#define ROUNDS	2000
#define MAX_RAW	2044	/* 4 less than a multiple of 8 */
#define THROTTLED (~0ULL)	/* MAX_INTERRUPTS of core.c */

static const u64 fields[] = {
	PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP, PERF_SAMPLE_TID,
	PERF_SAMPLE_TIME, PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID,
	PERF_SAMPLE_CPU, PERF_SAMPLE_PERIOD, PERF_SAMPLE_RAW,
};

/* Both rings must get the same times. */
static u64 fixed_clock(void)
{
	return 0x0123456789abcdef;
}

static void make_plain(struct perf_event *event)
{
	event->attr.sample_period = 1;
	event->overflow_handler = event->attr.write_backward ?
		perf_event_output_backward : perf_event_output_forward;
	event->clock = fixed_clock;
	event->ns = &init_pid_ns;
}

/*
 * Make a ring whose event can be plain. @parent: the event is inherited from
 * that of @parent, which writes to this ring as well.
 */
static struct kring *new_plain_ring(struct kunit *test, int flags,
				    struct kring *parent)
{
	struct kring *ring = kring_new(test, KRING_PAGES, 0, flags);

	make_plain(&ring->event);
	if (parent) {
		make_plain(&parent->event);
		parent->event.id++;
		parent->event.rb = ring->rb;
		ring->event.parent = &parent->event;
		ring->event.ns = NULL;	/* not used */
	}
	return ring;
}

static void set_fields(struct kring *ring, u64 type)
{
	struct perf_event *event = &ring->event;

	if (kring_is_sized(ring))
		type |= PERF_SAMPLE_SIZE_AT_END;
	event->attr.sample_type = type;
	/* As perf_event_open() computes it: all fields but raw data. */
	event->header_size = hweight64(type & ~PERF_SAMPLE_RAW) * sizeof(u64);
	event->plain_size = perf_plain_size(event);
}

/* A sample for both outputs: raw data, if any, and the fields of core.c */
struct sample {
	struct perf_raw_record	raw;
	bool			has_raw;
	u64			period;
	u64			ip;
	u16			misc;
};

static void output_general(struct kring *ring, struct sample *sample)
{
	struct perf_sample_data *data = &ring->data;

	memset(data, 0xfe, sizeof(*data));
	perf_sample_data_init(data, 0, sample->period);
	if (sample->has_raw)
		perf_sample_save_raw_data(data, &ring->event, &sample->raw);
	perf_event_output(&ring->event, data, task_pt_regs(current));
}

static void output_plain(struct kring *ring, struct sample *sample)
{
	static const u32 none;
	const void *raw = sample->has_raw ? sample->raw.frag.data : &none;
	u32 size = sample->has_raw ? sample->raw.size : sizeof(none);

	scoped_guard(irqsave)
		perf_output_plain(&ring->event, sample->misc, sample->ip,
				  sample->period, raw, size);
}

/* Find out what depends on registers: core.c passes it to the output. */
static void read_registers(struct kunit *test, struct sample *sample)
{
	struct kring *ring = new_plain_ring(test, 0, NULL);
	struct {
		struct perf_event_header header;
		u64 ip;
	} record;

	set_fields(ring, PERF_SAMPLE_IP);
	output_general(ring, sample);
	kring_read(ring, 0, &record, sizeof(record));
	sample->ip = record.ip;
	sample->misc = record.header.misc;
}

static bool same_records(struct kring *ring, struct kring *other)
{
	int i;

	for (i = 0; i < KRING_PAGES; i++)
		if (memcmp(kring_page(ring, i), kring_page(other, i),
			   PAGE_SIZE))
			return false;
	return true;
}

/*
 * Output random samples to two rings, in both ways. Now and then let a
 * streaming ring be full, so that samples are lost.
 */
static void compare_outputs(struct kunit *test, struct kring *parent,
			    struct kring *other_parent)
{
	const struct kring_mode *mode = test->param_value;
	struct kring *plain = new_plain_ring(test, mode->flags, parent);
	struct kring *general = new_plain_ring(test, mode->flags, other_parent);
	struct perf_event *writer = &(parent ?: plain)->event;
	struct perf_event *other_writer = &(other_parent ?: general)->event;
	u8 *bytes = kunit_kmalloc(test, MAX_RAW, GFP_KERNEL);
	struct sample sample = {};
	struct rnd_state random;
	int i, j;

	KUNIT_ASSERT_NOT_NULL(test, bytes);
	prandom_seed_state(&random, 20261125);
	prandom_bytes_state(&random, bytes, MAX_RAW);
	read_registers(test, &sample);
	for (i = 0; i < ROUNDS; i++) {
		u32 bits = prandom_u32_state(&random);
		u32 nr = prandom_u32_state(&random) % (MAX_RAW / 8);
		u64 type = 0;

		for (j = 0; j < ARRAY_SIZE(fields); j++)
			type |= bits & BIT(j) ? fields[j] : 0;
		if (i % 4 == 0)		/* has code of its own */
			type = PLAIN_COMMON;
		set_fields(plain, type);
		set_fields(general, type);
		KUNIT_ASSERT_NE(test, plain->event.plain_size, 0);

		sample.period = prandom_u32_state(&random);
		sample.has_raw = bits & BIT(30);
		sample.raw = (struct perf_raw_record){
			.frag.data = bytes,
			.frag.size = nr * 8 + 4,
			.size = nr * 8 + 4,
		};
		preempt_disable();
		output_general(general, &sample);
		output_plain(plain, &sample);
		preempt_enable();

		KUNIT_ASSERT_EQ(test, kring_head(plain), kring_head(general));
		KUNIT_ASSERT_TRUE_MSG(test, same_records(plain, general),
				      "sample_type 0x%llx, %u bytes raw",
				      type, nr * 8 + 4);
		if (bits >> 31) {
			kring_set_tail(plain, kring_head(plain));
			kring_set_tail(general, kring_head(general));
		}
	}
	KUNIT_EXPECT_EQ(test, kring_reserved(plain), kring_reserved(general));
	KUNIT_EXPECT_EQ(test, atomic64_read(&writer->lost_samples),
			atomic64_read(&other_writer->lost_samples));
	KUNIT_EXPECT_EQ(test, kring_was_woken(plain), kring_was_woken(general));
}

static void same_as_general(struct kunit *test)
{
	compare_outputs(test, NULL, NULL);
}

static void same_if_inherited(struct kunit *test)
{
	compare_outputs(test, kring_new_mode(test), kring_new_mode(test));
}

/* A ring that is paused, or none, costs a sample, and nothing else. */
static void no_ring(struct kunit *test)
{
	const struct kring_mode *mode = test->param_value;
	struct kring *ring = new_plain_ring(test, mode->flags, NULL);
	struct sample sample = {};

	set_fields(ring, PERF_SAMPLE_TIME);
	rb_toggle_paused(ring->rb, true);
	output_plain(ring, &sample);
	KUNIT_EXPECT_EQ(test, kring_head(ring), 0);
	KUNIT_EXPECT_EQ(test, atomic64_read(&ring->event.lost_samples), 1);

	ring->event.rb = NULL;
	output_plain(ring, &sample);
	KUNIT_EXPECT_EQ(test, kring_head(ring), 0);
	KUNIT_EXPECT_EQ(test, atomic64_read(&ring->event.lost_samples), 1);
}

static void set_freq(struct perf_event *event)
{
	event->attr.freq = 1;
}

static void set_counting(struct perf_event *event)
{
	event->attr.sample_period = 0;
}

static void set_sigtrap(struct perf_event *event)
{
	event->attr.sigtrap = 1;
}

static void set_aux_pause(struct perf_event *event)
{
	event->attr.aux_pause = 1;
}

static void set_aux_resume(struct perf_event *event)
{
	event->attr.aux_resume = 1;
}

static void set_wakeup_events(struct perf_event *event)
{
	event->attr.wakeup_events = 1;
}

static void set_handler(struct perf_event *event)
{
	event->overflow_handler = NULL;
}

static void set_namespace(struct perf_event *event)
{
	event->ns = NULL;
}

/* Events with any of these attributes are not plain. */
static void other_attributes(struct kunit *test)
{
	static void (*const changes[])(struct perf_event *event) = {
		set_freq, set_counting, set_sigtrap, set_aux_pause,
		set_aux_resume, set_wakeup_events, set_handler, set_namespace,
	};
	struct kring *ring;
	u64 bit, plain = PERF_SAMPLE_SIZE_AT_END;
	int i;

	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		ring = new_plain_ring(test, 0, NULL);
		set_fields(ring, PERF_SAMPLE_TID);
		KUNIT_EXPECT_EQ(test, ring->event.plain_size, 16);
		changes[i](&ring->event);
		KUNIT_EXPECT_EQ_MSG(test, perf_plain_size(&ring->event), 0,
				    "change %d", i);
	}

	ring = new_plain_ring(test, 0, NULL);
	for (i = 0; i < ARRAY_SIZE(fields); i++)
		plain |= fields[i];
	for (bit = 1; bit; bit <<= 1) {
		set_fields(ring, bit);
		KUNIT_EXPECT_EQ_MSG(test, ring->event.plain_size,
				    !(bit & plain) ? 0 :
				    bit == PERF_SAMPLE_RAW ? 12 : 16,
				    "sample_type 0x%llx", bit);
	}
}

/*
 * Open an event of this CPU that writes plain samples of 16 bytes to @ring. No
 * other code causes emulation faults.
 */
static struct perf_event *open_event(struct kunit *test, struct kring *ring)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_SOFTWARE,
		.config		= PERF_COUNT_SW_EMULATION_FAULTS,
		.size		= sizeof(attr),
		.sample_period	= 1,
		.sample_type	= PERF_SAMPLE_TIME,
	};
	struct perf_event *event;

	event = perf_event_create_kernel_counter(&attr, smp_processor_id(),
						 NULL, NULL, NULL);
	KUNIT_ASSERT_FALSE_MSG(test, IS_ERR(event), "%pe", event);
	/* Other events of the kernel have no ring, and need neither. */
	event->header_size = sizeof(u64);
	event->plain_size = perf_plain_size(event);
	rcu_assign_pointer(event->rb, ring->rb);
	return event;
}

static void close_event(struct perf_event *event)
{
	RCU_INIT_POINTER(event->rb, NULL);	/* the ring is the test's */
	synchronize_rcu();
	perf_event_release_kernel(event);
}

/* Cause the event @nr times between two ticks. */
static void cause_events(int nr)
{
	scoped_guard(irqsave)
		while (nr--)
			perf_sw_event(PERF_COUNT_SW_EMULATION_FAULTS, 1,
				      task_pt_regs(current), 0);
}

/*
 * Each plain sample counts as an interrupt until the next tick. A throttled
 * event counts, and takes no sample; so does one that is disabled.
 */
static void throttled(struct kunit *test)
{
	struct kring *ring = kring_new(test, KRING_PAGES, 0, 0);
	struct perf_event *event;
	u64 before, running;

	migrate_disable();
	event = open_event(test, ring);
	KUNIT_EXPECT_EQ(test, event->plain_size, 16);
	cause_events(1);
	KUNIT_EXPECT_EQ(test, kring_head(ring), 16);

	scoped_guard(irqsave) {
		cause_events(1);	/* the first one since the tick */
		before = event->hw.interrupts;
		cause_events(6);
		KUNIT_EXPECT_EQ(test, event->hw.interrupts - before, 6);
		event->hw.interrupts = THROTTLED;
		cause_events(5);
		KUNIT_EXPECT_EQ(test, event->hw.interrupts, THROTTLED);
		event->hw.interrupts = 0;
	}
	KUNIT_EXPECT_EQ(test, kring_head(ring), 8 * 16);
	KUNIT_EXPECT_EQ(test, perf_event_read_value(event, &before, &running),
			13);
	perf_event_disable(event);
	cause_events(3);
	KUNIT_EXPECT_EQ(test, kring_head(ring), 8 * 16);
	perf_event_enable(event);
	cause_events(3);
	KUNIT_EXPECT_EQ(test, kring_head(ring), 11 * 16);
	close_event(event);
	migrate_enable();
}

static struct kunit_case perf_ring_plain_cases[] = {
	KUNIT_CASE_PARAM(same_as_general, mode_gen_params),
	KUNIT_CASE_PARAM(same_if_inherited, mode_gen_params),
	KUNIT_CASE_PARAM(no_ring, mode_gen_params),
	KUNIT_CASE(other_attributes),
	KUNIT_CASE(throttled),
	{}
};

static struct kunit_suite perf_ring_plain_suite = {
	.name = "perf_ring_plain",
	.test_cases = perf_ring_plain_cases,
};

kunit_test_suite(perf_ring_plain_suite);
