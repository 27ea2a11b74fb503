/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The recorder does not record itself.
 *
 * In a session of all tasks (-a, -C) what the recorder does while it writes would be recorded, and
 * written, and recorded ... So it is left out, in the kernel, before it takes room in a ring:
 *
 *   tracepoints	a filter on common_pid, for the main thread, and on COMM, for those that have the name of
 *			the recorder's threads, "perf-PID", and the one that the kernel gives its workers.
 *			Any number of threads makes the filter no longer.
 *   other samples	a BPF program as overflow handler, which drops those of the recorder's process; if
 *			this user may load one. An event has one such program: where that is a filter
 *			(--filter 'ip < 0x1000'), "pid != PID" is added to it.
 *
 * Not left out are tracepoints of the scheduler, and the tracking event: their records tell of other
 * tasks, too. A program could do for tracepoints as well, but it would decide for all users of the tracepoint.
 */
#ifndef PERF_RECORDING_EXCLUDE_SELF_H
#define PERF_RECORDING_EXCLUDE_SELF_H

struct evlist;

#define SELF_NAME_SIZE 16

struct exclude_self_name {
	char text[SELF_NAME_SIZE];
};

/**
 * exclude_self__filter - add filters to the tracepoints
 * @evlist:	configured, not opened
 * @workers:	the name of threads that the kernel creates for us
 *
 * Return: 0, or -ENOMEM after an error message.
 */
int exclude_self__filter(struct evlist *evlist, const char *workers);

/**
 * exclude_self__name_threads - the threads that the caller creates from now on get that name
 *
 * They inherit it: the caller has it until exclude_self__rename().
 */
void exclude_self__name_threads(struct exclude_self_name *saved);

/** exclude_self__rename - have the name again that one had before */
void exclude_self__rename(const struct exclude_self_name *saved);

/** exclude_self__attach - have the program look at the other events; opened. Says in debug output if not. */
void exclude_self__attach(struct evlist *evlist);

#endif
