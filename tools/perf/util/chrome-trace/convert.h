/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHROME_TRACE_CONVERT_H
#define PERF_CHROME_TRACE_CONVERT_H

#include <stdbool.h>

struct perf_data_convert_opts;

/**
 * convert__perf2chrome - write a file in the Trace Event Format of Chrome, as JSON
 * @input:	perf.data file, NULL for the default, "-" for a pipe
 * @output:	new file, "-" for standard output
 * @html:	write a page that contains the trace and draws it
 *
 * Return: 0, or -1 after an error message.
 */
int convert__perf2chrome(const char *input, const char *output, bool html,
			 const struct perf_data_convert_opts *opts);

#endif
