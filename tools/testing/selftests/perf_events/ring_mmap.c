// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test which mappings of a ring are accepted, and that all mappings of a ring
 * show the same data.
 */
#include "ring.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define AUX_PAGES	4
#define AUX_OFFSET	(4 * page_size())
#define AUX_ROUNDS	2000

static int open_faults(void)
{
	struct perf_event_attr attr =
		ATTR_FAULTS(.sample_type = PERF_SAMPLE_ADDR);

	return perf_open(&attr, 0, -1);
}

/* Returns 0 or an error number. */
static int try_map(int fd, size_t bytes, int flags, off_t offset)
{
	void *map =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, offset);

	if (map == MAP_FAILED)
		return errno;
	munmap(map, bytes);
	return 0;
}

TEST(data_sizes)
{
	int fd = open_faults();
	size_t page = page_size();

	ASSERT_GE(fd, 0);
	for (int pages = 0; pages <= 64; pages++) {
		int error = pages & (pages - 1) ? EINVAL : 0;

		EXPECT_EQ(error, try_map(fd, (1 + pages) * page, MAP_SHARED, 0))
			TH_LOG("%d pages", pages);
	}
	close(fd);
}

TEST(private_mapping)
{
	int fd = open_faults();

	EXPECT_EQ(EINVAL, try_map(fd, 2 * page_size(), MAP_PRIVATE, 0));
	close(fd);
}

/* Other offsets can only map an AUX area, which this event does not have. */
TEST(mmap_offset)
{
	int fd = open_faults();
	struct ring ring;

	ASSERT_GE(fd, 0);
	EXPECT_EQ(EINVAL,
		  try_map(fd, 2 * page_size(), MAP_SHARED, page_size()));
	ASSERT_EQ(0, ring_map(&ring, fd, 2, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EINVAL, try_map(fd, page_size(), MAP_SHARED, page_size()));
	ring.page->aux_offset = 4 * page_size();
	ring.page->aux_size = 4 * page_size();
	EXPECT_EQ(EOPNOTSUPP,
		  try_map(fd, 4 * page_size(), MAP_SHARED, 4 * page_size()));
	EXPECT_EQ(EINVAL,
		  try_map(fd, 2 * page_size(), MAP_SHARED, 4 * page_size()));
	EXPECT_EQ(EINVAL,
		  try_map(fd, 4 * page_size(), MAP_SHARED, 8 * page_size()));
	ring_close(&ring);
}

TEST(inherited_without_cpu)
{
	struct perf_event_attr attr = ATTR_FAULTS(.inherit = 1);
	int fd = perf_open(&attr, 0, -1);

	ASSERT_GE(fd, 0);
	EXPECT_EQ(EINVAL, try_map(fd, 2 * page_size(), MAP_SHARED, 0));
	close(fd);
}

TEST(second_mapping)
{
	struct ring first, second;
	struct faults faults;
	uint64_t head;
	int fd = open_faults();

	ASSERT_GE(fd, 0);
	ASSERT_TRUE(faults_init(&faults, 1024));
	ASSERT_EQ(0, ring_map(&first, fd, 4, PROT_READ));
	EXPECT_EQ(-EINVAL, ring_map(&second, fd, 2, PROT_READ));
	EXPECT_EQ(-EINVAL, ring_map(&second, fd, 8, PROT_READ));
	ASSERT_EQ(0, ring_map(&second, fd, 4, PROT_READ | PROT_WRITE));

	for (int i = 0; i < 1009; i++)
		fault(&faults, i);
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
	/* The first mapping decides the mode: overwrite. */
	EXPECT_LE(1009 * 16, ring_head(&first));
	EXPECT_EQ(ring_head(&first), ring_head(&second));
	EXPECT_EQ(0, memcmp(first.data, second.data, first.size));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0));

	head = ring_head(&first);
	ASSERT_EQ(0, ring_unmap(&first));
	for (int i = 0; i < 11; i++)
		fault(&faults, i);
	EXPECT_LE(head + 11 * 16, ring_head(&second));

	/* The last munmap() frees the ring; a new one starts at position 0. */
	ASSERT_EQ(0, ring_unmap(&second));
	fault(&faults, 0);
	ASSERT_EQ(0, ring_map(&first, fd, 2, PROT_READ));
	EXPECT_GT(1000, ring_head(&first));
	faults_free(&faults);
	ring_close(&first);
}

/* The pages of a ring are charged once, and uncharged by the last munmap(). */
TEST(second_mapping_charged)
{
	long allowed = unused_mlock_limit(open_faults());
	int fd = open_faults();
	struct ring first, second;

	if (allowed < 1 + 4)
		SKIP(return, "other programs lock too many pages");
	ASSERT_EQ(0, ring_map(&first, fd, 4, PROT_READ));
	EXPECT_EQ(allowed - 5, unused_mlock_limit(open_faults()));
	ASSERT_EQ(0, ring_map(&second, fd, 4, PROT_READ));
	EXPECT_EQ(allowed - 5, unused_mlock_limit(open_faults()));
	ASSERT_EQ(0, ring_unmap(&first));
	EXPECT_EQ(allowed - 5, unused_mlock_limit(open_faults()));
	ring_close(&second);
	EXPECT_EQ(allowed, unused_mlock_limit(open_faults()));
}

