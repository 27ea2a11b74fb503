// SPDX-License-Identifier: GPL-2.0-only
/*
 * The clock of events and the time of day, read at the same moment.
 * tags: fast parallel
 *
 * Prints KTAP.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/time64.h>

#include "recording/lib/clock_pair.h"
#include "util/clockid.h"
#include "perf/tests/tap.h"

#define TOLERANCE	NSEC_PER_MSEC		/* the machine may be busy */

static u64 now(int clockid)
{
	struct timespec ts;

	clock_gettime(clockid, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static bool is_between(u64 before, u64 time, u64 after)
{
	return before <= time && time <= after;
}

/* Return: by how much the two pairs differ in the difference of their clocks [ns]. */
static u64 drift(const struct clock_pair *a, const struct clock_pair *b)
{
	return llabs((s64)((b->tod_ns - a->tod_ns) - (b->clock_ns - a->clock_ns)));
}

static void test_clock(void)
{
	u64 clock = now(CLOCK_MONOTONIC), tod = now(CLOCK_REALTIME);
	struct clock_pair pair;

	check(!clock_pair__read(CLOCK_MONOTONIC, &pair) &&
	      is_between(clock, pair.clock_ns, now(CLOCK_MONOTONIC)) &&
	      is_between(tod, pair.tod_ns, now(CLOCK_REALTIME)),
	      "a clock of clock_gettime() is read together with the time of day");
	check(clock_pair__read(99, &pair) == -EINVAL, "an unknown clock is an error");
}

static void test_perf_clock(void)
{
	struct clock_pair first, second;
	u64 tod = now(CLOCK_REALTIME);
	int err = clock_pair__read(CLOCKID_PERF, &first);

	if (err) {
		skip("perf's own clock", strerror(-err));
		return;
	}
	check(is_between(tod, first.tod_ns, now(CLOCK_REALTIME)) &&
	      !clock_pair__read(CLOCKID_PERF, &second) &&
	      second.clock_ns > first.clock_ns && drift(&first, &second) < TOLERANCE,
	      "perf's own clock is read together with the time of day");
}

static void test_conversion(void)
{
	u64 before = now(CLOCK_REALTIME), time = now(CLOCK_MONOTONIC), same = time;

	check(!clock_pair__from_monotonic(CLOCK_MONOTONIC, &same) && same == time,
	      "CLOCK_MONOTONIC needs no conversion");
	check(!clock_pair__from_monotonic(CLOCK_REALTIME, &time) &&
	      is_between(before - TOLERANCE, time, now(CLOCK_REALTIME) + TOLERANCE),
	      "a time is converted to another clock");
	same = time;
	check(clock_pair__from_monotonic(99, &time) == -EINVAL && same == time,
	      "an unknown clock changes nothing");
}

int main(void)
{
	test_clock();
	test_perf_clock();
	test_conversion();
	return tap_end();
}
