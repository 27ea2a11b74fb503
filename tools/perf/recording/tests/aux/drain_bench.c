// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measure what it costs to drain AUX areas, by the main thread alone and by a reader for each area.
 *
 * usage: drain_bench [MB-PER-SECOND [MB [AREA-MB]]]
 *
 * Each of NR_AREAS producers fills an area of AREA-MB (4) at MB-PER-SECOND (200), or with 0 as fast
 * as it is drained; MB (2048) megabytes in all each time. The memory of the areas stays as it is, and
 * the file takes everything at once: only draining is measured. Print the medians of NR_ROUNDS
 * rounds as RESULT lines, with the smallest and the largest value. The CPU time is that of the
 * process, without the producers.
 */
#include <sys/resource.h>
#include <time.h>
#include "fake_areas.h"
#include "recording/write/writer.h"

#define NR_ROUNDS	5
#define POOL_BYTES	(128 << 20)

enum figure { RATE, CPU, LOCKS, FULL, NR_FIGURES };

static const struct {
	const char *name, *unit;
} figures[] = {
	[RATE]	= { "rate", "MB/s" },
	[CPU]	= { "cpu-us-per-MB", "us" },
	[LOCKS]	= { "locked-appends-per-MB", "locks" },
	[FULL]	= { "full-areas-per-GB", "times" },
};

/* A file that takes each chunk at once. */

static struct chunk *submitted;

static void submit(struct writer *writer, struct chunk *chunk)
{
	(void)writer;
	chunk->done = chunk->len;
	chunk->finished = true;
	submitted = chunk;
}

static struct chunk *complete(struct writer *writer, u64 timeout_ns __maybe_unused)
{
	(void)writer;
	return submitted;
}

static const struct writer_ops sink_ops = { .name = "sink", .submit = submit, .complete = complete };

static void failed(void *arg, int error, u64 end)
{
	(void)arg, (void)end;
	errx(1, "the queue fails: %d", error);
}

static double seconds(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

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

/* Drain @mb megabytes by the main thread, or by readers, and set @value. */
static void measure(bool no_threads, long mb, u64 area, double value[NR_FIGURES])
{
	struct writer writer = { .ops = &sink_ops, .depth = 1, .fd = -1 };
	double begin = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), done;
	bool whole;
	int i;

	create_areas(area);
	if (write_queue__init(&queue, POOL_BYTES, failed, NULL))
		errx(1, "no memory");
	write_queue__open(&queue, &writer, 0, 0, true);
	start_readers(no_threads);
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

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print(const char *who, double value[NR_FIGURES][NR_ROUNDS])
{
	int i;

	for (i = 0; i < NR_FIGURES; i++) {
		qsort(value[i], NR_ROUNDS, sizeof(value[i][0]), compare);
		printf("RESULT aux-%s-%s %.2f %s (%.2f..%.2f)\n", figures[i].name, who,
		       value[i][NR_ROUNDS / 2], figures[i].unit, value[i][0],
		       value[i][NR_ROUNDS - 1]);
	}
}

int main(int argc, char **argv)
{
	double main_alone[NR_FIGURES][NR_ROUNDS], by_readers[NR_FIGURES][NR_ROUNDS], value[NR_FIGURES];
	long rate = argc > 1 ? atol(argv[1]) : 200, mb = argc > 2 ? atol(argv[2]) : 2048;
	long area = argc > 3 ? atol(argv[3]) : 4;
	int i, k;

	if (rate < 0 || mb < 1 || area < 1)
		errx(2, "usage: drain_bench [MB-PER-SECOND [MB [AREA-MB]]]");
	bytes_per_ms = (rate << 20) / 1000 / 8 * 8;
	fill_areas = false;
	for (i = 0; i < NR_ROUNDS; i++) {
		measure(true, mb, area << 20, value);
		for (k = 0; k < NR_FIGURES; k++)
			main_alone[k][i] = value[k];
		measure(false, mb, area << 20, value);
		for (k = 0; k < NR_FIGURES; k++)
			by_readers[k][i] = value[k];
	}
	print("main-thread", main_alone);
	print("readers", by_readers);
	return 0;
}
