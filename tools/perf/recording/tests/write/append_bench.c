// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measure what it costs to append the records of many rings to one file, by one reader and by many.
 *
 * usage: append_bench [MB [RINGS [BYTES [FILE]]]]
 *
 * In turns, one thread appends runs of BYTES (32768) bytes from RINGS (272) rings, and RINGS
 * threads append from a ring of their own each; MB (4096) megabytes each time. The file takes
 * everything at once, so that only the queue is measured. Print the medians of NR_ROUNDS rounds as
 * RESULT lines, with the smallest and the largest value.
 *
 * With FILE, RINGS threads append from a ring of their own each, in turns to the queue, which
 * writes FILE, and by a pwrite(2) for each run, from the memory of the ring to FILE. That saves a
 * copy, but the threads wait for each other's writes.
 *
 * The number of CPUs is that of the machine. With more readers than CPUs, readers are preempted
 * while they append. Then a lock that is held too long shows as sleeps and as time.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>
#include <perf/event.h>

#include "recording/lib/records.h"
#include "recording/write/queue.h"
#include "recording/write/writer_sync.h"
#include "../bench.h"

#define RECORD_BYTES	1024

enum { WALL, CPU, SLEEPS, NR_FIGURES };

static const struct figure figures[] = {
	[WALL]	 = { "us-per-MB", "us" },
	[CPU]	 = { "cpu-us-per-MB", "us" },
	[SLEEPS] = { "sleeps-per-MB", "sleeps" },
};

static int nr_rings = 272;
static size_t run_bytes = 32 << 10;
static char *rings;
static const char *path;		/* the file, or NULL */
static long mb = 4096;

struct reader {
	struct write_queue *queue;	/* or NULL: write from the ring */
	int		fd;		/* of the file, if there is one */
	atomic_llong   *end;		/* of what has a place in it */
	pthread_t	thread;
	int		first;		/* of its rings */
	int		nr;		/* number of its rings */
	long		runs;
};

static void write_from_ring(struct reader *reader, const char *ring)
{
	off_t place = atomic_fetch_add(reader->end, run_bytes);
	size_t done = 0;

	while (done < run_bytes) {
		ssize_t ret = pwrite(reader->fd, ring + done, run_bytes - done, place + done);

		if (ret <= 0)
			err(1, "cannot write to %s", path);
		done += ret;
	}
}

static void *read_rings(void *arg)
{
	struct reader *reader = arg;
	long i;

	for (i = 0; i < reader->runs; i++) {
		const char *ring = rings + (reader->first + i % reader->nr) * run_bytes;
		struct records run = records__of(ring, run_bytes);

		if (!reader->queue)
			write_from_ring(reader, ring);
		else if (write_queue__append(reader->queue, &run))
			errx(1, "cannot append");
	}
	return NULL;
}

static double user_and_system(const struct rusage *usage)
{
	return usage->ru_utime.tv_sec + usage->ru_stime.tv_sec +
	       (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

/*
 * Append @mb megabytes, and set @value. The first way: by a thread for each ring. The second: by
 * one thread, or if there is a file, from the rings by a thread for each.
 */
static void measure(int way, double *value)
{
	bool from_ring = way && path;
	int nr_readers = way && !path ? 1 : nr_rings;
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
	struct writer *writer = path ? writer_sync__new() :
				writer__alloc(sizeof(*writer), &sink_ops, 1);
	struct reader *readers = calloc(nr_readers, sizeof(*readers));
	struct rusage before, after;
	struct write_queue queue;
	atomic_llong end = 0;
	double begin;
	int i;

	if (path && fd < 0)
		err(1, "cannot open %s", path);
	if (!readers || !writer || write_queue__init(&queue, POOL_BYTES, sink_failed, NULL))
		errx(1, "no memory");
	write_queue__open(&queue, writer, fd, 0, true);
	getrusage(RUSAGE_SELF, &before);
	begin = seconds(CLOCK_MONOTONIC);
	for (i = 0; i < nr_readers; i++) {
		readers[i] = (struct reader){
			.queue = from_ring ? NULL : &queue, .fd = fd, .end = &end,
			.first = nr_readers > 1 ? i : 0,
			.nr = nr_readers > 1 ? 1 : nr_rings,
			.runs = (mb << 20) / run_bytes / nr_readers,
		};
		if (pthread_create(&readers[i].thread, NULL, read_rings, &readers[i]))
			errx(1, "cannot create a thread");
	}
	for (i = 0; i < nr_readers; i++)
		pthread_join(readers[i].thread, NULL);
	write_queue__close(&queue);
	value[WALL] = (seconds(CLOCK_MONOTONIC) - begin) * 1e6 / mb;
	getrusage(RUSAGE_SELF, &after);
	value[CPU] = (user_and_system(&after) - user_and_system(&before)) * 1e6 / mb;
	value[SLEEPS] = (double)(after.ru_nvcsw - before.ru_nvcsw) / mb;
	write_queue__exit(&queue);
	writer__delete(writer);
	free(readers);
	if (path && (close(fd) || unlink(path)))
		err(1, "cannot remove %s", path);
}

int main(int argc, char **argv)
{
	char way_names[2][32];
	size_t pos;

	if (argc > 1)
		mb = atol(argv[1]);
	if (argc > 2)
		nr_rings = atoi(argv[2]);
	if (argc > 3)
		run_bytes = atol(argv[3]) / RECORD_BYTES * RECORD_BYTES;
	if (argc > 4)
		path = argv[4];
	if (mb < 1 || nr_rings < 1 || !run_bytes)
		errx(2, "usage: append_bench [MB [RINGS [BYTES [FILE]]]]");
	rings = malloc(nr_rings * run_bytes);
	if (!rings)
		errx(1, "no memory");
	for (pos = 0; pos < nr_rings * run_bytes; pos += RECORD_BYTES)
		*(struct perf_event_header *)(rings + pos) = (struct perf_event_header){
			.type = PERF_RECORD_SAMPLE, .size = RECORD_BYTES,
		};
	snprintf(way_names[0], sizeof(way_names[0]), "%d-readers", nr_rings);
	snprintf(way_names[1], sizeof(way_names[1]), path ? "from-ring" : "1-readers");
	run_rounds("append", figures, NR_FIGURES,
		   (const char *[]){ way_names[0], way_names[1] }, measure);
	free(rings);
	return 0;
}
