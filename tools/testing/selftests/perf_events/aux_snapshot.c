// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test aux_written, which tells the valid part of an AUX area, against
 * PERF_RECORD_AUX and the data.
 *
 * With config1 = size, soft_pt writes a block of constant data each time that
 * the event is started. The scheduler may start it, too, so the tests do not
 * depend on the number of blocks.
 */
#include "ring.h"

#define PMU		"/sys/bus/event_source/devices/intel_pt/"
#define ANY_SIZE	"/sys/module/soft_pt/parameters/any_size"
#define BRANCH		0x2000
#define DATA_PAGES	64
#define MIN_FREE	1024	/* with less space than this the driver stops */

struct aux {
	struct ring	ring;
	unsigned char	*area;
	size_t		size;
	uint64_t	tail;		/* of the data area */
	unsigned int	block;		/* minimum written by each start */
};

static unsigned int number_in(const char *name)
{
	unsigned int number = 0;
	FILE *file = fopen(name, "r");

	if (file) {
		if (fscanf(file, "%u", &number) != 1)
			number = 0;
		fclose(file);
	}
	return number;
}

/* @prot: PROT_WRITE for a full trace */
static bool aux_map(struct aux *aux, size_t pages, int prot)
{
	struct perf_event_mmap_page *page = aux->ring.page;
	void *area;

	aux->size = pages * page_size();
	page->aux_offset = (1 + DATA_PAGES) * page_size();
	page->aux_size = aux->size;
	area = mmap(NULL, aux->size, prot, MAP_SHARED, aux->ring.fd,
		    page->aux_offset);
	aux->area = area == MAP_FAILED ? NULL : area;
	return aux->area;
}

static bool aux_open(struct aux *aux, size_t pages, unsigned int block,
		     int prot)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = number_in(PMU "type"),
		.config = BRANCH,
		.config1 = block,
		.exclude_kernel = 1,
		.disabled = 1,
	};
	int fd = perf_open(&attr, 0, -1);

	aux->tail = 0;
	aux->block = block;
	return fd >= 0 &&
	       !ring_map(&aux->ring, fd, DATA_PAGES, PROT_READ | PROT_WRITE) &&
	       aux_map(aux, pages, prot);
}

static void aux_close(struct aux *aux)
{
	if (aux->area)
		munmap(aux->area, aux->size);
	aux->area = NULL;
	ring_close(&aux->ring);
}

static void run(struct aux *aux, unsigned int times)
{
	for (; times; times--) {
		ioctl(aux->ring.fd, PERF_EVENT_IOC_ENABLE, 0);
		ioctl(aux->ring.fd, PERF_EVENT_IOC_DISABLE, 0);
	}
}

/*
 * Read the PERF_RECORD_AUX since the last call: returns the sum of their sizes,
 * all flags in @flags, and the offset of the last one.
 */
static uint64_t read_aux_records(struct aux *aux, uint64_t *flags,
				 uint64_t *offset)
{
	static struct record record;
	uint64_t head = ring_head(&aux->ring), size = 0;

	*flags = 0;
	while (ring_record_at(&aux->ring, aux->tail, head, &record)) {
		if (record.header.type == PERF_RECORD_AUX) {
			*offset = record.words[1];
			size += record.words[2];
			*flags |= record.words[3];
		}
		aux->tail += record.header.size;
	}
	ring_set_tail(&aux->ring, aux->tail);
	return size;
}

/* Copy the valid bytes, oldest first. Returns their number. */
static size_t copy_valid(const struct aux *aux, unsigned char *to)
{
	uint64_t head = aux->ring.page->aux_head;
	uint64_t written = aux->ring.page->aux_written;
	size_t valid = written < aux->size ? written : aux->size;
	size_t start = (head + aux->size - valid) % aux->size;
	size_t first = aux->size - start;

	if (first > valid)
		first = valid;
	memcpy(to, aux->area + start, first);
	memcpy(to + first, aux->area, valid - first);
	return valid;
}

/* Return a number of starts that fill the area. */
static unsigned int starts_to_fill(const struct aux *aux)
{
	return aux->size / aux->block + 1;
}

FIXTURE(aux_snapshot)
{
	struct aux	aux;
};

/* Sizes that every driver accepts, and others; all hold more than one block. */
FIXTURE_VARIANT(aux_snapshot)
{
	size_t		pages;
	unsigned int	block;
};

