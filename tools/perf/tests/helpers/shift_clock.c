// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shift the time of day of a program by a number of nanoseconds: $CLOCK_SHIFT_NS, or the first line
 * of the file $CLOCK_SHIFT_FILE, if that exists. A library for $LD_PRELOAD. Time namespaces shift
 * only the other clocks.
 * flags: -shared -fPIC
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#define NSEC_PER_SEC	1000000000LL

static long long shift(void)
{
	const char *value = getenv("CLOCK_SHIFT_NS"), *path = getenv("CLOCK_SHIFT_FILE");
	FILE *file = path ? fopen(path, "re") : NULL;
	long long ns = value ? atoll(value) : 0;

	if (file) {
		if (fscanf(file, "%lld", &ns) != 1)
			abort();
		fclose(file);
	}
	return ns;
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	static int (*original)(clockid_t clock, struct timespec *ts);
	long long ns;

	if (!original)
		original = dlsym(RTLD_NEXT, "clock_gettime");
	if (original(clock, ts))
		return -1;
	if (clock != CLOCK_REALTIME)
		return 0;
	ns = ts->tv_sec * NSEC_PER_SEC + ts->tv_nsec + shift();
	ts->tv_sec = ns / NSEC_PER_SEC;
	ts->tv_nsec = ns % NSEC_PER_SEC;
	return 0;
}

int gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
	struct timespec ts;

	(void)tz;
	clock_gettime(CLOCK_REALTIME, &ts);
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return 0;
}
