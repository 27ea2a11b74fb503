/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Prepare perf for the stacks of a file.
 */
#ifndef PERF_CONVERT_STACKS_H
#define PERF_CONVERT_STACKS_H

struct evsel;
struct perf_session;

/** stacks__prepare - prepare for the stacks of an event, before the maps of tasks are read */
void stacks__prepare(const struct evsel *evsel);

/** stacks__prepare_all - prepare for those of all events, and for symbols. Return: 0 or -1 */
int stacks__prepare_all(struct perf_session *session);

#endif
