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
#define BRANCH		0x2000
#define BLOCK		1000
#define DATA_PAGES	64

struct aux {
	struct ring	ring;
	unsigned char	*area;
	size_t		size;
	uint64_t	tail;		/* of the records that were read */
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

static bool aux_open(struct aux *aux, size_t pages, int prot)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = number_in(PMU "type"), .config = BRANCH,
		.config1 = BLOCK, .exclude_kernel = 1, .disabled = 1,
	};
	int fd = perf_open(&attr, 0, -1);

	aux->tail = 0;
	return fd >= 0 && !ring_map(&aux->ring, fd, DATA_PAGES, PROT_READ | PROT_WRITE) &&
	       aux_map(aux, pages, prot);
}

static void aux_close(struct aux *aux)
{
	if (aux->area)
		munmap(aux->area, aux->size);
	ring_close(&aux->ring);
}

static void run(struct aux *aux, unsigned int times)
{
	while (times--) {
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
		to[i] = aux->area[(head - valid + i) & (aux->size - 1)];
	return valid;
}

FIXTURE(aux_snapshot)
{
	struct aux	aux;
};

FIXTURE_SETUP(aux_snapshot)
{
	if (!number_in(PMU "caps/software"))
		SKIP(return, "there is no PMU that traces without a program (soft_pt)");
	ASSERT_TRUE(aux_open(&self->aux, 1, PROT_READ));
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

	for (int i = 0; i < 50; i++) {
		run(&self->aux, 1 + i % 7);
		size = recorded(&self->aux, &flags, &offset);
		written += size;
		ASSERT_EQ(written, page->aux_written);
		ASSERT_GE(size, (1 + i % 7) * BLOCK);
		ASSERT_EQ(written % self->aux.size, page->aux_head);
		ASSERT_EQ(offset, page->aux_head);
		ASSERT_EQ(PERF_AUX_FLAG_OVERWRITE, flags);
	}
	EXPECT_GT(written, 10 * self->aux.size);
}

/* An area that was gone round in ends with the same bytes as one that was not. */
TEST_F(aux_snapshot, what_is_valid_was_written)
{
	unsigned char *small = malloc(self->aux.size), *large;
	size_t size, size_of_large, same;
	struct aux aux;

	for (int times = 1; times < 12; times++) {
		/* One at a time: the PMU is exclusive. */
		run(&self->aux, times);
		size = take(&self->aux, small);
		aux_close(&self->aux);

		ASSERT_TRUE(aux_open(&aux, 64, PROT_READ));
		large = malloc(aux.size);
		run(&aux, times + 1);
		size_of_large = take(&aux, large);
		aux_close(&aux);
		ASSERT_GE(size_of_large, (times + 1) * BLOCK);
		same = size < size_of_large ? size : size_of_large;
		ASSERT_GE(same, BLOCK);
		ASSERT_EQ(0, memcmp(small + size - same, large + size_of_large - same, same));
		free(large);
		ASSERT_TRUE(aux_open(&self->aux, 1, PROT_READ));
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
	run(&self->aux, 1);
	written += recorded(&self->aux, &flags, &offset);
	EXPECT_EQ(written, page->aux_written);
	EXPECT_EQ(written % self->aux.size, page->aux_head);
}

TEST_F(aux_snapshot, counted_from_the_mapping_on)
{
	uint64_t flags, offset;

	run(&self->aux, 3);
	recorded(&self->aux, &flags, &offset);
	munmap(self->aux.area, self->aux.size);
	ASSERT_TRUE(aux_map(&self->aux, 1, PROT_READ));
	EXPECT_EQ(0ULL, self->aux.ring.page->aux_written);
	run(&self->aux, 1);
	EXPECT_EQ(recorded(&self->aux, &flags, &offset), self->aux.ring.page->aux_written);
}

/* A full trace: advances as aux_head does; ends without room, and tells so when it goes on. */
TEST_F(aux_snapshot, full_trace)
{
	static const unsigned char overflow[] = { 0x02, 0xf3 };
	const struct perf_event_mmap_page *page;
	uint64_t flags, offset, size, before;
	unsigned char *bytes;

	aux_close(&self->aux);
	ASSERT_TRUE(aux_open(&self->aux, 1, PROT_READ | PROT_WRITE));
	page = self->aux.ring.page;
	run(&self->aux, 20);
	size = recorded(&self->aux, &flags, &offset);
	EXPECT_EQ(size, page->aux_written);
	EXPECT_EQ(size, page->aux_head);
	EXPECT_GT(self->aux.size, size);
	EXPECT_GT(size, self->aux.size - 512);
	EXPECT_EQ(PERF_AUX_FLAG_TRUNCATED, flags);

	before = size;
	self->aux.ring.page->aux_tail = size;
	run(&self->aux, 1);
	size = recorded(&self->aux, &flags, &offset);
	EXPECT_GE(size, BLOCK);
	EXPECT_EQ(before + size, page->aux_written);
	EXPECT_EQ(before + size, page->aux_head);
	bytes = malloc(self->aux.size);
	take(&self->aux, bytes);
	EXPECT_NE(NULL, memmem(bytes + self->aux.size - size, size, overflow, sizeof(overflow)));
	free(bytes);
}

/*
 * Without room the event is turned off at once, on each CPU: the reader has to enable it, or what is
 * scheduled in next would go on behind a gap, with or without room.
 */
TEST_F(aux_snapshot, full_trace_is_turned_off)
{
	struct perf_event_mmap_page *page;
	uint64_t head;

	for (int nth = 0; nth < 2 && nth_cpu(nth) >= 0; nth++) {
		ASSERT_EQ(0, pin_to_cpu(nth_cpu(nth)));
		aux_close(&self->aux);
		ASSERT_TRUE(aux_open(&self->aux, 1, PROT_READ | PROT_WRITE));
		page = self->aux.ring.page;
		run(&self->aux, 20);
		ioctl(self->aux.ring.fd, PERF_EVENT_IOC_ENABLE, 0);
		head = page->aux_head;
		EXPECT_GT(head, self->aux.size - 512);
		page->aux_tail = head;
		for (int i = 0; i < 3; i++)
			usleep(1000);	/* out, and in again */
		EXPECT_EQ(head, page->aux_head);
		run(&self->aux, 1);
		EXPECT_LE(head + BLOCK, page->aux_head);
	}
}

TEST_HARNESS_MAIN
