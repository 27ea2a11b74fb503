/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Open and read the input of perf data convert, select a time span, and create the output.
 *
 * A converter embeds struct conversion, and adds what its format needs:
 *
 *	conversion__init(&conv.base, "FORMAT");
 *	conv.base.tool.sample = ...;			and what else the format shows
 *	conv.base.lost = ...;
 *	err = conversion__open(&conv.base, input, opts) ?:
 *	      conversion__create(&conv.base, output) ?: conversion__read(&conv.base) ?:
 *	      (write the end);
 *	err = conversion__close(&conv.base, err);
 *	conversion__exit(&conv.base);
 *
 * fields.h tells what a tracepoint means, task_ids.h which task a record belongs to.
 */
#ifndef PERF_CONVERT_COMMON_H
#define PERF_CONVERT_COMMON_H

#include <stdbool.h>
#include <stdio.h>
#include "util/data.h"
#include "util/sample.h"
#include "util/tool.h"

struct perf_data_convert_opts;
struct perf_session;
struct perf_time_interval;

enum loss_kind {
	LOSS_RECORD,	/* a record in the place of the lost events */
	LOSS_COUNTER,	/* a counter at the end, which includes the kernel's records */
	LOSS_FILTERED,	/* a counter of samples that a filter dropped on request */
	NR_LOSS_KINDS
};

/**
 * struct loss - lost events
 * @nr:		how many
 * @time:	of the record [ns]; 0 if it is unknown
 * @cpu:	where they were lost; -1 if it is unknown
 */
struct loss {
	enum loss_kind	kind;
	u64		nr;
	u64		time;
	int		cpu;
};

/**
 * struct conversion - a file that is converted
 * @tool:	callbacks; those that conversion__init() sets follow tasks, maps and features
 * @lost:	called for losses in the time span; NULL if they are not shown; returns 0 or -errno
 * @format:	what follows --to- in the option
 * @data:	input
 * @session:	input
 * @path:	output
 * @file:	output
 * @force:	replace an output that exists
 * @ranges:	times to convert; NULL for all
 * @nr_ranges:	number of @ranges
 * @nr_samples:	converted samples, counted by the converter
 * @err:	negative errno of the output, or 0
 * @reported:	an error message has been printed for what a callback returns
 */
struct conversion {
	struct perf_tool		 tool;
	int (*lost)(struct conversion *conv, const struct loss *loss);
	const char			*format;
	struct perf_data		 data;
	struct perf_session		*session;
	const char			*path;
	FILE				*file;
	bool				 force;
	struct perf_time_interval	*ranges;
	int				 nr_ranges;
	u64				 nr_samples;
	int				 err;
	bool				 reported;
};

void conversion__init(struct conversion *conv, const char *format);

/**
 * conversion__open - open the input, and parse --time
 * @input:	perf.data file, NULL for the default, "-" for a pipe
 *
 * Return: 0, or -1 after an error message. Release with conversion__exit() in any case.
 */
int conversion__open(struct conversion *conv, const char *input,
		     const struct perf_data_convert_opts *opts);

/**
 * conversion__create - create the output
 * @path:	"-" for standard output
 *
 * Return: 0, or -1 after an error message.
 */
int conversion__create(struct conversion *conv, const char *path);

/** conversion__is_regular - is the output a file of that name, not a link, a pipe or a device? */
bool conversion__is_regular(const struct conversion *conv);

/** conversion__read - call the tool. Return: 0, or -1 after an error message, or with @conv->err */
int conversion__read(struct conversion *conv);

/**
 * conversion__close - close the output, and report the number of samples or the error of writing
 * @err:	an earlier step has failed: remove the output if it is a file
 *
 * Return: 0, or -1 after an error message.
 */
int conversion__close(struct conversion *conv, int err);
void conversion__exit(struct conversion *conv);

/* Print that @nr samples were left out, unless that is 0. */
void conversion__report_omitted(u64 nr, const char *which);

static inline bool has_time(const struct perf_sample *sample)
{
	return sample->time && sample->time != -1ULL;
}

/** conversion__omits - is a record with a time outside the time span? */
bool conversion__omits(const struct conversion *conv, const struct perf_sample *sample);

/** conversion__is_over - is a record with a time later than all of the time span? */
bool conversion__is_over(const struct conversion *conv, const struct perf_sample *sample);

#endif
