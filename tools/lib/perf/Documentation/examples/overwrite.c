// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keep the most recent context switches of all CPUs in memory, and print a summary once a second
 * without stopping the kernel's writers. See libperf-overwrite(7).
 */
#include <linux/perf_event.h>
#include <perf/core.h>
#include <perf/cpumap.h>
#include <perf/event.h>
#include <perf/evlist.h>
#include <perf/evsel.h>
#include <perf/mmap.h>
#include <perf/overwrite.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGES		64	/* size of each ring */
#define MAX_RINGS	1024

/* The layout of a sample with the sample_type below */
struct sample {
	struct perf_event_header header;
	__u32 pid, tid;
	__u64 time;
	__u32 cpu, unused;
};

static int libperf_print(enum libperf_print_level level, const char *fmt, va_list ap)
{
	return level > LIBPERF_WARN ? 0 : vfprintf(stderr, fmt, ap);
}

static void show(struct perf_snapshot *snapshot)
{
	struct perf_snapshot_records records;
	const struct sample *newest = NULL;
	unsigned long switches = 0;
	union perf_event *event;

	while ((event = perf_snapshot__read_event(snapshot))) {
		if (event->header.type != PERF_RECORD_SAMPLE)
			continue;
		newest = (const struct sample *)event;
		switches++;
	}
	perf_snapshot__records(snapshot, &records);
	if (newest)
		printf("cpu %3u: %6lu switches, the last from tid %u at %.6f s; "
		       "%llu bytes overwritten\n", newest->cpu, switches, newest->tid,
		       newest->time / 1e9, (unsigned long long)records.overwritten);
}

int main(void)
{
	struct perf_event_attr attr = {
		.size		= sizeof(attr),
		.type		= PERF_TYPE_SOFTWARE,
		.config		= PERF_COUNT_SW_CONTEXT_SWITCHES,
		.sample_period	= 1,
		.sample_type	= PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.disabled	= 1,
	};
	struct perf_overwrite *rings[MAX_RINGS] = { NULL };
	struct perf_snapshot *snapshots[MAX_RINGS] = { NULL };
	struct perf_snapshot_stats stats;
	struct perf_cpu_map *cpus = NULL;
	struct perf_evlist *evlist = NULL;
	struct perf_evsel *evsel;
	struct perf_mmap *map;
	int kind, nr = 0, err = 1, second, i;

	libperf_init(libperf_print);

	kind = perf_overwrite__probe();
	if (kind < 0) {
		fprintf(stderr, "Cannot use overwrite rings: %s\n", strerror(-kind));
		return 1;
	}
	perf_overwrite__config(&attr, kind);

	cpus = perf_cpu_map__new_online_cpus();
	evlist = perf_evlist__new();
	evsel = perf_evsel__new(&attr);
	if (!cpus || !evlist || !evsel) {
		fprintf(stderr, "Out of memory\n");
		goto out;
	}
	perf_evlist__add(evlist, evsel);
	perf_evlist__set_maps(evlist, cpus, NULL);

	err = perf_evlist__open(evlist);
	if (err) {
		fprintf(stderr, "Cannot open the event: %s. Run this as root.\n", strerror(-err));
		goto out;
	}
	err = perf_evlist__mmap(evlist, PAGES);
	if (err) {
		fprintf(stderr, "Cannot map the rings: %s\n", strerror(errno));
		goto out;
	}

	perf_evlist__for_each_mmap(evlist, map, true) {
		if (nr == MAX_RINGS)
			break;
		rings[nr] = perf_overwrite__new_mmap(map, kind);
		if (rings[nr])
			snapshots[nr] = perf_snapshot__new(rings[nr]);
		if (!snapshots[nr++]) {
			fprintf(stderr, "Cannot allocate a snapshot: %s\n", strerror(errno));
			err = 1;
			goto out;
		}
	}

	perf_evlist__enable(evlist);
	for (second = 1; second <= 3; second++) {
		sleep(1);
		perf_snapshot__take(snapshots, nr, &stats);
		printf("%s: %llu bytes written, copied in %.3f ms\n",
		       kind == PERF_OVERWRITE_SIZED ? "sized" : "backward",
		       (unsigned long long)stats.written, stats.copy_ns / 1e6);
		for (i = 0; i < nr; i++)
			show(snapshots[i]);
	}
	perf_evlist__disable(evlist);
out:
	for (i = 0; i < nr; i++) {
		perf_snapshot__delete(snapshots[i]);
		perf_overwrite__delete(rings[i]);
	}
	perf_evlist__delete(evlist);
	perf_cpu_map__put(cpus);
	return err;
}
