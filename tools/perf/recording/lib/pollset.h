/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wait in a thread for its rings to fill, and for other threads to wake it up.
 *
 * A thread may have hundreds of rings, of which one has data. poll() would check all of them each
 * time, while that one fills further. epoll registers them once, and returns those that have data.
 *
 * A ring is reported once for each wake-up by the kernel (EPOLLET), whether it is drained then or
 * not. A descriptor that has hung up, because its task has exited or its CPU is offline, is
 * removed.
 */
#ifndef PERF_RECORDING_POLLSET_H
#define PERF_RECORDING_POLLSET_H

#include <stdbool.h>

struct pollset_entry;
struct ring;

/* How many rings one call reports; the rest is reported first by the next call. */
#define POLLSET_READY	64

/**
 * struct pollset - used by one thread, except for pollset__wake()
 * @epoll_fd:	the epoll instance; 0 if the pollset is not initialized
 * @wake_fd:	eventfd of pollset__wake()
 * @entries:	@nr descriptors; epoll refers to them by their index
 * @nr_tasks:	number of descriptors that belong to tasks and have not hung up
 * @ready:	@nr_ready rings reported by pollset__wait(); a ring with several descriptors may
 *		occur twice
 */
struct pollset {
	int			 epoll_fd;
	int			 wake_fd;
	struct pollset_entry	*entries;
	int			 nr;
	int			 nr_tasks;
	struct ring		*ready[POLLSET_READY];
	int			 nr_ready;
};

/** pollset__init - initialize the pollset. Return: 0, or a negative errno */
int pollset__init(struct pollset *set);

/** pollset__exit - free the pollset; harmless if it is zeroed */
void pollset__exit(struct pollset *set);

/**
 * pollset__add - wait for @fd, too: wake up while it is readable
 *
 * Return: 0, or a negative errno.
 */
int pollset__add(struct pollset *set, int fd);

/**
 * pollset__add_ring - wait for a descriptor of @ring, too
 * @of_task:	the descriptor is attached to a task, and hangs up when that exits
 *
 * Return: 0, or a negative errno.
 */
int pollset__add_ring(struct pollset *set, int fd, struct ring *ring, bool of_task);

/**
 * pollset__wait - wait until a descriptor is readable or hangs up, pollset__wake() is called, or a
 * signal comes
 * @timeout_ms:	limit of the wait, or -1
 */
void pollset__wait(struct pollset *set, int timeout_ms);

/** pollset__sleep - wait for pollset__wake() only, whatever the rings hold */
void pollset__sleep(struct pollset *set);

/** pollset__wake - wake the thread up, now or when it waits the next time; call in any thread */
void pollset__wake(const struct pollset *set);

#endif
