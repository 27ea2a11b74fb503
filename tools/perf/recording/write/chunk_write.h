/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Run the queue's thread.
 */
#ifndef PERF_RECORDING_CHUNK_WRITE_H
#define PERF_RECORDING_CHUNK_WRITE_H

/** write_queue__run - the function of the queue's thread; @arg: the queue */
void *write_queue__run(void *arg);

#endif
