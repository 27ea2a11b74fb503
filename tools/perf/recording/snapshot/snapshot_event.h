/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write a sample of the event "snapshot" into each snapshot that was requested: why, and how far
 * back it reaches. The snapshot at the end of a recording has none: the sample would follow the
 * last events, which users look for there.
 *
 * The event is described in the file, and opened nowhere. Its type is that of bpf-output, whose
 * samples hold any bytes: so each perf since 4.4 prints the text. The sample has the task, the CPU
 * and the time of the request, and stands between the records of that time.
 *
 * A new record type would not do: perf before 6.16 refuses files with types that it does not know.
 * Nor would a new header feature: perf inject uses its number as an index.
 */
#ifndef PERF_RECORDING_SNAPSHOT_EVENT_H
#define PERF_RECORDING_SNAPSHOT_EVENT_H

#include <stdbool.h>
#include <linux/types.h>

struct aux_snapshot_stats;
struct evlist;
struct evsel;
struct keep_stats;
struct output;
struct snapshot_cause;
struct snapshot_stats;

#define SNAPSHOT_EVENT_BYTES	1536

/**
 * struct snapshot_event
 * @evsel:	the event; NULL where no snapshots are taken
 * @record:	the sample of the present snapshot
 * @time:	of the sample [ns]
 * @pending:	@record is not written yet
 */
struct snapshot_event {
	struct evsel	*evsel;
	char		 record[SNAPSHOT_EVENT_BYTES] __attribute__((aligned(8)));
	u64		 time;
	bool		 pending;
};

/**
 * snapshot_event__init - add the event to @evlist, all of whose events are open
 *
 * Return: 0, or -ENOMEM after an error message.
 */
int snapshot_event__init(struct snapshot_event *event, struct evlist *evlist);

/**
 * snapshot_event__set - prepare the sample of a snapshot
 * @time:	of the request, on the clock of the events [ns]
 * @rings:	the overwrite rings in it, or NULL
 * @aux:	the AUX areas in it, or NULL
 * @kept:	the kept streams in it, or NULL
 */
void snapshot_event__set(struct snapshot_event *event, const struct snapshot_cause *cause, u64 time,
			 const struct snapshot_stats *rings, const struct aux_snapshot_stats *aux,
			 const struct keep_stats *kept);

/**
 * snapshot_event__write_until - write the sample, once, if it is not newer than @time [ns]
 *
 * Return: as output__write().
 */
int snapshot_event__write_until(struct snapshot_event *event, struct output *output, u64 time);

#endif
