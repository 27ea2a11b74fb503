/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Drop and count what cannot be written.
 */
#ifndef PERF_RECORDING_QUEUE_ERROR_H
#define PERF_RECORDING_QUEUE_ERROR_H

struct chunk;
struct records_cursor;
struct write_queue;

/**
 * write_queue__release_chunk - count the records of a written chunk behind a stuck one, and free it
 *
 * Adds to @released and @rescue. A name on the border of a chunk may not be rescued later. Caller
 * holds @lock.
 */
void write_queue__release_chunk(struct write_queue *queue, struct chunk *chunk);

/** write_queue__drop_rest - drop and count what @cursor has not copied yet. Caller holds @lock. */
void write_queue__drop_rest(struct write_queue *queue, struct records_cursor *cursor);

/**
 * write_queue__drop_all - stop appending, and drop and count all that is not written
 * @err:	why, negative errno
 *
 * Sets @tail to where the last whole record ends in the file. Caller holds @lock, which is released
 * in between. No chunk is in flight.
 */
void write_queue__drop_all(struct write_queue *queue, int err);

#endif
