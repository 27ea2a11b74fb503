/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Read clocks as the kernel stamps events with them, also in a time namespace.
 */
#ifndef PERF_RECORDING_KERNEL_CLOCK_H
#define PERF_RECORDING_KERNEL_CLOCK_H

#include <linux/types.h>

/** kernel_clock - return the present time of CLOCK_MONOTONIC outside all time namespaces [ns] */
u64 kernel_clock(void);

/**
 * kernel_clock__offset - return what this time namespace adds to the clock [ns]
 * @clockid:	of clock_gettime(2)
 *
 * A process cannot leave its time namespace, except by executing a program.
 */
s64 kernel_clock__offset(int clockid);

#endif
