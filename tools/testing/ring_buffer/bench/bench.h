/* SPDX-License-Identifier: GPL-2.0-only */
/* Provide the clock and the statistics of the benchmarks. */
#ifndef RING_BUFFER_BENCH_H
#define RING_BUFFER_BENCH_H

#include <sched.h>
#include <stdlib.h>
#include <time.h>

/* Median and quartiles */
struct spread {
	double	low, median, high;
};

static inline double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static inline int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts @values in place. */
static inline struct spread spread_of(double *values, unsigned int nr)
{
	qsort(values, nr, sizeof(*values), compare_doubles);
	return (struct spread){ values[nr / 4], values[nr / 2], values[nr * 3 / 4] };
}

static inline void pin_to_current_cpu(void)
{
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
}

#endif
