// SPDX-License-Identifier: GPL-2.0-only
/*
 * --advise with --switch-output-when: quantiles of durations, from the buckets of the BPF programs.
 * tags: fast parallel
 *
 * Prints KTAP.
 */
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "recording/when/distribution.h"
#include "perf/tests/tap.h"

#define HOUR	(3600ULL * NSEC_PER_SEC)

static struct duration_distribution distribution;

static void add(u64 ns)
{
	distribution.counts[duration_bucket(ns)]++;
	distribution.max_ns = max((u64)distribution.max_ns, ns);
}

static bool is_near(u64 ns, u64 truth)
{
	return ns >= truth && ns <= truth + truth / 16 + 1;
}

static void test_buckets(void)
{
	bool right = true;
	u64 ns;
	u32 i;

	for (i = 0; i < DURATION_BUCKETS; i++)
		right &= duration_bucket(duration_bucket_begin(i)) == i &&
			 (!i || duration_bucket(duration_bucket_begin(i) - 1) == i - 1);
	check(right, "each bucket ends where the next one begins");
	check(duration_bucket(UINT64_MAX) == DURATION_BUCKETS - 1,
	      "the longest duration has the last bucket");
	srand(1);
	for (right = true, i = 0; i < 100000; i++) {
		ns = (u64)rand() << (rand() % 33);
		right &= duration_bucket_begin(duration_bucket(ns)) <= ns &&
			 ns - duration_bucket_begin(duration_bucket(ns)) <= ns / 16;
	}
	check(right, "a bucket is no wider than a sixteenth");
}

static void test_quantiles(void)
{
	struct when_quantiles quantiles;
	u64 i;

	quantiles = when_quantiles__compute(&distribution, HOUR);
	check(!quantiles.nr && !quantiles.median_ns && !quantiles.max_ns && !quantiles.hourly_ns,
	      "no durations");
	for (i = 1; i <= 100000; i++)
		add(i);
	quantiles = when_quantiles__compute(&distribution, HOUR);
	check(quantiles.nr == 100000 && quantiles.max_ns == 100000, "the number, and the longest");
	check(is_near(quantiles.median_ns, 50000), "the median");
	check(is_near(quantiles.p99_ns, 99000) && quantiles.p999_ns <= 100000 &&
	      quantiles.p999_ns >= 99900,
	      "99 % and 99.9 %, never longer than the longest");
	distribution.nr_too_long = 3;
	check(when_quantiles__compute(&distribution, HOUR).nr_too_long == 3,
	      "the number that the programs have compared");
	memset(&distribution, 0, sizeof(distribution));
	add(1000);
	add(1000000);
	add(1000000000);
	check(!when_quantiles__compute(&distribution, HOUR - 1).hourly_ns,
	      "less than an hour does not tell the threshold of once an hour");
	check(is_near(when_quantiles__compute(&distribution, HOUR).hourly_ns, 1000000),
	      "of an hour, one is longer than the threshold of once an hour");
	check(is_near(when_quantiles__compute(&distribution, 2 * HOUR).hourly_ns, 1000),
	      "of two hours, two are");
	check(when_quantiles__compute(&distribution, 3 * HOUR).hourly_ns == 1,
	      "of three hours, all are");
}

int main(void)
{
	test_buckets();
	test_quantiles();
	return tap_end();
}
