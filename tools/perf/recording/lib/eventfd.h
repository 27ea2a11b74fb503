/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a thread of the recorder is told by another one that there is something to do: it waits for a descriptor.
 */
#ifndef PERF_RECORDING_WAKEUP_H
#define PERF_RECORDING_WAKEUP_H

#include <stdbool.h>

/** wakeup__new - an eventfd that nobody has told anything. Return: it, or a negative errno */
int wakeup__new(void);

/** wakeup__free - close it and set it to -1, which is harmless, too */
void wakeup__free(int *fd);

/** wakeup__tell - @fd is readable from now on; cannot fail */
void wakeup__tell(int fd);

/** wakeup__told - was it since the last call? It is not readable any more */
bool wakeup__told(int fd);

#endif
