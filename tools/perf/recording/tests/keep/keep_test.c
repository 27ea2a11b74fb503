// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keep records in blocks: what is kept is whole and in order, what is reported is true.
 * tags: fast parallel
 *
 * Several threads append numbered records while blocks are compressed, dropped and handed over. A
 * fake packer keeps one record of four, which tell from where to where the numbers go; a fake
 * restorer adds a copy of each of these for the file. Prints KTAP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <internal/lib.h>
#include <linux/perf_event.h>

#include "recording/keep/keep.h"
#include "recording/keep/pack.h"
#include "recording/keep/share.h"
#include "recording/output/output.h"
#include "recording/ring/channel.h"
#include "no_unpacker.h"
#include <perf/event.h>
#include "perf/tests/tap.h"

#define NR_THREADS	3
#define RUN_RECORDS	32

/* Advances by 1 ns with each record that is appended. */
static u64 monotonic_ns;

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	(void)clock;
	*ts = (struct timespec){ .tv_nsec = __atomic_load_n(&monotonic_ns, __ATOMIC_RELAXED) };
	return 0;
}

/* A record of one thread; @time is @nr, so that times can be checked. */
struct numbered {
	struct perf_event_header header;
	u64			 thread;
	u64			 nr;
	char			 filler[480];
	u64			 cgroup;
};

int evlist__parse_sample_timestamp(struct evlist *evlist, union perf_event *event, u64 *timestamp)
{
	(void)evlist;
	*timestamp = ((struct numbered *)event)->nr;
	return 0;
}

/*
 * Fakes
 */

static bool incompressible;
static unsigned int nr_fast;
static pthread_mutex_t stall = PTHREAD_MUTEX_INITIALIZER;

struct keep_packer {
	struct numbered	packed[KEEP_BLOCK_BYTES / sizeof(struct numbered)];
};

struct keep_packer *keep_packer__new(size_t max_bytes, int level, struct evlist *evlist)
{
	(void)max_bytes, (void)level, (void)evlist;
	return malloc(sizeof(struct keep_packer));
}

void keep_packer__free(struct keep_packer *packer)
{
	free(packer);
}

/* Keep one record of four, marked by its type. */
size_t keep_packer__pack(struct keep_packer *packer, const void *records, size_t len, bool fast,
			 const void **packed)
{
	struct numbered *to = packer->packed;
	size_t i, nr = len / sizeof(*to);

	pthread_mutex_lock(&stall);
	pthread_mutex_unlock(&stall);
	__atomic_fetch_add(&nr_fast, fast, __ATOMIC_RELAXED);
	*packed = to;
	if (incompressible)
		return 0;
	for (i = 0; i < nr; i += 4) {
		*to = ((const struct numbered *)records)[i];
		to++->header.type = PERF_RECORD_COMPRESSED;
	}
	return (void *)to - (void *)packer->packed;
}

bool evsel__is_kept(const struct evsel *evsel)
{
	(void)evsel;
	return true;
}

int restorer__init(struct restorer *restorer, int level)
{
	(void)level;
	restorer->records = malloc(KEEP_BLOCK_BYTES);
	return 0;
}

void restorer__exit(struct restorer *restorer)
{
	free(restorer->records);
}

/* Two records for each. */
int restorer__restore(struct restorer *restorer, struct records *records)
{
	size_t len = records__len(records);

	memcpy(restorer->records, records->part[0].iov_base, len);
	memset(restorer->records + len, 0, len);
	*records = records__of(restorer->records, 2 * len);
	return 0;
}

/**
 * struct found - what was written
 * @nr:		number of records of each thread, only where blocks are not compressed
 * @first:	their first number
 * @last:	their last number
 * @marks:	FINISHED_ROUND
 * @disorder:	records that are not behind the one before
 */
struct found {
	u64		nr[NR_THREADS];
	u64		first[NR_THREADS];
	u64		last[NR_THREADS];
	u64		raw_bytes;
	unsigned int	blocks;
	unsigned int	marks;
	unsigned int	disorder;
};

static struct found found;

