/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wake up a thread of the recorder that waits for a file descriptor (eventfd).
 */
#ifndef PERF_RECORDING_EVENTFD_H
#define PERF_RECORDING_EVENTFD_H

#include <stdbool.h>

/**
 * eventfd__new - create an eventfd that is not signalled
 *
 * Return: the descriptor, to be closed by fd__close(); or a negative errno.
 */
int eventfd__new(void);

/** eventfd__signal - make @fd readable; cannot fail */
void eventfd__signal(int fd);

/** eventfd__clear - make @fd unreadable. Return: true if it was signalled since the last call */
bool eventfd__clear(int fd);

#endif
