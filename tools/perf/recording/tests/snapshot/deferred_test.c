// SPDX-License-Identifier: GPL-2.0-only
/*
 * Samples of a snapshot that lack their deferred user stack are counted, with the reason.
 * tags: fast parallel
 *
 * Prints KTAP.
 */
#include "recording/snapshot/deferred.h"
#include "perf/tests/tap.h"

#define MANY	100003	/* the table grows several times */

static void test_order(void)
{
	struct deferred_stacks stacks = { 0 };
	struct deferred_stats stats;

	deferred__add_sample(&stacks, 5, 100);
	deferred__add_sample(&stacks, 5, 101);
	deferred__add_stack(&stacks, 5);
	deferred__add_stack(&stacks, 7);		/* its ring is written first */
	deferred__add_sample(&stacks, 7, 100);
	deferred__add_stack(&stacks, 9);		/* of a sample that was overwritten */
	stats = deferred__count(&stacks, 0);
	check(stats.samples == 3 && !stats.in_kernel && !stats.overwritten,
	      "samples find their stack before and after them, and share it");
}

static void test_reasons(void)
{
	struct deferred_stacks stacks = { 0 };
	struct deferred_stats stats;

	deferred__add_sample(&stacks, 1, 999);
	deferred__add_sample(&stacks, 3, 1000);
	deferred__add_sample(&stacks, 3, 1500);
	deferred__add_sample(&stacks, 5, 2000);
	deferred__add_sample(&stacks, 5, 998);
	deferred__add_sample(&stacks, 5, 2001);
	stats = deferred__count(&stacks, 1000);
	check(stats.samples == 6 && stats.in_kernel == 2 && stats.overwritten == 4,
	      "a stack is still to come, unless records newer than the sample were overwritten");
}

static void test_many(void)
{
	struct deferred_stacks stacks = { 0 };
	struct deferred_stats stats;
	u64 i;

	for (i = 1; i <= MANY; i++)
		deferred__add_sample(&stacks, i << 32 | 1, i);
	for (i = 1; i <= MANY; i += 2)
		deferred__add_stack(&stacks, i << 32 | 1);
	stats = deferred__count(&stacks, 1);
	check(stats.samples == MANY && stats.in_kernel == MANY / 2 && !stats.overwritten,
	      "all cookies are found again when there are many");
	check(!stacks.entries && !stacks.nr, "counting frees the memory");
}

static void test_none(void)
{
	struct deferred_stacks stacks = { 0 };
	struct deferred_stats stats = deferred__count(&stacks, 1);

	check(!stats.samples && !stats.in_kernel && !stats.overwritten, "no samples");
}

int main(void)
{
	test_order();
	test_reasons();
	test_many();
	test_none();
	return tap_end();
}