int output__write_kept(struct output *output, const struct records *records, u64 raw_len,
		       const struct time_span *span)
{
	const struct numbered *record = records->part[0].iov_base;
	const struct numbered *end = record + records__len(records) / sizeof(*record);

	(void)output;
	found.blocks++;
	found.raw_bytes += raw_len;
	for (; record < end; record++) {
		u64 thread = record->thread;

		if (!record->header.type)		/* of the fake restorer */
			continue;
		if (found.nr[thread]++ && record->nr <= found.last[thread])
			found.disorder++;
		if (record->nr < span->first || record->nr > span->last)
			found.disorder++;
		if (found.nr[thread] == 1)
			found.first[thread] = record->nr;
		found.last[thread] = record->nr;
	}
	return 0;
}

int output__mark(struct output *output, unsigned int type)
{
	(void)output, (void)type;
	found.marks++;
	return 0;
}

static int before_block(void *arg, u64 first)
{
	(void)arg, (void)first;
	return 0;
}

static int before_mark(void *arg, u64 time, bool *complete)
{
	(void)arg, (void)time;
	*complete = true;
	return 0;
}

/*
 * Append
 */

struct appender {
	struct keep	*keep;
	struct ring	 ring;
	u64		 thread;
	u64		 nr;
	u64		 runs;
	pthread_t	 pthread;
};

static struct appender appenders[NR_THREADS];

static void append_run(struct appender *appender)
{
	static __thread struct numbered run[RUN_RECORDS];
	struct records records = records__of(run, sizeof(run));
	int i;

	for (i = 0; i < RUN_RECORDS; i++) {
		run[i].header = (struct perf_event_header){
			.type = PERF_RECORD_SAMPLE, .size = sizeof(run[i]),
		};
		run[i].thread = appender->thread;
		run[i].nr = ++appender->nr;
		run[i].cgroup = 1 + !(run[i].nr % 3);
	}
	__atomic_fetch_add(&monotonic_ns, RUN_RECORDS, __ATOMIC_RELAXED);
	appender->keep->sink.write(&appender->keep->sink, &records, &appender->ring);
}

static void *append(void *arg)
{
	struct appender *appender = arg;
	u64 i;

	for (i = 0; i < appender->runs; i++) {
		append_run(appender);
		if (i % 16 == 0)
			keep__end_round(appender->keep);
	}
	return NULL;
}

static void append_all(struct keep *keep, u64 runs)
{
	int i;

	for (i = 0; i < NR_THREADS; i++) {
		appenders[i].keep = keep;
		appenders[i].thread = i;
		appenders[i].runs = runs;
		appenders[i].ring.stats.evlist = (void *)keep;
		pthread_create(&appenders[i].pthread, NULL, append, &appenders[i]);
	}
}

static void join_all(void)
{
	int i;

	for (i = 0; i < NR_THREADS; i++)
		pthread_join(appenders[i].pthread, NULL);
}

/* Take a snapshot into @found, and say whether it was saved. Return: its statistics. */
static struct keep_stats attempt(struct keep *keep, bool saved)
{
	const struct keep_writer writer = { .before_block = before_block,
					    .before_mark = before_mark };
	struct keep_stats stats;

	found = (struct found){ 0 };
	keep__request(keep);
	if (keep__hand_over(keep, &stats) || keep__write(keep, NULL, &writer, &stats))
		printf("# a snapshot fails\n");
	keep__end_snapshot(keep, saved);
	return stats;
}

static struct keep_stats snapshot(struct keep *keep)
{
	return attempt(keep, true);
}

static void begin(struct keep *keep, u64 max_ns, u64 max_bytes, int level, bool overlap)
{
	memset(appenders, 0, sizeof(appenders));
	*keep = (struct keep){ .max_ns = max_ns, .max_bytes = max_bytes, .level = level,
			       .overlap = overlap };
	keep__init(keep);
}

static u64 sum(const u64 *values)
{
	return values[0] + values[1] + values[2];
}

static bool reaches_end(void)
{
	int i;

	for (i = 0; i < NR_THREADS; i++) {
		if (found.last[i] != appenders[i].nr)
			return false;
	}
	return true;
}

