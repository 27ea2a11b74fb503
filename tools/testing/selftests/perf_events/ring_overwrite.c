// SPDX-License-Identifier: GPL-2.0-only
/*
 * A ring that overwrites itself, whose records end with their size, is read while it is written to,
 * and nothing is stopped: what a snapshot returns is whole, and what it lacks is known exactly.
 *
 * Writers number their system calls in the arguments; a tracepoint records them.
 */
#include "ring.h"

#include <pthread.h>
#include <stdatomic.h>

#define MAX_WRITERS	4
#define CALL		SYS_getppid
#define NR_ARGS		6

/* Header, identifier, then the size of the raw data and those; padded, and the trailer. */
#define RAW_OFFSET	(8 + 8 + 4)
#define CALL_SIZE	(RAW_OFFSET + 16 + 8 * NR_ARGS + 4 + 8)

/* More than a sample of the clock takes. */
#define CLOCK_SIZE	512

struct writer {
	int			nth;
	int			fd, clock_fd;
	uint64_t		id, clock_id;
	pthread_t		thread;
	atomic_int		tid;
	atomic_bool		stop;
	atomic_uint_fast64_t	written;	/* calls made */
	atomic_uint_fast64_t	limit;		/* calls that it may have made by now */

	/* the reader's */
	uint64_t		ahead;		/* how many calls it allows before it reads on */
	bool			joined;
	struct ring		ring;
	struct snapshot		snapshot;
	uint64_t		end;		/* of the last snapshot */
	uint64_t		next;		/* number */
	uint64_t		lost;		/* bytes */
	uint64_t		interrupts;
	uint64_t		interrupts_allowed;
	uint64_t		interrupt_time;
};

static void call(uint64_t number)
{
	syscall(CALL, number, ~number, number * 0x9e3779b97f4a7c15, number ^ 0x5555555555555555,
		number << 32, number + 1);
}

static bool is_call(const struct record *record, uint64_t number)
{
	const unsigned char *raw = record->bytes + RAW_OFFSET;
	uint64_t id, args[NR_ARGS];

	memcpy(&id, raw + 8, sizeof(id));
	memcpy(args, raw + 16, sizeof(args));
	return record->header.size == CALL_SIZE && id == CALL && args[0] == number &&
	       args[1] == ~number && args[2] == number * 0x9e3779b97f4a7c15 &&
	       args[3] == (number ^ 0x5555555555555555) && args[4] == number << 32 &&
	       args[5] == number + 1;
}

static void *write_calls(void *arg)
{
	struct writer *w = arg;
	uint64_t number = 0;

	pin_to_cpu(nth_cpu(w->nth));
	atomic_store(&w->tid, gettid());
	while (!atomic_load(&w->stop)) {
		if (number >= atomic_load(&w->limit)) {
			usleep(100);
			continue;
		}
		call(number++);
		atomic_store(&w->written, number);
	}
	return NULL;
}

static void join(struct writer *w)
{
	atomic_store(&w->stop, true);
	if (!w->joined)
		pthread_join(w->thread, NULL);
	w->joined = true;
}

FIXTURE(overwrite)
{
	int		id;
	int		nr;
	struct writer	*writers;
};

FIXTURE_VARIANT(overwrite)
{
	int	pages;
};

FIXTURE_VARIANT_ADD(overwrite, one_page)
{
	.pages = 1,
};

FIXTURE_VARIANT_ADD(overwrite, pages_16)
{
	.pages = 16,
};

FIXTURE_VARIANT_ADD(overwrite, pages_256)
{
	.pages = 256,
};

FIXTURE_SETUP(overwrite)
{
	REQUIRE_SIZE_AT_END();
	REQUIRE_ROOT();
	self->id = tracepoint_id("raw_syscalls/sys_enter");
	if (self->id < 0)
		SKIP(return, "no tracepoint raw_syscalls:sys_enter");
	self->writers = calloc(MAX_WRITERS, sizeof(*self->writers));
	ASSERT_NE(NULL, self->writers);
}

FIXTURE_TEARDOWN(overwrite)
{
	for (int i = 0; i < self->nr; i++) {
		struct writer *w = &self->writers[i];

		join(w);
		if (w->clock_fd > 0)
			close(w->clock_fd);
		ring_close(&w->ring);
		free(w->snapshot.copy.data);
	}
	free(self->writers);
}

