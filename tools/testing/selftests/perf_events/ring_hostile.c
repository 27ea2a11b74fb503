// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test what the owner of a ring can do to it during writes: corrupt the control
 * page, unmap it, close its event, redirect other events to it. The kernel must
 * not be affected.
 */
#include "sized.h"

#include <signal.h>

static int open_faults(pid_t tid, uint64_t bits, bool backward)
{
	struct perf_event_attr attr =
		ATTR_FAULTS(.sample_type = PERF_SAMPLE_ADDR | bits,
			    .write_backward = backward);

	return perf_open(&attr, tid, -1);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void corrupt_field(struct ring *ring, uint64_t *state)
{
	uint64_t *fields[] = {
		(uint64_t *)&ring->page->data_head,
		(uint64_t *)&ring->page->data_tail,
		(uint64_t *)&ring->page->data_offset,
		(uint64_t *)&ring->page->data_size,
		(uint64_t *)&ring->page->aux_head,
		(uint64_t *)&ring->page->aux_tail,
		(uint64_t *)&ring->page->aux_offset,
		(uint64_t *)&ring->page->aux_size,
		(uint64_t *)&ring->page->data_reserved[0],
		(uint64_t *)&ring->page->data_reserved[1],
		(uint64_t *)&ring->page->lock,
	};
	uint64_t value = next_random(state);
	unsigned int nr = sizeof(fields) / sizeof(*fields);

	/* Half of them are small, which makes them more plausible. */
	if (value & 1)
		value >>= value % 64;
	*(volatile uint64_t *)fields[next_random(state) % nr] = value;
}

FIXTURE(corrupt)
{
	struct ring	ring;
	uint64_t	state;
};

FIXTURE_VARIANT(corrupt)
{
	int		prot;
	uint64_t	bits;
	bool		backward;
};

FIXTURE_VARIANT_ADD(corrupt, streaming)
{
	.prot = PROT_READ | PROT_WRITE,
};

FIXTURE_VARIANT_ADD(corrupt, streaming_sized)
{
	.prot = PROT_READ | PROT_WRITE, .bits = PERF_SAMPLE_SIZE_AT_END,
};

FIXTURE_VARIANT_ADD(corrupt, overwrite)
{
	.prot = PROT_READ,
};

FIXTURE_VARIANT_ADD(corrupt, overwrite_sized)
{
	.prot = PROT_READ, .bits = PERF_SAMPLE_SIZE_AT_END,
};

FIXTURE_VARIANT_ADD(corrupt, backward)
{
	.prot = PROT_READ, .backward = true,
};

FIXTURE_SETUP(corrupt)
{
	self->ring.fd = -1;
	self->state = 0x243f6a8885a308d3;
	if (variant->bits)
		REQUIRE_SIZE_AT_END();
}

FIXTURE_TEARDOWN(corrupt)
{
	ring_close(&self->ring);
}

/* Map a ring that @tid writes to, and make the mapping writable. */
static void map(struct __test_metadata *_metadata, FIXTURE_DATA(corrupt) *self,
		const FIXTURE_VARIANT(corrupt) *variant, pid_t tid)
{
	int fd = open_faults(tid, variant->bits, variant->backward);

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, ring_map(&self->ring, fd, 2, variant->prot));
	ASSERT_EQ(0, mprotect(self->ring.page, page_size() + self->ring.size,
			      PROT_READ | PROT_WRITE));
}

/* mprotect() makes only the control page writable, not the data. */
TEST_F_SIGNAL(corrupt, data_stays_read_only, SIGBUS)
{
	map(_metadata, self, variant, 0);
	*(volatile unsigned char *)self->ring.data = 0;
}

/* The kernel never waits for a field to change: the writer makes progress. */
TEST_F_TIMEOUT(corrupt, writer_makes_progress, 120)
{
	uint64_t deadline = now_ms() + 1000;
	struct fault_thread other;
	unsigned long before;

	ASSERT_TRUE(fault_thread_start(&other));
	map(_metadata, self, variant, other.tid);
	while (now_ms() < deadline)
		for (int i = 0; i < 1000; i++)
			corrupt_field(&self->ring, &self->state);

	before = atomic_load(&other.faults);
	for (deadline += 60000; atomic_load(&other.faults) < before + 100;) {
		if (now_ms() > deadline)
			break;
		usleep(1000);
	}
	EXPECT_LE(before + 100, atomic_load(&other.faults));
	fault_thread_stop(&other);
}