/* Where nothing is compressed: are all records newer than @begin there, and no gap behind it? */
static bool is_complete_from(u64 begin)
{
	int i;

	for (i = 0; i < NR_THREADS; i++) {
		if (!found.nr[i] && appenders[i].nr <= begin)
			continue;
		if (found.nr[i] != found.last[i] - found.first[i] + 1 ||
		    (found.first[i] > begin + 1 && found.first[i] > 1) ||
		    found.last[i] != appenders[i].nr)
			return false;
	}
	return true;
}

/*
 * Tests
 */

static void test_everything(void)
{
	struct keep_stats stats, more;
	struct keep keep;

	begin(&keep, 0, 1ULL << 40, 0, false);
	append_all(&keep, 400);
	join_all();
	stats = snapshot(&keep);
	check(stats.records == 3 * 400 * RUN_RECORDS && sum(found.nr) == stats.records,
	      "all records are written");
	check(is_complete_from(0) && !found.disorder && stats.limit == KEEP_NO_LIMIT,
	      "they are in order, and nothing was dropped");
	check(found.marks && found.marks < found.blocks, "some blocks end rounds");
	stats = snapshot(&keep);
	check(!stats.records && !found.blocks, "the next snapshot has none of them");
	append_all(&keep, 10);
	join_all();
	more = snapshot(&keep);
	check(more.records == 3 * 10 * RUN_RECORDS && reaches_end(), "but later ones");
	check(keep.bytes == keep.nr_spare * KEEP_BLOCK_BYTES, "no memory is left over");
	keep__exit(&keep);
}

static void test_compressed(void)
{
	struct keep_stats stats;
	struct keep keep;

	begin(&keep, 0, 1ULL << 40, 1, false);
	append_all(&keep, 400);
	join_all();
	stats = snapshot(&keep);
	check(stats.records == 3 * 400 * RUN_RECORDS && sum(found.nr) == stats.records / 4 &&
	      !found.disorder, "blocks are compressed when they are written");
	check(stats.raw_bytes == stats.records * sizeof(struct numbered) &&
	      stats.compressed_bytes == sum(found.nr) * sizeof(struct numbered) &&
	      stats.written_bytes == 2 * stats.compressed_bytes,
	      "the lengths before and after compression, and in the file, are counted");
	incompressible = true;
	append_all(&keep, 400);
	join_all();
	stats = snapshot(&keep);
	incompressible = false;
	check(sum(found.nr) == stats.records && !found.disorder && reaches_end(),
	      "what cannot be compressed is written as it is");
	keep__exit(&keep);
}

/* Append @runs from one thread, whose clock is @time. */
static void append_from(struct keep *keep, u64 time, u64 runs)
{
	appenders[0].keep = keep;
	appenders[0].nr = time;
	appenders[0].runs = runs;
	appenders[0].ring.stats.evlist = (void *)keep;
	append(&appenders[0]);
}

/* Records of the next snapshot may be older than what is before the last mark. */
static void test_last_mark(void)
{
	struct keep keep;

	begin(&keep, 0, 1ULL << 40, 0, false);
	append_from(&keep, 0, 1000);
	snapshot(&keep);
	check(found.blocks > 10 && found.marks == found.blocks - 2,
	      "a mark follows each block that ends a round, but for the last one");
	keep__exit(&keep);
}

static void test_time(void)
{
	struct keep_stats stats;
	struct keep keep;

	begin(&keep, 2000, 1ULL << 40, 0, false);
	append_all(&keep, 1000);
	join_all();
	stats = snapshot(&keep);
	check(stats.limit == KEEP_LIMIT_TIME && stats.end - stats.begin >= 2000,
	      "the time limits what is kept, and is kept");
	check(is_complete_from(stats.begin) && !found.disorder, "nothing is missing in the span");
	check(stats.records + keep.dropped.records == 3 * 1000 * RUN_RECORDS,
	      "what was dropped is counted");
	keep__exit(&keep);
}

