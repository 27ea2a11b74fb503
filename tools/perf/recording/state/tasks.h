/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keep tasks, and what resolves samples of them: names, namespaces and maps, from side-band
 * records.
 *
 * Each task and process has two views of itself. NOW is its state after all records that were
 * applied. BASE is its state at an earlier time, which moves on (state.h says when). The log has
 * the records in between:
 *
 *          BASE                                  NOW
 *   --------+-- COMM -- MMAP -- MMAP -- COMM -----+------> time
 *           |   records of this task in the log   |
 *        process->base_time
 *
 * A new task inherits the NOW view of its parent, into both of its views. So it depends neither on
 * what its parent was or did at another time, nor on the parent being remembered any longer.
 *
 * When a pid or tid is used again, this is another task, another incarnation of the tid. The
 * earlier one has to be remembered as long as samples of it can be written. That a task has exited
 * is remembered, too, but does not end it: a task is sampled after its EXIT record, on its way out.
 *
 * Not for several threads.
 */
#ifndef PERF_RECORDING_TASKS_H
#define PERF_RECORDING_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>
#include "util/hashmap.h"

struct mapset;
struct proc_maps;
struct process;
struct sb_record;

#define NEVER			UINT64_MAX

/* Default of tasks->min_prune_threshold [maps]. */
#define DEFAULT_MIN_PRUNE_THRESHOLD 256U

enum view {
	BASE,
	NOW,
	NR_VIEWS,
};

/**
 * struct task - a thread
 * @next:	a thread of the same process, or NULL; the leader is the first of them
 * @process:	never NULL
 * @parent:	the parent that its FORK record names, or NULL; valid while @fork_logged
 * @tid:	its tid
 * @ppid:	pid of its parent's process, -1 if unknown
 * @birth:	time of its FORK record, or of its first record [ns]
 * @exit:	time of its EXIT record; NEVER if there was none [ns]
 * @until:	time when its tid passed to another task; NEVER if it did not [ns]
 * @fork_logged: its FORK record is in the log, which gives a reader its BASE view
 * @drop:	the next tasks__sweep() frees it
 * @file:	number of the file that has it, 0 for none
 * @comm:	COMM records; references, or NULL
 * @namespaces:	NAMESPACES records; references, or NULL
 */
struct task {
	struct task		*next;
	struct process		*process;
	struct task		*parent;
	u32			tid;
	u32			ppid;
	u64			birth;
	u64			exit;
	u64			until;
	bool			fork_logged;
	bool			drop;
	u32			file;
	struct sb_record	*comm[NR_VIEWS];
	struct sb_record	*namespaces[NR_VIEWS];
};

/**
 * struct process - what tasks with the same pid share
 * @next:	the process that was born next, or NULL
 * @base_time:	time of the BASE view of it and its tasks [ns]
 * @maps:	its maps; references
 * @proc_maps:	what to prune from BASE later, the older one of two at most first (stale_maps.h)
 * @nr_logged:	number of records in the log that are about its tasks
 * @prune_threshold: with more maps in NOW than this, look for unmapped ones (stale_maps.h)
 * @lacks_now:	all its tasks have exited: their NOW views are dropped
 * @folds:	during state__collect(): records up to @base_time are folded into BASE
 * @file_lacks_base: during state__collect(): BASE has got data that the file does not have
 * @leader:	its tid is the pid; freed with the process
 */
struct process {
	struct process		*next;
	u64			base_time;
	struct mapset		*maps[NR_VIEWS];
	struct proc_maps	*proc_maps;
	u32			nr_logged;
	u32			prune_threshold : 29;
	u32			lacks_now : 1;
	u32			folds : 1;
	u32			file_lacks_base : 1;
	struct task		leader;
};

/**
 * struct tasks
 * @processes:	all of them, by birth, exited ones and earlier incarnations too
 * @tail:	where the next one is linked
 * @by_tid:	from tid to struct task, of the present incarnation
 * @nr:		number of tasks
 * @min_prune_threshold: the least value of process->prune_threshold
 * @over_threshold: a process has more than @prune_threshold maps
 * @nr_failed:	number of changes that are missing because an allocation failed
 */
struct tasks {
	struct process		*processes;
	struct process		**tail;
	struct hashmap		by_tid;
	size_t			nr;
	u32			min_prune_threshold;
	bool			over_threshold;
	u64			nr_failed;
};

void tasks__init(struct tasks *tasks);
void tasks__exit(struct tasks *tasks);

/**
 * tasks__apply - apply a record to the NOW views
 * @record:	FORK, EXIT, COMM, NAMESPACES, or a MMAP of user space
 *
 * Records must come in the order of their times.
 *
 * Return: the task that the record is about. It is created if it is unknown, except for EXIT. NULL
 * if EXIT names an unknown task, or if an allocation fails, which is counted.
 */
struct task *tasks__apply(struct tasks *tasks, struct sb_record *record);

/**
 * task__apply - apply a COMM, NAMESPACES or MMAP record of @task to @view
 *
 * Failures are counted in @tasks.
 */
void task__apply(struct task *task, enum view view, struct sb_record *record, struct tasks *tasks);

/** tasks__task, tasks__process - find the task with a tid, the process with a pid, or NULL */
struct task *tasks__task(const struct tasks *tasks, u32 tid);
struct process *tasks__process(const struct tasks *tasks, u32 pid);

/** tasks__sweep - free tasks that are marked with @drop, and processes that have no others */
void tasks__sweep(struct tasks *tasks);

/** tasks__map_bytes - compute the size that the maps of all BASE views have in a file [bytes] */
size_t tasks__map_bytes(const struct tasks *tasks);

/**
 * task__is_copy_of_parent - can the FORK record of @task give a reader its BASE view?
 *
 * A reader makes the child of a FORK record a copy of its parent, so the file must have the parent
 * as it was at that time. Otherwise the BASE view of the child is written instead of the record.
 */
bool task__is_copy_of_parent(const struct task *task);

/**
 * process__rewrite - BASE has changed: write the tasks to the file again, except those in the log
 */
void process__rewrite(struct process *process);

static inline bool task__is_leader(const struct task *task)
{
	return task == &task->process->leader;
}

static inline u32 process__pid(const struct process *process)
{
	return process->leader.tid;
}

static inline struct task *process__leader(const struct process *process)
{
	return (struct task *)&process->leader;
}

#define tasks__for_each_process(tasks, process)			\
	for (process = (tasks)->processes; process; process = process->next)

/* The leader is the first one. */
#define process__for_each_task(process, task)			\
	for (task = process__leader(process); task; task = task->next)

#endif
