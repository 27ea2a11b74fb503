/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The feature sections behind the data: which ones there are, and what must be read back for them.
 */
#ifndef PERF_RECORDING_FEATURES_H
#define PERF_RECORDING_FEATURES_H

#include <stdbool.h>
#include "util/record.h"

struct evlist;
struct output;
struct perf_session;
struct perf_tool;

/**
 * features__init_tool - set up the callbacks that read a file back
 *
 * namespace_events and cgroup_events, which say what util synthesizes, are left to the caller.
 */
void features__init_tool(struct perf_tool *tool);

/** features__init - choose the features that fit these events */
void features__init(struct perf_session *session, struct evlist *evlist, bool build_ids);

/**
 * features__init_clock - note how the clock of -k relates to the time of day
 *
 * Return: 0, or a negative errno after an error message.
 */
int features__init_clock(struct perf_session *session, const struct record_opts *opts);

/**
 * features__read_back - read the file just written: which DSOs were hit, when samples began and ended
 *
 * The tasks and maps it finds stay in the session, so a later file of the same recording resolves
 * what this one introduced. Failing is not an error: the file then lacks build-ids.
 */
void features__read_back(struct output *output);

#endif