static long page_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

/* Reading a ring causes no page faults, and its pages cannot be pinned. */
TEST(pages_of_the_kernel)
{
	int fd = open_faults(), ends[2];
	struct ring ring;
	long faults;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, pipe(ends));
	ASSERT_EQ(0, ring_map(&ring, fd, 64, PROT_READ | PROT_WRITE));
	page_faults();	/* may fault its code in */
	faults = page_faults();
	for (size_t i = 0; i < 64; i++)
		(void)*(volatile unsigned char *)(ring.data + i * page_size());
	EXPECT_EQ(faults, page_faults());

	for (size_t i = 0; i <= 64; i++) {
		void *page = (char *)ring.page + i * page_size();
		struct iovec from = { page, 8 };

		EXPECT_EQ(-1, vmsplice(ends[1], &from, 1, SPLICE_F_NONBLOCK));
		EXPECT_EQ(EFAULT, errno);
	}
	/* The first write makes the control page writable. */
	ring.page->data_tail = 8;
	EXPECT_EQ(8, ring.page->data_tail);
	ring_close(&ring);
	close(ends[0]);
	close(ends[1]);
}

TEST(partial_unmap_rejected)
{
	struct ring ring;
	int fd = open_faults();
	size_t page = page_size();
	void *base;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, ring_map(&ring, fd, 4, PROT_READ));
	base = ring.page;
	if (!munmap(base + 4 * page, page)) {
		munmap(base, 4 * page);
		close(fd);
		SKIP(return, "this kernel allows partial munmap() of rings");
	}
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, munmap(base, page));
	EXPECT_EQ(-1, munmap(base + 2 * page, page));
	EXPECT_EQ(-1, mprotect(base + page, page, PROT_NONE));
	EXPECT_EQ(0, ring_unmap(&ring));
	close(fd);
}

/* A child inherits the file but not the mapping; it can map the ring itself. */
TEST(not_inherited_by_fork)
{
	struct ring ring, again;
	int fd = open_faults(), status;
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

/* Try to map an AUX area, which these events do not have, while @round lasts. */
static void map_aux_in_vain(const int *fds, atomic_int *round)
{
	pin_to_cpu(nth_cpu(1));
	for (int i = 0; i < AUX_ROUNDS;) {
		i = atomic_load(round);
		if (i)
			try_map(fds[i - 1], AUX_PAGES * page_size(), MAP_SHARED,
				AUX_OFFSET);
	}
}

/*
 * A process unmaps the ring while another one fails to map an AUX area: the
 * ring must be freed, and its memory uncharged.
 */
TEST(unmap_while_aux_mmap_fails)
{
	struct perf_event_attr attr = ATTR_DUMMY(.disabled = 1);
	struct rlimit files = { 2 * AUX_ROUNDS, 2 * AUX_ROUNDS };
	int fds[AUX_ROUNDS];
	atomic_int *round;
	long allowed;
	pid_t child;

	if (geteuid())
		SKIP(return, "needs root: locks more memory than the limit");
	if (nth_cpu(1) < 0)
		SKIP(return, "needs two CPUs");
	round = mmap(NULL, page_size(), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, round);
	allowed = unused_mlock_limit(open_faults());
	ASSERT_LT(0, allowed);
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &files));
	for (int i = 0; i < AUX_ROUNDS; i++)
		fds[i] = perf_open(&attr, 0, -1);
	ASSERT_LE(0, fds[AUX_ROUNDS - 1]);

	child = fork();
	ASSERT_LE(0, child);
	if (!child) {
		map_aux_in_vain(fds, round);
		_exit(0);
	}
	pin_to_cpu(nth_cpu(0));
	for (int i = 0; i < AUX_ROUNDS; i++) {
		struct ring ring;

		ASSERT_EQ(0, ring_map(&ring, fds[i], 2, PROT_READ | PROT_WRITE));
		ring.page->aux_offset = AUX_OFFSET;
		ring.page->aux_size = AUX_PAGES * page_size();
		atomic_store(round, i + 1);
		for (int spin = 0; spin < 10000 + i % 997 * 10; spin++)
			atomic_load(round);
		ASSERT_EQ(0, ring_unmap(&ring));
		close(fds[i]);
	}
	ASSERT_EQ(child, waitpid(child, NULL, 0));
	EXPECT_EQ(allowed, unused_mlock_limit(open_faults()));
	munmap(round, page_size());
}

TEST_HARNESS_MAIN
