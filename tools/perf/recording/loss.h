/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events that the kernel dropped without a record of it in the ring: those after the last record
 * that still fitted. The kernel counts the losses of each event (PERF_FORMAT_LOST, since 6.0).
 */
#ifndef PERF_RECORDING_LOSS_H
#define PERF_RECORDING_LOSS_H

#include <stdbool.h>
#include <linux/types.h>

struct evlist;
struct output;

/**
 * loss__note - write a PERF_RECORD_LOST_SAMPLES for each event that lost some
 * @overwrite:	of the events of the overwrite channel, or else of all others
 * @lost:	is increased by the number of lost events; not where the kernel does not count them
 *
 * To be called once for each kind: for overwrite events before the last snapshot, which may pause
 * rings, for the others when they are disabled.
 *
 * Return: 0, or the negative errno of the output.
 */
int loss__note(struct evlist *evlist, bool overwrite, struct output *output, u64 *lost);

#endif
