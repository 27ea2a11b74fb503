// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include "reader_sched.h"

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
	size_t size = CPU_ALLOC_SIZE(MAX_CPUS);
	cpu_set_t *set = CPU_ALLOC(MAX_CPUS);
	int i, err;

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	for (i = 0; i < MAX_CPUS; i++) {
		if (!cpus || perf_cpu_map__has(cpus, (struct perf_cpu){ i }))
			CPU_SET_S(i, size, set);
	}
	err = -pthread_setaffinity_np(thread, size, set);
	CPU_FREE(set);
	return err;
}
