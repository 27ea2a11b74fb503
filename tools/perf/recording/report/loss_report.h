/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compute the data loss metric at the end of a recording, and draw it on request (--loss-report).
 */
#ifndef PERF_RECORDING_LOSS_REPORT_H
#define PERF_RECORDING_LOSS_REPORT_H

#include "recording/stats/loss_metric.h"

struct channels;
struct evlist;

/**
 * struct loss_report
 * @path:	file for the picture, or NULL for no picture
 * @rows:	one row for each ring; owned
 * @nr:		number of @rows
 * @metric:	the metric of all rings together
 */
struct loss_report {
	const char		*path;
	struct loss_row		*rows;
	int			 nr;
	struct loss_metric	 metric;
};

/**
 * loss_report__init - make a row for each ring; with @path, check that the file can be written, and
 * let the rings keep timelines
 * @report:	zeroed but for @path
 *
 * A timeline takes 16 kB for each drained ring.
 *
 * Return: 0, or a negative errno after an error message.
 */
int loss_report__init(struct loss_report *report, struct channels *channels, struct evlist *evlist);

/**
 * loss_report__finish - compute @metric after the last record, and draw the picture with title
 * @title
 */
void loss_report__finish(struct loss_report *report, const char *title);

/** loss_report__exit - free rows and timelines. The rings must still exist. */
void loss_report__exit(struct loss_report *report);

#endif
