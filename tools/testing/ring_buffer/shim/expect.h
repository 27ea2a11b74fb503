/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Run test functions that consist of EXPECT()s, and print one KTAP result for each.
 *
 *	TAP_RUN(test_wrap, "records that wrap");
 *	return tap_end();
 */
#ifndef EXPECT_H
#define EXPECT_H

#include <perf/tests/tap.h>

#include "shim.h"

/* Failed expectations of the test that runs. */
static unsigned int tap_complaints;

#define EXPECT(condition) tap_expect(condition, #condition, __LINE__)

/* Print the first few failures only: the others are likely to have the same cause. */
static inline bool tap_expect(bool met, const char *condition, int line)
{
	if (!met && tap_complaints++ < 10)
		printf("# line %d: expected %s\n", line, condition);
	return met;
}

/*
 * Also check that the test caused no WARN() and left the shim as it was: preemption enabled, no RCU
 * lock held, no object, page, mapping or work item left. Other memory is left to LeakSanitizer.
 */
static inline void tap_run(void (*test)(void), const char *name)
{
	tap_complaints = 0;
	shim.warnings = 0;
	test();
	EXPECT(!shim.warnings);
	EXPECT(shim_balanced());
	check(!tap_complaints, name);
}

#define TAP_RUN(test, name) tap_run(test, name)

#endif /* EXPECT_H */
