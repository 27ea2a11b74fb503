/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Define what receives the records of rings.
 */
#ifndef PERF_RECORDING_SINK_H
#define PERF_RECORDING_SINK_H

struct records;
struct ring;

/* Requests of a sink, which has taken the records, to the thread that drains. */
enum sink_answer {
	SINK_WAKE_RECORDER = 1,	/* the main thread has something to do */
	SINK_STOP_READING,	/* no more records are wanted; wake the main thread as well */
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

#endif
