// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test which chunks are written directly: each condition of each rule in direct_io.h.
 *
 * tags: fast parallel
 */
#include <stdbool.h>
#include <linux/time64.h>

#include "recording/write/chunk_pool.h"
#include "recording/write/direct_io.h"
#include "recording/write/writer.h"
#include "perf/tests/tap.h"

#define MS		NSEC_PER_MSEC
#define S		((u64)NSEC_PER_SEC)
#define NR_CHUNKS	64

static struct chunk_pool pool;
static struct chunk chunk;
static struct writer writer;
static struct direct_io direct;
static u64 now;

/* A disk that was fast so far, and a whole chunk. */
static void begin(void)
{
	pool = (struct chunk_pool){ .nr = NR_CHUNKS, .nr_free = NR_CHUNKS - NR_CHUNKS / 8 };
	chunk = (struct chunk){ .size = CHUNK_SIZE_MIN, .len = CHUNK_SIZE_MIN };
	writer = (struct writer){ .direct_first = true };
	direct = (struct direct_io){ 0 };
	now = 1000 * S;
}

static enum write_path choose(bool idle)
{
	enum write_path path = direct_io__choose(&direct, &pool, &writer, &chunk, idle, now);

	direct.alone = NULL;
	return path;
}

/* A chunk is written by rule 1 in @ns. */
static void write_alone(u64 ns)
{
	direct_io__choose(&direct, &pool, &writer, &chunk, true, now);
	now += ns;
	direct_io__note_time(&direct, now);
	direct.alone = NULL;
}

/* Return for how long rule 1 does not apply [s]. */
static u64 avoided(void)
{
	u64 begin_ns = now;

	while (choose(true) != WRITE_ALONE)
		now += S;
	return (now - begin_ns) / S;
}

static void test_rule_1(void)
{
	begin();
	check(choose(true) == WRITE_ALONE, "a whole chunk is written directly");
	check(choose(false) == WRITE_CACHED, "... if nothing else is in flight");
	writer.direct_first = false;
	check(choose(true) == WRITE_CACHED, "... if the file takes direct I/O");
	begin();
	chunk.len -= 8;
	check(choose(true) == WRITE_CACHED, "a part of a chunk goes to the page cache");

	begin();
	direct_io__choose(&direct, &pool, &writer, &chunk, true, now);
	check(direct_io__timeout(&direct) == DIRECT_STALL_MS * MS &&
	      direct_io__waits(&direct, &pool, now + DIRECT_STALL_MS * MS - 1) &&
	      !direct_io__waits(&direct, &pool, now + DIRECT_STALL_MS * MS),
	      "the next chunk waits until the disk is slow");
	pool.nr_free--;
	check(!direct_io__waits(&direct, &pool, now),
	      "... or until an eighth of the pool is in use");
	begin();
	check(!direct_io__waits(&direct, &pool, now) && !direct_io__timeout(&direct),
	      "without a direct write nothing waits");
}

static void test_rule_2(void)
{
	begin();
	pool.nr_free--;
	check(choose(true) == WRITE_CACHED && ++pool.nr_free && avoided() == DIRECT_AVOID_S,
	      "after more of the pool was in use, chunks go to the page cache");

	begin();
	write_alone(DIRECT_STALL_MS * MS);
	check(!avoided(), "a write of just 20 ms is fast");
	write_alone(DIRECT_STALL_MS * MS + 1);
	check(avoided() == DIRECT_AVOID_S, "after a slow write, chunks go to the page cache");
	write_alone(DIRECT_STALL_MS * MS + 1);
	check(avoided() == DIRECT_AVOID_S, "... as long when the disk is slow again");

	begin();
	direct_io__choose(&direct, &pool, &writer, &chunk, true, now);
	now += DIRECT_STALL_MS * MS + 1;
	direct_io__note_time(&direct, now);
	direct_io__note_time(&direct, now + MS);
	direct.alone = NULL;
	check(avoided() == DIRECT_AVOID_S,
	      "a write that is stuck counts once, before it is completed");
}

static void test_rule_3(void)
{
	begin();
	pool.nr_free = NR_CHUNKS / 2 - 1;
	check(choose(false) == WRITE_CACHED,
	      "less than half of the pool is free: the page cache is used");
	direct_io__submitted(&direct, WRITE_CACHED, now - DIRECT_STALL_MS * MS, now);
	direct_io__submitted(&direct, WRITE_DIRECT, now - S, now);
	check(choose(false) == WRITE_CACHED,
	      "... after fast writes to it, and slow ones to the disk");
	direct_io__submitted(&direct, WRITE_CACHED, now - DIRECT_STALL_MS * MS - 1, now);
	check(choose(false) == WRITE_DIRECT,
	      "after a slow write to it, chunks are written directly");
	pool.nr_free++;
	check(choose(false) == WRITE_CACHED, "... while less than half of the pool is free");
	pool.nr_free--;
	now += DIRECT_CACHE_FULL_MS * MS;
	check(choose(false) == WRITE_CACHED, "... for a second");
}

int main(void)
{
	test_rule_1();
	test_rule_2();
	test_rule_3();
	return tap_end();
}
