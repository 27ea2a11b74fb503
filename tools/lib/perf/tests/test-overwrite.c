// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test snapshots of page faults, numbered by their addresses, in rings of each kind that the kernel
 * supports.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <internal/tests.h>
#include <perf/cpumap.h>
#include <perf/event.h>
#include <perf/evlist.h>
#include <perf/evsel.h>
#include <perf/mmap.h>
#include <perf/overwrite.h>
#include <perf/threadmap.h>
#include "tests.h"

#define NR_FAULTS	2003
#define PAGES		4	/* of the ring, too small for NR_FAULTS records */
#define RECORD		(sizeof(struct perf_event_header) + sizeof(__u64))
#define TRAILER		8

static int libperf_print(enum libperf_print_level level, const char *fmt, va_list ap)
{
	return vfprintf(stderr, fmt, ap);
}

struct fixture {
	enum perf_overwrite_kind kind;
	struct perf_evlist	*evlist;
	struct perf_overwrite	*ring;
	struct perf_snapshot	*snapshot;
	size_t			 page_size;
	unsigned char		*area;		/* NR_FAULTS pages, touched one after the other */
	unsigned int		 touched;
};

static void touch(struct fixture *fixture, unsigned int nr)
{
	while (nr--)
		fixture->area[fixture->page_size * fixture->touched++] = 1;
}

/* Check that the snapshot has at least @at_least faults of touch(), in order, up to @last. */
static int check_faults(struct fixture *fixture, unsigned int last, unsigned int at_least)
{
	unsigned int number, expected = 0, nr = 0;
	union perf_event *event;

	while ((event = perf_snapshot__read_event(fixture->snapshot))) {
		if (event->header.type != PERF_RECORD_SAMPLE)
			continue;
		__T("a sample is a header and an address", event->header.size == RECORD);
		number = (event->sample.array[0] - (unsigned long)fixture->area) /
			 fixture->page_size;
		if (number >= NR_FAULTS)
			continue;
		__T("faults are in order", !nr || number == expected);
		expected = number + 1;
		nr++;
	}
	__T_VERBOSE("%u faults up to %u\n", nr, expected - 1);
	__T("the last fault is in the snapshot", expected == last + 1);
	__T("all faults are in the snapshot", nr >= at_least);
	return 0;
}

static int open_ring(struct fixture *fixture)
{
	struct perf_event_attr attr = {
		.size		= sizeof(attr),
		.type		= PERF_TYPE_SOFTWARE,
		.config		= PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period	= 1,
		.sample_type	= PERF_SAMPLE_ADDR,
		.exclude_kernel	= 1,
		.disabled	= 1,
	};
	struct perf_thread_map *threads = perf_thread_map__new_dummy();
	struct perf_cpu_map *any_cpu = perf_cpu_map__new_any_cpu();
	struct perf_evsel *evsel;
	struct perf_mmap *map;

	perf_overwrite__config(&attr, fixture->kind);
	__T("this thread, on any CPU", threads && any_cpu);
	perf_thread_map__set_pid(threads, 0, 0);
	fixture->evlist = perf_evlist__new();
	__T("evlist", fixture->evlist);
	evsel = perf_evsel__new(&attr);
	__T("evsel", evsel);
	perf_evlist__add(fixture->evlist, evsel);
	perf_evlist__set_maps(fixture->evlist, any_cpu, threads);
	perf_thread_map__put(threads);
	perf_cpu_map__put(any_cpu);
	__T("open", !perf_evlist__open(fixture->evlist));
	__T("mmap", !perf_evlist__mmap(fixture->evlist, PAGES));

	__T("no map to consume", !perf_evlist__next_mmap(fixture->evlist, NULL, false));
	map = perf_evlist__next_mmap(fixture->evlist, NULL, true);
	__T("one map to overwrite", map && !perf_evlist__next_mmap(fixture->evlist, map, true));
	fixture->ring = perf_overwrite__new_mmap(map, fixture->kind);
	__T("ring", fixture->ring);
	fixture->snapshot = perf_snapshot__new(fixture->ring);
	__T("snapshot", fixture->snapshot);

	perf_evlist__enable(fixture->evlist);
	return 0;
}

static void close_ring(struct fixture *fixture)
{
	perf_snapshot__delete(fixture->snapshot);
	perf_overwrite__delete(fixture->ring);
	perf_evlist__delete(fixture->evlist);
}

static int take_snapshots(struct fixture *fixture)
{
	const size_t ring_size = PAGES * fixture->page_size;
	struct perf_snapshot_records records;
	struct perf_snapshot_stats stats;
	__u64 bytes;

	touch(fixture, 100);
	perf_snapshot__take(&fixture->snapshot, 1, NULL);
	touch(fixture, 30);
	__T("a new snapshot", !check_faults(fixture, 99, 100));

	perf_snapshot__take(&fixture->snapshot, 1, NULL);
	touch(fixture, 7);
	perf_snapshot__take(&fixture->snapshot, 1, NULL);
	__T("an extended snapshot", !check_faults(fixture, 136, 37));
	perf_snapshot__records(fixture->snapshot, &records);
	__T("nothing was overwritten", !records.overwritten && !records.malformed);

	touch(fixture, NR_FAULTS - 137);
	perf_snapshot__take(&fixture->snapshot, 1, &stats);
	perf_snapshot__records(fixture->snapshot, &records);
	__T("some records were overwritten", records.overwritten && !records.malformed);
	__T("the records of a full ring are kept",
	    !check_faults(fixture, NR_FAULTS - 1, ring_size / RECORD / 2));
	bytes = records.bytes + (fixture->kind == PERF_OVERWRITE_SIZED ? records.nr * TRAILER : 0);
	__T("all bytes are accounted for", records.overwritten + bytes == stats.written);
	__T_VERBOSE("%llu bytes written, %llu overwritten, %llu discarded\n", stats.written,
		    records.overwritten, stats.discarded);
	return 0;
}

static int test_kind(enum perf_overwrite_kind kind)
{
	struct fixture fixture = { .kind = kind, .page_size = sysconf(_SC_PAGESIZE) };
	const size_t len = NR_FAULTS * fixture.page_size;
	int err;

	fixture.area = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__T("memory", fixture.area != MAP_FAILED);
	madvise(fixture.area, len, MADV_NOHUGEPAGE);

	err = open_ring(&fixture) ?: take_snapshots(&fixture);
	close_ring(&fixture);
	munmap(fixture.area, len);
	return err;
}

int test_overwrite(int argc, char **argv)
{
	int best;

	__T_START;
	libperf_init(libperf_print);

	best = perf_overwrite__probe();
	__T("a supported kind", best >= 0);
	__T_VERBOSE("backward\n");
	__T("backward", !test_kind(PERF_OVERWRITE_BACKWARD));
	if (best == PERF_OVERWRITE_SIZED) {
		__T_VERBOSE("sized\n");
		__T("sized", !test_kind(PERF_OVERWRITE_SIZED));
	}
	__T_END;
	return tests_failed == 0 ? 0 : -1;
}