/* The kernel restores its fields with the next records. */
TEST_F_TIMEOUT(corrupt, fields_restored, 120)
{
	const int size = variant->bits ? 24 : 16;
	static struct record record;
	struct faults faults;
	uint64_t head;

	ASSERT_TRUE(faults_init(&faults, 64));
	map(_metadata, self, variant, 0);
	for (int i = 0; i < 100000; i++) {
		corrupt_field(&self->ring, &self->state);
		if (i % 16 == 0)
			fault(&faults, i);
	}

	/* These may be lost. They restore data_head; empty the ring. */
	for (int i = 0; i < 2; i++) {
		fault(&faults, i);
		ring_set_tail(&self->ring, ring_head(&self->ring));
	}
	fault(&faults, 2);
	head = ring_head(&self->ring);
	ring_set_tail(&self->ring, head);
	fault(&faults, 3);
	EXPECT_EQ(variant->backward ? -size : size,
		  (int64_t)(ring_head(&self->ring) - head));
	if (variant->backward)
		head -= size;
	ASSERT_TRUE(ring_record_at(&self->ring, head, head + size, &record));
	EXPECT_EQ(PERF_RECORD_SAMPLE, record.header.type);
	EXPECT_EQ(3, fault_number(&faults, record.words[1]));
	if (variant->bits) {
		EXPECT_TRUE(record_trailer_valid(&record));
	}
	faults_free(&faults);
}

FIXTURE(unmap)
{
	struct fault_thread	thread;
	uint64_t		bits;
};

FIXTURE_SETUP(unmap)
{
	self->bits = has_size_at_end() ? PERF_SAMPLE_SIZE_AT_END : 0;
	ASSERT_TRUE(fault_thread_start(&self->thread));
}

FIXTURE_TEARDOWN(unmap)
{
	fault_thread_stop(&self->thread);
}

TEST_F_TIMEOUT(unmap, while_writing, 120)
{
	int fd = open_faults(self->thread.tid, self->bits, false);
	uint64_t deadline = now_ms() + 2000;
	struct ring ring;

	ASSERT_GE(fd, 0);
	for (int i = 0; now_ms() < deadline; i++) {
		ASSERT_EQ(0,
			  ring_map(&ring, fd, 1 << i % 7,
				   i & 1 ? PROT_READ : PROT_READ | PROT_WRITE));
		if (i % 3 == 0)
			usleep(i % 500);
		ASSERT_EQ(0, ring_unmap(&ring));
	}
	ASSERT_EQ(0, ring_map(&ring, fd, 4, PROT_READ));
	deadline = now_ms() + 60000;
	while (!ring_head(&ring) && now_ms() < deadline)
		usleep(1000);
	EXPECT_LT(0, ring_head(&ring));
	ring_close(&ring);
}

/* The event is closed while the mapping remains. */
TEST_F_TIMEOUT(unmap, close_while_writing, 120)
{
	struct ring ring;

	for (int i = 0; i < 200; i++) {
		int fd = open_faults(self->thread.tid, self->bits, false);

		ASSERT_GE(fd, 0);
		ASSERT_EQ(0, ring_map(&ring, fd, 4, PROT_READ));
		close(fd);
		EXPECT_EQ(ring.size, ring.page->data_size);
		ring_unmap(&ring);
	}
}

struct mapper {
	int		fd;
	atomic_bool	stop;
	atomic_int	maps;
};

static void *map_and_unmap(void *arg)
{
	struct mapper *m = arg;
	struct ring ring;

	while (!atomic_load(&m->stop)) {
		if (ring_map(&ring, m->fd, 2, PROT_READ))
			continue;
		atomic_fetch_add(&m->maps, 1);
		usleep(200);
		ring_unmap(&ring);
	}
	return NULL;
}

/* Redirect an event to a ring that is mapped and unmapped. */
TEST_F_TIMEOUT(unmap, set_output_while_mapping, 120)
{
	struct mapper mapper = { .fd = open_faults(self->thread.tid, self->bits,
						   false) };
	int other = open_faults(self->thread.tid, self->bits, false);
	int redirected = 0;
	uint64_t deadline = now_ms() + 2000;
	pthread_t thread;

	ASSERT_GE(mapper.fd, 0);
	ASSERT_GE(other, 0);
	ASSERT_EQ(0, pthread_create(&thread, NULL, map_and_unmap, &mapper));
	while (now_ms() < deadline) {
		if (!ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, mapper.fd))
			redirected++;
		ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, -1L);
	}
	atomic_store(&mapper.stop, true);
	pthread_join(thread, NULL);
	EXPECT_LT(0, redirected);
	EXPECT_LT(0, mapper.maps);
	close(other);
	close(mapper.fd);
}

TEST_HARNESS_MAIN
