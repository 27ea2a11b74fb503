/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tasks, and what names them: names, namespaces, maps. As the tracking channel tells it.
 *
 * Each has two views of itself. NOW is after all records that were applied. BASE is at an earlier
 * time, which moves on (state.h says when); between the two lie the records in the log:
 *
 *          BASE                                  NOW
 *   --------+-- COMM -- MMAP -- MMAP -- COMM -----+------> time
 *           |   records of this task in the log   |
 *        process->since
 *
 * A new task inherits from its parent's NOW, into both of its views. So it depends on nothing that
 * its parent was or did later, or on the parent being known any longer.
 *
 * A pid or tid that is used again is another task (an incarnation); the one before may have to be
 * remembered as long as samples of it can be written. That a task has exited is remembered,
 * too, but does not end it: it is sampled on its way out, after its EXIT record.
 */
#ifndef PERF_RECORDING_TASKS_H
#define PERF_RECORDING_TASKS_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/list.h>
#include <linux/types.h>
#include "util/hashmap.h"

struct mapset;
struct proc_maps;
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
 * struct process - what tasks with the same pid share
 * @node:	in tasks->processes, in the order of their births
 * @tasks:	its tasks, the leader first
 * @pid:	its pid, and the tid of its leader
 * @many:	with more maps than this, those that are gone are looked for (proc_maps.h)
 * @birth:	when it was first heard of [ns]
 * @since:	time of the BASE view of it and its tasks [ns]
 * @horizon:	where @since is going to (state.c)
 * @nr_logged:	records in the log that are about its tasks
 * @maps:	its maps; references
 * @proc_maps:	what BASE does not know yet, the older one first; NULL for none
 * @stale:	the file lacks something that is in BASE now (state.c)
 */
struct process {
	struct list_head node;
	struct list_head tasks;
	u32		 pid;
	u32		 many;
	u64		 birth;
	u64		 since;
	u64		 horizon;
	u64		 nr_logged;
	struct mapset	*maps[NR_VIEWS];
	struct proc_maps	*proc_maps[2];
	bool		 stale;
};

/**
 * struct task - a thread
 * @node:	in process->tasks
 * @process:	never NULL
 * @parent:	where its FORK record says that it comes from; valid while @logged; may be NULL
 * @tid:	its tid
 * @ppid:	pid of the process that made it, -1 if unknown
 * @birth:	time of its FORK record, or when it was first heard of [ns]
 * @exit:	time of its EXIT record; NEVER if there was none [ns]
 * @until:	time when its tid became another task's; NEVER if it did not [ns]
 * @logged:	its FORK record is in the log, so the log says where its BASE view comes from
 * @drop:	forget it with the next tasks__sweep()
 * @file:	number of the file that knows it (state.c)
 * @comm:	COMM records; references, or NULL
 * @namespaces:	NAMESPACES records; references, or NULL
 */
struct task {
	struct list_head node;
	struct process	*process;
	struct task	*parent;
	u32		 tid;
	u32		 ppid;
	u64		 birth;
	u64		 exit;
	u64		 until;
	bool		 logged;
	bool		 drop;
	u32		 file;
	struct sb_record	*comm[NR_VIEWS];
	struct sb_record	*namespaces[NR_VIEWS];
};

/**
 * struct tasks
 * @processes:	all, exited ones and earlier incarnations as well
 * @by_tid:	tid to struct task, the present incarnation
 * @nr:		how many tasks there are
 * @min_prune_threshold: the least that process->many can be
 * @crowded:	some process has more than @many maps
 * @failed:	changes that are missing for want of memory
 */
struct tasks {
	struct list_head processes;
	struct hashmap	 by_tid;
	size_t		 nr;
	u32		 min_prune_threshold;
	bool		 crowded;
	u64		 failed;
};

void tasks__init(struct tasks *tasks);
void tasks__exit(struct tasks *tasks);

/**
 * tasks__apply - let a record change the NOW views
 * @record:	FORK, EXIT, COMM, NAMESPACES, or a MMAP of user space
 *
 * Records must come in the order of their times.
 *
 * Return: the task that it is about, made if it was unknown, but not by EXIT. NULL without memory,
 * which is counted.
 */
struct task *tasks__apply(struct tasks *tasks, struct sb_record *record);

/** task__apply - let a COMM, NAMESPACES or MMAP of @task change @view; failures are counted */
void task__apply(struct task *task, enum view view, struct sb_record *record, struct tasks *tasks);

/** tasks__task, tasks__process - whose tid or pid it is now, or was last; NULL if nobody's */
struct task *tasks__task(const struct tasks *tasks, u32 tid);
struct process *tasks__process(const struct tasks *tasks, u32 pid);

/** tasks__retire - @task is gone for sure, and has been since @time; with a leader its process */
void tasks__retire(struct tasks *tasks, struct task *task, u64 time);

/** tasks__sweep - forget tasks that are to be dropped, and processes that have no other */
void tasks__sweep(struct tasks *tasks);

static inline bool task__is_leader(const struct task *task)
{
	return task->tid == task->process->pid;
}

#define tasks__for_each_process(tasks, process)			\
	list_for_each_entry(process, &(tasks)->processes, node)

#define process__for_each_task(process, task)			\
	list_for_each_entry(task, &(process)->tasks, node)

#endif
