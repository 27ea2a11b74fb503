/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write a perf.data file without samples: what another program needs to make a file of this
 * recording.
 */
#ifndef PERF_RECORDING_TEMPLATE_H
#define PERF_RECORDING_TEMPLATE_H

struct output;

/** template_write_t - append records to the file @fd. Return: 0, or a negative errno */
typedef int (*template_write_t)(void *arg, int fd);

/**
 * output__write_template - write the header, what the present file begins with, and the features
 * @fd:		an empty regular file
 * @more:	called to append further records, or NULL
 * @arg:	passed to @more
 *
 * Call it when the file has the description of the events, before other threads append.
 *
 * Return: 0, or a negative errno after an error message.
 */
int output__write_template(struct output *output, int fd, template_write_t more, void *arg);

#endif
