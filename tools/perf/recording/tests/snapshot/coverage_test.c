// SPDX-License-Identifier: GPL-2.0-only
/*
 * The time that a snapshot covers in all rings, and the ring size that a longer time needs.
 * tags: fast parallel
 *
 * Prints KTAP.
 */
#include <linux/time64.h>

#include "recording/snapshot/coverage.h"
#include "perf/tests/tap.h"

#define SIZE	(64 << 10)
#define END	(1000 * NSEC_PER_SEC)

/* Add a ring of @cpu that goes back @ns. */
static void add(struct coverage *coverage, int cpu, u64 ns, u64 overwritten)
{
	const struct coverage_ring ring = {
		.cpu = cpu, .size = SIZE, .bytes = SIZE / 2, .oldest = END - ns,
	};

	coverage__add(coverage, &ring, END, overwritten);
}

static void test_limited(void)
{
	struct coverage coverage = { 0 };

	add(&coverage, 0, 4 * NSEC_PER_SEC, 1);
	add(&coverage, 1, 1 * NSEC_PER_SEC, 1);
	add(&coverage, 2, 2 * NSEC_PER_SEC, 1);
	add(&coverage, 3, NSEC_PER_SEC / 2, 0);
	check(coverage.limiting.cpu == 1 && coverage__ns(&coverage) == NSEC_PER_SEC,
	      "the ring that goes back least limits, of those that have overwritten records");
	check(coverage.reaching.cpu == 0 && coverage__longest_ns(&coverage) == 4 * NSEC_PER_SEC,
	      "any ring may go back furthest");
	check(coverage__rate(&coverage) == SIZE / 2, "the rate is that of the limiting ring");
	check(coverage__ring_size(&coverage) == 4 * SIZE, "the size that all rings need");
}

static void test_lost(void)
{
	struct coverage_ring stream = { .cpu = 7, .oldest = END - 5 * NSEC_PER_SEC };
	struct coverage coverage = { 0 };

	coverage__lose(&coverage, &stream);
	check(!coverage.limiting.oldest, "without records, a loss limits nothing");
	add(&coverage, 0, 4 * NSEC_PER_SEC, 0);
	coverage__lose(&coverage, &stream);
	check(!coverage.limiting.oldest, "a loss before the first record limits nothing");
	stream.oldest = END - NSEC_PER_SEC;
	coverage__lose(&coverage, &stream);
	check(coverage.limiting.cpu == 7 && coverage.limiting.lost &&
	      coverage__ns(&coverage) == NSEC_PER_SEC,
	      "a ring of streams that has lost events limits");
	check(!coverage__ring_size(&coverage), "no size of overwrite rings helps");
	stream.oldest = END - 2 * NSEC_PER_SEC;
	coverage__lose(&coverage, &stream);
	check(coverage__ns(&coverage) == NSEC_PER_SEC, "an older loss limits no more");
	stream.oldest = COVERAGE_NOTHING;
	coverage__lose(&coverage, &stream);
	check(!coverage__ns(&coverage), "a loss that lasts leaves nothing");
}

static void test_rounded(void)
{
	struct coverage coverage = { 0 };

	add(&coverage, 0, 5 * NSEC_PER_SEC, 0);
	add(&coverage, 1, 1 * NSEC_PER_SEC, 1);
	check(coverage__ring_size(&coverage) == 8 * SIZE,
	      "the size is rounded up to a power of two");
}

static void test_complete(void)
{
	struct coverage coverage = { 0 };

	add(&coverage, 0, 1 * NSEC_PER_SEC, 0);
	add(&coverage, 1, 3 * NSEC_PER_SEC, 0);
	check(!coverage.limiting.oldest && coverage__ns(&coverage) == 3 * NSEC_PER_SEC &&
	      !coverage__ring_size(&coverage),
	      "rings that have overwritten nothing do not limit");
}

/* A ring of which nothing is left limits to nothing, whichever ring is added first. */
static void test_nothing_left(void)
{
	const struct coverage_ring lost = { .cpu = 1, .size = SIZE, .oldest = COVERAGE_NOTHING };
	struct coverage first = { 0 }, last = { 0 };

	coverage__add(&first, &lost, 0, 1);
	add(&first, 0, NSEC_PER_SEC, 0);
	add(&last, 0, NSEC_PER_SEC, 0);
	coverage__add(&last, &lost, 0, 1);
	check(first.limiting.cpu == 1 && !coverage__ns(&first) && !coverage__ring_size(&first) &&
	      last.limiting.cpu == 1 && !coverage__ns(&last),
	      "a ring of which nothing is left limits to nothing");
	check(first.reaching.cpu == 0 && last.reaching.cpu == 0 &&
	      coverage__longest_ns(&first) == NSEC_PER_SEC,
	      "a ring of which nothing is left does not go back furthest");
}

int main(void)
{
	test_limited();
	test_lost();
	test_rounded();
	test_complete();
	test_nothing_left();
	return tap_end();
}