/* After a snapshot, only later records are there. */
static void test_clock_set(s64 step, bool between, const char *what)
{
	struct keep_stats stats;
	struct keep keep;

	begin(&keep, 10000, 1ULL << 40, 0, false);
	append_from(&keep, 1000000, 1000);
	if (between)
		snapshot(&keep);
	append_from(&keep, 1000000 + step, 200);
	stats = snapshot(&keep);
	check(stats.records >= (between ? 200 * RUN_RECORDS : 10000) &&
	      found.last[0] == appenders[0].nr, what);
	append_from(&keep, 1000000 + step + 200 * RUN_RECORDS, 4000);
	stats = snapshot(&keep);
	check(stats.records >= 10000 && stats.records < 60000 && stats.end - stats.begin >= 10000,
	      "later, the time limits what is kept");
	keep__exit(&keep);
}

static void test_lost(void)
{
	struct keep_stats stats = { .begin = 100, .end = 200, .limit = KEEP_LIMIT_TIME };

	keep_stats__lose(&stats, 100);
	check(stats.begin == 100 && stats.limit == KEEP_LIMIT_TIME,
	      "a loss before the first record changes nothing");
	keep_stats__lose(&stats, 150);
	check(stats.begin == 150 && stats.limit == KEEP_LIMIT_LOST, "a later one ends the span");
	keep_stats__lose(&stats, UINT64_MAX);
	check(stats.begin == 200, "one that lasts leaves nothing");
}

static void test_memory(int level)
{
	struct keep_stats stats;
	struct keep keep;

	incompressible = level;
	begin(&keep, 0, 1, level, false);	/* 4 MB */
	append_all(&keep, 1000);
	join_all();
	stats = snapshot(&keep);
	check(stats.limit == KEEP_LIMIT_MEMORY || stats.limit == KEEP_LIMIT_CPU,
	      "the memory limits what is kept");
	check(stats.bytes <= 5 * KEEP_BLOCK_BYTES, "it is met");
	check(is_complete_from(stats.begin) && !found.disorder, "nothing is missing in the span");
	keep__exit(&keep);
	incompressible = false;
}

/* The compressor gets no CPU time for a while. */
static void test_behind(u64 max_bytes, bool expected, const char *what)
{
	struct keep keep;

	begin(&keep, 0, max_bytes, 1, false);
	nr_fast = 0;
	pthread_mutex_lock(&stall);
	append_from(&keep, 0, 1000);
	pthread_mutex_unlock(&stall);
	snapshot(&keep);
	check(expected == (__atomic_load_n(&nr_fast, __ATOMIC_RELAXED) > 0), what);
	keep__exit(&keep);
}

static bool is_packed(struct keep *keep)
{
	struct keep_block *block;
	bool packed = true;

	pthread_mutex_lock(&keep->lock);
	list_for_each_entry(block, &keep->blocks, node)
		packed = packed && block->form == KEEP_COMPRESSED;
	pthread_mutex_unlock(&keep->lock);
	return packed;
}

static void wait_packed(struct keep *keep)
{
	while (!is_packed(keep))
		usleep(100);
}

static void append_slowly(struct keep *keep)
{
	append_from(keep, appenders[0].nr, 16);
	wait_packed(keep);
}

/* The compressor's thread may drop blocks at any time. */
struct memory {
	u64 bytes;
	u64 used;		/* not spare [bytes] */
	u64 dropped;		/* records */
};

static struct memory get_memory(struct keep *keep)
{
	struct memory now;

	pthread_mutex_lock(&keep->lock);
	now.bytes = keep->bytes;
	now.used = keep->bytes - keep->nr_spare * KEEP_BLOCK_BYTES;
	now.dropped = keep->dropped.records;
	pthread_mutex_unlock(&keep->lock);
	return now;
}

/* Blocks that waited leave spare memory, which packed ones need later. */
static void test_spare(void)
{
	struct memory now, before = { 0 };
	struct keep keep;
	int i;

	begin(&keep, 0, 1, 1, false);		/* 4 MB */
	pthread_mutex_lock(&stall);
	append_from(&keep, 0, 48);
	pthread_mutex_unlock(&stall);
	wait_packed(&keep);
	while (now = get_memory(&keep), !now.dropped) {
		before = now;
		append_slowly(&keep);
	}
	check(before.used > 5 * KEEP_BLOCK_BYTES / 2,
	      "before records are dropped, spare memory is freed");
	for (i = 0; i < 100; i++)
		append_slowly(&keep);
	now = get_memory(&keep);
	check(now.used > 5 * KEEP_BLOCK_BYTES / 2 && now.bytes <= 5 * KEEP_BLOCK_BYTES,
	      "later, little of it is kept");
	keep__exit(&keep);
}

