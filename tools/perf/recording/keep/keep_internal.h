/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Join the parts of the kept streams:
 *
 *	keep.c		append, drop, hand over
 *	compress.c	the compressor's thread
 *	write.c		write a snapshot
 *	budget.c	how much memory the blocks may take
 *	advice.c	how much memory another time would need
 */
#ifndef PERF_RECORDING_KEEP_INTERNAL_H
#define PERF_RECORDING_KEEP_INTERNAL_H

#include "keep.h"

/* The blocks may always take so much. */
#define KEEP_MIN_BLOCKS_BYTES	(4 * KEEP_BLOCK_BYTES)

/** keep__put - drop a reference to a block. Caller holds @lock */
void keep__put(struct keep *keep, struct keep_block *block);

/** keep__put_taken - drop the snapshot's reference to its next block. Caller holds @lock */
void keep__put_taken(struct keep *keep);

/**
 * keep__trim - drop the oldest blocks: those that are too old, or too much. Caller holds @lock
 *
 * A block is too old if its records are, and if they arrived so long ago: the clock of the records
 * may be set (-k CLOCK_REALTIME).
 */
void keep__trim(struct keep *keep);

/** keep__other_bytes - return the memory of the recorder beside the blocks [bytes] */
u64 keep__other_bytes(struct keep *keep);

/**
 * keep__needed_instead - return the memory that @max_ns needs if @max_bytes were full after @ns
 * [bytes]
 */
u64 keep__needed_instead(const struct keep *keep, u64 ns);

/** keep__start_compressor - Return: 0, or a negative errno */
int keep__start_compressor(struct keep *keep);

/** keep__stop_compressor - end the thread, if it runs */
void keep__stop_compressor(struct keep *keep);

/** keep__wait_compressed - wait until @block is in its last form. Caller holds @lock */
void keep__wait_compressed(struct keep *keep, struct keep_block *block);

/** keep__set_raw - @block has records that wait to be compressed. Caller holds @lock */
void keep__set_raw(struct keep *keep, struct keep_block *block);

/** keep__unset_raw - @block does not wait to be compressed any more. Caller holds @lock */
void keep__unset_raw(struct keep *keep, struct keep_block *block);

#endif