FIXTURE_VARIANT_ADD(aux_snapshot, one_page)
{
	.pages = 1, .block = 1000,
};

FIXTURE_VARIANT_ADD(aux_snapshot, three_pages)
{
	.pages = 3, .block = 1000,
};

FIXTURE_VARIANT_ADD(aux_snapshot, thousand_pages)
{
	.pages = 1000, .block = 20000,
};

FIXTURE_SETUP(aux_snapshot)
{
	if (!number_in(PMU "caps/software"))
		SKIP(return, "no software Intel PT PMU (soft_pt)");
	ASSERT_TRUE(aux_open(&self->aux, variant->pages, variant->block,
			     PROT_READ));
}

FIXTURE_TEARDOWN(aux_snapshot)
{
	aux_close(&self->aux);
}

TEST_F(aux_snapshot, initial_values)
{
	EXPECT_TRUE(!!self->aux.ring.page->cap_aux_written);
	EXPECT_EQ(0ULL, self->aux.ring.page->aux_written);
	EXPECT_EQ(offsetof(struct perf_event_mmap_page, data_reserved) + 32,
		  offsetof(struct perf_event_mmap_page, aux_written));
}

/* Each record has the number of bytes since the last one, wrapped or not. */
TEST_F(aux_snapshot, record_sizes)
{
	const struct perf_event_mmap_page *page = self->aux.ring.page;
	uint64_t written = 0, flags, offset, size;

	for (int i = 0; i < 10 || written <= 3 * self->aux.size; i++) {
		run(&self->aux, 1 + i % 7);
		size = read_aux_records(&self->aux, &flags, &offset);
		written += size;
		ASSERT_EQ(written, page->aux_written);
		ASSERT_GE(size, (1 + i % 7) * self->aux.block);
		ASSERT_EQ(written % self->aux.size, page->aux_head);
		ASSERT_EQ(offset, page->aux_head);
		ASSERT_EQ(PERF_AUX_FLAG_OVERWRITE, flags);
	}
}

/*
 * The valid bytes of an area that wrapped equal the end of one that did not.
 * With KASAN, the traces take longer than the harness allows by default.
 */
TEST_F_TIMEOUT(aux_snapshot, valid_bytes, 300)
{
	unsigned int fill = starts_to_fill(&self->aux), times;
	size_t size, size_of_large, same, pages = 64;
	unsigned char *small = malloc(self->aux.size), *large;
	struct aux aux;

	while (pages * page_size() < 4 * self->aux.size)
		pages *= 2;
	for (times = 1; times < 3 * fill; times += 1 + fill / 2) {
		/* One at a time: the PMU is exclusive. */
		run(&self->aux, times);
		size = copy_valid(&self->aux, small);
		aux_close(&self->aux);

		ASSERT_TRUE(aux_open(&aux, pages, variant->block, PROT_READ));
		large = malloc(aux.size);
		run(&aux, times + 1);
		size_of_large = copy_valid(&aux, large);
		aux_close(&aux);
		ASSERT_GE(size_of_large, (times + 1) * variant->block);
		same = size < size_of_large ? size : size_of_large;
		ASSERT_GE(same, variant->block);
		ASSERT_EQ(0, memcmp(small + size - same,
				    large + size_of_large - same, same));
		free(large);
		ASSERT_TRUE(aux_open(&self->aux, variant->pages, variant->block,
				     PROT_READ));
	}
	free(small);
}

/* The kernel does not read aux_written and aux_head back. */
TEST_F(aux_snapshot, control_page_corrupted)
{
	struct perf_event_mmap_page *page = self->aux.ring.page;
	uint64_t flags, offset, written;

	run(&self->aux, 3);
	written = read_aux_records(&self->aux, &flags, &offset);
	page->aux_written = 1ULL << 63;
	page->aux_head = ~0ULL;
	run(&self->aux, 1);
	written += read_aux_records(&self->aux, &flags, &offset);
	EXPECT_EQ(written, page->aux_written);
	EXPECT_EQ(written % self->aux.size, page->aux_head);
}

