// SPDX-License-Identifier: GPL-2.0-only
/*
 * What of an AUX area is valid: aux_written, against PERF_RECORD_AUX and what was written.
 *
 * soft_pt's trace without a program is written each time that the event is started, and is the same
 * each time: the stream is one block again and again. How often that was does not matter; besides
 * ours there may be starts by the scheduler.
 */
#include "ring.h"

#define PMU		"/sys/bus/event_source/devices/intel_pt/"
#define ANY_SIZE	"/sys/module/soft_pt/parameters/any_size"
#define BRANCH		0x2000
#define DATA_PAGES	64
#define STEP_MOST	1024	/* with less room than a step may take the driver ends a trace */

struct aux {
	struct ring	ring;
	unsigned char	*area;
	size_t		size;
	uint64_t	tail;		/* of the records that were read */
	unsigned int	block;		/* so much, or a bit more, is written each time */
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

/* With @prot of the area: writable for a full trace. */
static bool aux_map(struct aux *aux, size_t pages, int prot)
{
	struct perf_event_mmap_page *page = aux->ring.page;
	void *area;

	aux->size = pages * page_size();
	page->aux_offset = (1 + DATA_PAGES) * page_size();
	page->aux_size = aux->size;
	area = mmap(NULL, aux->size, prot, MAP_SHARED, aux->ring.fd, page->aux_offset);
	aux->area = area == MAP_FAILED ? NULL : area;
	return aux->area;
}

static bool aux_open(struct aux *aux, size_t pages, unsigned int block, int prot)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = number_in(PMU "type"), .config = BRANCH,
		.config1 = block, .exclude_kernel = 1, .disabled = 1,
	};
	int fd = perf_open(&attr, 0, -1);

	aux->tail = 0;
	aux->block = block;
	return fd >= 0 && !ring_map(&aux->ring, fd, DATA_PAGES, PROT_READ | PROT_WRITE) &&
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

/* Of the PERF_RECORD_AUX since the last call: the sum of sizes, all flags, where the last ends. */
static uint64_t recorded(struct aux *aux, uint64_t *flags, uint64_t *offset)
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

/* The valid bytes, oldest first; returns their number. */
static size_t take(const struct aux *aux, unsigned char *to)
{
	uint64_t head = aux->ring.page->aux_head, written = aux->ring.page->aux_written;
	size_t valid = written < aux->size ? written : aux->size;

	for (size_t i = 0; i < valid; i++)
		to[i] = aux->area[(head + aux->size - valid + i) % aux->size];
	return valid;
}

/* So often is more than the area holds. */
static unsigned int times_to_fill(const struct aux *aux)
{
	return aux->size / aux->block + 1;
}

FIXTURE(aux_snapshot)
{
	struct aux	aux;
};

/* Of a size that every driver takes, and of others; more than one block goes in. */
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
	.pages = 1000, .block = 100000,
};

FIXTURE_SETUP(aux_snapshot)
{
	if (!number_in(PMU "caps/software"))
		SKIP(return, "there is no PMU that traces without a program (soft_pt)");
	ASSERT_TRUE(aux_open(&self->aux, variant->pages, variant->block, PROT_READ));
}

FIXTURE_TEARDOWN(aux_snapshot)
{
	aux_close(&self->aux);
}

TEST_F(aux_snapshot, nothing_is_written_yet)
{
	EXPECT_TRUE(!!self->aux.ring.page->cap_aux_written);
	EXPECT_EQ(0ULL, self->aux.ring.page->aux_written);
	EXPECT_EQ(offsetof(struct perf_event_mmap_page, data_reserved) + 8,
		  offsetof(struct perf_event_mmap_page, aux_written));
}

/* Of each stop, wrapped or not, what was written since the last. */
TEST_F(aux_snapshot, records_have_true_sizes)
{
	const struct perf_event_mmap_page *page = self->aux.ring.page;
	uint64_t written = 0, flags, offset, size;

	for (int i = 0; i < 10 || written <= 3 * self->aux.size; i++) {
		run(&self->aux, 1 + i % 7);
		size = recorded(&self->aux, &flags, &offset);
		written += size;
		ASSERT_EQ(written, page->aux_written);
		ASSERT_GE(size, (1 + i % 7) * self->aux.block);
		ASSERT_EQ(written % self->aux.size, page->aux_head);
		ASSERT_EQ(offset, page->aux_head);
		ASSERT_EQ(PERF_AUX_FLAG_OVERWRITE, flags);
	}
}

