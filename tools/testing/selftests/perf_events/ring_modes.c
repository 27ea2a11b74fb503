// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test the ring modes that every kernel has: streaming, lost counts, wake-ups,
 * paused output, overwrite, write_backward. Also with PERF_SAMPLE_SIZE_AT_END
 * if the kernel supports it.
 */
#include "sized.h"

#include <poll.h>

FIXTURE(modes)
{
	struct ring	ring;
	struct faults	faults;
	uint64_t	next;		/* number of the next fault */
	uint64_t	expected;	/* number in the next sample, 0: any */
	uint64_t	samples, lost;	/* read so far */
	uint64_t	tail;
};

FIXTURE_VARIANT(modes)
{
	uint64_t	bit;
};

FIXTURE_VARIANT_ADD(modes, plain)
{
	.bit = 0,
};

FIXTURE_VARIANT_ADD(modes, sized)
{
	.bit = PERF_SAMPLE_SIZE_AT_END,
};

FIXTURE_SETUP(modes)
{
	self->ring.fd = -1;
	if (variant->bit)
		REQUIRE_SIZE_AT_END();
	ASSERT_TRUE(faults_init(&self->faults, 1 << 20));
}

FIXTURE_TEARDOWN(modes)
{
	ring_close(&self->ring);
	faults_free(&self->faults);
}

static void start(struct __test_metadata *_metadata, FIXTURE_DATA(modes) *self,
		  struct perf_event_attr attr, int pages, int prot)
{
	int fd;

	attr.disabled = 1;
	fd = perf_open(&attr, 0, -1);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, ring_map(&self->ring, fd, pages, prot));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
}

/* Return how many pages of 4 kB a page holds: it takes as many more records. */
static int scale(void)
{
	return page_size() / 4096;
}

static void cause_faults(FIXTURE_DATA(modes) *self, int n)
{
	while (n--)
		fault(&self->faults, self->next++);
}

/* Read and check all records, and set data_tail. */
static void consume(struct __test_metadata *_metadata,
		    FIXTURE_DATA(modes) *self,
		    const FIXTURE_VARIANT(modes) *variant)
{
	static struct record record;
	uint64_t head = ring_head(&self->ring);

	for (; self->tail < head; self->tail += record.header.size) {
		ASSERT_TRUE(
			ring_record_at(&self->ring, self->tail, head, &record));
		if (variant->bit) {
			ASSERT_TRUE(record_trailer_valid(&record));
		}
		if (record.header.type == PERF_RECORD_LOST) {
			self->lost += record.words[2];
			self->expected = 0;
			continue;
		}
		ASSERT_EQ(PERF_RECORD_SAMPLE, record.header.type);
		ASSERT_EQ(variant->bit ? 24 : 16, record.header.size);
		self->samples++;
		if (!is_fault_of(&self->faults, record.words[1]))
			continue;
		if (self->expected) {
			ASSERT_EQ(self->expected,
				  fault_number(&self->faults, record.words[1]));
		}
		self->expected =
			fault_number(&self->faults, record.words[1]) + 1;
	}
	ring_set_tail(&self->ring, self->tail);
}

static uint64_t event_count(FIXTURE_DATA(modes) *self)
{
	uint64_t value = 0;

	if (read(self->ring.fd, &value, sizeof(value)) != sizeof(value))
		return 0;
	return value;
}

TEST_F(modes, streaming)
{
	struct perf_event_attr attr =
		ATTR_FAULTS(.sample_type = PERF_SAMPLE_ADDR | variant->bit);

	start(_metadata, self, attr, 2, PROT_READ | PROT_WRITE);
	while (self->next < 10007) {
		cause_faults(self, 1 + self->next % 97);
		consume(_metadata, self, variant);
	}
	ioctl(self->ring.fd, PERF_EVENT_IOC_DISABLE, 0);
	consume(_metadata, self, variant);
	EXPECT_EQ(self->next, self->expected);
	EXPECT_EQ(event_count(self), self->samples);
	EXPECT_EQ(0, self->lost);
}

/*
 * Unread records are not overwritten. Records that do not fit are counted in a
 * LOST record before the next one that fits.
 */
