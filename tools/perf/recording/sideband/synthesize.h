/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel does not say because it happened before the recording began (or before this
 * file did): kernel and module maps, tasks, their maps, namespaces, cgroups, BPF programs, and for
 * readers the event ids. Synthesized by util from /proc and /sys.
 */
#ifndef PERF_RECORDING_SYNTHESIZE_H
#define PERF_RECORDING_SYNTHESIZE_H

#include "util/synthetic-events.h"

struct output;
struct perf_event_mmap_page;
struct record_opts;

/**
 * synthesize__describe - what every file must begin with: ids, clock, and in a pipe the header
 * @page:	control page of any ring, for the clock conversion
 *
 * Return: 0, or a negative errno after an error message.
 */
int synthesize__describe(struct output *output, const struct perf_event_mmap_page *page);

/**
 * synthesize__all - the state of the system now, as far as the target needs it
 * @handle:	gets the records, with @output->tool: synthesize__write(), or another one; those of tasks
 *		in @opts->nr_threads_synthesize threads
 *
 * Return: 0, or a negative errno after an error message. What an ordinary user may not read
 * (kernel symbols) is warned of and left out.
 */
int synthesize__all(struct output *output, struct record_opts *opts,
			 perf_event__handler_t handle);

/** synthesize__write - write a synthesized record. Return: 0, or the negative errno of the output */
int synthesize__write(const struct perf_tool *tool, union perf_event *event,
		    struct perf_sample *sample, struct machine *machine);

/**
 * output__mark - write a record that is only a header: PERF_RECORD_FINISHED_ROUND and the like
 *
 * Return: 0, or the negative errno of the output.
 */
int output__mark(struct output *output, unsigned int type);

#endif
