/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reserve disk space for the features behind the data, so that a file can be completed when the
 * disk is full.
 *
 * The space is held by an unnamed file in the output's directory. Where the size of files is
 * limited (RLIMIT_FSIZE, ulimit -f), the limit is lowered by as much. Where there is too little
 * space for 1 MB, a small reserve is taken, which has no space for the names of tasks (rescue.h).
 */
#ifndef PERF_RECORDING_RESERVE_H
#define PERF_RECORDING_RESERVE_H

#include <stdbool.h>
#include <sys/resource.h>

/**
 * struct reserve
 * @fd:		the unnamed file, or -1
 * @small:	there is space for the features only
 * @limited:	RLIMIT_FSIZE is lowered
 * @limit:	RLIMIT_FSIZE before that
 */
struct reserve {
	int		fd;
	bool		small;
	bool		limited;
	struct rlimit	limit;
};

/**
 * reserve__take - reserve space for the features of a file
 * @path:	the file
 * @nr_events:	number of events that the features describe
 *
 * Not an error where it is impossible.
 */
void reserve__take(struct reserve *reserve, const char *path, int nr_events);

/** reserve__release - make the space available to the output; harmless if nothing is reserved */
void reserve__release(struct reserve *reserve);

#endif
