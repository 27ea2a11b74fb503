/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The recorder's own threads, and their locks.
 *
 * They take no signals: one thread alone waits for those (trigger.h). Some of them have a real-time
 * priority (reader_sched.h), others wait for the CPU as the recorded tasks do: who holds a lock that
 * both take must not have to wait, hence locks that hand the priority on.
 */
#ifndef PERF_RECORDING_THREAD_H
#define PERF_RECORDING_THREAD_H

#include <pthread.h>

/** thread__create - as pthread_create(). Return: 0, or a negative errno */
int thread__create(pthread_t *thread, void *(*run)(void *arg), void *arg);

/** thread__init_lock - a mutex whose holder runs at the priority of whoever waits for it */
void thread__init_lock(pthread_mutex_t *lock);

/** thread__init_recursive_lock - the same; whoever holds it may take it again */
void thread__init_recursive_lock(pthread_mutex_t *lock);

#endif