static void test_overlap(void)
{
	struct keep_stats first, second;
	struct keep keep;

	begin(&keep, 0, 1ULL << 40, 0, true);
	append_all(&keep, 100);
	join_all();
	first = snapshot(&keep);
	append_all(&keep, 100);
	join_all();
	second = snapshot(&keep);
	check(second.records == 2 * first.records && reaches_end() && found.first[0] == 1,
	      "with overlap a snapshot has the records of the one before, too");
	keep__exit(&keep);
}

/* More than one block of samples is left of the oldest blocks: some of these stay as they are. */
static void test_share(void)
{
	const struct keep_block *thinned, *next;
	struct keep_block *block;
	struct keep keep;

	begin(&keep, 0, 1ULL << 40, 0, false);
	keep.share = (struct keep_share){ .enabled = true, .tail = sizeof(u64) };
	keep.packer = keep_packer__new(KEEP_BLOCK_BYTES, 1, NULL);
	incompressible = true;
	append_from(&keep, 0, 1000);
	pthread_mutex_lock(&keep.lock);
	list_for_each_entry(block, &keep.blocks, node)
		block->holders = keep_holders__count(&keep, block->data, block->len);
	keep.limit_bytes = keep.bytes / 2;
	check(keep__thin(&keep) && keep.share.nr_cuts == 1, "samples of one cgroup are dropped");
	thinned = list_first_entry(&keep.blocks, struct keep_block, node);
	next = list_next_entry(thinned, node);
	incompressible = false;
	check(thinned->first == 1 && thinned->last + 1 == next->first &&
	      thinned->arrived < next->arrived && keep.share.cuts[0].last == thinned->last,
	      "they are not newer than those that are left of the same blocks");
	pthread_mutex_unlock(&keep.lock);
	keep__exit(&keep);
}

/*
 * Records that are in no file are counted once they are dropped, even if a snapshot that was not
 * saved had them.
 */
static void test_overlap_dropped(void)
{
	struct keep_stats kept;
	struct keep keep;
	u64 dropped;

	begin(&keep, 2000, 1ULL << 40, 0, true);
	append_all(&keep, 100);
	join_all();
	attempt(&keep, false);
	append_all(&keep, 1000);
	join_all();
	kept = snapshot(&keep);
	dropped = keep.dropped.records;
	check(kept.limit == KEEP_LIMIT_TIME &&
	      kept.records + dropped == 3 * 1100 * RUN_RECORDS,
	      "with overlap, dropped records of a snapshot that was not saved are counted");
	append_all(&keep, 1000);
	join_all();
	dropped += 3 * 1000 * RUN_RECORDS - snapshot(&keep).records;
	check(keep.dropped.records < dropped + kept.records && keep.dropped.records >= dropped,
	      "but not those that are in a file");
	keep__exit(&keep);
}

/* Records of rare events fill no block: the clock of the side-band tells their age. */
static void test_rare(void)
{
	struct keep_stats stats;
	struct keep keep;
	u64 newest;

	begin(&keep, 2000, 1ULL << 40, 0, false);
	append_from(&keep, 1000, 3);
	keep__synced(&keep, 1000000);
	newest = appenders[0].nr;
	keep__age(&keep, newest + 1000);
	check(keep__horizon(&keep) == 1001,
	      "a block that is filled is not dropped before its time");
	monotonic_ns += 10000;
	keep__age(&keep, newest + 1000);
	check(keep__horizon(&keep) == 1001, "time alone drops nothing");
	keep__age(&keep, newest + 2001);
	check(keep__horizon(&keep) == 1000000,
	      "the clock of the side-band ages records of rare events");
	append_from(&keep, newest + 3000, 1);
	stats = snapshot(&keep);
	check(stats.limit == KEEP_LIMIT_TIME && stats.records == RUN_RECORDS &&
	      stats.begin > newest && keep.dropped.records == 3 * RUN_RECORDS,
	      "what was dropped is counted");
	keep__exit(&keep);
}

