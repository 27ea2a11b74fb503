// SPDX-License-Identifier: GPL-2.0-only
/*
 * Let a BPF program write the most recent system calls of each CPU to overwrite rings, and read
 * them once a second while the program continues to write. See libperf-overwrite(7).
 *
 * usage: overwrite_bpf OBJECT [SNAPSHOTS]
 *
 * OBJECT is overwrite_bpf.bpf.c, compiled by clang. Each record has a number, which shows that no
 * record is missing or repeated unless the kernel has overwritten it between two snapshots.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <perf/core.h>
#include <perf/event.h>
#include <perf/overwrite.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGES		128	/* size of each ring */
#define MAX_CPUS	1024

/* As in overwrite_bpf.bpf.c */
struct call {
	__u64 number;
	__u32 tid, nr;
	char comm[16];
};

/* A sample of sample_type PERF_SAMPLE_RAW. The kernel pads the data to a multiple of 8 bytes. */
struct sample {
	struct perf_event_header header;
	__u32 size;
	struct call call;
} __attribute__((packed));

static struct perf_overwrite *rings[MAX_CPUS];
static struct perf_snapshot *snapshots[MAX_CPUS];
static int cpus[MAX_CPUS], nr_rings;
static unsigned long long next_number[MAX_CPUS];

/*
 * Open the event that the BPF program writes to on @cpu, and map its ring. Return whether it did.
 */
static int add_ring(int map, int cpu, int kind)
{
	size_t page_size = sysconf(_SC_PAGESIZE), size = PAGES * page_size;
	struct perf_event_attr attr = {
		.size		= sizeof(attr),
		.type		= PERF_TYPE_SOFTWARE,
		.config		= PERF_COUNT_SW_BPF_OUTPUT,
		.sample_type	= PERF_SAMPLE_RAW,
		.sample_period	= 1,
	};
	void *base;
	int fd;

	perf_overwrite__config(&attr, kind);
	fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return errno == ENODEV;		/* the CPU is offline */
	base = mmap(NULL, page_size + size, PROT_READ, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return 0;
	/* Without a descriptor, libperf cannot pause the ring. */
	rings[nr_rings] = perf_overwrite__new(base, size, -1, kind);
	if (!rings[nr_rings])
		return 0;
	snapshots[nr_rings] = perf_snapshot__new(rings[nr_rings]);
	cpus[nr_rings] = cpu;
	return snapshots[nr_rings++] && !bpf_map_update_elem(map, &cpu, &fd, BPF_ANY);
}

static void show(int i)
{
	unsigned long long missing = 0, repeated = 0;
	struct perf_snapshot_records records;
	const struct sample *last = NULL;
	union perf_event *event;

	while ((event = perf_snapshot__read_event(snapshots[i]))) {
		if (event->header.type != PERF_RECORD_SAMPLE)
			continue;
		last = (const struct sample *)event;
		if (last->call.number < next_number[i])
			repeated++;
		else
			missing += last->call.number - next_number[i];
		next_number[i] = last->call.number + 1;
	}
	perf_snapshot__records(snapshots[i], &records);
	printf("cpu %3d: %6llu calls, %llu missing, %llu repeated; the last is system call %u of %s; "
	       "%llu bytes overwritten\n", cpus[i], (unsigned long long)records.nr, missing,
	       repeated, last ? last->call.nr : 0, last ? last->call.comm : "nobody",
	       (unsigned long long)records.overwritten);
}

static int libperf_print(enum libperf_print_level level, const char *fmt, va_list ap)
{
	return level > LIBPERF_WARN ? 0 : vfprintf(stderr, fmt, ap);
}

int main(int argc, char **argv)
{
	int nr_cpus = libbpf_num_possible_cpus(), nr_snapshots, kind, map, i;
	struct perf_snapshot_stats stats;
	struct bpf_program *program;
	struct bpf_object *object;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: %s OBJECT [SNAPSHOTS]\n", argv[0]);
		return 1;
	}
	nr_snapshots = argc == 3 ? atoi(argv[2]) : 3;
	libperf_init(libperf_print);

	kind = perf_overwrite__probe();
	if (kind < 0) {
		fprintf(stderr, "Cannot use overwrite rings: %s\n", strerror(-kind));
		return 1;
	}
	object = bpf_object__open(argv[1]);
	if (!object || bpf_object__load(object)) {
		fprintf(stderr, "Cannot load %s: %s. Run this as root.\n", argv[1],
			strerror(errno));
		return 1;
	}
	map = bpf_object__find_map_fd_by_name(object, "rings");
	for (i = 0; i < nr_cpus && i < MAX_CPUS; i++) {
		if (!add_ring(map, i, kind)) {
			fprintf(stderr, "Cannot make a ring for CPU %d: %s\n", i, strerror(errno));
			return 1;
		}
	}
	/* Attach the program when all rings are there: an event without a ring is not written. */
	program = bpf_object__find_program_by_name(object, "sys_enter");
	if (!bpf_program__attach(program)) {
		fprintf(stderr, "Cannot attach the program: %s\n", strerror(errno));
		return 1;
	}

	while (nr_snapshots-- > 0) {
		sleep(1);
		perf_snapshot__take(snapshots, nr_rings, &stats);
		printf("%s: %llu bytes written, %llu discarded, %d rings paused\n",
		       kind == PERF_OVERWRITE_SIZED ? "sized" : "backward",
		       (unsigned long long)stats.written, (unsigned long long)stats.discarded,
		       stats.paused);
		for (i = 0; i < nr_rings; i++)
			show(i);
	}
	return 0;	/* The kernel detaches the program and frees the rings. */
}
