// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test the trailers of samples with each sample_type, and of THROTTLE and LOST
 * records.
 */
#include "trailer.h"

#define RATE_FILE	"/proc/sys/kernel/perf_event_max_sample_rate"

TEST_F(trailer, samples)
{
	for (int bit = 0; 1ULL << bit < PERF_SAMPLE_MAX; bit++) {
		struct perf_event_attr attr =
			ATTR_FAULTS(.sample_type = 1ULL << bit,
				    .sample_regs_user = 1,
				    .sample_regs_intr = 1,
				    .sample_stack_user = 1024,
				    .read_format =
					    PERF_FORMAT_TOTAL_TIME_ENABLED |
					    PERF_FORMAT_ID);

		/* Not available for software events. */
		if (attr.sample_type == PERF_SAMPLE_BRANCH_STACK)
			continue;
		if (!start(_metadata, self, variant, attr, 0, -1)) {
			TH_LOG("sample_type 1 << %d: %s", bit, strerror(errno));
			/* Optional for architecture or configuration. */
			EXPECT_NE(0,
				  attr.sample_type & (PERF_SAMPLE_REGS_USER |
						      PERF_SAMPLE_REGS_INTR |
						      PERF_SAMPLE_STACK_USER |
						      PERF_SAMPLE_CGROUP));
			continue;
		}
		cause_faults(self, 7);
		check(_metadata, self, variant);
		EXPECT_LE(7, self->counts[PERF_RECORD_SAMPLE])
			TH_LOG("sample_type 1 << %d", bit);
		ring_close(&self->ring);
	}
}

TEST_F(trailer, samples_with_many_fields)
{
	struct perf_event_attr attr =
		ATTR_FAULTS(.sample_type =
				    PERF_SAMPLE_IP | PERF_SAMPLE_ADDR |
				    PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN |
				    PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW |
				    PERF_SAMPLE_REGS_USER |
				    PERF_SAMPLE_STACK_USER |
				    PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC |
				    PERF_SAMPLE_TRANSACTION |
				    PERF_SAMPLE_PHYS_ADDR,
			    .sample_regs_user = 1, .sample_stack_user = 512,
			    .read_format = PERF_FORMAT_GROUP |
					   PERF_FORMAT_TOTAL_TIME_ENABLED |
					   PERF_FORMAT_TOTAL_TIME_RUNNING |
					   PERF_FORMAT_ID | PERF_FORMAT_LOST);

	ASSERT_TRUE(start(_metadata, self, variant, attr, 0, -1));
	cause_faults(self, 101);
	check(_metadata, self, variant);
	EXPECT_LE(101, self->counts[PERF_RECORD_SAMPLE]);
}

TEST_F(trailer, tracepoint_samples)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_RAW | PERF_SAMPLE_CALLCHAIN,
	};
	int id = tracepoint_id("raw_syscalls/sys_enter");

	REQUIRE_ROOT();
	if (id < 0)
		SKIP(return, "no tracepoint raw_syscalls:sys_enter");
	attr.config = id;
	ASSERT_TRUE(start(_metadata, self, variant, attr, 0, -1));
	for (int i = 0; i < 101; i++)
		getppid();
	check(_metadata, self, variant);
	EXPECT_LE(101, self->counts[PERF_RECORD_SAMPLE]);
}

/* Return whether the ring, which has not wrapped, has a record of @type. */
static bool recorded(const FIXTURE_DATA(trailer) *self, uint32_t type)
{
	static struct record record;
	uint64_t head = ring_head(&self->ring), position;

	for (position = 0; position < head; position += record.header.size) {
		if (!ring_record_at(&self->ring, position, head, &record))
			return false;
		if (record.header.type == type)
			return true;
	}
	return false;
}

TEST_F(trailer, throttle)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = 10000,
	};
	uint64_t deadline = now_ms() + 20000;
	int rate = read_number(RATE_FILE);

	REQUIRE_ROOT();
	/* A global limit: restore it before any assertion can fail. */
	if (!write_number(RATE_FILE, 1))
		SKIP(return, RATE_FILE ": %s", strerror(errno));
	/*
	 * With this limit, two samples in one tick throttle the event. A guest
	 * on a busy host may not get the CPU time for that in one of many ticks.
	 */
	if (start(_metadata, self, variant, attr, 0, -1))
		while (!recorded(self, PERF_RECORD_UNTHROTTLE) &&
		       ring_head(&self->ring) < self->ring.size / 2 &&
		       now_ms() < deadline)
			;
	write_number(RATE_FILE, rate);
	check(_metadata, self, variant);
	EXPECT_LT(0, self->counts[PERF_RECORD_THROTTLE]);
	EXPECT_LT(0, self->counts[PERF_RECORD_UNTHROTTLE]);
}

TEST_F(trailer, lost)
{
	struct perf_event_attr attr = ATTR_FAULTS();
	static struct record record;
	uint64_t end = 0, lost = 0;

	ASSERT_TRUE(start(_metadata, self, variant, attr, 0, -1));
	cause_faults(self, 3);
	for (int i = 0; i < 5; i++) {
		ASSERT_EQ(0,
			  ioctl(self->ring.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
		cause_faults(self, 11);
		ASSERT_EQ(0,
			  ioctl(self->ring.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0));
		cause_faults(self, 3);
	}
	check(_metadata, self, variant);
	EXPECT_EQ(5, self->counts[PERF_RECORD_LOST]);
	while (ring_record_at(&self->ring, end, ring_head(&self->ring),
			      &record)) {
		if (record.header.type == PERF_RECORD_LOST) {
			EXPECT_LE(11, record.words[2]);
			lost += record.words[2];
			/* The sample that fits follows it. */
			EXPECT_LT(end + record.header.size,
				  ring_head(&self->ring));
		}
		end += record.header.size;
	}
	EXPECT_LE(55, lost);
	EXPECT_GE(60, lost);
}

TEST_HARNESS_MAIN
