/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Close file descriptors.
 */
#ifndef PERF_RECORDING_FD_H
#define PERF_RECORDING_FD_H

#include <unistd.h>

/** fd__close - close @fd and set it to -1; harmless if it is negative */
static inline void fd__close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

#endif
