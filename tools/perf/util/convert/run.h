/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CONVERT_RUN_H
#define PERF_CONVERT_RUN_H

struct conversion;
struct perf_data_convert_opts;
struct task_ids;

/**
 * conversion__run - convert all events of a file, with tasks and stacks, by the steps of common.h
 * @ids:	task_ids__init() was called; released
 * @write:	write the beginning, call conversion__read(), and write the end
 *
 * Return: 0, or -1 after an error message.
 */
int conversion__run(struct conversion *conv, struct task_ids *ids, const char *input,
		    const char *output, const struct perf_data_convert_opts *opts,
		    int (*write)(struct conversion *conv));

#endif
