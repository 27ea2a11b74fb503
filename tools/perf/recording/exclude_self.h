/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exclude the recorder from what it records.
 *
 * In a session on CPUs (-a, -C), the events of the recorder's own writing would be recorded,
 * written, recorded again ... So they are filtered out in the kernel, before they take space in a
 * ring:
 *
 *   tracepoints	a filter on common_pid for the main thread, and on COMM for threads with the
 *			name of the recorder's threads, "perf-PID", and with the name of io_uring's
 *			workers. The filter has the same length for any number of threads.
 *   other samples	a BPF program as overflow handler, which drops samples of the recorder's
 *			process; if this user may load one. An event has one such program: where a
 *			filter uses it (--filter 'ip < 0x1000'), "pid != PID" is added to the filter.
 *
 * Not filtered are tracepoints of the scheduler, and the tracking event: their records are about
 * other tasks as well. A program could serve tracepoints, too, but would act for all users of the
 * tracepoint.
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
 * @workers:	name of the threads that io_uring creates for this process
 *
 * Return: 0, or -ENOMEM after an error message.
 */
int exclude_self__filter(struct evlist *evlist, const char *workers);

/**
 * exclude_self__name_threads - name the calling thread, and those that it creates from now on,
 * "perf-PID"
 *
 * Threads inherit the name; the caller has it until exclude_self__rename().
 */
void exclude_self__name_threads(struct exclude_self_name *saved);

/** exclude_self__rename - restore the name of the calling thread */
void exclude_self__rename(const struct exclude_self_name *saved);

/**
 * exclude_self__attach - attach the BPF program to the other, opened events; a failure is a debug
 * message
 */
void exclude_self__attach(struct evlist *evlist);

#endif
