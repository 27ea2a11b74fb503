/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Provide the fixture for tests of one event with PERF_SAMPLE_SIZE_AT_END.
 *
 * A test calls start(), causes records, and calls check(). This disables the
 * event, reads the ring forward by header.size and backward by trailers, and
 * compares both.
 */
#ifndef SELFTESTS_PERF_EVENTS_TRAILER_H
#define SELFTESTS_PERF_EVENTS_TRAILER_H

#include "sized.h"

#include <linux/sched.h>

#define IDS		(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | \
			 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)
#define RING_PAGES	64
#define MAX_RECORDS	65536

FIXTURE(trailer)
{
	struct ring	ring;
	struct faults	faults;
	uint64_t	id;
	int		counts[PERF_RECORD_MAX];
};

FIXTURE_VARIANT(trailer)
{
	int		prot;
	uint64_t	ids;
};

FIXTURE_VARIANT_ADD(trailer, overwrite)
{
	.prot = PROT_READ, .ids = IDS,
};

FIXTURE_VARIANT_ADD(trailer, overwrite_without_ids)
{
	.prot = PROT_READ,
};

FIXTURE_VARIANT_ADD(trailer, streaming)
{
	.prot = PROT_READ | PROT_WRITE, .ids = IDS,
};

FIXTURE_SETUP(trailer)
{
	self->ring.fd = -1;
	REQUIRE_SIZE_AT_END();
	ASSERT_TRUE(faults_init(&self->faults, 1024));
}

FIXTURE_TEARDOWN(trailer)
{
	ring_close(&self->ring);
	faults_free(&self->faults);
}

/*
 * Open, map and enable an event. Returns false if perf_event_open() fails; all
 * other errors fail the test.
 */
static bool start(struct __test_metadata *_metadata,
		  FIXTURE_DATA(trailer) *self,
		  const FIXTURE_VARIANT(trailer) *variant,
		  struct perf_event_attr attr, pid_t pid, int cpu)
{
	int fd;

	attr.sample_type |= PERF_SAMPLE_SIZE_AT_END | variant->ids;
	attr.sample_id_all = !!variant->ids;
	attr.disabled = 1;
	fd = perf_open(&attr, pid, cpu);
	if (fd < 0)
		return false;
	ASSERT_EQ(0, ring_map(&self->ring, fd, RING_PAGES, variant->prot));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ID, &self->id));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	return true;
}

static void check_record(struct __test_metadata *_metadata,
			 FIXTURE_DATA(trailer) *self,
			 const FIXTURE_VARIANT(trailer) *variant,
			 const struct record *record)
{
	int words = record->header.size / 8;

	EXPECT_TRUE(record_trailer_valid(record))
		TH_LOG("record of type %u, %u bytes, at %llu",
		       record->header.type, record->header.size,
		       (unsigned long long)record->position);
	if (variant->ids) {
		int at = record->header.type == PERF_RECORD_SAMPLE ? 1
								   : words - 2;

		EXPECT_EQ(self->id, record->words[at])
			TH_LOG("type %u", record->header.type);
	}
	ASSERT_LT(record->header.type, (unsigned int)PERF_RECORD_MAX);
	self->counts[record->header.type]++;
}

/* Disable the event, and read [@begin, head) in both directions. */
static void check_from(struct __test_metadata *_metadata,
		       FIXTURE_DATA(trailer) *self,
		       const FIXTURE_VARIANT(trailer) *variant, uint64_t begin)
{
	static uint64_t positions[MAX_RECORDS];
	static struct record record;
	uint64_t head, position;
	int n = 0;

	ioctl(self->ring.fd, PERF_EVENT_IOC_DISABLE, 0);
	head = ring_head(&self->ring);
	memset(self->counts, 0, sizeof(self->counts));
	for (position = begin; position < head;
	     position += record.header.size) {
		ASSERT_TRUE(
			ring_record_at(&self->ring, position, head, &record));
		check_record(_metadata, self, variant, &record);
		ASSERT_LT(n, MAX_RECORDS);
		positions[n++] = position;
	}
	EXPECT_EQ(head, position);

	for (position = head; position > begin; position = record.position) {
		ASSERT_TRUE(ring_record_before(&self->ring, position, begin,
					       &record));
		ASSERT_GT(n, 0);
		ASSERT_EQ(positions[--n], record.position);
	}
	EXPECT_EQ(0, n);
}

static void check(struct __test_metadata *_metadata,
		  FIXTURE_DATA(trailer) *self,
		  const FIXTURE_VARIANT(trailer) *variant)
{
	ASSERT_LE(ring_head(&self->ring), self->ring.size);
	check_from(_metadata, self, variant, 0);
}

static void cause_faults(FIXTURE_DATA(trailer) *self, int n)
{
	for (int i = 0; i < n; i++)
		fault(&self->faults, i);
}

#endif /* SELFTESTS_PERF_EVENTS_TRAILER_H */