/* Starts a thread that waits; its calls are recorded from the first one on. */
static struct writer *new_writer(struct __test_metadata *_metadata, FIXTURE_DATA(overwrite) *self,
				 const FIXTURE_VARIANT(overwrite) *variant)
{
	struct writer *w = &self->writers[self->nr];
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_TRACEPOINT, .config = self->id,
		.sample_period = 1, .disabled = 1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_RAW | PERF_SAMPLE_SIZE_AT_END,
	};
	char filter[32];

	w->nth = self->nr++;
	ASSERT_EQ(0, pthread_create(&w->thread, NULL, write_calls, w));
	while (!atomic_load(&w->tid))
		usleep(100);
	w->fd = perf_open(&attr, w->tid, -1);
	ASSERT_GE(w->fd, 0);
	snprintf(filter, sizeof(filter), "id == %d", CALL);
	ASSERT_EQ(0, ioctl(w->fd, PERF_EVENT_IOC_SET_FILTER, filter));
	ASSERT_EQ(0, ioctl(w->fd, PERF_EVENT_IOC_ID, &w->id));
	ASSERT_EQ(0, ring_map(&w->ring, w->fd, variant->pages, PROT_READ));
	snapshot_init(&w->snapshot, &w->ring);
	ASSERT_EQ(0, ioctl(w->fd, PERF_EVENT_IOC_ENABLE, 0));
	return w;
}

/*
 * Samples of the clock, taken in an interrupt, go to the same ring, as many as go_on() allows: a
 * writer that waits is interrupted, too, and the reader may be kept from its CPU for long.
 */
static void interrupt(struct __test_metadata *_metadata, struct writer *w)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 20000, .disabled = 1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN |
			       PERF_SAMPLE_SIZE_AT_END,
		.sample_max_stack = 8,
	};

	w->clock_fd = perf_open(&attr, w->tid, -1);
	ASSERT_GE(w->clock_fd, 0);
	ASSERT_EQ(0, ioctl(w->clock_fd, PERF_EVENT_IOC_ID, &w->clock_id));
	ASSERT_EQ(0, ioctl(w->clock_fd, PERF_EVENT_IOC_SET_OUTPUT, w->fd));
}

/* Lets @w make @ahead calls from the next one on, and be interrupted until a quarter is filled. */
static void go_on(struct __test_metadata *_metadata, struct writer *w)
{
	uint64_t more = w->interrupts + w->ring.size / CLOCK_SIZE / 4 - w->interrupts_allowed;

	/* Enables it until so many more have come; 0 would be no limit. */
	if (w->clock_fd && more) {
		ASSERT_EQ(0, ioctl(w->clock_fd, PERF_EVENT_IOC_REFRESH, more));
		w->interrupts_allowed += more;
	}
	atomic_store(&w->limit, w->ahead ? w->next + w->ahead : UINT64_MAX);
}

/* One writer for each CPU, but at least two. */
static int how_many(void)
{
	int nr = 2;

	while (nr < MAX_WRITERS && nth_cpu(nr) >= 0)
		nr++;
	return nr;
}

static void check_record(struct __test_metadata *_metadata, struct writer *w,
			 const struct record *record)
{
	ASSERT_EQ(PERF_RECORD_SAMPLE, record->header.type);
	if (w->clock_fd && record->words[1] == w->clock_id) {
		ASSERT_LE(w->interrupt_time, record->words[2]);
		w->interrupt_time = record->words[2];
		w->interrupts++;
		return;
	}
	ASSERT_EQ(w->id, record->words[1]);
	ASSERT_TRUE(is_call(record, w->next))
		TH_LOG("writer %d, at %llu: call %llu was to come", w->nth,
		       (unsigned long long)record->position, (unsigned long long)w->next);
	w->next++;
}

/* Takes a snapshot, and goes through what is new. */
static void read_on(struct __test_metadata *_metadata, struct writer *w)
{
	const int largest = w->clock_fd ? CLOCK_SIZE : CALL_SIZE;
	static struct record record;
	struct ring *copy = &w->snapshot.copy;
	uint64_t begin, oldest;

	snapshot_take(&w->snapshot, &w->ring);
	oldest = w->snapshot.valid > w->end ? w->snapshot.valid : w->end;
	for (begin = w->snapshot.head; begin > w->end; begin = record.position)
		if (!ring_record_before(copy, begin, oldest, &record))
			break;

	/* It ends where the last snapshot did; or where there is no whole record before. */
	if (oldest == w->end) {
		ASSERT_EQ(w->end, begin);
	}
	ASSERT_GT(largest, begin - oldest)
		TH_LOG("writer %d: torn at %llu, valid from %llu, head %llu", w->nth,
		       (unsigned long long)begin, (unsigned long long)oldest,
		       (unsigned long long)w->snapshot.head);
	if (begin > w->end) {
		w->lost += begin - w->end;
		if (!w->clock_fd) {
			ASSERT_EQ(0, (begin - w->end) % CALL_SIZE);
			w->next += (begin - w->end) / CALL_SIZE;
		}
	}
	for (; begin < w->snapshot.head; begin += record.header.size) {
		ASSERT_TRUE(ring_record_at(copy, begin, w->snapshot.head, &record));
		check_record(_metadata, w, &record);
	}
	w->end = w->snapshot.head;
}

