/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The account of a recording: at its end what the rings' accounts come to, and on request
 * (--loss-report) a picture of it.
 */
#ifndef PERF_RECORDING_LOSS_REPORT_H
#define PERF_RECORDING_LOSS_REPORT_H

#include <stdio.h>
#include "recording/stats/loss_metric.h"

struct channels;
struct evlist;

/**
 * struct loss_report
 * @path:	where the picture goes, or NULL: no picture
 * @file:	@path, open
 * @rows:	all rings; owned
 * @nr:		number of @rows
 * @metric:	their sum
 */
struct loss_report {
	const char		*path;
	FILE			*file;
	struct loss_row		*rows;
	int			 nr;
	struct loss_metric	 metric;
};

/**
 * loss_report__init - list the rings; with @path, create the file and have the rings keep timelines
 * @report:	zeroed but for @path
 *
 * Memory of a timeline: 16 kB for each drained ring.
 *
 * Return: 0, or a negative errno after an error message.
 */
int loss_report__init(struct loss_report *report, struct channels *channels, struct evlist *evlist);

/** loss_report__finish - after the last record: compute @metric, draw the picture, named @title */
void loss_report__finish(struct loss_report *report, const char *title);

/** loss_report__exit - free what loss_report__init() made. The rings must still be there. */
void loss_report__exit(struct loss_report *report);

#endif
