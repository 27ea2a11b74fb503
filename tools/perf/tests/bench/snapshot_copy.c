// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measure the time of a snapshot, compared to memcpy() of the same ring, and of reading its
 * records.
 *
 * usage: snapshot_copy [--pages N] [--rounds N] [--result PREFIX]
 *
 * In each round, fill a ring with records of page faults, take a snapshot of it with libperf and
 * copy it with memcpy(), in alternating order, into memory that is present, and read the records.
 * Do so for each kind of ring that this kernel offers: backward, and sized.
 */
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <perf/overwrite.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char *const kind_names[] = {
	[PERF_OVERWRITE_BACKWARD] = "backward",
	[PERF_OVERWRITE_SIZED]	  = "sized",
};

static int pages = 1024, rounds = 31;
static const char *result = "snapshot";
static size_t page_size;

/* Durations of one operation [ns]. */
struct times {
	double	*ns;
	int	 nr;
};

static struct times new_times(void)
{
	struct times times = { .ns = calloc(rounds, sizeof(double)) };

	if (!times.ns)
		err(1, NULL);
	return times;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static void add(struct times *times, double ns)
{
	times->ns[times->nr++] = ns;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Return the median. Sort the values. */
static double median(struct times *times)
{
	qsort(times->ns, times->nr, sizeof(double), compare);
	return times->ns[times->nr / 2];
}

/* Return the interquartile range. The values are sorted. */
static double spread(const struct times *times)
{
	return times->ns[times->nr * 3 / 4] - times->ns[times->nr / 4];
}

static int open_event(enum perf_overwrite_kind kind)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_SOFTWARE,
		.size		= sizeof(attr),
		.config		= PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period	= 1,
		.sample_type	= PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
				  PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD,
		.exclude_kernel	= 1,
	};

	perf_overwrite__config(&attr, kind);
	return syscall(__NR_perf_event_open, &attr, 0, -1, -1, 0);
}

/* Take enough page faults to wrap the ring: the smallest record is a header and 8 bytes. */
static void fill(void)
{
	size_t nr = (size_t)pages * page_size / 16, i;
	volatile char *page = mmap(NULL, page_size, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		err(1, "mmap");
	for (i = 0; i < nr / 4; i++) {
		*page = 1;
		madvise((void *)page, page_size, MADV_DONTNEED);
	}
	munmap((void *)page, page_size);
}

static void print(const char *what, const char *kind, struct times *times, double per,
		  const char *unit)
{
	double middle = median(times);

	printf("RESULT %s-%s-%s %.2f %s\n", result, what, kind, middle / per, unit);
	printf("RESULT %s-%s-spread-%s %.2f %s\n", result, what, kind, spread(times) / per, unit);
}

static void measure(enum perf_overwrite_kind kind, int fd)
{
	size_t size = (size_t)pages * page_size;
	struct times take = new_times(), copy = new_times(), walk = new_times();
	struct perf_snapshot_records records = { 0 };
	struct perf_snapshot_stats stats;
	struct perf_snapshot *snapshot;
	struct perf_overwrite *ring;
	void *base, *plain;
	int i;

	base = mmap(NULL, size + page_size, PROT_READ, MAP_SHARED, fd, 0);
	plain = mmap(NULL, size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (base == MAP_FAILED || plain == MAP_FAILED)
		err(1, "rings of %d pages", pages);
	ring = perf_overwrite__new(base, size, fd, kind);
	snapshot = ring ? perf_snapshot__new(ring) : NULL;
	if (!snapshot)
		err(1, "ring");

	for (i = 0; i < rounds; i++) {
		double begin;
		int turn;

		fill();
		/* The second one finds the ring in the cache. */
		for (turn = 0; turn < 2; turn++) {
			if ((i + turn) % 2) {
				perf_snapshot__take(&snapshot, 1, &stats);
				add(&take, stats.copy_ns);
			} else {
				begin = now();
				memcpy(plain, base + page_size, size);
				add(&copy, now() - begin);
			}
		}
		begin = now();
		perf_snapshot__records(snapshot, &records);
		add(&walk, (now() - begin) / (records.nr ?: 1));
	}
	print("copy", kind_names[kind], &take, 1e3, "us");
	print("memcpy", kind_names[kind], &copy, 1e3, "us");
	printf("RESULT %s-copy-ratio-%s %.2f x\n", result, kind_names[kind],
	       median(&take) / median(&copy));
	print("walk", kind_names[kind], &walk, 1, "ns/record");
	printf("# %s: %d rings of %zu kB, %" PRIu64 " records in the last\n", kind_names[kind],
	       rounds, size >> 10, (uint64_t)records.nr);

	perf_snapshot__delete(snapshot);
	perf_overwrite__delete(ring);
	munmap(base, size + page_size);
	munmap(plain, size);
	free(take.ns);
	free(copy.ns);
	free(walk.ns);
}

static void parse_options(int argc, char **argv)
{
	static const struct option options[] = {
		{ "pages",  required_argument, NULL, 'p' },
		{ "rounds", required_argument, NULL, 'n' },
		{ "result", required_argument, NULL, 'r' },
		{ NULL }
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'p')
			pages = atoi(optarg);
		else if (option == 'n')
			rounds = atoi(optarg);
		else if (option == 'r')
			result = optarg;
		else
			exit(2);
	}
	if (pages < 1 || pages & (pages - 1) || rounds < 1)
		errx(2, "--pages must be a power of two, --rounds at least 1");
}

int main(int argc, char **argv)
{
	int best, kind;

	parse_options(argc, argv);
	page_size = sysconf(_SC_PAGESIZE);
	best = perf_overwrite__probe();
	if (best < 0) {
		printf("Cannot open an overwritten ring: %s\n", strerror(-best));
		return 2;
	}
	for (kind = 0; kind <= best; kind++) {
		int fd = open_event(kind);

		if (fd < 0)
			err(1, "perf_event_open");
		measure(kind, fd);
		close(fd);
	}
	return 0;
}
