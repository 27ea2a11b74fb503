/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ask what kind of event an evsel is.
 */
#ifndef PERF_RECORDING_EVSEL_H
#define PERF_RECORDING_EVSEL_H

#include <stdbool.h>
#include <linux/types.h>

struct evlist;
struct evsel;
struct record_opts;

/** evsel__will_overwrite - will @evsel be in overwrite mode? Before it is configured. */
bool evsel__will_overwrite(struct evsel *evsel, const struct record_opts *opts);

/** evsel__is_off_cpu - is @evsel the event of --off-cpu, in a recording or in any file? */
bool evsel__is_off_cpu(const struct evsel *evsel);

/** evsel__is_bpf_written - is @evsel recorded, and written by BPF programs (ring/bpf_ring.h)? */
bool evsel__is_bpf_written(const struct evsel *evsel);

/**
 * evsel__replace_id - let the samples of an opened event on a CPU be recognized by another id
 * @cpu_idx:	index in the event's CPUs; of its threads, the first one gets the id
 * @id:		that nothing else has
 */
void evsel__replace_id(struct evsel *evsel, int cpu_idx, u64 id);

/**
 * evlist__defers - does the kernel write user stacks as records of their own, for any event?
 *
 * Known once the events are open: an older kernel records them with the samples.
 */
bool evlist__defers(struct evlist *evlist);

#endif
