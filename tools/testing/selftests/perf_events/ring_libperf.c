// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test libperf's snapshots of overwrite rings (perf/overwrite.h) during writes:
 * consecutive snapshots return each record once, complete, oldest first and
 * without trailer, and the bytes that were overwritten unread are counted
 * exactly.
 *
 * A thread changes its name, which contains a number, so that every byte of its
 * COMM records is known.
 */
#include "sized.h"

#include <sys/prctl.h>

#include <perf/event.h>
#include <perf/overwrite.h>

/* A COMM record, as libperf returns it. */
struct comm_record {
	struct perf_event_header	header;
	uint32_t			pid, tid;
	char				name[16];
	uint32_t			sample_pid, sample_tid;
	uint64_t			sample_id;
};

struct writer {
	pthread_t		thread;
	atomic_int		tid;
	atomic_bool		stop;
	atomic_uint_fast64_t	written;
	atomic_uint_fast64_t	limit;		/* records allowed so far */
};

/* Both words of the name change with each number. */
static void make_name(char *name, size_t size, uint32_t number)
{
	snprintf(name, size, "%07x%08x", number & 0xfffffff, ~number);
}

static void *write_names(void *arg)
{
	struct writer *w = arg;
	uint64_t number = 0;
	char name[16];

	atomic_store(&w->tid, gettid());
	while (!atomic_load(&w->stop)) {
		if (number >= atomic_load(&w->limit)) {
			usleep(100);
			continue;
		}
		make_name(name, sizeof(name), number++);
		prctl(PR_SET_NAME, name);
		atomic_store(&w->written, number);
	}
	return NULL;
}

FIXTURE(libperf)
{
	struct writer		writer;
	struct ring		map;
	struct perf_overwrite	*ring;
	struct perf_snapshot	*snapshots[2];
	struct comm_record	expected;
	size_t			size;		/* of a record in the ring */
	uint64_t fit; /* capacity of the ring [records] */
	uint64_t		next;		/* expected number */
	uint64_t		overwritten;	/* unread records */
};

FIXTURE_VARIANT(libperf)
{
	enum perf_overwrite_kind kind;
	int			 pages;
};

FIXTURE_VARIANT_ADD(libperf, backward_one_page)
{
	.kind = PERF_OVERWRITE_BACKWARD, .pages = 1,
};

FIXTURE_VARIANT_ADD(libperf, backward_pages_16)
{
	.kind = PERF_OVERWRITE_BACKWARD, .pages = 16,
};

FIXTURE_VARIANT_ADD(libperf, sized_one_page)
{
	.kind = PERF_OVERWRITE_SIZED, .pages = 1,
};

FIXTURE_VARIANT_ADD(libperf, sized_pages_16)
{
	.kind = PERF_OVERWRITE_SIZED, .pages = 16,
};

FIXTURE_SETUP(libperf)
{
	struct perf_event_attr attr =
		ATTR_DUMMY(.comm = 1, .sample_id_all = 1,
			   .sample_type = PERF_SAMPLE_TID |
					  PERF_SAMPLE_IDENTIFIER);
	struct writer *w = &self->writer;
	struct comm_record *expected = &self->expected;
	int fd;

	if (perf_overwrite__probe() < (int)variant->kind)
		SKIP(return, "ring type not supported by this kernel");
	ASSERT_EQ(0, pthread_create(&w->thread, NULL, write_names, w));
	while (!atomic_load(&w->tid))
		usleep(100);

	perf_overwrite__config(&attr, variant->kind);
	fd = perf_open(&attr, w->tid, -1);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, ring_map(&self->map, fd, variant->pages, PROT_READ));
	/* No descriptor: libperf must not pause the ring and lose records. */
	self->ring = perf_overwrite__new(self->map.page, self->map.size, -1,
					 variant->kind);
	ASSERT_NE(NULL, self->ring);
	for (int i = 0; i < 2; i++) {
		self->snapshots[i] = perf_snapshot__new(self->ring);
		ASSERT_NE(NULL, self->snapshots[i]);
	}

	expected->header.type = PERF_RECORD_COMM;
	expected->header.size = sizeof(*expected);
	expected->pid = getpid();
	expected->tid = w->tid;
	expected->sample_pid = expected->pid;
	expected->sample_tid = expected->tid;
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ID, &expected->sample_id));
	self->size = sizeof(*expected);
	if (variant->kind == PERF_OVERWRITE_SIZED)
		self->size += TRAILER_SIZE;
	self->fit = self->map.size / self->size;
}

FIXTURE_TEARDOWN(libperf)
{
	if (!self->writer.thread)
		return;
	atomic_store(&self->writer.stop, true);
	pthread_join(self->writer.thread, NULL);
	for (int i = 0; i < 2; i++)
		perf_snapshot__delete(self->snapshots[i]);
	perf_overwrite__delete(self->ring);
	ring_close(&self->map);
}

