/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a reader runs, and before whom.
 *
 * A ring fills while its CPU is busy, which is when a reader of the normal class waits for its turn;
 * and a low nice value counts only within a session's autogroup, or a cgroup. So readers are of
 * SCHED_FIFO where this user may ask for that (root, or RLIMIT_RTPRIO), at a low priority:
 * before every normal task, after everything that is real-time for a reason. They sleep once
 * their rings have been looked at, and leave themselves out of what is recorded (exclude_self.h), so that
 * what they do does not wake them.
 *
 * One below are the threads that compress and write, and the recorder's own while it switches files: once
 * the buffers are full, the readers wait for them. Until then they must not wait: to write a chunk takes as
 * long as a small ring takes to fill.
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

/** struct reader_sched - how a thread was scheduled before */
struct reader_sched {
	int			policy;
	struct sched_param	param;
};

/** reader_sched__save - remember how the calling thread is scheduled */
void reader_sched__save(struct reader_sched *saved);

/** reader_sched__restore - as when that was saved, in the same thread */
void reader_sched__restore(const struct reader_sched *saved);

/**
 * reader_sched__set_cpus - let @thread run on these CPUs only; NULL: on all that this process may use
 *
 * Return: 0, or a negative errno: this process may use none of them.
 */
int reader_sched__set_cpus(pthread_t thread, struct perf_cpu_map *cpus);

#endif
