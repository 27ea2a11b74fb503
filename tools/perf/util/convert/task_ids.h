/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tell which task a record belongs to, by ids that are unique in the whole file.
 *
 * The ids are those of perf script, unless the file was recorded in a PID namespace: pid_map.h.
 */
#ifndef PERF_CONVERT_TASK_IDS_H
#define PERF_CONVERT_TASK_IDS_H

#include "util/machine.h"
#include "pid_map.h"

struct conversion;
struct evsel;
struct perf_sample;
struct thread;

/* A place and a time. @cpu is -1 if it is unknown, @tid as well. */
struct moment {
	u64	time;
	int	cpu;
	int	pid;
	int	tid;
};

/**
 * struct task_ids
 * @conv:	the file; its machine has the tasks by the ids of the file
 * @pids:	initial ids of tasks, if the file was recorded in a PID namespace
 * @initial:	the tasks by their initial ids; in a namespace only
 * @nr_unknown:	samples of tasks whose initial ids are not known
 * @nr_without_time: samples that could not be converted
 */
struct task_ids {
	struct conversion	*conv;
	struct pid_map		 pids;
	struct machine		 initial;
	u64			 nr_unknown;
	u64			 nr_without_time;
};

/* Call task_ids__read() after conversion__open(). Return: 0, or -ENOMEM. */
void task_ids__init(struct task_ids *ids, struct conversion *conv);
int task_ids__read(struct task_ids *ids);
void task_ids__exit(struct task_ids *ids);

/** task_ids__machine - return the tasks with their names, by the ids to show */
struct machine *task_ids__machine(struct task_ids *ids);

/**
 * task_ids__sample - find the task of a sample, unless that is not converted
 * @at:		when and where, with the ids to show
 * @thread:	the task by the ids of the file, to resolve addresses; NULL if perf knows none.
 *		Release it with thread__put().
 *
 * Samples of guests, without a time, or outside the time span are not converted.
 *
 * Return: 0; 1 if the sample is not converted; or a negative errno, after an error message if
 * conv->reported is set.
 */
int task_ids__sample(struct task_ids *ids, struct evsel *evsel, struct perf_sample *sample,
		     struct machine *machine, struct moment *at, struct thread **thread);

/**
 * task_ids__record - find the task of another record
 * @pid:	of the file
 * @tid:	of the file
 */
struct moment task_ids__record(struct task_ids *ids, const struct perf_sample *sample, int pid,
			       int tid);

/* Give the task @at its name, after a record that names the task with the ids of the file. */
void task_ids__named(struct task_ids *ids, const struct moment *at, int pid, int tid);

/* Print what the ids mean in a PID namespace, and how many samples have no time. */
void task_ids__report(const struct task_ids *ids);

#endif
