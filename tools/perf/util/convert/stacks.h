/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Prepare perf for the stacks of a file.
 */
#ifndef PERF_CONVERT_STACKS_H
#define PERF_CONVERT_STACKS_H

struct perf_session;
struct perf_tool;

/** stacks__set_callbacks - follow the events of a pipe, and code that has no file */
void stacks__set_callbacks(struct perf_tool *tool);

/**
 * stacks__prepare_all - prepare for the stacks of all events, before the maps of tasks are read,
 * and for symbols
 *
 * Return: 0 or -1.
 */
int stacks__prepare_all(struct perf_session *session);

#endif
