/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events that the kernel dropped without a record of it in the ring: those after the last record
 * that still fitted. The kernel counts the losses of each event (PERF_FORMAT_LOST, since 6.0).
 *
 * Counting and writing are apart: what overwrite rings lost is counted by the capture thread just
 * before the last copy, and written by the recorder's thread when it can.
 */
#ifndef PERF_RECORDING_LOSS_H
#define PERF_RECORDING_LOSS_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

struct evlist;
struct output;

/**
 * struct losses
 * @lost:	events lost in all; 0 where the kernel does not count them
 * @records:	a PERF_RECORD_LOST_SAMPLES for each event that lost some, not written yet; owned
 * @bytes:	length of @records [bytes]
 */
struct losses {
	u64	 lost;
	void	*records;
	size_t	 bytes;
};

/**
 * losses__count - read the kernel's counters
 * @overwrite:	of the events of the overwrite channel, or else of all others
 *
 * To be called once for each kind.
 *
 * Return: 0, or -ENOMEM.
 */
int losses__count(struct losses *losses, struct evlist *evlist, bool overwrite);

/** losses__write - write what was counted, and free it. Return: 0, or the errno of the output */
int losses__write(struct losses *losses, struct output *output);

#endif
