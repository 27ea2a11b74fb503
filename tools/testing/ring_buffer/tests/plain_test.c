// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare plain samples with samples that are output field by field: random fields and raw data,
 * in all modes of a ring.
 * tags: fast parallel
 */
#include <stdlib.h>
#include <linux/perf_event.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include "internal.h"
#include "plain_sample.h"

#include "shim/ring.h"
#include "shim/expect.h"

#define ROUNDS		20000
#define NR_PAGES	2
#define MAX_RAW		(NR_PAGES * PAGE_SIZE)

static const unsigned int modes[] = {
	0, RING_BACKWARD, RING_STREAMING, RING_BACKWARD | RING_STREAMING,
#ifdef CONFIG_64BIT
	RING_SIZED, RING_SIZED | RING_STREAMING,
#endif
};

static const u64 fields[] = {
	PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
	PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU, PERF_SAMPLE_PERIOD, PERF_SAMPLE_RAW,
};

static u64 state;

static u32 random_number(void)
{
	state = state * 6364136223846793005 + 1442695040888963407;
	return state >> 32;
}

static u64 the_time;

static u64 shim_clock(void)
{
	return the_time;
}

/* @inherited: write as a child of the ring's event */
static void init_event(struct ring *ring, struct perf_event *event, bool inherited)
{
	ring->event.id = 0x1111;
	ring->event.ns = &init_pid_ns;
	ring->event.attr.sample_period = 1;
	ring->event.attr.watermark = 1;
	ring->event.clock = shim_clock;
	ring->event.overflow_handler = perf_event_output_forward;
	*event = ring->event;
	event->rb = NULL;
	event->id = 0x2222;
	event->parent = &ring->event;
	if (!inherited) {
		event->id = ring->event.id;
		event->rb = ring->rb;
		event->parent = NULL;
	}
}

/* A quarter of the samples have the fields that have code of their own. */
static u64 random_fields(const struct ring *ring)
{
	u32 bits = random_number();
	u64 type = ring->flags & RING_SIZED ? PERF_SAMPLE_SIZE_AT_END : 0;

	if (!(bits >> 30))
		return type | PLAIN_COMMON;
	for (unsigned int i = 0; i < ARRAY_SIZE(fields); i++)
		type |= bits & (1u << i) ? fields[i] : 0;
	return type;
}

/* Do what perf_prepare_sample() and __perf_event_output() of core.c do. */
static void output_fields(struct perf_event *event, struct perf_sample_data *data, u16 misc)
{
	struct perf_event_header header = { PERF_RECORD_SAMPLE, misc, sizeof(header) };
	struct perf_output_handle handle;

	data->type = event->attr.sample_type;
	data->id = event->parent ? event->parent->id : event->id;
	data->stream_id = event->id;
	data->time = the_time;
	data->tid_entry.pid = current->tgid;
	data->tid_entry.tid = current->pid;
	data->cpu_entry.cpu = raw_smp_processor_id();
	data->cpu_entry.reserved = 0;
	for (u64 bit = 1; bit; bit <<= 1)
		header.size += data->type & bit && bit != PERF_SAMPLE_RAW ? sizeof(u64) : 0;
	if (data->type & PERF_SAMPLE_RAW)
		header.size += sizeof(u32) + (data->raw ? data->raw->size : sizeof(u32));
	if (perf_output_begin(&handle, data, event, header.size))
		return;
	perf_output_sample(&handle, &header, data, event);
	perf_output_end(&handle);
}

static bool same_state(const struct ring *ring, const struct ring *other)
{
	struct ring_state a, b;

	ring_impl.get_state(ring->rb, &a);
	ring_impl.get_state(other->rb, &b);
	return a.head == b.head && a.lost == b.lost && a.wakeup == b.wakeup && a.nest == b.nest &&
	       a.poll == b.poll && ring_head(ring) == ring_head(other) &&
	       ring_reserved(ring) == ring_reserved(other) &&
	       !memcmp(ring->data, other->data, ring->size);
}