TEST_F(modes, lost)
{
	struct perf_event_attr attr =
		ATTR_FAULTS(.sample_type = PERF_SAMPLE_ADDR | variant->bit);

	start(_metadata, self, attr, 1, PROT_READ | PROT_WRITE);
	for (int round = 0; round < 5; round++) {
		uint64_t head;

		cause_faults(self, 1009 * scale());
		head = ring_head(&self->ring);
		EXPECT_GE(self->ring.size, head - self->tail);
		EXPECT_LT(self->ring.size - 64, head - self->tail);
		cause_faults(self, 11);
		EXPECT_EQ(head, ring_head(&self->ring));
		consume(_metadata, self, variant);
	}
	cause_faults(self, 1);
	ioctl(self->ring.fd, PERF_EVENT_IOC_DISABLE, 0);
	consume(_metadata, self, variant);
	EXPECT_EQ(event_count(self), self->samples + self->lost);
	EXPECT_LT(3500 * scale(), self->lost);
	EXPECT_EQ(self->next, self->expected);
}

/* PERF_FORMAT_LOST returns the lost count of the event. */
TEST_F(modes, read_format_lost)
{
	struct perf_event_attr attr =
		ATTR_FAULTS(.sample_type = PERF_SAMPLE_ADDR | variant->bit,
			    .read_format = PERF_FORMAT_LOST);
	struct {
		uint64_t value, lost;
	} counts = { };
	int fd = perf_open(&attr, 0, -1);

	if (fd < 0)
		SKIP(return, "no PERF_FORMAT_LOST");
	close(fd);
	start(_metadata, self, attr, 1, PROT_READ | PROT_WRITE);
	cause_faults(self, 503 * scale());
	ioctl(self->ring.fd, PERF_EVENT_IOC_DISABLE, 0);
	consume(_metadata, self, variant);
	ASSERT_EQ(sizeof(counts), read(self->ring.fd, &counts, sizeof(counts)));
	EXPECT_EQ(counts.value, self->samples + counts.lost);
	EXPECT_LT(200 * scale(), counts.lost);
}

