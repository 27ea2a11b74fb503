// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test snapshots of overwrite rings with PERF_SAMPLE_SIZE_AT_END during writes:
 * every record returned is complete, and the number of overwritten bytes is
 * exact. Nothing is paused.
 *
 * Writers make system calls with numbers as arguments, which a tracepoint
 * records.
 */
#include "sized.h"
#include "snapshot.h"

#include <pthread.h>
#include <stdatomic.h>

#define MAX_WRITERS	4
#define CALL		SYS_getppid
#define NR_ARGS		6

/* Header, identifier, size of the raw data, raw data, padding, trailer */
#define RAW_OFFSET	(8 + 8 + 4)
#define CALL_SIZE	(RAW_OFFSET + 16 + 8 * NR_ARGS + 4 + 8)

/* Upper bound for the size of a cpu-clock sample */
#define CLOCK_SIZE	512

struct writer {
	int			nth;
	int			fd, clock_fd;
	uint64_t		id, clock_id;
	pthread_t		thread;
	atomic_int		tid;
	atomic_bool		stop;
	atomic_uint_fast64_t	written;	/* calls made */
	atomic_uint_fast64_t	limit;		/* calls allowed so far */

	/* Used by the reader only */
	uint64_t		ahead;		/* calls beyond @next */
	bool			joined;
	struct ring		ring;
	struct snapshot		snapshot;
	uint64_t		end;		/* of the last snapshot */
	uint64_t		next;		/* expected number */
	uint64_t		overwritten;	/* unread [bytes] */
	uint64_t		interrupts;
	uint64_t		interrupts_allowed;
	uint64_t		interrupt_time;
};

static void call(uint64_t number)
{
	syscall(CALL, number, ~number, number * 0x9e3779b97f4a7c15,
		number ^ 0x5555555555555555, number << 32, number + 1);
}

static bool is_call(const struct record *record, uint64_t number)
{
	const unsigned char *raw = record->bytes + RAW_OFFSET;
	uint64_t id, args[NR_ARGS];

	memcpy(&id, raw + 8, sizeof(id));
	memcpy(args, raw + 16, sizeof(args));
	return record->header.size == CALL_SIZE && id == CALL &&
	       args[0] == number && args[1] == ~number &&
	       args[2] == number * 0x9e3779b97f4a7c15 &&
	       args[3] == (number ^ 0x5555555555555555) &&
	       args[4] == number << 32 && args[5] == number + 1;
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

/* Start a writer that waits for its limit, with its event enabled. */
static struct writer *new_writer(struct __test_metadata *_metadata,
				 FIXTURE_DATA(overwrite) *self,
				 const FIXTURE_VARIANT(overwrite) *variant)
{
	struct writer *w = &self->writers[self->nr];
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.config = self->id,
		.sample_period = 1,
		.disabled = 1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_RAW |
			       PERF_SAMPLE_SIZE_AT_END,
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
 * Add cpu-clock samples, which are taken in interrupts, to the same ring.
 * let_run() limits their number: a waiting writer is interrupted as well, and
 * the reader may not run for a long time.
 */
static void interrupt(struct __test_metadata *_metadata, struct writer *w)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 20000,
		.disabled = 1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_SIZE_AT_END,
		.sample_max_stack = 8,
	};

	w->clock_fd = perf_open(&attr, w->tid, -1);
	ASSERT_GE(w->clock_fd, 0);
	ASSERT_EQ(0, ioctl(w->clock_fd, PERF_EVENT_IOC_ID, &w->clock_id));
	ASSERT_EQ(0, ioctl(w->clock_fd, PERF_EVENT_IOC_SET_OUTPUT, w->fd));
}

/*
 * Allow @w to make @ahead calls beyond the next unread one, and as many clock
 * samples as fill a quarter of the ring.
 */
static void let_run(struct __test_metadata *_metadata, struct writer *w)
{
	uint64_t more = w->interrupts + w->ring.size / CLOCK_SIZE / 4 -
			w->interrupts_allowed;

	/* Enable it for this many samples; 0 would be no limit. */
	if (w->clock_fd && more) {
		ASSERT_EQ(0, ioctl(w->clock_fd, PERF_EVENT_IOC_REFRESH, more));
		w->interrupts_allowed += more;
	}
	atomic_store(&w->limit, w->ahead ? w->next + w->ahead : UINT64_MAX);
}

/* One writer for each CPU, but at least two. */
static int nr_writers(void)
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
		TH_LOG("writer %d, at %llu: expected call %llu", w->nth,
		       (unsigned long long)record->position,
		       (unsigned long long)w->next);
	w->next++;
}

