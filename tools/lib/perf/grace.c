// SPDX-License-Identifier: GPL-2.0-only
/* Wait for a grace period: membarrier(2), else a visit to each CPU, else a sleep. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <internal/grace.h>
#include <perf/cpumap.h>

/* Two ticks at HZ=100, and thousands of times the duration of writing a 64 KiB record */
#define SLEEP_NS	20000000

static int membarrier(int cmd)
{
	return syscall(__NR_membarrier, cmd, 0, 0);
}

/* Run on @cpu. Return: 0, or a negative errno. */
static int visit(struct perf_cpu cpu)
{
	size_t size = CPU_ALLOC_SIZE(cpu.cpu + 1);
	cpu_set_t *set = CPU_ALLOC(cpu.cpu + 1);
	int err;

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu.cpu, size, set);
	err = sched_setaffinity(0, size, set) ? -errno : 0;
	CPU_FREE(set);
	return err;
}

/*
 * Return the affinity of the calling thread, to be freed with CPU_FREE(), with as many bits as this
 * kernel needs, and its @size in bytes; or NULL.
 */
static cpu_set_t *current_affinity(size_t *size)
{
	int nr;

	for (nr = CPU_SETSIZE; nr <= CPU_SETSIZE * 64; nr *= 2) {
		cpu_set_t *set = CPU_ALLOC(nr);

		*size = CPU_ALLOC_SIZE(nr);
		if (set && !sched_getaffinity(0, *size, set))
			return set;
		CPU_FREE(set);
	}
	return NULL;
}

/*
 * Run on each online CPU, and restore the affinity. A CPU that goes offline in the meantime has no
 * writer, so an error counts only if the CPU is still online afterwards.
 * Return: 0, or a negative errno.
 */
static int visit_all(void)
{
	struct perf_cpu_map *online = perf_cpu_map__new_online_cpus(), *again;
	size_t size;
	cpu_set_t *saved = current_affinity(&size);
	int i, nr, err = 0;

	if (!online || !saved) {
		err = -ENOMEM;
		goto out;
	}
	nr = perf_cpu_map__nr(online);
	for (i = 0; i < nr; i++) {
		struct perf_cpu cpu = perf_cpu_map__cpu(online, i);

		err = visit(cpu);
		if (!err)
			continue;
		again = perf_cpu_map__new_online_cpus();
		if (again && !perf_cpu_map__has(again, cpu))
			err = 0;
		perf_cpu_map__put(again);
		if (err)
			break;
	}
	if (sched_setaffinity(0, size, saved) && !err)
		err = -errno;
out:
	if (saved)
		CPU_FREE(saved);
	perf_cpu_map__put(online);
	return err;
}

enum perf_snapshot_grace perf_grace__wait(void)
{
	struct timespec left = { .tv_nsec = SLEEP_NS };

	if (!membarrier(MEMBARRIER_CMD_GLOBAL))
		return PERF_SNAPSHOT_GRACE_MEMBARRIER;
	if (!visit_all())
		return PERF_SNAPSHOT_GRACE_VISIT;
	while (nanosleep(&left, &left) && errno == EINTR)
		;
	__sync_synchronize();
	return PERF_SNAPSHOT_GRACE_SLEEP;
}
