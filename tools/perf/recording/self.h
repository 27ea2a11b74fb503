/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The recorder does not record itself.
 *
 * In a session of all tasks (-a, -C) what the recorder does while it writes would be recorded, and
 * written, and recorded ... So it is left out, in the kernel, before it takes room in a ring:
 *
 *   tracepoints	a filter on common_pid, for each of the recorder's threads, and on the names of
 *			threads that others start for it (trace writers)
 *   other samples	a BPF program as overflow handler, which drops those of the recorder's process; if
 *			this user may load one
 *
 * Not left out are tracepoints of the scheduler, and the tracking event: their records tell of other
 * tasks, too. A program could do for tracepoints as well, but it would decide for all users of the tracepoint.
 */
#ifndef PERF_RECORDING_SELF_H
#define PERF_RECORDING_SELF_H

#include <sys/types.h>

struct evlist;

/**
 * self__filter - add filters to the tracepoints
 * @evlist:	configured, not opened
 * @threads:	the recorder's, @nr of them
 * @helpers:	names of helper threads, NULL behind the last
 *
 * Return: 0, or -ENOMEM after an error message.
 */
int self__filter(struct evlist *evlist, const pid_t *threads, int nr, const char *const *helpers);

/** self__attach - have the program look at the other events; opened. Says in debug output if not. */
void self__attach(struct evlist *evlist);

#endif
