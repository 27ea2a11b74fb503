/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a thread of the recorder is told by another one that there is something to do: it waits for a descriptor.
 */
#ifndef PERF_RECORDING_EVENTFD_H
#define PERF_RECORDING_EVENTFD_H

#include <stdbool.h>

/** eventfd__new - an eventfd that nobody has told anything. Return: it, or a negative errno */
int eventfd__new(void);

/** eventfd__free - close it and set it to -1, which is harmless, too */
void eventfd__free(int *fd);

/** eventfd__signal - @fd is readable from now on; cannot fail */
void eventfd__signal(int fd);

/** eventfd__clear - was it since the last call? It is not readable any more */
bool eventfd__clear(int fd);

#endif
