/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Synthesize records of what happened before the recording, or before this file: kernel and module
 * maps, tasks and their maps, namespaces, cgroups, BPF programs; and, for readers, event ids.
 *
 * util reads /proc and /sys and makes the records.
 */
#ifndef PERF_RECORDING_SYNTHESIZE_H
#define PERF_RECORDING_SYNTHESIZE_H

#include "util/synthetic-events.h"

struct output;
struct perf_event_mmap_page;
struct record_opts;

/**
 * synthesize__describe - write what every file begins with: ids, clock, and in a pipe the header
 * @page:	control page of any ring, for the clock conversion
 *
 * Return: 0, or a negative errno after an error message.
 */
int synthesize__describe(struct output *output, const struct perf_event_mmap_page *page);

/**
 * synthesize__system - synthesize records of the system as it is now, as far as the target needs it
 * @tool:	passed to @handle
 * @data_maps:	synthesize maps of data, too
 * @began:	the recording has begun: its tasks may have descendants that no record tells of
 * @handle:	gets the records: output__write_synthesized(), for which @tool must be
 *		@output->tool, or another one; those of tasks in @opts->nr_threads_synthesize
 *		threads
 *
 * Kernel symbols that this user may not read are left out after a warning.
 *
 * Return: 0, or a negative errno after an error message.
 */
int synthesize__system(struct output *output, const struct perf_tool *tool,
		       struct record_opts *opts, bool data_maps, bool began,
		       perf_event__handler_t handle);

#endif