/* Take a snapshot and check the records that are new in it. */
static void read_new_records(struct __test_metadata *_metadata,
			     struct writer *w)
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

	/* The walk ends at the last snapshot, or at the oldest whole record. */
	if (oldest == w->end) {
		ASSERT_EQ(w->end, begin);
	}
	ASSERT_GT(largest, begin - oldest)
		TH_LOG("writer %d: torn at %llu, valid from %llu, head %llu",
		       w->nth, (unsigned long long)begin,
		       (unsigned long long)oldest,
		       (unsigned long long)w->snapshot.head);
	if (begin > w->end) {
		w->overwritten += begin - w->end;
		if (!w->clock_fd) {
			ASSERT_EQ(0, (begin - w->end) % CALL_SIZE);
			w->next += (begin - w->end) / CALL_SIZE;
		}
	}
	for (; begin < w->snapshot.head; begin += record.header.size) {
		ASSERT_TRUE(
			ring_record_at(copy, begin, w->snapshot.head, &record));
		check_record(_metadata, w, &record);
	}
	w->end = w->snapshot.head;
}

/*
 * Read until each ring has wrapped @laps times, and each writer with a clock
 * was interrupted, or a timeout; then stop the writers and read the rest.
 *
 * A ring may have wrapped before the first interrupt: timers of a guest on a
 * busy host can be later than a writer's wait for the reader, which stops them.
 */
static void read_laps(struct __test_metadata *_metadata,
		      FIXTURE_DATA(overwrite) *self, int laps)
{
	uint64_t deadline = now_ms() + 100000;
	bool done = false;

	for (int i = 0; i < self->nr; i++)
		let_run(_metadata, &self->writers[i]);
	while (!done && now_ms() < deadline) {
		done = true;
		for (int i = 0; i < self->nr; i++) {
			struct writer *w = &self->writers[i];

			read_new_records(_metadata, w);
			let_run(_metadata, w);
			done = done && w->end >= laps * w->ring.size &&
			       (!w->clock_fd || w->interrupts);
		}
	}
	for (int i = 0; i < self->nr; i++) {
		struct writer *w = &self->writers[i];

		join(w);
		read_new_records(_metadata, w);
		EXPECT_EQ(w->written, w->next);
		EXPECT_EQ(w->end, ring_reserved(&w->ring));
		TH_LOG("writer %d: %llu calls, %llu laps, %llu B overwritten",
		       i, (unsigned long long)w->next,
		       (unsigned long long)(w->end / w->ring.size),
		       (unsigned long long)w->overwritten);
	}
	ASSERT_TRUE(done)
		TH_LOG("timeout before %d laps, with interrupts if asked for",
		       laps);
}

/* In an idle ring the walk reaches the oldest record not overwritten. */
TEST_F_TIMEOUT(overwrite, walk_reaches_oldest_record, 120)
{
	struct writer *w = new_writer(_metadata, self, variant);
	uint64_t fit = w->ring.size / CALL_SIZE;

	for (uint64_t laps = 0; laps < 5; laps++) {
		uint64_t target = (laps + 1) * (fit + 3) + laps * 7;
		uint64_t before = w->next;

		atomic_store(&w->limit, target);
		while (atomic_load(&w->written) < target)
			usleep(1000);
		read_new_records(_metadata, w);
		EXPECT_EQ(target, w->next);
		EXPECT_EQ(target * CALL_SIZE, w->end);
		/* No valid record is dropped. */
		EXPECT_EQ((target - before) - fit, w->overwritten / CALL_SIZE);
		w->overwritten = 0;
	}
}

/* Writers on all CPUs, throttled to the reader: nothing missing or repeated. */
TEST_F_TIMEOUT(overwrite, no_gap_no_duplicate, 120)
{
	int nr = nr_writers();

	for (int i = 0; i < nr; i++) {
		struct writer *w = new_writer(_metadata, self, variant);

		w->ahead = w->ring.size / CALL_SIZE / 2;
	}
	read_laps(_metadata, self, variant->pages > 16 ? 5 : 50);
	for (int i = 0; i < nr; i++) {
		EXPECT_EQ(0, self->writers[i].overwritten);
	}
}

/* Writers at full speed: overwritten bytes equal the missing records. */
TEST_F_TIMEOUT(overwrite, overwritten_bytes_counted, 120)
{
	for (int i = nr_writers(); i > 0; i--)
		new_writer(_metadata, self, variant);
	read_laps(_metadata, self, variant->pages > 16 ? 5 : 50);
}

/* Writers that are interrupted by writers to the same ring. */
TEST_F_TIMEOUT(overwrite, interrupted_writers, 120)
{
	int nr = nr_writers();

	if (variant->pages == 1)
		SKIP(return, "ring too small to avoid overwriting");
	for (int i = 0; i < nr; i++) {
		struct writer *w = new_writer(_metadata, self, variant);

		w->ahead = w->ring.size / CALL_SIZE / 4;
		interrupt(_metadata, w);
	}
	read_laps(_metadata, self, variant->pages > 16 ? 5 : 50);
	for (int i = 0; i < nr; i++) {
		EXPECT_EQ(0, self->writers[i].overwritten);
		EXPECT_LT(0, self->writers[i].interrupts);
		TH_LOG("writer %d: %llu interrupts", i,
		       (unsigned long long)self->writers[i].interrupts);
	}
}

TEST_HARNESS_MAIN
