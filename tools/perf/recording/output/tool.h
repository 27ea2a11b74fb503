/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Read a file back when it is closed: which DSOs were hit, and when samples began and ended.
 */
#ifndef PERF_RECORDING_OUTPUT_TOOL_H
#define PERF_RECORDING_OUTPUT_TOOL_H

#include <stdbool.h>

struct perf_session;
struct perf_tool;

/**
 * output_tool__init - set up the callbacks that read a file back
 * @mark_dsos:	mark the DSOs that samples hit
 *
 * Keeps namespace_events and cgroup_events, which select what util synthesizes.
 */
void output_tool__init(struct perf_tool *tool, bool mark_dsos);

/**
 * output_tool__read_back - read the file just written
 * @session:	the session with that tool
 * @all_dsos:	mark all DSOs that were mapped
 *
 * Tasks and maps found stay in the session, so that a later file of the same recording resolves
 * what this one introduced. A failure is not an error: the file then lacks build-ids.
 */
void output_tool__read_back(struct perf_session *session, bool all_dsos);

#endif
