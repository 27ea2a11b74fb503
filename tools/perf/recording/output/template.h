/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write a perf.data file without samples: what another program needs to make a file of this
 * recording.
 */
#ifndef PERF_RECORDING_TEMPLATE_H
#define PERF_RECORDING_TEMPLATE_H

struct output;

/**
 * output__write_template - write the header, what the present file begins with, and the features
 * @fd:		an empty regular file
 *
 * Call it when the file has the description of the events, before other threads append.
 *
 * Return: 0, or a negative errno after an error message.
 */
int output__write_template(struct output *output, int fd);

#endif
