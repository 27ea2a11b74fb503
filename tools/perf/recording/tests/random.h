/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Draw numbers that are the same in each run of a test.
 */
#ifndef PERF_RECORDING_TESTS_RANDOM_H
#define PERF_RECORDING_TESTS_RANDOM_H

/* Return a number from 0 to @n - 1, and advance @seed. */
static inline unsigned int random_below(unsigned int *seed, unsigned int n)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % n;
}

#endif
