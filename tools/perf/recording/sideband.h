/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel does not say because it happened before the recording began (or before this
 * file did): kernel and module maps, tasks, their maps, namespaces, cgroups, BPF programs, and for
 * readers the event ids. Synthesized by util from /proc and /sys, written through output.h.
 */
#ifndef PERF_RECORDING_SIDEBAND_H
#define PERF_RECORDING_SIDEBAND_H

#include <stdbool.h>

struct output;
struct perf_event_mmap_page;
struct record_opts;

/**
 * sideband__describe - what every file must begin with: ids, clock, and in a pipe the header
 * @page:	control page of any ring, for the clock conversion
 *
 * Return: 0, or a negative errno after an error message.
 */
int sideband__describe(struct output *output, const struct perf_event_mmap_page *page);

/**
 * sideband__synthesize - the state of the system now, as far as the target needs it
 *
 * Ends with PERF_RECORD_FINISHED_INIT.
 *
 * Return: 0, or a negative errno after an error message. What an ordinary user may not read
 * (kernel symbols) is warned of and left out.
 */
int sideband__synthesize(struct output *output, struct record_opts *opts);

/**
 * sideband__mark - write a record that is only a header: PERF_RECORD_FINISHED_ROUND and the like
 *
 * Return: 0, or the negative errno of the output.
 */
int sideband__mark(struct output *output, unsigned int type);

#endif