/* A new area, of another size too, starts with aux_written 0. */
TEST_F(aux_snapshot, count_restarts_with_mapping)
{
	const struct perf_event_mmap_page *page = self->aux.ring.page;
	static const size_t all_pages[] = { 1, 7, 2, 5, 1 };
	uint64_t flags, offset;

	for (int i = 0; i < 5; i++) {
		run(&self->aux, 3);
		read_aux_records(&self->aux, &flags, &offset);
		munmap(self->aux.area, self->aux.size);
		ASSERT_TRUE(aux_map(&self->aux, all_pages[i], PROT_READ));
		EXPECT_EQ(0ULL, page->aux_written);
		EXPECT_GT(self->aux.size, page->aux_head);
		offset = page->aux_head;
		run(&self->aux, 1);
		EXPECT_EQ((offset + page->aux_written) % self->aux.size,
			  page->aux_head);
		EXPECT_EQ(read_aux_records(&self->aux, &flags, &offset),
			  page->aux_written);
	}
}

/*
 * In a full trace aux_written equals aux_head. Tracing stops in a full area,
 * and resumes with an overflow packet.
 */
TEST_F(aux_snapshot, full_trace)
{
	static const unsigned char overflow[] = { 0x02, 0xf3 };
	const struct perf_event_mmap_page *page;
	uint64_t flags, offset, size, before;
	unsigned char *bytes;

	aux_close(&self->aux);
	ASSERT_TRUE(aux_open(&self->aux, variant->pages, variant->block,
			     PROT_READ | PROT_WRITE));
	page = self->aux.ring.page;
	run(&self->aux, 2 * starts_to_fill(&self->aux));
	size = read_aux_records(&self->aux, &flags, &offset);
	EXPECT_EQ(size, page->aux_written);
	EXPECT_EQ(size, page->aux_head);
	EXPECT_GT(self->aux.size, size);
	EXPECT_GT(size, self->aux.size - MIN_FREE);
	EXPECT_EQ(PERF_AUX_FLAG_TRUNCATED, flags);

	before = size;
	self->aux.ring.page->aux_tail = size;
	run(&self->aux, 1);
	size = read_aux_records(&self->aux, &flags, &offset);
	EXPECT_GE(size, variant->block);
	EXPECT_EQ(before + size, page->aux_written);
	EXPECT_EQ(before + size, page->aux_head);
	bytes = malloc(self->aux.size);
	copy_valid(&self->aux, bytes);
	EXPECT_NE(NULL, memmem(bytes + self->aux.size - size, size, overflow,
			       sizeof(overflow)));
	free(bytes);
}

/*
 * A full area disables the event at once, on each CPU, until the reader enables
 * it again. Otherwise tracing would resume behind a gap when the task is next
 * scheduled in.
 */
TEST_F(aux_snapshot, full_trace_disables_event)
{
	struct perf_event_mmap_page *page;
	uint64_t head;

	for (int nth = 0; nth < 2 && nth_cpu(nth) >= 0; nth++) {
		ASSERT_EQ(0, pin_to_cpu(nth_cpu(nth)));
		aux_close(&self->aux);
		ASSERT_TRUE(aux_open(&self->aux, variant->pages, variant->block,
				     PROT_READ | PROT_WRITE));
		page = self->aux.ring.page;
		run(&self->aux, 2 * starts_to_fill(&self->aux));
		ioctl(self->aux.ring.fd, PERF_EVENT_IOC_ENABLE, 0);
		head = page->aux_head;
		EXPECT_GT(head, self->aux.size - MIN_FREE);
		page->aux_tail = head;
		for (int i = 0; i < 3; i++)
			usleep(1000);	/* schedule out and in */
		EXPECT_EQ(head, page->aux_head);
		run(&self->aux, 1);
		EXPECT_LE(head + variant->block, page->aux_head);
	}
}

