/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Create the recorder's threads and their locks.
 *
 * The threads take no signals: one thread alone waits for those (trigger.h). Some threads have a
 * real-time priority (reader_sched.h), others compete for the CPU with the recorded tasks. A thread
 * of the first kind must not wait for a lock while its holder waits for the CPU. So the locks
 * inherit priority.
 *
 * util/mutex.h cannot replace them: its mutexes neither inherit priority nor can be recursive, and
 * its condition variables have no wait with a time limit, nor one on CLOCK_MONOTONIC.
 */
#ifndef PERF_RECORDING_THREAD_H
#define PERF_RECORDING_THREAD_H

#include <pthread.h>

/** thread__create - pthread_create() with all signals blocked. Return: 0, or a negative errno */
int thread__create(pthread_t *thread, void *(*run)(void *arg), void *arg);

/** thread__init_lock - initialize a mutex with priority inheritance */
void thread__init_lock(pthread_mutex_t *lock);

/** thread__init_recursive_lock - initialize a recursive mutex with priority inheritance */
void thread__init_recursive_lock(pthread_mutex_t *lock);

#endif
