/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Drain rings: pass what the kernel has published to a sink, then give the space back.
 */
#ifndef PERF_RECORDING_DRAIN_H
#define PERF_RECORDING_DRAIN_H

#include <stddef.h>
#include <linux/types.h>
#include <sys/types.h>

struct channel;
struct records;
struct ring;

/* Requests of a sink, which has taken the records, to the thread that drains. */
enum sink_answer {
	SINK_WAKE_RECORDER = 1,		/* the main thread has something to do */
	SINK_STOP_READING,		/* no more records are wanted; wake the main thread as well */
};

/**
 * struct record_sink - receives the records of rings, in the thread that drains
 * @write:	takes whole records of @ring and counts them in @ring->stats. Returns 0, an enum
 *		sink_answer, or a negative errno: then the records stay in the ring.
 *
 * Embedded in its owner, which @write finds by container_of().
 */
struct record_sink {
	int (*write)(struct record_sink *sink, const struct records *records, struct ring *ring);
};

/**
 * bytes_between - return how many bytes the kernel wrote between two heads [bytes]
 *
 * A 32-bit kernel counts modulo 2^32, and publishes the count as a u64: after 4 GB the head is
 * lower than the tail. Heads of a 64-bit kernel never are.
 */
static inline u64 bytes_between(u64 tail, u64 head)
{
	return head < tail ? (u32)(head - tail) : head - tail;
}

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