/* An area that was gone round in ends with the same bytes as one that was not. */
TEST_F(aux_snapshot, what_is_valid_was_written)
{
	unsigned int fill = times_to_fill(&self->aux), times;
	size_t size, size_of_large, same, pages = 64;
	unsigned char *small = malloc(self->aux.size), *large;
	struct aux aux;

	while (pages * page_size() < 4 * self->aux.size)
		pages *= 2;
	for (times = 1; times < 3 * fill; times += 1 + fill / 2) {
		/* One at a time: the PMU is exclusive. */
		run(&self->aux, times);
		size = take(&self->aux, small);
		aux_close(&self->aux);

		ASSERT_TRUE(aux_open(&aux, pages, variant->block, PROT_READ));
		large = malloc(aux.size);
		run(&aux, times + 1);
		size_of_large = take(&aux, large);
		aux_close(&aux);
		ASSERT_GE(size_of_large, (times + 1) * variant->block);
		same = size < size_of_large ? size : size_of_large;
		ASSERT_GE(same, variant->block);
		ASSERT_EQ(0, memcmp(small + size - same, large + size_of_large - same, same));
		free(large);
		ASSERT_TRUE(aux_open(&self->aux, variant->pages, variant->block, PROT_READ));
	}
	free(small);
}

/* It is the driver's count; the page that shows it may be scribbled over. */
TEST_F(aux_snapshot, the_control_page_is_only_told)
{
	struct perf_event_mmap_page *page = self->aux.ring.page;
	uint64_t flags, offset, written;

	run(&self->aux, 3);
	written = recorded(&self->aux, &flags, &offset);
	page->aux_written = 1ULL << 63;
	page->aux_head = ~0ULL;
	page->cap_aux_written = 0;
	run(&self->aux, 1);
	EXPECT_TRUE(!!page->cap_aux_written);
	written += recorded(&self->aux, &flags, &offset);
	EXPECT_EQ(written, page->aux_written);
	EXPECT_EQ(written % self->aux.size, page->aux_head);
}

/* Also where that is of another size: its offsets lie in it. */
TEST_F(aux_snapshot, counted_from_the_mapping_on)
{
	const struct perf_event_mmap_page *page = self->aux.ring.page;
	static const size_t all_pages[] = { 1, 7, 2, 5, 1 };
	uint64_t flags, offset;

	for (int i = 0; i < 5; i++) {
		run(&self->aux, 3);
		recorded(&self->aux, &flags, &offset);
		munmap(self->aux.area, self->aux.size);
		ASSERT_TRUE(aux_map(&self->aux, all_pages[i], PROT_READ));
		EXPECT_EQ(0ULL, page->aux_written);
		EXPECT_GT(self->aux.size, page->aux_head);
		offset = page->aux_head;
		run(&self->aux, 1);
		EXPECT_EQ((offset + page->aux_written) % self->aux.size, page->aux_head);
		EXPECT_EQ(recorded(&self->aux, &flags, &offset), page->aux_written);
	}
}

/* A full trace: advances as aux_head does; ends without room, and tells so when it goes on. */
TEST_F(aux_snapshot, full_trace)
{
	static const unsigned char overflow[] = { 0x02, 0xf3 };
	const struct perf_event_mmap_page *page;
	uint64_t flags, offset, size, before;
	unsigned char *bytes;

	aux_close(&self->aux);
	ASSERT_TRUE(aux_open(&self->aux, variant->pages, variant->block, PROT_READ | PROT_WRITE));
	page = self->aux.ring.page;
	run(&self->aux, 2 * times_to_fill(&self->aux));
	size = recorded(&self->aux, &flags, &offset);
	EXPECT_EQ(size, page->aux_written);
	EXPECT_EQ(size, page->aux_head);
	EXPECT_GT(self->aux.size, size);
	EXPECT_GT(size, self->aux.size - STEP_MOST);
	EXPECT_EQ(PERF_AUX_FLAG_TRUNCATED, flags);

	before = size;
	self->aux.ring.page->aux_tail = size;
	run(&self->aux, 1);
	size = recorded(&self->aux, &flags, &offset);
	EXPECT_GE(size, variant->block);
	EXPECT_EQ(before + size, page->aux_written);
	EXPECT_EQ(before + size, page->aux_head);
	bytes = malloc(self->aux.size);
	take(&self->aux, bytes);
	EXPECT_NE(NULL, memmem(bytes + self->aux.size - size, size, overflow, sizeof(overflow)));
	free(bytes);
}

/*
 * Without room the event is turned off at once, on each CPU: the reader has to enable it, or what
 * is scheduled in next would go on behind a gap, with or without room.
 */
