/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * perf data convert --to-trace-dat
 */
#ifndef PERF_TRACE_DAT_CONVERT_H
#define PERF_TRACE_DAT_CONVERT_H

struct perf_data_convert_opts;

/**
 * convert__perf2trace_dat - write the samples of tracepoints to a file for trace-cmd and
 * KernelShark
 * @input:	perf.data file, NULL for the default, "-" for a pipe
 * @output:	new file, "-" for standard output
 *
 * Return: 0, or -1 after an error message.
 */
int convert__perf2trace_dat(const char *input, const char *output,
			    const struct perf_data_convert_opts *opts);

#endif
