// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <sched.h>
#include <string.h>
#include "reader_sched.h"
#include "recording/lib/compat.h"

/* struct perf_cpu is a signed 16-bit number. */
#define MAX_CPUS 32768

int reader_sched__set_priority(pthread_t thread, int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	return -pthread_setschedparam(thread, priority ? SCHED_FIFO : SCHED_OTHER, &param);
}

void reader_sched__save(struct reader_sched *saved)
{
	pthread_getschedparam(pthread_self(), &saved->policy, &saved->param);
}

void reader_sched__restore(const struct reader_sched *saved)
{
	pthread_setschedparam(pthread_self(), saved->policy, &saved->param);
}

int reader_sched__set_cpus(pthread_t thread, struct perf_cpu_map *cpus)
{
	int nr = cpus ? perf_cpu_map__max(cpus).cpu + 1 : MAX_CPUS, err;
	size_t size = CPU_ALLOC_SIZE(nr);
	cpu_set_t *set = CPU_ALLOC(nr);
	struct perf_cpu cpu;
	cpu_index_t i;

	if (!set)
		return -ENOMEM;
	memset(set, cpus ? 0 : 0xff, size);
	perf_cpu_map__for_each_cpu_skip_any(cpu, i, cpus)
		CPU_SET_S(cpu.cpu, size, set);
	err = -pthread_setaffinity_np(thread, size, set);
	CPU_FREE(set);
	return err;
}
