/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Draining the rings that are read all the time, in place.
 */
#ifndef PERF_RECORDING_STREAM_H
#define PERF_RECORDING_STREAM_H

#include <stddef.h>
#include <sys/types.h>

struct account;
struct channel;
struct ring;
struct span;

/* Takes all that is in a ring, and counts it in @account. Returns 0, or a negative errno. */
typedef int (*stream_drain_t)(void *arg, const struct span *span, struct account *account);

/**
 * ring__drain - hand over all that @ring holds now, and release it
 * @least:	if it holds that much [bytes]
 * @drain:	called if so
 *
 * The ring is released (data_tail, barrier (D) of linux/ring_buffer.h) after that. A ring is drained
 * by one thread at a time.
 *
 * Return: how much it was [bytes], 0 for nothing, or the negative errno of @drain.
 */
ssize_t ring__drain(struct ring *ring, size_t least, stream_drain_t drain, void *arg);

/**
 * stream__drain - drain all rings of @channel
 *
 * Return: how much it was [bytes], 0 for nothing, or the negative errno of @drain.
 */
ssize_t stream__drain(struct channel *channel, stream_drain_t drain, void *arg);

#endif
