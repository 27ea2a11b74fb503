/* SPDX-License-Identifier: GPL-2.0-only */
/* Test programs: functions full of EXPECT()s, each of which gives one line of TAP. */
#ifndef TAP_H
#define TAP_H

#include <stdio.h>
#include <string.h>

#include "shim.h"

static unsigned int tap_tests, tap_failed, tap_complaints;

#define EXPECT(condition) tap_expect(condition, #condition, __LINE__)

/* Of many alike the first few are enough. */
static inline bool tap_expect(bool met, const char *condition, int line)
{
	if (!met && tap_complaints++ < 10)
		printf("# line %d: not so: %s\n", line, condition);
	return met;
}

/* What a test must leave as it was; other memory than the shim's is the leak sanitizer's. */
static inline void tap_run(void (*test)(void), const char *name)
{
	tap_complaints = 0;
	shim.warnings = 0;
	test();
	EXPECT(!shim.warnings);
	EXPECT(shim_balanced());
	printf("%sok %u - %s\n", tap_complaints ? "not " : "", ++tap_tests, name);
	fflush(stdout);
	tap_failed += tap_complaints && !strstr(name, "# TODO");
}

#define TAP_RUN(test, name) tap_run(test, name)

static inline int tap_end(void)
{
	printf("1..%u\n", tap_tests);
	return tap_failed ? 1 : 0;
}

#endif
