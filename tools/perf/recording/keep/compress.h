/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Run the compressor's thread.
 */
#ifndef PERF_RECORDING_KEEP_COMPRESS_H
#define PERF_RECORDING_KEEP_COMPRESS_H

struct keep;
struct keep_block;

/** keep__start_compressor - Return: 0, or a negative errno */
int keep__start_compressor(struct keep *keep);

/** keep__stop_compressor - end the thread, if it runs */
void keep__stop_compressor(struct keep *keep);

/** keep__wait_compressed - wait until @block is in its last form. Caller holds @lock */
void keep__wait_compressed(struct keep *keep, struct keep_block *block);

#endif
