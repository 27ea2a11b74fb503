/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write chunks one after the other, by write(2); to pipes and devices, too.
 */
#ifndef PERF_RECORDING_WRITER_SYNC_H
#define PERF_RECORDING_WRITER_SYNC_H

struct writer;

/** writer_sync__new - Return: a writer, or NULL with errno set */
struct writer *writer_sync__new(void);

#endif
