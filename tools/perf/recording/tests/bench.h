/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Share what benchmarks of the queue need: a file that takes everything at once, a clock, and the
 * medians of rounds in which two ways take turns.
 */
#ifndef PERF_RECORDING_TESTS_BENCH_H
#define PERF_RECORDING_TESTS_BENCH_H

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <linux/kernel.h>
#include "recording/write/writer.h"

#define NR_ROUNDS	5
#define POOL_BYTES	(128 << 20)
#define MAX_FIGURES	4

static struct chunk *sink_chunk;

static inline void sink_submit(struct writer *writer __maybe_unused, struct chunk *chunk)
{
	chunk->done = chunk->len;
	chunk->finished = true;
	sink_chunk = chunk;
}

static inline struct chunk *sink_complete(struct writer *writer __maybe_unused,
					  u64 timeout_ns __maybe_unused)
{
	return sink_chunk;
}

static const struct writer_ops sink_ops = {
	.name = "sink", .submit = sink_submit, .complete = sink_complete,
};

/* The queue's callback: a benchmark ends with the first error. */
static inline void sink_failed(void *arg __maybe_unused, int error, u64 end __maybe_unused)
{
	errx(1, "the queue fails: %d", error);
}

/* Return the time of @clock [s]. */
static inline double seconds(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* A value that a round measures */
struct figure {
	const char	*name;
	const char	*unit;
};

static inline int compare_values(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Print the median of @values, which are sorted, with the smallest and the largest: RESULT NAME. */
static inline void print_result(const char *name, double values[NR_ROUNDS], const char *unit)
{
	qsort(values, NR_ROUNDS, sizeof(*values), compare_values);
	printf("RESULT %s %.2f %s (%.2f..%.2f)\n", name, values[NR_ROUNDS / 2], unit, values[0],
	       values[NR_ROUNDS - 1]);
}

/*
 * Call @measure for each way, in turns, for NR_ROUNDS rounds. Print the median of each of @nr
 * figures, with the smallest and the largest value: RESULT PREFIX-FIGURE-WAY.
 */
static inline void run_rounds(const char *prefix, const struct figure *figures, int nr,
			      const char * const ways[2], void (*measure)(int way, double *value))
{
	double value[2][MAX_FIGURES][NR_ROUNDS], round[MAX_FIGURES];
	char name[128];
	int i, k, way;

	for (i = 0; i < NR_ROUNDS; i++) {
		for (way = 0; way < 2; way++) {
			measure(way, round);
			for (k = 0; k < nr; k++)
				value[way][k][i] = round[k];
		}
	}
	for (way = 0; way < 2; way++) {
		for (k = 0; k < nr; k++) {
			snprintf(name, sizeof(name), "%s-%s-%s", prefix, figures[k].name,
				 ways[way]);
			print_result(name, value[way][k], figures[k].unit);
		}
	}
}

#endif