static void compare(unsigned int flags, bool inherited)
{
	struct ring *plain = ring_new(&ring_impl, flags, NR_PAGES, 1000);
	struct ring *other = ring_new(&ring_impl, flags, NR_PAGES, 1000);
	static unsigned char bytes[MAX_RAW];
	struct perf_event plain_event, event;

	if (!plain || !other)
		abort();
	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = random_number();
	init_event(plain, &plain_event, inherited);
	init_event(other, &event, inherited);

	for (int i = 0; i < ROUNDS && !tap_complaints; i++) {
		struct perf_raw_record raw = { .frag.data = bytes };
		struct perf_sample_data data = {
			.id_fill = RING_ID_FILL,
			.ip = random_number(),
			.period = random_number(),
			.raw = random_number() % 8 ? &raw : NULL,
		};
		u16 misc = random_number();
		static const u32 none;

		/* Now and then larger than the ring */
		raw.size = random_number() % (i % 64 ? 256 : MAX_RAW) / 8 * 8 + 4;
		raw.frag.size = raw.size;
		the_time = random_number();
		event.attr.sample_type = random_fields(plain);
		plain_event.attr.sample_type = event.attr.sample_type;
		plain_event.plain_size = perf_plain_size(&plain_event);
		EXPECT(plain_event.plain_size);

		if (!(i % 97)) {
			ring_impl.pause(plain->rb, i & 1);
			ring_impl.pause(other->rb, i & 1);
		}
		output_fields(&event, &data, misc);
		perf_output_plain(&plain_event, misc, data.ip, data.period,
				  data.raw ? bytes : (const void *)&none,
				  data.raw ? raw.size : sizeof(none));
		EXPECT(same_state(plain, other));
		if (!(random_number() % 16)) {
			plain->user->data_tail = plain->user->data_head;
			other->user->data_tail = other->user->data_head;
		}
	}
	/* So that something was compared */
	EXPECT(ring_head(plain) > 100 * plain->size);
	ring_delete(plain);
	ring_delete(other);
}

static void test_same_bytes(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(modes); i++)
		compare(modes[i], false);
}

static void test_same_bytes_inherited(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(modes); i++)
		compare(modes[i], true);
}

/* Fields that disagree with plain_size cause a warning, wherever the sample is. */
static void test_wrong_size(void)
{
	shim.quiet = true;
	for (unsigned int i = 0; i < ARRAY_SIZE(modes); i++) {
		struct ring *ring = ring_new(&ring_impl, modes[i], NR_PAGES, 0);
		unsigned int nr = 2 * ring->size / 64;
		struct perf_event event;

		init_event(ring, &event, false);
		event.attr.sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
		event.plain_size = perf_plain_size(&event) + 32;
		if (ring->flags & RING_SIZED)
			event.plain_size -= 8;
		EXPECT(event.plain_size == 56);
		for (unsigned int n = 1; n <= nr; n++) {
			perf_output_plain(&event, 0, 0, 0, NULL, 0);
			EXPECT(shim.warnings == n && shim.deferred_warnings == n);
			ring->user->data_tail = ring->user->data_head;
		}
		EXPECT(ring_head(ring) == nr * 56);
		shim.warnings = shim.deferred_warnings = 0;
		ring_delete(ring);
	}
	shim.quiet = false;
}

static void test_no_ring(void)
{
	struct perf_event event = { .plain_size = 8 };

	perf_output_plain(&event, 0, 0, 0, NULL, 0);
	EXPECT(!event.lost_samples.counter);
}

int main(void)
{
	TAP_RUN(test_same_bytes, "the same bytes as field by field");
	TAP_RUN(test_same_bytes_inherited, "the same for an inherited event");
	TAP_RUN(test_wrong_size, "fields of another size than reserved cause a warning");
	TAP_RUN(test_no_ring, "an event without a ring");
	return tap_end();
}
