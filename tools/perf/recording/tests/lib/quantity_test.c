// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test parsing the numbers, sizes and times of options.
 *
 * tags: fast parallel
 */
#include <limits.h>
#include <stdio.h>
#include <linux/time64.h>

#include "recording/lib/quantity.h"
#include "perf/tests/tap.h"

static void check_number(const char *arg, unsigned long max, long expected)
{
	unsigned long number;
	char title[64];
	bool ok = quantity__parse_number(arg, max, &number);

	snprintf(title, sizeof(title), "number '%s', at most %lu", arg, max);
	check(expected < 0 ? !ok : ok && number == (unsigned long)expected, title);
}

static void check_size(const char *arg, u64 expected)
{
	char title[64];

	snprintf(title, sizeof(title), "size '%s'", arg);
	check(quantity__parse_size(arg) == expected, title);
}

static void check_time(const char *arg, u64 expected)
{
	char title[64];

	snprintf(title, sizeof(title), "time '%s'", arg);
	check(quantity__parse_time(arg) == expected, title);
}

int main(void)
{
	check_number("0", 0, 0);
	check_number("17", 17, 17);
	check_number("18", 17, -1);
	check_number("", ULONG_MAX, -1);
	check_number("-1", ULONG_MAX, -1);
	check_number(" 1", ULONG_MAX, -1);
	check_number("4x", ULONG_MAX, -1);
	check_number("99999999999999999999", ULONG_MAX, -1);

	check_size("1B", 1);
	check_size("3K", 3 << 10);
	check_size("5M", 5 << 20);
	check_size("7G", 7ULL << 30);
	check_size("7", 0);
	check_size("M", 0);
	check_size("1.5M", 0);
	check_size("1MB", 0);
	check_size("-1M", 0);
	check_size("99999999999999999999G", 0);

	check_time("1ns", 1);
	check_time("500ms", 500 * NSEC_PER_MSEC);
	check_time("1.5us", 1500);
	check_time("0.000000001s", 1);
	check_time("2m", 2 * 60 * NSEC_PER_SEC);
	check_time("3h", 3 * 60 * 60 * NSEC_PER_SEC);
	check_time("1000d", 1000 * 24 * 60 * 60 * NSEC_PER_SEC);
	check_time("1000.1d", 0);
	check_time("99999999999999999999s", 0);
	check_time("0s", 0);
	check_time("0.1ns", 0);
	check_time("", 0);
	check_time("s", 0);
	check_time("1", 0);
	check_time("1.5", 0);
	check_time("1m30s", 0);
	check_time("-1s", 0);
	return tap_end();
}
