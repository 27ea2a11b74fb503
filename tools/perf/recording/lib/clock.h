/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Read the clock that all threads of the recorder measure time with.
 */
#ifndef PERF_RECORDING_CLOCK_H
#define PERF_RECORDING_CLOCK_H

#include <time.h>
#include <linux/time64.h>
#include <linux/types.h>

/** now_ns - return the time of CLOCK_MONOTONIC [ns] */
static inline u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

#endif
