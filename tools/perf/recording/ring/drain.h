/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Draining the rings that are read all the time, in place.
 */
#ifndef PERF_RECORDING_DRAIN_H
#define PERF_RECORDING_DRAIN_H

#include <stddef.h>
#include <sys/types.h>

struct ring_stats;
struct channel;
struct ring;
struct records;

/* Takes all that is in a ring, and counts it in @stats. Returns 0, or a negative errno. */
typedef int (*drain_fn_t)(void *arg, const struct records *records, struct ring_stats *stats);

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
ssize_t ring__drain(struct ring *ring, size_t least, drain_fn_t drain, void *arg);

/**
 * channel__drain - drain all rings of @channel
 *
 * Return: how much it was [bytes], 0 for nothing, or the negative errno of @drain.
 */
ssize_t channel__drain(struct channel *channel, drain_fn_t drain, void *arg);

#endif
