// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <linux/time64.h>
#include "util/time-utils.h"
#include "kernel_clock.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static s64 monotonic_ns, boottime_ns;

/* Without the file, or the line, the kernel has no time namespaces. */
static void read_offsets(void)
{
	FILE *file = fopen("/proc/self/timens_offsets", "re");
	int64_t seconds, ns;
	char line[128];

	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "monotonic %" SCNd64 " %" SCNd64, &seconds, &ns) == 2)
			monotonic_ns = seconds * NSEC_PER_SEC + ns;
		if (sscanf(line, "boottime %" SCNd64 " %" SCNd64, &seconds, &ns) == 2)
			boottime_ns = seconds * NSEC_PER_SEC + ns;
	}
	fclose(file);
}

s64 kernel_clock__offset(int clockid)
{
	pthread_once(&once, read_offsets);
	switch (clockid) {
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
		return monotonic_ns;
	case CLOCK_BOOTTIME:
		return boottime_ns;
	default:
		return 0;
	}
}

u64 kernel_clock(void)
{
	return rdclock() - kernel_clock__offset(CLOCK_MONOTONIC);
}
