/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * perf data convert --to-perfetto
 */
#ifndef PERF_PERFETTO_CONVERT_H
#define PERF_PERFETTO_CONVERT_H

struct perf_data_convert_opts;

/**
 * convert__perf2perfetto - write a trace of Perfetto
 * @input:	perf.data file, NULL for the default, "-" for a pipe
 * @output:	new file, "-" for standard output
 * @machine:	"id:offset:bound:name" of a part of a trace of several machines, or NULL
 *
 * Return: 0, or -1 after an error message.
 */
int convert__perf2perfetto(const char *input, const char *output, const char *machine,
			   const struct perf_data_convert_opts *opts);

#endif