/* A reader that keeps up finds byte n of a full trace at n modulo the size. */
TEST_F(aux_snapshot, full_trace_complete)
{
	uint64_t flags, offset, head = 0, tail = 0, period = 0, differing;
	unsigned char *first = malloc(self->aux.size);
	unsigned int tries = 100;

	/* Retry if the scheduler started the event too often in between. */
	do {
		aux_close(&self->aux);
		ASSERT_TRUE(aux_open(&self->aux, variant->pages, variant->block,
				     PROT_READ | PROT_WRITE));
		for (tail = 0; tail <= 3 * self->aux.size; tail = head) {
			run(&self->aux, 1);
			read_aux_records(&self->aux, &flags, &offset);
			if (flags)
				break;
			head = __atomic_load_n(&self->aux.ring.page->aux_head,
					       __ATOMIC_ACQUIRE);
			if (!tail) {
				period = head;
				memcpy(first, self->aux.area, period);
			}
			differing = 0;
			for (uint64_t n = tail; n < head; n++) {
				size_t at = n % self->aux.size;

				if (self->aux.area[at] != first[n % period])
					differing++;
			}
			ASSERT_EQ(0ULL, differing);
			__atomic_store_n(&self->aux.ring.page->aux_tail, head,
					 __ATOMIC_RELEASE);
		}
	} while (flags && --tries);
	free(first);
	EXPECT_EQ(0ULL, flags);
	EXPECT_GT(tail, 3 * self->aux.size);
}

/* mmap() accepts the sizes that sysfs announces. */
FIXTURE(aux_sizes)
{
	struct aux	aux;
};

FIXTURE_SETUP(aux_sizes)
{
	if (!number_in(PMU "caps/software"))
		SKIP(return, "no software Intel PT PMU (soft_pt)");
	if (access(ANY_SIZE, W_OK))
		SKIP(return, "cannot write to %s", ANY_SIZE);
}

FIXTURE_TEARDOWN(aux_sizes)
{
	write_number(ANY_SIZE, 1);
	aux_close(&self->aux);
}

TEST_F(aux_sizes, sizes_accepted_by_driver)
{
	for (unsigned int any = 0; any < 2; any++) {
		ASSERT_TRUE(write_number(ANY_SIZE, any));
		EXPECT_EQ(any, number_in(PMU "caps/aux_any_size"));
		for (size_t pages = 1; pages < 20; pages++) {
			bool taken = any || !(pages & (pages - 1));

			EXPECT_EQ(taken,
				  aux_open(&self->aux, pages, 1000, PROT_READ));
			if (!taken)
				EXPECT_EQ(EINVAL, errno);
			aux_close(&self->aux);
		}
	}
}

static int open_dummy(void)
{
	struct perf_event_attr attr = ATTR_DUMMY();

	return perf_open(&attr, 0, -1);
}

/* A second mapping must have the same size, and locks no further memory. */
TEST_F(aux_sizes, second_mapping)
{
	struct perf_event_mmap_page *page;
	unsigned char *again;
	long allowed;

	ASSERT_TRUE(aux_open(&self->aux, 3, 1000, PROT_READ));
	page = self->aux.ring.page;
	allowed = unused_mlock_limit(open_dummy());
	again = mmap(NULL, self->aux.size, PROT_READ, MAP_SHARED,
		     self->aux.ring.fd, page->aux_offset);
	ASSERT_NE(MAP_FAILED, (void *)again);
	run(&self->aux, 20);
	EXPECT_GT(page->aux_written, self->aux.size);
	EXPECT_EQ(0, memcmp(again, self->aux.area, self->aux.size));
	munmap(again, self->aux.size);
	for (size_t pages = 1; pages < 8; pages++) {
		page->aux_size = pages * page_size();
		again = mmap(NULL, pages * page_size(), PROT_READ, MAP_SHARED,
			     self->aux.ring.fd, page->aux_offset);
		EXPECT_EQ(pages == 3, (void *)again != MAP_FAILED);
		if ((void *)again != MAP_FAILED)
			munmap(again, pages * page_size());
	}
	EXPECT_EQ(allowed, unused_mlock_limit(open_dummy()));
}

/*
 * Each start of the event writes with interrupts disabled, and an ordinary user
 * may start it: soft_pt limits the size.
 */
TEST(block_size_is_limited)
{
	struct aux aux = {};

	if (!number_in(PMU "caps/software"))
		SKIP(return, "no software Intel PT PMU (soft_pt)");
	EXPECT_TRUE(aux_open(&aux, 1, UINT16_MAX, PROT_READ));
	aux_close(&aux);
	EXPECT_FALSE(aux_open(&aux, 1, UINT16_MAX + 1, PROT_READ));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_FALSE(aux_open(&aux, 1, UINT32_MAX, PROT_READ));
	EXPECT_EQ(EINVAL, errno);
	aux_close(&aux);
}

TEST_HARNESS_MAIN
