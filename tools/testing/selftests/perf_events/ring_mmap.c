// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mappings of a ring: which are taken, and that none of what their owner may do harms the kernel or
 * the other mappings: writing where only the kernel should, unmapping while events are written.
 */
#include "ring.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

static struct perf_event_attr fault_attr(uint64_t bits)
{
	struct perf_event_attr attr = ATTR_FAULTS(.sample_type = PERF_SAMPLE_ADDR | bits);

	return attr;
}

static int open_faults(pid_t tid, uint64_t bits)
{
	struct perf_event_attr attr = fault_attr(bits);

	return perf_open(&attr, tid, -1);
}

/* Returns 0 or an error number. */
static int try_map(int fd, size_t bytes, int flags, off_t offset)
{
	void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, offset);

	if (map == MAP_FAILED)
		return errno;
	munmap(map, bytes);
	return 0;
}

TEST(sizes)
{
	int fd = open_faults(0, 0);
	size_t page = page_size();

	ASSERT_GE(fd, 0);
	for (int pages = 0; pages <= 64; pages++) {
		int error = pages & (pages - 1) ? EINVAL : 0;

		EXPECT_EQ(error, try_map(fd, (1 + pages) * page, MAP_SHARED, 0)) {
			TH_LOG("%d pages", pages);
		}
	}
	close(fd);
}

TEST(private_mapping)
{
	int fd = open_faults(0, 0);

	EXPECT_EQ(EINVAL, try_map(fd, 2 * page_size(), MAP_PRIVATE, 0));
	close(fd);
}

/* What lies behind the control page is an AUX area, for those who have one. */
TEST(offset)
{
	int fd = open_faults(0, 0);
	struct ring ring;

	ASSERT_GE(fd, 0);
	EXPECT_EQ(EINVAL, try_map(fd, 2 * page_size(), MAP_SHARED, page_size()));
	ASSERT_EQ(0, ring_map(&ring, fd, 2, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EINVAL, try_map(fd, page_size(), MAP_SHARED, page_size()));
	ring.page->aux_offset = 4 * page_size();
	ring.page->aux_size = 4 * page_size();
	EXPECT_EQ(EOPNOTSUPP, try_map(fd, 4 * page_size(), MAP_SHARED, 4 * page_size()));
	EXPECT_EQ(EINVAL, try_map(fd, 2 * page_size(), MAP_SHARED, 4 * page_size()));
	EXPECT_EQ(EINVAL, try_map(fd, 4 * page_size(), MAP_SHARED, 8 * page_size()));
	ring_close(&ring);
}

TEST(inherited_without_cpu)
{
	struct perf_event_attr attr = fault_attr(0);
	int fd;

	attr.inherit = 1;
	fd = perf_open(&attr, 0, -1);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(EINVAL, try_map(fd, 2 * page_size(), MAP_SHARED, 0));
	close(fd);
}

TEST(second_mapping)
{
	struct ring first, second;
	struct faults faults;
	uint64_t head;
	int fd = open_faults(0, 0);

	ASSERT_GE(fd, 0);
	ASSERT_TRUE(faults_init(&faults, 1024));
	ASSERT_EQ(0, ring_map(&first, fd, 4, PROT_READ));
	EXPECT_EQ(-EINVAL, ring_map(&second, fd, 2, PROT_READ));
	EXPECT_EQ(-EINVAL, ring_map(&second, fd, 8, PROT_READ));
	ASSERT_EQ(0, ring_map(&second, fd, 4, PROT_READ | PROT_WRITE));

	for (int i = 0; i < 1009; i++)
		fault(&faults, i);
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
	/* The first mapping decides: this ring overwrites itself. */
	EXPECT_LE(1009 * 16, ring_head(&first));
	EXPECT_EQ(ring_head(&first), ring_head(&second));
	EXPECT_EQ(0, memcmp(first.data, second.data, first.size));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0));

	head = ring_head(&first);
	ASSERT_EQ(0, ring_unmap(&first));
	for (int i = 0; i < 11; i++)
		fault(&faults, i);
	EXPECT_LE(head + 11 * 16, ring_head(&second));

	/* With the last one it is gone; a new one starts anew. */
	ASSERT_EQ(0, ring_unmap(&second));
	fault(&faults, 0);
	ASSERT_EQ(0, ring_map(&first, fd, 2, PROT_READ));
	EXPECT_GT(1000, ring_head(&first));
	faults_free(&faults);
	ring_close(&first);
}

