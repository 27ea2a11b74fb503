/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A picture of what was recorded and lost when: one row for each ring, one file, no scripts.
 *
 *	      |~~~||~~~~~~~~~~|    holes hang from the top, as deep as their share of the time
 *	CPU 0 |   ||  ##      |
 *	      |# ##########  #|    the data rate, on one scale in all rows
 *	      |===============|    how full the ring was found, if that is known
 *	       0 s     1 s
 *
 * (util/svghelper.c is of no use here. It draws boxes for the intervals of tasks and CPUs, no
 * curves, and its file, scale and styles are static variables, made for perf timechart's picture.)
 */
#ifndef PERF_RECORDING_LOSS_SVG_H
#define PERF_RECORDING_LOSS_SVG_H

#include <stdio.h>
#include "loss_metric.h"

/**
 * loss_svg__write - draw, and close the file
 * @file:	closed also after an error
 * @title:	what was recorded, UTF-8
 * @rows:	those whose accounts have a timeline are drawn, if they count in the metric
 *
 * Brings the timelines to one resolution.
 *
 * Return: 0, or a negative errno.
 */
int loss_svg__write(FILE *file, const char *title, const struct loss_metric *metric,
		    struct loss_row *rows, int nr);

#endif
