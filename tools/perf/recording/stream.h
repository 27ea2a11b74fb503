/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Draining the rings that are read all the time into the output, in place.
 */
#ifndef PERF_RECORDING_STREAM_H
#define PERF_RECORDING_STREAM_H

struct channel;
struct output;

/**
 * stream__drain - write out all that the rings of @channel hold now, and release it
 *
 * A ring is released (data_tail, barrier (D) of linux/ring_buffer.h) once its bytes are written.
 *
 * Return: 1 if there was something, 0 if not, or the negative errno of the output.
 */
int stream__drain(struct channel *channel, struct output *output);

#endif
