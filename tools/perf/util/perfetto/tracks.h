/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write what is neither an event of ftrace nor a sample.
 *
 * Snapshots	why perf record took each one
 * Too long	durations that caused snapshots, with their conditions
 * Records	a track for each CPU: from its first sample on; what was lost
 * and names of tasks with their processes, the clocks, and the machine.
 */
#ifndef PERF_PERFETTO_TRACKS_H
#define PERF_PERFETTO_TRACKS_H

#include "util/convert/loss_counts.h"
#include "util/convert/task_ids.h"
#include "util/convert/too_long.h"
#include "packets.h"

struct perf_env;

/**
 * struct cpu_track - the records of a CPU
 * @begin:	time of the first sample, 0 before it
 * @last:	time of the newest sample of a ring that can lose records
 * @nr_samples:	number of samples
 * @nr_lost:	number of lost events of which the time is known
 */
struct cpu_track {
	u64	begin;
	u64	last;
	u64	nr_samples;
	u64	nr_lost;
};

/**
 * struct tracks
 * @packets:	output
 * @cpus:	tracks of records
 * @nr_cpus:	number of @cpus
 * @counts:	losses without a time
 * @too_long:	tracks of durations
 * @nr_too_long: those that are described
 * @begin:	time of the oldest sample, 0 before it
 * @end:	time of the newest record
 * @described:	the tracks that all files have are described
 */
struct tracks {
	struct packets	 *packets;
	struct cpu_track *cpus;
	int		  nr_cpus;
	struct loss_counts counts;
	struct too_long_lanes too_long;
	unsigned int	  nr_too_long;
	u64		  begin;
	u64		  end;
	bool		  described;
};

void tracks__init(struct tracks *tracks, struct packets *packets);
void tracks__exit(struct tracks *tracks);

/* Each function returns 0 or a negative errno. */

/*
 * Write the clocks, and the machine; the latter decides how states of tasks are read. A machine of
 * several has no clocks: its times are shifted to those of the collector.
 */
int tracks__write_machine(struct tracks *tracks, const struct perf_env *env);

/* Write the name of a task; @parent is the process that forked it, or -1 if it is not known. */
int tracks__task(struct tracks *tracks, u64 time, int pid, int tid, int parent, const char *name);

int tracks__sample(struct tracks *tracks, const struct moment *at, bool may_be_lost);
int tracks__snapshot(struct tracks *tracks, const struct moment *at, const char *text,
		     size_t size);
int tracks__lost(struct tracks *tracks, const struct loss *loss);

/* Close the tracks of records and of the machine, and write the losses without a time. */
int tracks__finish(struct tracks *tracks);

#endif
