// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measure what it costs to drain AUX areas, by the main thread alone and by a reader for each area.
 *
 * usage: drain_bench [MB-PER-SECOND [MB [AREA-MB]]]
 *
 * Each of NR_AREAS producers fills an area of AREA-MB (4) at MB-PER-SECOND (200), or with 0 as fast
 * as it is drained; MB (2048) megabytes in all each time. The memory of the areas stays as it is,
 * and the file takes everything at once: only draining is measured. Print the medians of NR_ROUNDS
 * rounds as RESULT lines, with the smallest and the largest value. The CPU time is that of the
 * process, without the producers.
 */
#include "fake_areas.h"
#include "../bench.h"

enum { RATE, CPU, LOCKS, FULL, NR_FIGURES };

static const struct figure figures[] = {
	[RATE]	= { "rate", "MB/s" },
	[CPU]	= { "cpu-us-per-MB", "us" },
	[LOCKS]	= { "locked-appends-per-MB", "locks" },
	[FULL]	= { "full-areas-per-GB", "times" },
};

enum { MAIN_THREAD, READERS };

static const char * const ways[] = { [MAIN_THREAD] = "main-thread", [READERS] = "readers" };

static long rate = 200, mb = 2048, area = 4;

static double producer_seconds(void)
{
	double sum = 0;
	clockid_t clock;
	int i;

	for (i = 0; i < NR_AREAS; i++) {
		if (!pthread_getcpuclockid(fakes[i].thread, &clock))
			sum += seconds(clock);
	}
	return sum;
}

/* Drain @mb megabytes one way, and set @value. */
static void measure(int way, double *value)
{
	struct writer writer = { .ops = &sink_ops, .depth = 1, .fd = -1 };
	double begin = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), done;
	bool whole;
	int i;

	create_areas(area << 20);
	if (write_queue__init(&queue, POOL_BYTES, sink_failed, NULL))
		errx(1, "no memory");
	write_queue__open(&queue, &writer, 0, 0, true);
	start_readers(way == MAIN_THREAD);
	start_producers();
	while (write_queue__end(&queue) < (u64)mb << 20) {
		pollset__wait(&own, 10);
		if (readers__visit(&readers, &whole) < 0 || readers__looked(&readers))
			errx(1, "cannot drain");
	}
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu - producer_seconds();
	done = write_queue__end(&queue) / 1048576.0;
	value[RATE] = done / (seconds(CLOCK_MONOTONIC) - begin);
	value[CPU] = cpu * 1e6 / done;
	end_producers();
	readers__stop(&readers);
	value[LOCKS] = queue.counters.locked / done;
	value[FULL] = 0;
	for (i = 0; i < NR_AREAS; i++)
		value[FULL] += fakes[i].full * 1024 / done;
	write_queue__close(&queue);
	write_queue__exit(&queue);
	free_readers();
	free_areas();
}

int main(int argc, char **argv)
{
	if (argc > 1)
		rate = atol(argv[1]);
	if (argc > 2)
		mb = atol(argv[2]);
	if (argc > 3)
		area = atol(argv[3]);
	if (rate < 0 || mb < 1 || area < 1)
		errx(2, "usage: drain_bench [MB-PER-SECOND [MB [AREA-MB]]]");
	bytes_per_ms = (rate << 20) / 1000 / 8 * 8;
	fill_areas = false;
	run_rounds("aux", figures, NR_FIGURES, ways, measure);
	return 0;
}