TEST(partial_unmap)
{
	struct ring ring;
	int fd = open_faults(0, 0);
	size_t page = page_size();
	void *base;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, ring_map(&ring, fd, 4, PROT_READ));
	base = ring.page;
	if (!munmap(base + 4 * page, page)) {
		munmap(base, 4 * page);
		close(fd);
		SKIP(return, "this kernel lets mappings of rings be split");
	}
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, munmap(base, page));
	EXPECT_EQ(-1, munmap(base + 2 * page, page));
	EXPECT_EQ(-1, mprotect(base + page, page, PROT_NONE));
	EXPECT_EQ(0, ring_unmap(&ring));
	close(fd);
}

/* A child has the file, but not the mapping; it may make one of its own. */
TEST(not_in_a_child)
{
	struct ring ring, again;
	int fd = open_faults(0, 0), status;
	unsigned char vec;
	pid_t child;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, ring_map(&ring, fd, 4, PROT_READ));
	child = fork();
	if (!child) {
		if (!mincore(ring.page, page_size(), &vec) || errno != ENOMEM)
			_exit(1);
		if (ring_map(&again, fd, 4, PROT_READ))
			_exit(2);
		_exit(again.page->data_size == ring.size ? 0 : 3);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(ring.size, ring.page->data_size);
	ring_close(&ring);
}

/* A thread that causes faults until it is stopped. */
struct writer {
	pthread_t		thread;
	atomic_int		tid;
	atomic_bool		stop;
	atomic_ulong		faults;
};

static void *write_faults(void *arg)
{
	struct writer *w = arg;
	struct faults faults;

	if (!faults_init(&faults, 4096))
		return NULL;
	atomic_store(&w->tid, gettid());
	while (!atomic_load(&w->stop))
		fault(&faults, atomic_fetch_add(&w->faults, 1));
	faults_free(&faults);
	return NULL;
}

static void start_writer(struct __test_metadata *_metadata, struct writer *w)
{
	memset(w, 0, sizeof(*w));
	ASSERT_EQ(0, pthread_create(&w->thread, NULL, write_faults, w));
	while (!atomic_load(&w->tid))
		usleep(100);
}

static void stop_writer(struct writer *w)
{
	atomic_store(&w->stop, true);
	pthread_join(w->thread, NULL);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void scribble(struct ring *ring, uint64_t *state)
{
	uint64_t *fields[] = {
		(uint64_t *)&ring->page->data_head, (uint64_t *)&ring->page->data_tail,
		(uint64_t *)&ring->page->data_offset, (uint64_t *)&ring->page->data_size,
		(uint64_t *)&ring->page->aux_head, (uint64_t *)&ring->page->aux_tail,
		(uint64_t *)&ring->page->aux_offset, (uint64_t *)&ring->page->aux_size,
		(uint64_t *)&ring->page->data_reserved, (uint64_t *)&ring->page->lock,
	};
	uint64_t value = next_random(state);

	/* Small ones and such with few bits as well: wrong, but not too far off. */
	if (value & 1)
		value >>= value % 64;
	*(volatile uint64_t *)fields[next_random(state) % (sizeof(fields) / sizeof(*fields))] =
		value;
}

FIXTURE(scribble)
{
	struct ring	ring;
	struct writer	writer;
};

FIXTURE_VARIANT(scribble)
{
	int		prot;
	uint64_t	bits;
	bool		backward;
};

FIXTURE_VARIANT_ADD(scribble, streaming)
{
	.prot = PROT_READ | PROT_WRITE,
};

FIXTURE_VARIANT_ADD(scribble, streaming_sized)
{
	.prot = PROT_READ | PROT_WRITE, .bits = PERF_SAMPLE_SIZE_AT_END,
};

FIXTURE_VARIANT_ADD(scribble, overwrite)
{
	.prot = PROT_READ,
};

FIXTURE_VARIANT_ADD(scribble, overwrite_sized)
{
	.prot = PROT_READ, .bits = PERF_SAMPLE_SIZE_AT_END,
};

FIXTURE_VARIANT_ADD(scribble, backward)
{
	.prot = PROT_READ, .backward = true,
};

FIXTURE_SETUP(scribble)
{
	struct perf_event_attr attr = fault_attr(variant->bits);
	int fd;

	if (variant->bits)
		REQUIRE_SIZE_AT_END();
	start_writer(_metadata, &self->writer);
	attr.write_backward = variant->backward;
	fd = perf_open(&attr, self->writer.tid, -1);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, ring_map(&self->ring, fd, 2, variant->prot));
}

FIXTURE_TEARDOWN(scribble)
{
	stop_writer(&self->writer);
	ring_close(&self->ring);
}

/* The control page can be made writable; the data cannot. */
TEST_F_SIGNAL(scribble, over_data, SIGBUS)
{
	if (!mprotect(self->ring.page, page_size() + self->ring.size, PROT_READ | PROT_WRITE))
		*(volatile unsigned char *)self->ring.data = 0;
}

