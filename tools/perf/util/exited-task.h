/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_EXITED_TASK_H
#define PERF_EXITED_TASK_H

union perf_event;
struct evsel;
struct exited_tasks;
struct machine;
struct perf_sample;

/**
 * machine__restore_task - find the task of a sample that was taken after the task's exit
 * @machine:	machine of the record, or NULL
 * @event:	the next record, in the order of time
 * @sample:	the parsed record; its pid and tid are corrected
 * @evsel:	event of a sample, or NULL
 *
 * The last samples of a task follow its PERF_RECORD_EXIT. Once the kernel has removed the task from
 * the table of pids, samples have the tid -1. The raw data of a tracepoint still has the tid.
 */
void machine__restore_task(struct machine *machine, const union perf_event *event,
			   struct perf_sample *sample, const struct evsel *evsel);

/* Free machine->exited_tasks, or NULL. */
void exited_tasks__delete(struct exited_tasks *tasks);

#endif
