/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Draining the rings that are read all the time, in place.
 */
#ifndef PERF_RECORDING_STREAM_H
#define PERF_RECORDING_STREAM_H

struct account;
struct channel;
struct span;

/* Takes all that is in a ring, and counts it in @account. Returns 0, or a negative errno. */
typedef int (*stream_drain_t)(void *arg, const struct span *span, struct account *account);

/**
 * stream__drain - hand over all that the rings of @channel hold now, and release it
 * @drain:	called for each ring that holds something
 *
 * A ring is released (data_tail, barrier (D) of linux/ring_buffer.h) after that.
 *
 * Return: 1 if there was something, 0 if not, or the negative errno of @drain.
 */
int stream__drain(struct channel *channel, stream_drain_t drain, void *arg);

#endif