/* A read-only mapping is made writable, and the control page overwritten over and over. */
TEST_F(scribble, while_writing)
{
	const int size = variant->bits ? 24 : 16;
	uint64_t deadline = now_ms() + 1000, state = 0x243f6a8885a308d3, head, before;
	static struct record record;
	struct perf_event_attr attr;
	struct faults faults;
	int fd;

	ASSERT_EQ(0, mprotect(self->ring.page, page_size() + self->ring.size,
			      PROT_READ | PROT_WRITE));
	while (now_ms() < deadline)
		for (int i = 0; i < 1000; i++)
			scribble(&self->ring, &state);

	/* The writer is well, too. */
	before = atomic_load(&self->writer.faults);
	usleep(100000);
	EXPECT_LT(before, atomic_load(&self->writer.faults));
	stop_writer(&self->writer);

	/* Another event of ours, into the same ring: one that is of this thread cannot be. */
	ring_close(&self->ring);
	ASSERT_TRUE(faults_init(&faults, 64));
	attr = fault_attr(variant->bits);
	attr.write_backward = variant->backward;
	fd = perf_open(&attr, 0, -1);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, ring_map(&self->ring, fd, 2, variant->prot));
	ASSERT_EQ(0, mprotect(self->ring.page, page_size() + self->ring.size,
			      PROT_READ | PROT_WRITE));
	for (int i = 0; i < 100000; i++) {
		scribble(&self->ring, &state);
		if (i % 16 == 0)
			fault(&faults, i);
	}

	/* A record more or less, until data_head is the kernel's again; then all is in order. */
	ring_set_tail(&self->ring, 0);
	fault(&faults, 0);
	ring_set_tail(&self->ring, ring_head(&self->ring));
	fault(&faults, 1);
	head = ring_head(&self->ring);
	ring_set_tail(&self->ring, head);
	fault(&faults, 2);
	EXPECT_EQ(variant->backward ? -size : size, (int64_t)(ring_head(&self->ring) - head));
	if (variant->backward)
		head -= size;
	ASSERT_TRUE(ring_record_at(&self->ring, head, head + size, &record));
	EXPECT_EQ(PERF_RECORD_SAMPLE, record.header.type);
	EXPECT_EQ(2, fault_number(&faults, record.words[1]));
	if (variant->bits) {
		EXPECT_TRUE(record_trailer_is_right(&record));
	}
	faults_free(&faults);
	start_writer(_metadata, &self->writer);		/* for the teardown */
}

FIXTURE(unmap)
{
	struct writer	writer;
	uint64_t	bits;
};

FIXTURE_SETUP(unmap)
{
	self->bits = has_size_at_end() ? PERF_SAMPLE_SIZE_AT_END : 0;
	start_writer(_metadata, &self->writer);
}

FIXTURE_TEARDOWN(unmap)
{
	stop_writer(&self->writer);
}

TEST_F(unmap, while_writing)
{
	int fd = open_faults(self->writer.tid, self->bits);
	uint64_t deadline = now_ms() + 2000;
	struct ring ring;

	ASSERT_GE(fd, 0);
	for (int i = 0; now_ms() < deadline; i++) {
		ASSERT_EQ(0, ring_map(&ring, fd, 1 << i % 7, i & 1 ? PROT_READ :
							     PROT_READ | PROT_WRITE));
		if (i % 3 == 0)
			usleep(i % 500);
		ASSERT_EQ(0, ring_unmap(&ring));
	}
	ASSERT_EQ(0, ring_map(&ring, fd, 4, PROT_READ));
	deadline = now_ms() + 5000;
	while (!ring_head(&ring) && now_ms() < deadline)
		usleep(1000);
	EXPECT_LT(0, ring_head(&ring));
	ring_close(&ring);
}

/* The event goes away, the mapping stays. */
TEST_F(unmap, close_while_writing)
{
	struct ring ring;

	for (int i = 0; i < 200; i++) {
		int fd = open_faults(self->writer.tid, self->bits);

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

/* Another event's output is turned to a ring that comes and goes. */
TEST_F(unmap, set_output)
{
	struct mapper mapper = { .fd = open_faults(self->writer.tid, self->bits) };
	int other = open_faults(self->writer.tid, self->bits), taken = 0;
	uint64_t deadline = now_ms() + 2000;
	pthread_t thread;

	ASSERT_GE(mapper.fd, 0);
	ASSERT_GE(other, 0);
	ASSERT_EQ(0, pthread_create(&thread, NULL, map_and_unmap, &mapper));
	while (now_ms() < deadline) {
		if (!ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, mapper.fd))
			taken++;
		ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, -1L);
	}
	atomic_store(&mapper.stop, true);
	pthread_join(thread, NULL);
	EXPECT_LT(0, taken);
	EXPECT_LT(0, mapper.maps);
	close(other);
	close(mapper.fd);
}

TEST_HARNESS_MAIN
