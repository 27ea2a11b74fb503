// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <linux/time64.h>
#include "util/time-utils.h"
#include "kernel_clock.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static s64 offset_ns;

/* Without the file, or the line, the kernel has no time namespaces. */
static void read_offset(void)
{
	FILE *file = fopen("/proc/self/timens_offsets", "re");
	int64_t seconds, ns;
	char line[128];

	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "monotonic %" SCNd64 " %" SCNd64, &seconds, &ns) == 2)
			offset_ns = seconds * NSEC_PER_SEC + ns;
	}
	fclose(file);
}

s64 kernel_clock__offset(void)
{
	pthread_once(&once, read_offset);
	return offset_ns;
}

u64 kernel_clock(void)
{
	return rdclock() - kernel_clock__offset();
}
