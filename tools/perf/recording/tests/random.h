/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Draw numbers that are the same in each run of a test.
 */
#ifndef PERF_RECORDING_TESTS_RANDOM_H
#define PERF_RECORDING_TESTS_RANDOM_H

#include <linux/types.h>

/* Return a number from 0 to @n - 1, and advance @state (xorshift64, Marsaglia). */
static inline u64 random_below(u64 *state, u64 n)
{
	u64 x = *state ?: 88172645463325252ULL;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	return x % n;
}

#endif
