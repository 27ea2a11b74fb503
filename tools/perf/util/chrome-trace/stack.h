/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Add the place and the stack of a sample to the arguments of the current event.
 */
#ifndef PERF_CHROME_TRACE_STACK_H
#define PERF_CHROME_TRACE_STACK_H

struct evsel;
struct chrome_events;
struct machine;
struct perf_sample;
struct thread;

/* Write the symbol and the data address of a sample, unless it is one of a tracepoint. */
void stack__write_place(struct chrome_events *events, struct evsel *evsel,
			struct perf_sample *sample, struct machine *machine);

/* Write the stack, innermost function first, if the sample has one and @thread is not NULL. */
void stack__write(struct chrome_events *events, struct evsel *evsel, struct perf_sample *sample,
		  struct thread *thread);

#endif
