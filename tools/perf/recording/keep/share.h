/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Divide the memory of --keep among cgroups (--keep-share=cgroup).
 *
 * Without shares, a flood in one cgroup evicts the history of all. With them, the cgroup that has
 * most of the memory loses its oldest samples, before the memory is full:
 *
 *	@blocks   oldest [aaab] [aaab] [aaab] [aaab] newest	a: of the flood, b: of others
 *			     \   |   /
 *			      [bbb]			thinned: packed again, as one block
 *
 * So the cgroups end with equal shares, but for those that need less (max-min fairness). Records
 * without a cgroup are no one's: they are dropped only with whole blocks.
 *
 * The compressor's thread counts what each cgroup has in a block when it packs the block, and thins
 * blocks: they are restored for that. Nothing but the count is done while there is memory. A thread
 * that is behind leaves thinning to the readers, who drop whole blocks when the memory is full.
 *
 * A thinned block keeps the times of the blocks that it is made of. No thinning while a snapshot is
 * written: its blocks have records that are to be written.
 */
#ifndef PERF_RECORDING_KEEP_SHARE_H
#define PERF_RECORDING_KEEP_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include "keep_data.h"

/**
 * keep_holders__count - return what each cgroup has of whole @records, or NULL: unknown, or -ENOMEM
 */
struct keep_holders *keep_holders__count(struct keep *keep, const void *records, size_t len);

/**
 * keep__thin - drop old samples of the largest cgroup, if the memory is nearly full
 *
 * In the compressor's thread. Caller holds @lock, which is released meanwhile.
 *
 * Return: was memory freed, or may the next call free some?
 */
bool keep__thin(struct keep *keep);

/** keep__exit_share - free what keep__thin() has allocated */
void keep__exit_share(struct keep *keep);

#endif
