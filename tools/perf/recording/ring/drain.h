/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Drain rings: pass what the kernel has published to a sink, then give the space back.
 */
#ifndef PERF_RECORDING_DRAIN_H
#define PERF_RECORDING_DRAIN_H

#include <stddef.h>
#include <linux/types.h>
#include <sys/types.h>
#include "sink.h"

struct channel;
struct ring;

/**
 * struct ring_drainer - drains a ring and the AUX area behind it
 * @drain:	called instead of ring__drain(), with the same results, in the thread of the ring's
 *		reader. Adds 1 to @bytes if there was AUX data: a reader of the file does not sort
 *		it.
 *
 * Embedded in its owner, which @drain finds by container_of().
 */
struct ring_drainer {
	int (*drain)(struct ring_drainer *drainer, size_t *bytes);
};

/**
 * ring__drain - pass all records that @ring holds now to @sink, and release their space
 * @min_bytes:	do nothing while the ring holds less [bytes]
 * @bytes:	incremented by the length of the records [bytes]
 *
 * Moves data_tail (barrier (D) of linux/ring_buffer.h) after @sink has returned. A ring is drained
 * by one thread at a time.
 *
 * Return: the answer of @sink, 0 if it was not called, or a negative errno.
 */
int ring__drain(struct ring *ring, size_t min_bytes, struct record_sink *sink, size_t *bytes);

/**
 * channel__drain - drain all rings of @channel; the answers of @sink are ignored
 *
 * Return: length of the records [bytes], or the first negative errno.
 */
ssize_t channel__drain(struct channel *channel, struct record_sink *sink);

#endif
