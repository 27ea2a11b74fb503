/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events that the kernel dropped without a record of it in the ring: those after the last record
 * that still fitted. The kernel counts the lost of each event (PERF_FORMAT_LOST, since 6.0).
 *
 * Each file tells what was lost since the one before. What is lost while files are switched both
 * tell, if a ring's records in the next one begin with LOST.
 *
 * Counting and writing are apart: what overwrite rings lost is counted by the capture thread just
 * before the last copy, and written by the recorder's thread when it can.
 */
#ifndef PERF_RECORDING_LOST_COUNTERS_H
#define PERF_RECORDING_LOST_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

struct channels;
struct evlist;
struct output;

/**
 * struct lost_counters
 * @records:	a PERF_RECORD_LOST_SAMPLES for each event that lost some, not written yet; owned
 * @bytes:	length of @records [bytes]
 */
struct lost_counters {
	void	*records;
	size_t	 bytes;
};

/**
 * lost_counters__read - read what the kernel's counters went up by since the last call
 * @channels:	receive it in the accounts of their rings
 * @overwrite:	of the events of the overwrite channel, or else of all others
 *
 * Return: 0, or -ENOMEM.
 */
int lost_counters__read(struct lost_counters *lost, struct channels *channels, struct evlist *evlist,
		  bool overwrite);

/**
 * lost_counters__read_filtered - how many samples BPF filters (--filter of other events than tracepoints) dropped
 *
 * That is no loss, and in no account. Whoever reads the file is told, as by upstream: once, at the end.
 *
 * Return: 0, or -ENOMEM.
 */
int lost_counters__read_filtered(struct lost_counters *lost, struct evlist *evlist);

/** lost_counters__write - write what was counted, and free it. Return: 0, or the errno of the output */
int lost_counters__write(struct lost_counters *lost, struct output *output);

#endif
