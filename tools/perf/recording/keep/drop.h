/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Drop blocks: the oldest first.
 */
#ifndef PERF_RECORDING_KEEP_DROP_H
#define PERF_RECORDING_KEEP_DROP_H

#include "keep_data.h"

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

/**
 * keep__make_room - free spare memory, or drop the oldest block that no snapshot is writing. Caller
 * holds @lock
 *
 * Return: false if there is neither.
 */
bool keep__make_room(struct keep *keep);

/** keep__drop - drop @block because of @limit, and count what is lost. Caller holds @lock */
void keep__drop(struct keep *keep, struct keep_block *block, enum keep_limit limit);

/** keep_stats__count - add the records and the memory of @block */
void keep_stats__count(struct keep_stats *stats, const struct keep_block *block);

/** keep__set_raw - @block has records that wait to be compressed. Caller holds @lock */
void keep__set_raw(struct keep *keep, struct keep_block *block);

/** keep__unset_raw - @block does not wait to be compressed any more. Caller holds @lock */
void keep__unset_raw(struct keep *keep, struct keep_block *block);

#endif
