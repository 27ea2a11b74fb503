/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a thread waits for: its rings, and whoever wakes it up.
 *
 * A thread may have hundreds of rings, of which one has something. poll() asks all of them, each
 * time, while that one fills on; epoll is told of them once, and says which.
 *
 * A ring is reported once for each time that the kernel wakes up for it (EPOLLET), whether it is drained
 * then or not. A descriptor that has hung up, because its task or its CPU is gone, is waited for no more.
 */
#ifndef PERF_RECORDING_POLLSET_H
#define PERF_RECORDING_POLLSET_H

#include <stdbool.h>

struct pollset_entry;
struct ring;

/* How many rings one call reports; the others come first the next time. */
#define POLLSET_READY	64

/**
 * struct pollset - zeroed, or initialised; the thread's, but for pollset__wake()
 * @epoll_fd:	waits for all
 * @wake_fd:	eventfd of pollset__wake()
 * @entries:	@nr descriptors; epoll knows them by their index
 * @nr_tasks:	how many of them belong to tasks, and have not hung up
 * @ready:	@nr_ready rings that pollset__wait() reports; one with several descriptors may be there twice
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

/** pollset__init - Return: 0, or a negative errno */
int pollset__init(struct pollset *set);

/** pollset__exit - harmless if it is zeroed */
void pollset__exit(struct pollset *set);

/** pollset__add - wait for @fd to be readable, as long as it is. Return: 0, or a negative errno */
int pollset__add(struct pollset *set, int fd);

/**
 * pollset__add_ring - wait for a descriptor of @ring
 * @of_task:	it hangs up when the task is gone that it is attached to
 *
 * Return: 0, or a negative errno.
 */
int pollset__add_ring(struct pollset *set, int fd, struct ring *ring, bool of_task);

/** pollset__wait - wait until something can be read, hangs up or wakes the thread up, or a signal comes */
void pollset__wait(struct pollset *set);

/** pollset__sleep - wait until something wakes the thread up, whatever the rings hold */
void pollset__sleep(struct pollset *set);

/** pollset__wake - wake the thread up, now or when it waits the next time; in any thread */
void pollset__wake(const struct pollset *set);

#endif