TEST_F(aux_snapshot, full_trace_is_turned_off)
{
	struct perf_event_mmap_page *page;
	uint64_t head;

	for (int nth = 0; nth < 2 && nth_cpu(nth) >= 0; nth++) {
		ASSERT_EQ(0, pin_to_cpu(nth_cpu(nth)));
		aux_close(&self->aux);
		ASSERT_TRUE(aux_open(&self->aux, variant->pages, variant->block,
				     PROT_READ | PROT_WRITE));
		page = self->aux.ring.page;
		run(&self->aux, 2 * times_to_fill(&self->aux));
		ioctl(self->aux.ring.fd, PERF_EVENT_IOC_ENABLE, 0);
		head = page->aux_head;
		EXPECT_GT(head, self->aux.size - STEP_MOST);
		page->aux_tail = head;
		for (int i = 0; i < 3; i++)
			usleep(1000);	/* out, and in again */
		EXPECT_EQ(head, page->aux_head);
		run(&self->aux, 1);
		EXPECT_LE(head + variant->block, page->aux_head);
	}
}

/* A reader that keeps up finds all of a full trace: byte n at n modulo the size. */
TEST_F(aux_snapshot, full_trace_is_whole)
{
	uint64_t flags, offset, head = 0, tail = 0, period = 0, differing;
	unsigned char *first = malloc(self->aux.size);
	unsigned int tries = 100;

	/* Again if the scheduler started the event so often that the reader did not keep up. */
	do {
		aux_close(&self->aux);
		ASSERT_TRUE(aux_open(&self->aux, variant->pages, variant->block,
				     PROT_READ | PROT_WRITE));
		for (tail = 0; tail <= 3 * self->aux.size; tail = head) {
			run(&self->aux, 1);
			recorded(&self->aux, &flags, &offset);
			if (flags)
				break;
			head = __atomic_load_n(&self->aux.ring.page->aux_head, __ATOMIC_ACQUIRE);
			if (!tail) {
				period = head;
				memcpy(first, self->aux.area, period);
			}
			differing = 0;
			for (uint64_t n = tail; n < head; n++)
				differing += self->aux.area[n % self->aux.size] !=
					     first[n % period];
			ASSERT_EQ(0ULL, differing);
			__atomic_store_n(&self->aux.ring.page->aux_tail, head, __ATOMIC_RELEASE);
		}
	} while (flags && --tries);
	free(first);
	EXPECT_EQ(0ULL, flags);
	EXPECT_GT(tail, 3 * self->aux.size);
}

/* What sysfs says is what mmap() does. */
FIXTURE(aux_sizes)
{
	struct aux	aux;
};

FIXTURE_SETUP(aux_sizes)
{
	if (!number_in(PMU "caps/software"))
		SKIP(return, "there is no PMU that traces without a program (soft_pt)");
	if (access(ANY_SIZE, W_OK))
		SKIP(return, "this needs to write to %s", ANY_SIZE);
}

FIXTURE_TEARDOWN(aux_sizes)
{
	write_number(ANY_SIZE, 1);
	aux_close(&self->aux);
}

TEST_F(aux_sizes, refused_unless_the_driver_takes_them)
{
	for (unsigned int any = 0; any < 2; any++) {
		ASSERT_TRUE(write_number(ANY_SIZE, any));
		EXPECT_EQ(any, number_in(PMU "caps/aux_any_size"));
		for (size_t pages = 1; pages < 20; pages++) {
			bool taken = any || !(pages & (pages - 1));

			EXPECT_EQ(taken, aux_open(&self->aux, pages, 1000, PROT_READ));
			if (!taken)
				EXPECT_EQ(EINVAL, errno);
			aux_close(&self->aux);
		}
	}
}

/* It is mapped twice with the same size, not with another. */
TEST_F(aux_sizes, mapped_twice)
{
	struct perf_event_mmap_page *page;
	unsigned char *again;

	ASSERT_TRUE(aux_open(&self->aux, 3, 1000, PROT_READ));
	page = self->aux.ring.page;
	again = mmap(NULL, self->aux.size, PROT_READ, MAP_SHARED, self->aux.ring.fd,
		     page->aux_offset);
	ASSERT_NE(MAP_FAILED, (void *)again);
	run(&self->aux, 20);
	EXPECT_GT(page->aux_written, self->aux.size);
	EXPECT_EQ(0, memcmp(again, self->aux.area, self->aux.size));
	munmap(again, self->aux.size);
	for (size_t pages = 1; pages < 8; pages++) {
		page->aux_size = pages * page_size();
		again = mmap(NULL, pages * page_size(), PROT_READ, MAP_SHARED, self->aux.ring.fd,
			     page->aux_offset);
		EXPECT_EQ(pages == 3, (void *)again != MAP_FAILED);
		if ((void *)again != MAP_FAILED)
			munmap(again, pages * page_size());
	}
}

TEST_HARNESS_MAIN