TEST_F(modes, paused)
{
	struct perf_event_attr attr =
		ATTR_FAULTS(.sample_type = PERF_SAMPLE_ADDR | variant->bit);
	uint64_t head;

	start(_metadata, self, attr, 4, PROT_READ | PROT_WRITE);
	cause_faults(self, 13);
	ASSERT_EQ(0, ioctl(self->ring.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
	head = ring_head(&self->ring);
	cause_faults(self, 17);
	EXPECT_EQ(head, ring_head(&self->ring));
	ASSERT_EQ(0, ioctl(self->ring.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0));
	cause_faults(self, 1);
	ioctl(self->ring.fd, PERF_EVENT_IOC_DISABLE, 0);
	consume(_metadata, self, variant);
	EXPECT_LE(17, self->lost);
	EXPECT_EQ(event_count(self), self->samples + self->lost);
}

static int is_readable(FIXTURE_DATA(modes) *self)
{
	struct pollfd pollfd = { .fd = self->ring.fd, .events = POLLIN };

	poll(&pollfd, 1, 0);
	return !!(pollfd.revents & POLLIN);
}

TEST_F(modes, wakeup_after_bytes)
{
	struct perf_event_attr attr =
		ATTR_FAULTS(.sample_type = PERF_SAMPLE_ADDR | variant->bit,
			    .watermark = 1, .wakeup_watermark = 2000);

	start(_metadata, self, attr, 2, PROT_READ | PROT_WRITE);
	for (int round = 0; round < 10; round++) {
		uint64_t begin = ring_head(&self->ring);

		while (ring_head(&self->ring) - begin < 2100) {
			if (!round && ring_head(&self->ring) <= 2000 - 64) {
				EXPECT_EQ(0, is_readable(self));
			}
			cause_faults(self, 1);
		}
		EXPECT_EQ(1, is_readable(self));
		consume(_metadata, self, variant);
	}
}

TEST_F(modes, wakeup_after_events)
{
	struct perf_event_attr attr =
		ATTR_FAULTS(.sample_type = PERF_SAMPLE_ADDR | variant->bit,
			    .wakeup_events = 100);

	start(_metadata, self, attr, 2, PROT_READ | PROT_WRITE);
	cause_faults(self, 50);
	EXPECT_EQ(0, is_readable(self));
	cause_faults(self, 50);
	EXPECT_EQ(1, is_readable(self));
}

/* A ring mapped read-only loses no new record; data_head never wraps. */
TEST_F(modes, overwrite)
{
	struct perf_event_attr attr =
		ATTR_FAULTS(.sample_type = PERF_SAMPLE_ADDR | variant->bit);
	static struct record record;
	int size = variant->bit ? 24 : 16;
	uint64_t head;

	start(_metadata, self, attr, 1, PROT_READ);
	cause_faults(self, 2003 * scale());
	ioctl(self->ring.fd, PERF_EVENT_IOC_DISABLE, 0);
	head = ring_head(&self->ring);
	EXPECT_EQ(event_count(self) * size, head);

	self->expected = self->next;
	for (uint64_t at = head; at - size >= head - self->ring.size;
	     at -= size) {
		ASSERT_TRUE(
			ring_record_at(&self->ring, at - size, at, &record));
		ASSERT_EQ(PERF_RECORD_SAMPLE, record.header.type);
		if (is_fault_of(&self->faults, record.words[1])) {
			ASSERT_EQ(--self->expected,
				  fault_number(&self->faults, record.words[1]));
		}
	}
	EXPECT_GT(self->next - 150 * scale(), self->expected);
}

/* data_head counts down; the newest record begins there, older ones follow. */
TEST_F(modes, backward)
{
	struct perf_event_attr attr =
		ATTR_FAULTS(.sample_type = PERF_SAMPLE_ADDR,
			    .write_backward = 1);
	static struct record record;

	if (variant->bit)
		SKIP(return, "cannot be combined with write_backward");
	start(_metadata, self, attr, 1, PROT_READ);
	for (int round = 0; round < 7; round++) {
		uint64_t head, end, at;

		cause_faults(self, 101);
		ASSERT_EQ(0,
			  ioctl(self->ring.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
		head = ring_head(&self->ring);
		end = -head > self->ring.size ? head + self->ring.size : 0;
		self->expected = self->next;
		for (at = head; at != end; at += record.header.size) {
			if (!ring_record_at(&self->ring, at, end, &record))
				break;
			if (record.header.type == PERF_RECORD_LOST)
				continue;
			ASSERT_EQ(PERF_RECORD_SAMPLE, record.header.type);
			if (is_fault_of(&self->faults, record.words[1])) {
				ASSERT_EQ(--self->expected,
					  fault_number(&self->faults,
						       record.words[1]));
			}
		}
		/* Up to the end, or to a record that was partly overwritten. */
		EXPECT_GT(32, end - at);
		EXPECT_GE(self->next - 101, self->expected);
		ASSERT_EQ(0,
			  ioctl(self->ring.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0));
	}
}

/* Two events in one ring: records are in order, with the id of their event. */
TEST_F(modes, set_output)
{
	struct perf_event_attr attr =
		ATTR_FAULTS(.sample_type = PERF_SAMPLE_IDENTIFIER |
					   PERF_SAMPLE_ADDR | variant->bit);
	static struct record record;
	uint64_t id[2], position = 0, seen[2] = { };
	int other, i;

	start(_metadata, self, attr, 16, PROT_READ | PROT_WRITE);
	attr.config = PERF_COUNT_SW_PAGE_FAULTS_MIN;	/* all of fault() */
	other = perf_open(&attr, 0, -1);
	ASSERT_GE(other, 0);
	ASSERT_EQ(0, ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, self->ring.fd));
	ASSERT_EQ(0, ioctl(self->ring.fd, PERF_EVENT_IOC_ID, &id[0]));
	ASSERT_EQ(0, ioctl(other, PERF_EVENT_IOC_ID, &id[1]));
	cause_faults(self, 307);
	ioctl(self->ring.fd, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(other, PERF_EVENT_IOC_DISABLE, 0);

	for (; position < ring_head(&self->ring);
	     position += record.header.size) {
		ASSERT_TRUE(ring_record_at(&self->ring, position,
					   ring_head(&self->ring), &record));
		if (!is_fault_of(&self->faults, record.words[2]))
			continue;
		i = record.words[1] == id[1];
		ASSERT_EQ(id[i], record.words[1]);
		ASSERT_EQ(seen[i]++,
			  fault_number(&self->faults, record.words[2]));
	}
	EXPECT_EQ(307, seen[0]);
	EXPECT_EQ(307, seen[1]);
	close(other);
}

TEST_HARNESS_MAIN
