/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Draw what was recorded and lost over time, as SVG: one row for each ring, one file, no scripts.
 *
 *	      |~~~||~~~~~~~~~~|    holes, drawn from the top down: their share of the time
 *	CPU 0 |   ||  ##      |
 *	      |# ##########  #|    data rate, with the same scale in all rows
 *	      |===============|    fill level of the ring when it was read, if known
 *	       0 s     1 s
 *
 * Why not util/svghelper.c: it draws boxes for the intervals of tasks and CPUs, but no curves, and
 * its file, scale and styles are static variables, made for the picture of perf timechart.
 */
#ifndef PERF_RECORDING_LOSS_SVG_H
#define PERF_RECORDING_LOSS_SVG_H

#include <stdio.h>
#include "loss_metric.h"

/**
 * loss_svg__write - draw the picture, and close the file
 * @file:	closed on error as well
 * @title:	what was recorded; bytes that are not UTF-8 are replaced
 * @rows:	rings; those are drawn that count in the metric and have a timeline
 *
 * Brings the timelines to one resolution.
 *
 * Return: 0, or a negative errno.
 */
int loss_svg__write(FILE *file, const char *title, const struct loss_metric *metric,
		    struct loss_row *rows, int nr);

/**
 * loss_svg__save - draw all rows to a file; an existing one is replaced when the new one is
 * complete
 * @path:	of the file, or of a pipe or a device
 *
 * Return: 0, or a negative errno; -EMEDIUMTYPE if the file is a recording.
 */
int loss_svg__save(const char *path, const char *title, const struct loss_metric *metric,
		   struct loss_row *rows, int nr);

#endif
