/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Turn samples, in the order of time, into the rows of a trace viewer.
 *
 * CPUs		a row for each CPU: the task that runs; arrows from a wake-up to the task
 * Records	a row for each CPU: from its first sample on; what was lost
 * Too long	durations that caused snapshots, with their conditions
 * a process	a row for each thread: its system calls; while off the CPU, sleeping or runnable
 *
 * Only what is open is kept: memory is bounded by the numbers of CPUs and of living tasks.
 *
 * A record can be missing. A task that a CPU's sample belongs to runs on that CPU, whatever the
 * records before said: the timeline follows.
 */
#ifndef PERF_CHROME_TRACE_TIMELINE_H
#define PERF_CHROME_TRACE_TIMELINE_H

#include <stdbool.h>
#include <linux/types.h>
#include "util/convert/fields.h"
#include "util/convert/loss_counts.h"
#include "util/convert/task_ids.h"
#include "util/convert/too_long.h"
#include "chrome_event.h"

struct machine;

/* Pids end at 1 << 22. Rows in these groups are numbered from the group's number plus one. */
#define GROUP_TOO_LONG	4900000
#define GROUP_CPUS	5000000
#define GROUP_RECORDS	6000000

/**
 * struct cpu_row
 * @begin:	time of the first sample, 0 before it
 * @last:	time of the newest sample of a ring that can lose records
 * @tid:	the running task; 0: idle, or unknown
 * @prev_tid:	the task that ran before; events up to the actual switch still belong to it
 * @drawn:	the row has an open slice for @tid
 * @name:	name of that slice
 * @nr_samples:	for the arguments of the slice in the group of records
 * @nr_lost:	likewise
 */
struct cpu_row {
	u64	begin;
	u64	last;
	int	tid;
	int	prev_tid;
	bool	drawn;
	char	name[64];
	u64	nr_samples;
	u64	nr_lost;
};

/**
 * struct timeline
 * @events:	output
 * @host:	tasks with their names, by the ids to show
 * @cpus:	rows
 * @nr_cpus:	number of @cpus
 * @switches:	the file has context switches
 * @titled:	the groups have titles
 * @too_long_titled: the group of durations has a title
 * @end:	time of the newest record
 * @nr_flows:	number of arrows
 * @too_long:	rows of durations
 * @counts:	losses without a time, which are drawn at the end
 */
struct timeline {
	struct chrome_events	 events;
	struct machine		*host;
	struct cpu_row		*cpus;
	int			 nr_cpus;
	bool			 switches;
	bool			 titled;
	bool			 too_long_titled;
	u64			 end;
	u64			 nr_flows;
	struct too_long_lanes	 too_long;
	struct loss_counts	 counts;
};

/* The state of a task that leaves the CPU */
enum off_cpu { OFF_CPU_RUNNABLE, OFF_CPU_SLEEPING, OFF_CPU_BLOCKED, OFF_CPU_STOPPED, OFF_CPU_DEAD };

void timeline__init(struct timeline *tl);
void timeline__exit(struct timeline *tl);

/* Note that the CPU has a sample. Return: 0, or -ENOMEM. */
int timeline__sample(struct timeline *tl, const struct moment *at, bool may_be_lost);

/* Note which task the CPU runs: not for samples that perf record has synthesized. */
void timeline__running(struct timeline *tl, const struct moment *at);

/* Note that a task has another name. */
void timeline__renamed(struct timeline *tl, const struct moment *at);

/* Begin the slice of a task that leaves the CPU. Arguments may follow until chrome_event__end(). */
bool timeline__begin_off_cpu(struct timeline *tl, const struct moment *at, enum off_cpu state);
void timeline__switch_out(struct timeline *tl, const struct moment *at);
void timeline__switch_in(struct timeline *tl, const struct moment *at, const char *comm);

void timeline__wakeup(struct timeline *tl, const struct moment *at, int tid, const char *comm);

void timeline__begin_syscall(struct timeline *tl, const struct moment *at, const char *name);
void timeline__end_syscall(struct timeline *tl, const struct moment *at, const char *name, s64 ret);

/* Begin a point in time in the row of the task. Arguments may follow until chrome_event__end(). */
void timeline__begin_point(struct timeline *tl, const struct moment *at, const char *name);
void timeline__snapshot(struct timeline *tl, const struct moment *at, const char *text,
			size_t size);

/* Draw a loss: now if its time is known, at the end otherwise. Return: 0, or -ENOMEM. */
int timeline__lost(struct timeline *tl, const struct loss *loss);

/* Close what is open for a task that exits, for one whose tid another task gets, and for all. */
void timeline__exited(struct timeline *tl, const struct moment *at);
void timeline__replaced(struct timeline *tl, const struct moment *at);
void timeline__finish(struct timeline *tl);

#endif