/* The live state is too large. */
static void test_drop_oldest(void)
{
	struct keep_stats stats;
	struct keep keep;
	u64 first;

	begin(&keep, 0, 1ULL << 40, 0, false);
	keep__synced(&keep, UINT64_MAX);
	check(!keep__drop_oldest(&keep, UINT64_MAX),
	      "if nothing is kept, nothing can be dropped");
	append_from(&keep, 0, 1000);
	first = keep__horizon(&keep);
	check(keep__drop_oldest(&keep, UINT64_MAX) &&
	      keep__horizon(&keep) > first + 1000 * RUN_RECORDS / 4 &&
	      keep__horizon(&keep) < first + 1000 * RUN_RECORDS / 2,
	      "the oldest quarter is dropped");
	stats = snapshot(&keep);
	check(stats.limit == KEEP_LIMIT_MEMORY && is_complete_from(stats.begin) &&
	      stats.records + keep.dropped.records == 1000 * RUN_RECORDS,
	      "what was dropped is counted, and nothing newer is missing");
	append_from(&keep, 1000000, 1);
	check(keep__drop_oldest(&keep, UINT64_MAX) && keep__horizon(&keep) == UINT64_MAX &&
	      !keep__drop_oldest(&keep, UINT64_MAX), "so is a block that is filled");
	keep__exit(&keep);
}

/* The live state forgets nothing newer than its final time. */
static void test_drop_until(void)
{
	const u64 time = 600 * RUN_RECORDS, block = KEEP_BLOCK_BYTES / sizeof(struct numbered);
	struct keep_stats stats;
	struct keep keep;

	begin(&keep, 0, 1ULL << 40, 0, false);
	append_from(&keep, 0, 1000);
	while (keep__drop_oldest(&keep, time))
		;
	stats = snapshot(&keep);
	check(stats.begin < time && stats.begin + block >= time &&
	      stats.end == 1000 * RUN_RECORDS && is_complete_from(stats.begin),
	      "records up to a time are dropped, newer ones stay");
	append_from(&keep, 1000000, 1);
	check(!keep__drop_oldest(&keep, 1000001) && snapshot(&keep).records == RUN_RECORDS,
	      "so does a block that has older and newer ones");
	keep__exit(&keep);
}

static void test_unsaved(void)
{
	struct keep_stats first, second;
	struct keep keep;

	begin(&keep, 0, 1ULL << 40, 0, false);
	append_all(&keep, 100);
	join_all();
	first = attempt(&keep, false);
	append_all(&keep, 100);
	join_all();
	second = snapshot(&keep);
	check(second.records == 2 * first.records && is_complete_from(0) && !found.disorder &&
	      second.limit == KEEP_NO_LIMIT && !keep.dropped.records,
	      "the records of a snapshot that was not saved are in the next one");
	check(!snapshot(&keep).records, "and in no later one");
	append_from(&keep, 10000, 1000);
	keep__drop_oldest(&keep, UINT64_MAX);
	first = attempt(&keep, false);
	second = snapshot(&keep);
	check(first.limit == KEEP_LIMIT_MEMORY && second.limit == first.limit &&
	      second.begin == first.begin, "what is missing in one is missing in the next");
	keep__exit(&keep);
}

/* The disk has no space for the whole snapshot: the newest blocks are for the next attempt. */
static void test_limit_size(int level)
{
	struct keep_stats first, second;
	struct keep keep;
	u64 bytes;

	begin(&keep, 0, 1ULL << 40, level, false);
	append_from(&keep, 0, 1000);
	first = attempt(&keep, false);
	bytes = 1000 * sizeof(struct numbered) * RUN_RECORDS / (level ? 2 : 1) / 2;
	check(keep__limit_size(&keep, bytes), "the newest blocks are left");
	second = snapshot(&keep);
	check(second.limit == KEEP_LIMIT_SPACE && second.records < first.records &&
	      second.records > first.records / 4 && second.begin > 0 &&
	      found.last[0] >= first.end - 3,
	      "they are written in the next attempt, which says why others are missing");
	check(second.records + keep.unwritten.records == first.records && !keep.dropped.records,
	      "the others are counted");
	append_from(&keep, first.end, 1000);
	attempt(&keep, false);
	check(!keep__limit_size(&keep, 0) && keep.unwritten.records > first.records,
	      "nothing is left without space");
	keep__exit(&keep);
}

