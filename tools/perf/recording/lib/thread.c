// SPDX-License-Identifier: GPL-2.0-only
#include <signal.h>
#include "thread.h"

int thread__create(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	sigset_t all, saved;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &saved);
	err = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	return -err;
}

static void init_lock(pthread_mutex_t *lock, int type)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

void thread__init_lock(pthread_mutex_t *lock)
{
	init_lock(lock, PTHREAD_MUTEX_DEFAULT);
}

void thread__init_recursive_lock(pthread_mutex_t *lock)
{
	init_lock(lock, PTHREAD_MUTEX_RECURSIVE);
}
