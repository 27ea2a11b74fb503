/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Set CPU affinity and priority of the recorder's threads.
 *
 * A ring fills while its CPU is busy; just then a reader of the normal class waits for the CPU, and
 * a low nice value counts only within a session's autogroup or a cgroup. So readers run as
 * SCHED_FIFO where this user may (root, or RLIMIT_RTPRIO), at a low priority: before every normal
 * task, after tasks that are real-time for a reason. They sleep once they have visited their rings,
 * and the recorder is excluded from what it records (exclude_self.h), so that its own events do not
 * wake them up.
 *
 * Threads that compress and write have one priority less: once the queues are full, readers wait
 * for them. They must not be slow before that either: writing a chunk takes as long as a small ring
 * takes to fill. So has the main thread while the readers are held, and the thread that copies
 * overwrite rings: what these should show is overwritten while it waits.
 *
 * Completing a file and compression at high levels take seconds of CPU time, and stay in the normal
 * class. At a real-time priority they would take the CPU from everything else.
 */
#ifndef PERF_RECORDING_READER_SCHED_H
#define PERF_RECORDING_READER_SCHED_H

#include <pthread.h>
#include <sched.h>
#include <perf/cpumap.h>

#define READER_PRIORITY_DEFAULT	2

/**
 * reader_sched__set_priority - Return: 0, or a negative errno
 * @priority:	of SCHED_FIFO; 0 for the normal class
 */
int reader_sched__set_priority(pthread_t thread, int priority);

/** struct reader_sched - saved scheduling class and priority of a thread */
struct reader_sched {
	int			policy;
	struct sched_param	param;
};

/** reader_sched__save - save class and priority of the calling thread */
void reader_sched__save(struct reader_sched *saved);

/** reader_sched__restore - restore what the same thread has saved */
void reader_sched__restore(const struct reader_sched *saved);

/**
 * reader_sched__set_cpus - restrict @thread to @cpus; NULL: all CPUs that this process may use
 *
 * Return: 0, or a negative errno if this process may use none of them.
 */
int reader_sched__set_cpus(pthread_t thread, struct perf_cpu_map *cpus);

#endif
