/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bound the memory of the whole recorder by what --keep says.
 *
 *	limit of the blocks = --keep - (anonymous memory of the process - blocks) - reserved
 *
 * The second term is everything else: the live state of tasks and maps, data that wait for the disk,
 * util's structures. Reserved is the part of --write-buffer that was never used so far. When the state grows in a storm of processes, blocks are dropped, and with the
 * oldest record the state may forget as well.
 *
 * The rings are locked memory of the kernel, and not counted (-m).
 */
#ifndef PERF_RECORDING_KEEP_BUDGET_H
#define PERF_RECORDING_KEEP_BUDGET_H

/* The blocks may always take so much. */
#define KEEP_MIN_BLOCKS_BYTES	(4 * KEEP_BLOCK_BYTES)

#endif
