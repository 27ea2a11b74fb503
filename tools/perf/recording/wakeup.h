/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a thread of the recorder waits for in poll(): to be told something by another one, and that there is
 * something in a ring.
 */
#ifndef PERF_RECORDING_WAKEUP_H
#define PERF_RECORDING_WAKEUP_H

#include <stdbool.h>

struct fdarray;

/** wakeup__new - an eventfd that nobody has told anything. Return: it, or a negative errno */
int wakeup__new(void);

/** wakeup__free - close it and set it to -1, which is harmless, too */
void wakeup__free(int *fd);

/** wakeup__listen - have whoever waits for @fds wait for @fd as well. Return: 0, or a negative errno */
int wakeup__listen(int fd, struct fdarray *fds);

/** wakeup__tell - @fd is readable from now on; cannot fail */
void wakeup__tell(int fd);

/** wakeup__told - was it since the last call? It is not readable any more */
bool wakeup__told(int fd);

/**
 * wakeup__drop_gone - wait no more for the rings of tasks that are gone
 *
 * For poll() reports a hang-up again and again, asked for or not.
 *
 * Return: how many are left, without those of wakeup__listen().
 */
int wakeup__drop_gone(struct fdarray *fds);

#endif