static void take(FIXTURE_DATA(libperf) *self, int nth)
{
	perf_snapshot__take(&self->snapshots[nth], 1, NULL);
}

/* Let the writer write @more records, and wait until it has. */
static void write_more(FIXTURE_DATA(libperf) *self, uint64_t more)
{
	uint64_t limit = atomic_fetch_add(&self->writer.limit, more) + more;

	while (atomic_load(&self->writer.written) < limit)
		usleep(100);
}

/* Check the new records of a snapshot. Returns their number. */
static uint64_t read_new_records(struct __test_metadata *_metadata,
				 FIXTURE_DATA(libperf) *self, int nth)
{
	struct perf_snapshot_records records;
	struct comm_record *expected = &self->expected;
	union perf_event *event, *last = NULL;
	uint64_t nr = 0;

	perf_snapshot__records(self->snapshots[nth], &records);
	ASSERT_EQ(0, records.malformed);
	ASSERT_EQ(0, records.overwritten % self->size);
	self->overwritten += records.overwritten / self->size;
	self->next += records.overwritten / self->size;

	while ((event = perf_snapshot__read_event(self->snapshots[nth]))) {
		make_name(expected->name, sizeof(expected->name), self->next);
		ASSERT_EQ(0, memcmp(expected, event, sizeof(*expected)))
			TH_LOG("expected %s, got type %u of %u bytes: %.16s",
			       expected->name, event->header.type,
			       event->header.size, event->comm.comm);
		self->next++;
		nr++;
		last = event;
	}
	ASSERT_EQ(records.nr, nr);
	ASSERT_EQ(records.nr * sizeof(*expected), records.bytes);
	ASSERT_EQ(records.newest, last);
	return nr;
}

/* An idle ring: a snapshot returns all that fit, and counts only the others. */
TEST_F_TIMEOUT(libperf, idle_ring, 120)
{
	const uint64_t more[] = {
		1, 0, self->fit, self->fit + 1, self->fit / 2,
		self->fit * 3 + 5, self->fit - 1, self->fit + 2,
	};
	uint64_t number = 0;

	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		uint64_t fit = more[i] < self->fit ? more[i] : self->fit;

		self->overwritten = 0;
		write_more(self, more[i]);
		take(self, 0);
		number += more[i];
		EXPECT_EQ(fit, read_new_records(_metadata, self, 0));
		EXPECT_EQ(more[i] - fit, self->overwritten);
		EXPECT_EQ(number, self->next);
	}
}

/* An unread snapshot is extended by the next one, while another is read. */
TEST_F_TIMEOUT(libperf, extend_unread_snapshot, 120)
{
	write_more(self, self->fit / 4);
	take(self, 0);
	for (int i = 0; i < 10; i++) {
		write_more(self, self->fit / 4);
		take(self, 1);
		write_more(self, self->fit / 4);
		take(self, 1);
		EXPECT_EQ(self->fit / 4 * (i ? 2 : 1),
			  read_new_records(_metadata, self, 0));
		write_more(self, self->fit / 4);
		take(self, 0);
		EXPECT_EQ(self->fit / 4 * 2,
			  read_new_records(_metadata, self, 1));
		write_more(self, self->fit / 4);
		take(self, 0);
	}
	EXPECT_EQ(0, self->overwritten);

	/* If the snapshot's memory is full, its oldest records are dropped. */
	write_more(self, self->fit);
	take(self, 0);
	EXPECT_EQ(self->fit, read_new_records(_metadata, self, 0));
	EXPECT_EQ(self->fit / 4 * 2, self->overwritten);
	EXPECT_EQ(self->writer.written, self->next);
}

/*
 * Take snapshots until @total records were read. The writer may be @ahead
 * records ahead of the reader.
 */
static void read_until(struct __test_metadata *_metadata,
		       FIXTURE_DATA(libperf) *self, uint64_t total,
		       uint64_t ahead)
{
	int snapshots = 0;

	while (self->next < total) {
		uint64_t limit = self->next + ahead;

		atomic_store(&self->writer.limit,
			     limit < total ? limit : total);
		take(self, snapshots % 2);
		read_new_records(_metadata, self, snapshots % 2);
		snapshots++;
	}
	EXPECT_EQ(total, self->next);
	TH_LOG("%d snapshots, %llu records, %llu overwritten unread", snapshots,
	       (unsigned long long)total,
	       (unsigned long long)self->overwritten);
}

/* A writer throttled to the reader: no record is missing or repeated. */
TEST_F_TIMEOUT(libperf, no_gap_no_duplicate, 120)
{
	read_until(_metadata, self, self->fit * 20, self->fit / 2);
	EXPECT_EQ(0, self->overwritten);
}

/* A writer at full speed: overwritten records are counted exactly. */
TEST_F_TIMEOUT(libperf, overwritten_records_counted, 120)
{
	read_until(_metadata, self, 100000, 100000);
}

TEST_HARNESS_MAIN
