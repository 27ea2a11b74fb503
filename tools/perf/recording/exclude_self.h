/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exclude the recorder from what it records.
 *
 * In a session on CPUs (-a, -C), the events of the recorder's own writing would be recorded,
 * written, recorded again ... So the kernel filters them out before they take space in a ring:
 *
 *	tracepoints	a filter on common_pid. The threads of the recorder are created one after
 *			the other: they need one or two comparisons, see add_ranges(). Interrupts
 *			pass: they complete or begin what other tasks do.
 *	software events	a BPF program as overflow handler, which drops samples of the recorder's
 *			process; if this user may load one. An event has one such program: where a
 *			filter uses it (--filter 'ip < 0x1000'), "pid != PID" is added to the
 *			filter.
 *
 * The kernel takes one filter for an event, and it must name all threads. So the filters are set
 * when the threads run, before the events are enabled. Until then the user's part is only checked.
 *
 * Not filtered are:
 *
 *	overwritten events	a filter would cost every task time at each event, while the
 *				recorder sleeps until a snapshot is requested. A snapshot shows what
 *				the recorder did to write the one before.
 *	clocks, hardware events	their rate does not depend on what the recorder does
 *	tracepoints of the	their records are about other tasks as well
 *	scheduler, tracking
 *	off-CPU times		util's program sums them up (off_cpu.h)
 *
 * A BPF program could serve tracepoints, too, but would act for all users of the tracepoint. Kernel
 * threads of io_uring that begin to write later are not excluded. They make no system calls.
 */
#ifndef PERF_RECORDING_EXCLUDE_SELF_H
#define PERF_RECORDING_EXCLUDE_SELF_H

#include <stdbool.h>

struct evlist;
struct evsel;

/** exclude_self__defers_filter - is the filter of @evsel set by exclude_self__filter()? */
bool exclude_self__defers_filter(struct evsel *evsel);

/**
 * exclude_self__check_filter - check the user's filter of such an event
 *
 * Return: 0, or a negative errno.
 */
int exclude_self__check_filter(struct evsel *evsel);

/**
 * exclude_self__attach - attach BPF programs, or add to BPF filters that are not set yet
 * @evlist:	opened
 *
 * A failure is a debug message.
 *
 * Return: whether rings that are drained all the time will have no events that the recorder causes.
 */
bool exclude_self__attach(struct evlist *evlist);

/**
 * exclude_self__filter - set the filters of tracepoints, the user's part included
 * @evlist:	opened, not enabled
 *
 * Call when all threads of the recorder run.
 *
 * Return: 0, or a negative errno after an error message.
 */
int exclude_self__filter(struct evlist *evlist);

#endif
