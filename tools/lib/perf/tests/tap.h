/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Print the results of a unit test in KTAP, see Documentation/dev-tools/ktap.rst.
 *
 *	check(a == b, "a record is counted once");	one result
 *	skip("uring", strerror(errno));			one result that proves nothing
 *	return tap_end();				the plan, and main()'s exit status
 *
 * Include it in one source file of a program only, and call it from one thread at a time. The
 * header needs nothing but libc: the unit tests of libperf, perf record and
 * tools/testing/ring_buffer, which both build on libperf, share it.
 */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>
#include <stdio.h>

#define TAP_EXIT_SKIP	2	/* as perf test and scripts/run-tests expect */

/**
 * struct tap - the results so far
 * @context:	precedes the description of each result, or NULL: which variant is being tested
 * @nr:		results
 * @nr_failed:	those of them that failed
 * @nr_skipped:	those of them that were skipped
 */
static struct tap {
	const char	*context;
	unsigned int	 nr;
	unsigned int	 nr_failed;
	unsigned int	 nr_skipped;
} tap;

static inline void tap_result(bool ok, const char *what)
{
	if (!tap.nr++)
		printf("KTAP version 1\n");
	printf("%sok %u - %s%s%s", ok ? "" : "not ", tap.nr, tap.context ?: "",
	       tap.context ? ": " : "", what);
}

/**
 * check - print one result
 * @ok:		whether the test passed
 * @what:	what was tested, without a '#'
 *
 * Return: @ok.
 */
static inline bool check(bool ok, const char *what)
{
	tap_result(ok, what);
	printf("\n");
	fflush(stdout);
	tap.nr_failed += !ok;
	return ok;
}

/**
 * skip - print that a test cannot run here
 * @what:	what would have been tested
 * @reason:	what is missing
 */
static inline void skip(const char *what, const char *reason)
{
	tap_result(true, what);
	printf(" # SKIP %s\n", reason);
	fflush(stdout);
	tap.nr_skipped++;
}

/**
 * tap_end - print the plan
 *
 * Return: the exit status of the program: 0; 1 if a test failed; TAP_EXIT_SKIP if none ran.
 */
static inline int tap_end(void)
{
	printf("1..%u\n", tap.nr);
	if (tap.nr_failed)
		return 1;
	return tap.nr_skipped == tap.nr ? TAP_EXIT_SKIP : 0;
}

#endif /* TAP_H */