static void *limit_size(void *keep)
{
	keep__limit_size(keep, UINT64_MAX);
	return NULL;
}

static bool is_waited_for(struct keep *keep)
{
	bool waits;

	pthread_mutex_lock(&keep->lock);
	waits = keep->wanted;
	pthread_mutex_unlock(&keep->lock);
	return waits;
}

/* A block that is waited for is dropped: the memory is full. */
static void test_limit_size_dropped(void)
{
	struct keep keep;
	pthread_t thread;

	begin(&keep, 0, 1, 1, false);		/* 4 MB */
	pthread_mutex_lock(&stall);
	append_from(&keep, 0, 200);
	pthread_create(&thread, NULL, limit_size, &keep);
	while (!is_waited_for(&keep))
		usleep(100);
	append_from(&keep, appenders[0].nr, 1000);
	pthread_mutex_unlock(&stall);
	pthread_join(thread, NULL);
	check(get_memory(&keep).dropped > 200 * RUN_RECORDS && is_packed(&keep),
	      "a block may be dropped while it is waited for");
	keep__exit(&keep);
}

/* Records that are put back may need too much memory, or be too old. */
static void test_unsaved_limits(u64 max_ns, u64 max_bytes, enum keep_limit limit)
{
	struct keep_stats stats;
	struct keep keep;

	begin(&keep, max_ns, max_bytes, 0, false);
	append_all(&keep, 60);
	join_all();
	stats = attempt(&keep, false);
	check(stats.limit == KEEP_NO_LIMIT, "nothing was dropped before");
	append_all(&keep, 300);
	join_all();
	stats = snapshot(&keep);
	check(stats.limit == limit && is_complete_from(stats.begin) && !found.disorder,
	      "what is put back is dropped first, and nothing is missing in the span");
	check(stats.records + keep.dropped.records == 3 * 360 * RUN_RECORDS,
	      "what was dropped is counted");
	keep__exit(&keep);
}

/* Append between the blocks that are written. The second snapshot lacks what the first one has. */
/* The first two blocks are in a file that is complete. */
static int save_two(void *arg, u64 first)
{
	(void)first;
	if (found.blocks == 2)
		keep__save_part(arg);
	return 0;
}

static void test_parts(bool saved)
{
	struct keep keep;
	const struct keep_writer writer = { .before_block = save_two, .before_mark = before_mark,
					    .arg = &keep };
	struct keep_stats first, second;
	u64 in_part;

	begin(&keep, 0, 1ULL << 40, 0, false);
	append_all(&keep, 400);
	join_all();
	found = (struct found){ 0 };
	keep__request(&keep);
	check(!keep__hand_over(&keep, &first) && !keep__write(&keep, NULL, &writer, &first) &&
	      found.blocks > 3 && sum(found.nr) == first.records && is_complete_from(0),
	      "a snapshot in two parts is whole");
	keep__end_snapshot(&keep, saved);
	second = snapshot(&keep);
	in_part = first.records - second.records;
	if (saved)
		check(!second.records && second.limit == KEEP_NO_LIMIT,
		      "the next one has nothing of it");
	else
		check(in_part > 0 && in_part < first.records / 2 && reaches_end() &&
		      sum(found.nr) == second.records && !keep.dropped.records,
		      "if the second is not saved, the next one has it, but not the first");
	keep__exit(&keep);
}

static struct keep *meanwhile;

static int append_meanwhile(void *arg, u64 first)
{
	(void)arg, (void)first;
	if (found.blocks == 1) {
		append_all(meanwhile, 300);
		join_all();
	}
	return 0;
}

static u64 in_first_part;

/* The blocks of a snapshot become too old while the first two of them are written. */
static int save_two_late(void *arg, u64 first)
{
	(void)arg, (void)first;
	if (found.blocks != 2)
		return 0;
	append_all(meanwhile, 300);
	join_all();
	keep__save_part(meanwhile);
	in_first_part = sum(found.nr);
	return 0;
}