/* Reads until all have gone @laps times round the ring, or time is up; then what is left. */
static void read_laps(struct __test_metadata *_metadata, FIXTURE_DATA(overwrite) *self, int laps)
{
	uint64_t deadline = now_ms() + 100000;
	bool done = false;

	for (int i = 0; i < self->nr; i++)
		go_on(_metadata, &self->writers[i]);
	while (!done && now_ms() < deadline) {
		done = true;
		for (int i = 0; i < self->nr; i++) {
			struct writer *w = &self->writers[i];

			read_on(_metadata, w);
			go_on(_metadata, w);
			done = done && w->end >= laps * w->ring.size;
		}
	}
	for (int i = 0; i < self->nr; i++) {
		struct writer *w = &self->writers[i];

		join(w);
		read_on(_metadata, w);
		EXPECT_EQ(w->written, w->next);
		EXPECT_EQ(w->end, w->ring.page->data_reserved);
		TH_LOG("writer %d: %llu calls, %llu laps, %llu bytes overwritten unread", i,
		       (unsigned long long)w->next, (unsigned long long)(w->end / w->ring.size),
		       (unsigned long long)w->lost);
	}
	ASSERT_TRUE(done)
		TH_LOG("too slow: %d laps were to be made", laps);
}

/* At rest, a walk from the head finds all that is left: up to the record that was overwritten. */
TEST_F_TIMEOUT(overwrite, walk_finds_the_oldest, 120)
{
	struct writer *w = new_writer(_metadata, self, variant);
	uint64_t fit = w->ring.size / CALL_SIZE;

	for (uint64_t laps = 0; laps < 5; laps++) {
		uint64_t target = (laps + 1) * (fit + 3) + laps * 7;
		uint64_t before = w->next;

		atomic_store(&w->limit, target);
		while (atomic_load(&w->written) < target)
			usleep(1000);
		read_on(_metadata, w);
		EXPECT_EQ(target, w->next);
		EXPECT_EQ(target * CALL_SIZE, w->end);
		/* Nothing is given up that is there. */
		EXPECT_EQ((target - before) - fit, w->lost / CALL_SIZE);
		w->lost = 0;
	}
}

/* Writers on all CPUs, none too fast for the reader: nothing is missing, nothing comes twice. */
TEST_F_TIMEOUT(overwrite, gapless, 120)
{
	int nr = how_many();

	for (int i = 0; i < nr; i++) {
		struct writer *w = new_writer(_metadata, self, variant);

		w->ahead = w->ring.size / CALL_SIZE / 2;
	}
	read_laps(_metadata, self, variant->pages > 16 ? 5 : 50);
	for (int i = 0; i < nr; i++) {
		EXPECT_EQ(0, self->writers[i].lost);
	}
}

/* Writers at full speed: what is missing is what was overwritten, to the record. */
TEST_F_TIMEOUT(overwrite, losses_are_known, 120)
{
	for (int i = how_many(); i > 0; i--)
		new_writer(_metadata, self, variant);
	read_laps(_metadata, self, variant->pages > 16 ? 5 : 50);
}

/* Writers that are interrupted in the middle of a record by another that goes to the same ring. */
TEST_F_TIMEOUT(overwrite, interrupted, 120)
{
	int nr = how_many();

	if (variant->pages == 1)
		SKIP(return, "too small to hold all until it is read");
	for (int i = 0; i < nr; i++) {
		struct writer *w = new_writer(_metadata, self, variant);

		w->ahead = w->ring.size / CALL_SIZE / 4;
		interrupt(_metadata, w);
	}
	read_laps(_metadata, self, variant->pages > 16 ? 5 : 50);
	for (int i = 0; i < nr; i++) {
		EXPECT_EQ(0, self->writers[i].lost);
		EXPECT_LT(0, self->writers[i].interrupts);
		TH_LOG("writer %d: %llu interrupts", i,
		       (unsigned long long)self->writers[i].interrupts);
	}
}

TEST_HARNESS_MAIN
