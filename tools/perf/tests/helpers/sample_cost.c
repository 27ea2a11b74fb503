// SPDX-License-Identifier: GPL-2.0-only
/*
 * Count the instructions that an event costs its thread, for several kinds of events.
 *
 * usage: sample_cost [KIND...]
 *
 * This needs a guest that counts instructions in its TSC (VM_ICOUNT=1). The events are
 * raw_syscalls:sys_enter on CPU 0. A result is what an event adds to a call of getppid(). Rings
 * are not read: a streaming ring is full.
 */
#define _GNU_SOURCE
#include <err.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#define CALLS		20000
#define RING_SIZE	(257 * 4096)
#define MAX_EVENTS	10

#define SAMPLE (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
		PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW)
#define SIZE_AT_END	(1ULL << 40)	/* PERF_SAMPLE_SIZE_AT_END */

/* Kinds of events. The period is 1 and the fields are SAMPLE unless they are given. */
static const struct kind {
	const char	*name;
	bool		ftrace;		/* ftrace records the events; no perf */
	bool		no_samples;
	bool		writable;	/* a streaming ring */
	bool		backward;
	bool		of_task;	/* of this thread, on all CPUs */
	int		period;
	int		events;		/* as many on the tracepoint; the result is for each */
	uint64_t	fields;
	const char	*filter;
} kinds[] = {
	{ "ftrace", .ftrace = true },
	{ "count", .no_samples = true },
	{ .name = "overwrite" },
	{ "overwrite-backward", .backward = true },
	{ "overwrite-sized", .fields = SAMPLE | SIZE_AT_END },
	{ "stream-full", .writable = true },
	{ "time-only", .fields = PERF_SAMPLE_TIME },
	{ "without-period", .fields = SAMPLE & ~PERF_SAMPLE_PERIOD },
	{ "every-third", .fields = SAMPLE & ~PERF_SAMPLE_PERIOD, .period = 3 },
	{ "callchain", .fields = SAMPLE | PERF_SAMPLE_CALLCHAIN },
	{ "address", .fields = SAMPLE | PERF_SAMPLE_ADDR },
	{ "filter-matches", .filter = "id >= 0" },
	{ "filter-refuses", .filter = "id < 0" },
	{ "of-task", .of_task = true },
	{ "each-of-10", .events = MAX_EVENTS },
};

static double instructions_per_call(void)
{
	uint64_t begin = __rdtsc();

	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
	return (double)(__rdtsc() - begin) / CALLS;
}

#define SYS_ENTER "/sys/kernel/tracing/events/raw_syscalls/sys_enter/"

static int tracepoint_id(void)
{
	FILE *file = fopen(SYS_ENTER "id", "r");
	int id;

	if (!file || fscanf(file, "%d", &id) != 1)
		err(1, "cannot read the id of raw_syscalls:sys_enter");
	fclose(file);
	return id;
}

static void let_ftrace_record(bool enable)
{
	FILE *file = fopen(SYS_ENTER "enable", "w");

	if (!file || fprintf(file, "%d", enable) != 1 || fclose(file))
		err(1, "cannot let ftrace record");
}

/* Returns -1 if this kernel does not have such events. */
static int open_event(const struct kind *kind, int id)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.config = id,
		.sample_period = kind->period ?: 1,
		.sample_type = kind->fields ?: SAMPLE,
		.write_backward = kind->backward,
		.sample_id_all = 1,
	};
	int fd;

	if (kind->no_samples)
		attr.sample_period = attr.sample_type = 0;
	fd = syscall(SYS_perf_event_open, &attr, kind->of_task ? 0 : -1, kind->of_task ? -1 : 0, -1,
		     PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -1;
	if (kind->filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, kind->filter))
		err(1, "cannot set the filter of %s", kind->name);
	return fd;
}

static void measure(const struct kind *kind, int id, double without)
{
	int fds[MAX_EVENTS], events = kind->ftrace ? 0 : kind->events ?: 1;
	void *rings[MAX_EVENTS];

	for (int i = 0; i < events; i++) {
		fds[i] = open_event(kind, id);
		if (fds[i] < 0) {
			printf("# %s: %m\n", kind->name);
			return;
		}
		if (kind->no_samples)
			continue;
		rings[i] = mmap(NULL, RING_SIZE, PROT_READ | (kind->writable ? PROT_WRITE : 0),
				MAP_SHARED, fds[i], 0);
		if (rings[i] == MAP_FAILED)
			err(1, "cannot map the ring of %s", kind->name);
	}
	if (kind->ftrace)
		let_ftrace_record(true);
	instructions_per_call();	/* fills the ring */
	printf("RESULT sample-cost-%s %.0f instructions\n", kind->name,
	       (instructions_per_call() - without) / (events ?: 1));
	if (kind->ftrace)
		let_ftrace_record(false);
	for (int i = 0; i < events; i++) {
		if (!kind->no_samples)
			munmap(rings[i], RING_SIZE);
		close(fds[i]);
	}
}

static bool is_wanted(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return argc < 2;
}

int main(int argc, char **argv)
{
	int id = tracepoint_id();
	double without;

	instructions_per_call();
	without = instructions_per_call();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (is_wanted(kinds[i].name, argc, argv))
			measure(&kinds[i], id, without);
	return 0;
}