static void test_old_parts(void)
{
	const struct keep_writer writer = { .before_block = save_two_late,
					    .before_mark = before_mark };
	struct keep_stats first, second;
	struct keep keep;

	begin(&keep, 3000, 1ULL << 40, 0, false);
	meanwhile = &keep;
	append_all(&keep, 60);
	join_all();
	found = (struct found){ 0 };
	check(!keep__hand_over(&keep, &first) && !keep__write(&keep, NULL, &writer, &first) &&
	      in_first_part < first.records && sum(found.nr) == first.records,
	      "a snapshot in two parts is whole, though it becomes too old meanwhile");
	keep__end_snapshot(&keep, false);
	second = snapshot(&keep);
	check(second.limit == KEEP_LIMIT_TIME && is_complete_from(second.begin) &&
	      second.begin >= first.end &&
	      in_first_part + keep.dropped.records + second.records == 3 * 360 * RUN_RECORDS,
	      "if the second is not saved, its records are counted as dropped");
	keep__exit(&keep);
}

static void test_full_while_writing(bool saved)
{
	const struct keep_writer writer = { .before_block = append_meanwhile,
					    .before_mark = before_mark };
	struct keep_stats first, second;
	struct keep keep;

	begin(&keep, 0, 1, 0, false);		/* 4 MB */
	meanwhile = &keep;
	append_all(&keep, 60);
	join_all();
	found = (struct found){ 0 };
	check(!keep__hand_over(&keep, &first) && !keep__write(&keep, NULL, &writer, &first) &&
	      sum(found.nr) == first.records && first.records == 3 * 60 * RUN_RECORDS,
	      "a snapshot is whole, though the memory is full meanwhile");
	keep__end_snapshot(&keep, saved);
	second = snapshot(&keep);
	check(second.limit == KEEP_LIMIT_MEMORY && is_complete_from(second.begin) &&
	      !found.disorder && second.begin > 60 * RUN_RECORDS,
	      "the next one has nothing of it, and no gap");
	check(second.records + keep.dropped.records + (saved ? first.records : 0) ==
	      3 * 360 * RUN_RECORDS, "what was dropped is counted");
	keep__exit(&keep);
}

static void test_meanwhile(void)
{
	u64 nr = 0, blocks = 0;
	struct keep keep;
	int i;

	begin(&keep, 0, 1ULL << 40, 1, false);
	append_all(&keep, 2000);
	for (i = 0; i < 50; i++) {
		nr += snapshot(&keep).records;
		blocks += found.disorder;
		keep__horizon(&keep);
		keep__measure(&keep);
	}
	join_all();
	nr += snapshot(&keep).records;
	check(nr == 3 * 2000 * RUN_RECORDS && !blocks,
	      "snapshots while records are appended have each record once");
	keep__exit(&keep);
}

int main(void)
{
	page_size = sysconf(_SC_PAGESIZE);
	test_everything();
	test_compressed();
	test_last_mark();
	test_time();
	test_clock_set(-30000, false, "records are kept when the clock is set back");
	test_clock_set(-60000, true, "records are kept if it was set back after a snapshot");
	test_clock_set(1000000, false, "records are kept when the clock is set forward");
	test_lost();
	test_memory(0);
	test_memory(1);
	test_behind(1, true, "if records that wait fill the memory, they are packed in less time");
	test_behind(1ULL << 40, false, "if there is memory, they are packed as usual");
	test_spare();
	test_overlap();
	test_overlap_dropped();
	test_share();
	test_rare();
	test_drop_oldest();
	test_drop_until();
	test_unsaved();
	test_limit_size(0);
	test_limit_size(1);
	test_limit_size_dropped();
	test_unsaved_limits(0, 1, KEEP_LIMIT_MEMORY);
	test_unsaved_limits(3000, 1ULL << 40, KEEP_LIMIT_TIME);
	test_parts(true);
	test_parts(false);
	test_old_parts();
	test_full_while_writing(true);
	test_full_while_writing(false);
	test_meanwhile();
	return tap_end();
}
