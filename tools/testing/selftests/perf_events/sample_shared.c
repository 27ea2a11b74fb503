// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test samples that several events take of one page fault: each must have the
 * fields and the size that it has if there is no other event. Test that each
 * event gets what another event defers.
 */
#include "ring.h"

#define BASE (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | \
	      PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR)

static struct perf_event_attr attrs[] = {
	ATTR_FAULTS(.sample_type = BASE),
	ATTR_FAULTS(.sample_type = BASE),
	ATTR_FAULTS(.sample_type = BASE | PERF_SAMPLE_CALLCHAIN),
	ATTR_FAULTS(.sample_type = BASE | PERF_SAMPLE_RAW),
	ATTR_FAULTS(.sample_type = BASE | PERF_SAMPLE_REGS_USER,
		    .sample_regs_user = 1),
	ATTR_FAULTS(.sample_type = BASE | PERF_SAMPLE_REGS_USER,
		    .sample_regs_user = 0xff),
	ATTR_FAULTS(.sample_type = BASE | PERF_SAMPLE_STACK_USER,
		    .sample_stack_user = 64),
	ATTR_FAULTS(.sample_type = BASE | PERF_SAMPLE_STACK_USER,
		    .sample_stack_user = 256),
};

#define NR_ATTRS	((int)ARRAY_SIZE(attrs))

struct counter {
	struct ring	ring;
	uint64_t	id;
};

FIXTURE(shared)
{
	struct faults	faults;
	struct counter	counters[2];
};

FIXTURE_SETUP(shared)
{
	ASSERT_TRUE(faults_init(&self->faults, 16));
	self->counters[0].ring.fd = -1;
	self->counters[1].ring.fd = -1;
}

FIXTURE_TEARDOWN(shared)
{
	ring_close(&self->counters[0].ring);
	ring_close(&self->counters[1].ring);
	faults_free(&self->faults);
}

static void start(struct __test_metadata *_metadata, struct counter *counter,
		  const struct perf_event_attr *which)
{
	struct perf_event_attr attr = *which;
	int fd;

	attr.disabled = 1;
	fd = perf_open(&attr, 0, -1);
	ASSERT_GE(fd, 0)
		TH_LOG("perf_event_open: %s", strerror(errno));
	ASSERT_EQ(0, ring_map(&counter->ring, fd, 8, PROT_READ | PROT_WRITE));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ID, &counter->id));
}

/*
 * Find the sample of a fault of the test, and check its id. Returns its size,
 * 0 if there is none.
 */
static int check_sample(struct __test_metadata *_metadata,
			FIXTURE_DATA(shared) *self, struct counter *counter)
{
	static struct record record;
	uint64_t at = 0, head = ring_head(&counter->ring);

	for (; at < head; at += record.header.size) {
		ASSERT_TRUE(ring_record_at(&counter->ring, at, head, &record));
		if (record.header.type != PERF_RECORD_SAMPLE ||
		    !is_fault_of(&self->faults, record.words[5]))
			continue;
		ASSERT_EQ(counter->id, record.words[1]);
		return record.header.size;
	}
	return 0;
}

/* Take samples of one fault by @nr events; return their sizes. */
static void sample(struct __test_metadata *_metadata,
		   FIXTURE_DATA(shared) *self,
		   const struct perf_event_attr **which, int nr, int *sizes)
{
	int i;

	for (i = 0; i < nr; i++)
		start(_metadata, &self->counters[i], which[i]);
	for (i = 0; i < nr; i++)
		ioctl(self->counters[i].ring.fd, PERF_EVENT_IOC_ENABLE, 0);
	fault(&self->faults, 0);
	for (i = 0; i < nr; i++)
		ioctl(self->counters[i].ring.fd, PERF_EVENT_IOC_DISABLE, 0);
	for (i = 0; i < nr; i++) {
		sizes[i] = check_sample(_metadata, self, &self->counters[i]);
		ring_close(&self->counters[i].ring);
	}
}

/* The event that is enabled last gets its sample first. */
TEST_F(shared, every_pair)
{
	int first, second, alone[NR_ATTRS], both[2];

	for (first = 0; first < NR_ATTRS; first++) {
		const struct perf_event_attr *attr = &attrs[first];

		sample(_metadata, self, &attr, 1, &alone[first]);
		ASSERT_GT(alone[first], 0);
	}
	for (first = 0; first < NR_ATTRS; first++) {
		for (second = 0; second < NR_ATTRS; second++) {
			const struct perf_event_attr *pair[] = {
				&attrs[first], &attrs[second]
			};

			sample(_metadata, self, pair, 2, both);
			ASSERT_EQ(alone[first], both[0])
				TH_LOG("event %d beside %d", first, second);
			ASSERT_EQ(alone[second], both[1])
				TH_LOG("event %d beside %d", second, first);
		}
	}
}

#ifdef PERF_ATTR_SIZE_VER9	/* newer than Linux 6.18 */

/* Count the records of @type in the ring. */
static int count_records(struct __test_metadata *_metadata,
			 const struct ring *ring, uint32_t type)
{
	static struct record record;
	uint64_t at = 0, head = ring_head(ring);
	int nr = 0;

	for (; at < head; at += record.header.size) {
		ASSERT_TRUE(ring_record_at(ring, at, head, &record));
		nr += record.header.type == type;
	}
	return nr;
}

/* The user stack of a sample goes to any event on the CPU that asks for it. */
TEST_F(shared, deferred_callchain)
{
	struct perf_event_attr samples =
		ATTR_FAULTS(.sample_type = BASE | PERF_SAMPLE_CALLCHAIN,
			    .defer_callchain = 1);
	struct perf_event_attr stacks = ATTR_DUMMY(.defer_output = 1);
	struct ring *ring = &self->counters[1].ring;
	int cpu = nth_cpu(0), fd;

	ASSERT_EQ(0, pin_to_cpu(cpu));
	fd = perf_open(&samples, 0, -1);
	if (fd < 0 && errno == EINVAL)
		SKIP(return, "this kernel cannot defer callchains");
	ASSERT_EQ(0, ring_map(&self->counters[0].ring, fd, 8,
			      PROT_READ | PROT_WRITE));
	fd = perf_open(&stacks, -1, cpu);
	if (fd < 0 && errno == EACCES)
		SKIP(return, "needs events on CPUs");
	ASSERT_GE(fd, 0)
		TH_LOG("perf_event_open: %s", strerror(errno));
	ASSERT_EQ(0, ring_map(ring, fd, 8, PROT_READ | PROT_WRITE));

	fault(&self->faults, 0);
	EXPECT_LE(1, count_records(_metadata, &self->counters[0].ring,
				   PERF_RECORD_SAMPLE));
	EXPECT_LE(1, count_records(_metadata, ring,
				   PERF_RECORD_CALLCHAIN_DEFERRED));
}

#endif /* PERF_ATTR_SIZE_VER9 */

TEST_HARNESS_MAIN
