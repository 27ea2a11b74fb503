/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Read the kernel's counters of lost events, and make records of them.
 *
 * Where nothing fits into a ring any more, no PERF_RECORD_LOST follows the last record: only the
 * counter of the event knows what was lost (PERF_FORMAT_LOST, since 6.0).
 *
 * Each file has the losses since the file before. Losses that happen while files are switched may
 * be in both, if a ring's records in the next file begin with LOST.
 *
 * Reading and writing are separate: the capture thread reads the counters of overwrite rings just
 * before the last copy, and the main thread writes the records.
 */
#ifndef PERF_RECORDING_LOST_COUNTERS_H
#define PERF_RECORDING_LOST_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

struct channels;
struct evlist;

/**
 * struct lost_counters
 * @records:	a PERF_RECORD_LOST_SAMPLES for each event that lost samples; owned
 * @bytes:	length of @records [bytes]
 */
struct lost_counters {
	void	*records;
	size_t	 bytes;
};

/**
 * lost_counters__read - add the increase of the kernel's counters since the last call
 * @channels:	the statistics of their rings receive it
 * @overwrite:	true: read events of the overwrite channel; false: all others
 *
 * Return: 0, or -ENOMEM.
 */
int lost_counters__read(struct lost_counters *counters, struct channels *channels,
			struct evlist *evlist, bool overwrite);

/**
 * lost_counters__read_filtered - add the samples that BPF filters dropped (--filter, not of
 * tracepoints)
 *
 * Samples that a filter dropped are no losses, and in no ring's statistics. The file has their
 * number once, at its end, as upstream's files do.
 *
 * Return: 0, or -ENOMEM.
 */
int lost_counters__read_filtered(struct lost_counters *counters, struct evlist *evlist);

/** lost_counters__clear - free the records, which were written */
void lost_counters__clear(struct lost_counters *counters);

#endif
