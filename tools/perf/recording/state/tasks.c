// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <linux/kernel.h>
#include "recording/lib/id_map.h"
#include "mapset.h"
#include "proc_maps.h"
#include "tasks.h"
#include "sb_record.h"

void tasks__init(struct tasks *tasks)
{
	*tasks = (struct tasks){ .min_prune_threshold = DEFAULT_MIN_PRUNE_THRESHOLD };
	tasks->tail = &tasks->processes;
	id_map__init(&tasks->by_tid);
}

void tasks__exit(struct tasks *tasks)
{
	struct process *process;
	struct task *task;

	tasks__for_each_process(tasks, process)
		process__for_each_task(process, task)
			task->drop = true;
	tasks__sweep(tasks);
	hashmap__clear(&tasks->by_tid);
}

struct task *tasks__task(const struct tasks *tasks, u32 tid)
{
	struct task *task;

	return hashmap__find(&tasks->by_tid, tid, &task) ? task : NULL;
}

struct process *tasks__process(const struct tasks *tasks, u32 pid)
{
	struct task *leader = tasks__task(tasks, pid);

	return leader && task__is_leader(leader) ? leader->process : NULL;
}

static void unhash(struct tasks *tasks, struct task *task)
{
	if (tasks__task(tasks, task->tid) == task)
		hashmap__delete(&tasks->by_tid, task->tid, NULL, NULL);
}

static void retire_one(struct tasks *tasks, struct task *task, u64 time)
{
	if (task->exit == NEVER)
		task->exit = time;
	task->until = min(task->until, time);
	unhash(tasks, task);
}

/*
 * The tid of @task is known to be free since @time: it names the task no longer. With a leader,
 * retire all tasks of its process.
 */
static void retire(struct tasks *tasks, struct task *task, u64 time)
{
	struct process *process = task->process;

	if (!task__is_leader(task)) {
		retire_one(tasks, task, time);
		return;
	}
	process__for_each_task(process, task)
		retire_one(tasks, task, time);
}

static void release_task(struct tasks *tasks, struct task *task)
{
	enum view view;

	unhash(tasks, task);
	for (view = BASE; view < NR_VIEWS; view++) {
		sb_record__put(task->comm[view]);
		sb_record__put(task->namespaces[view]);
	}
	tasks->nr--;
}

static void free_process(struct tasks *tasks, struct process *process)
{
	release_task(tasks, &process->leader);
	mapset__put(process->maps[BASE]);
	mapset__put(process->maps[NOW]);
	proc_maps__free(process->proc_maps);
	free(process);
}

static void sweep_threads(struct tasks *tasks, struct process *process)
{
	struct task **link = &process->leader.next, *task;

	while ((task = *link)) {
		if (!task->drop) {
			link = &task->next;
			continue;
		}
		*link = task->next;
		release_task(tasks, task);
		free(task);
	}
}

void tasks__sweep(struct tasks *tasks)
{
	struct process **link = &tasks->processes, *process;

	while ((process = *link)) {
		sweep_threads(tasks, process);
		if (!process->leader.drop) {
			link = &process->next;
			continue;
		}
		*link = process->next;
		free_process(tasks, process);
	}
	tasks->tail = link;
}

size_t tasks__map_bytes(const struct tasks *tasks)
{
	const struct process *process;
	size_t bytes = 0;

	tasks__for_each_process(tasks, process) {
		/* A child that is in the log has only its log records in the file. */
		if (process->maps[BASE] && !process__leader(process)->fork_logged)
			bytes += process->maps[BASE]->bytes;
	}
	return bytes;
}

bool task__is_copy_of_parent(const struct task *task)
{
	return !task->parent ||
	       (!task->parent->drop && task->parent->process->base_time <= task->birth);
}

void process__rewrite(struct process *process)
{
	struct task *task;

	process__for_each_task(process, task) {
		if (!task->fork_logged)
			task->file = 0;
	}
}

/* Return: false if an allocation fails. */
static bool begin_task(struct tasks *tasks, struct process *process, struct task *task, u32 tid,
		       u64 time)
{
	if (hashmap__set(&tasks->by_tid, tid, task, NULL, NULL))
		return false;
	task->process = process;
	task->tid = tid;
	task->ppid = -1;
	task->birth = time;
	task->exit = NEVER;
	task->until = NEVER;
	tasks->nr++;
	return true;
}

static struct task *new_thread(struct tasks *tasks, struct process *process, u32 tid, u64 time)
{
	struct task *task = calloc(1, sizeof(*task));

	if (!task || !begin_task(tasks, process, task, tid, time)) {
		free(task);
		return NULL;
	}
	task->next = process->leader.next;
	process->leader.next = task;
	return task;
}

/* Return: the leader of a new process, or NULL. */
static struct task *new_process(struct tasks *tasks, u32 pid, u64 time)
{
	struct process *process = calloc(1, sizeof(*process));

	if (!process || !begin_task(tasks, process, &process->leader, pid, time)) {
		free(process);
		return NULL;
	}
	process->prune_threshold = tasks->min_prune_threshold;
	process->base_time = time;
	*tasks->tail = process;
	tasks->tail = &process->next;
	return &process->leader;
}

/*
 * Find a task. Create it with nothing but its ids, if it is unknown or the tid is another
 * process's.
 */
static struct task *findnew(struct tasks *tasks, u32 pid, u32 tid, u64 time)
{
	struct task *task = tasks__task(tasks, tid), *leader;

	if (task && process__pid(task->process) == pid)
		return task;
	if (task)
		retire(tasks, task, time);
	if (tid == pid)
		return new_process(tasks, pid, time);

	leader = findnew(tasks, pid, pid, time);
	task = leader ? new_thread(tasks, leader->process, tid, time) : NULL;
	if (task)
		task->ppid = pid;
	return task;
}

static void set_view(struct sb_record **views, enum view view, struct sb_record *record)
{
	sb_record__get(record);
	sb_record__put(views[view]);
	views[view] = record;
}

/* As util's reader does it: inherit the name; namespaces come with a record of their own. */
static void inherit(struct task *task, struct task *parent, bool maps)
{
	enum view view;

	for (view = BASE; view < NR_VIEWS; view++) {
		set_view(task->comm, view, parent->comm[NOW]);
		if (maps)
			task->process->maps[view] = mapset__get(parent->process->maps[NOW]);
	}
}

/*
 * PERF_RECORD_MISC_FORK_EXEC marks a synthesized record: records of all maps of the task follow it.
 */
static struct task *apply_fork(struct tasks *tasks, struct sb_record *record)
{
	const struct perf_record_fork *fork = &sb_record__event(record)->fork;
	struct task *parent = tasks__task(tasks, fork->ptid), *task = tasks__task(tasks, fork->tid);
	bool is_process = fork->pid == fork->tid;

	if (parent && (process__pid(parent->process) != fork->ppid || parent == task))
		parent = NULL;
	if (task)
		retire(tasks, task, record->time);
	task = findnew(tasks, fork->pid, fork->tid, record->time);
	if (!task)
		return NULL;
	if (parent)
		inherit(task, parent,
			is_process && !(record->header.misc & PERF_RECORD_MISC_FORK_EXEC));
	task->parent = parent;
	task->ppid = fork->ppid;
	return task;
}

static bool has_ended(const struct process *process)
{
	const struct task *task;

	process__for_each_task(process, task) {
		if (task->exit == NEVER)
			return false;
	}
	return true;
}

/* No record changes the views any more, and no child inherits them: BASE and the log have all. */
static void drop_now(struct process *process)
{
	struct task *task;

	process__for_each_task(process, task) {
		set_view(task->comm, NOW, NULL);
		set_view(task->namespaces, NOW, NULL);
	}
	mapset__put(process->maps[NOW]);
	process->maps[NOW] = NULL;
	process->lacks_now = true;
}

static struct task *apply_exit(struct tasks *tasks, struct sb_record *record)
{
	const struct perf_record_fork *exit = &sb_record__event(record)->fork;
	struct task *task = tasks__task(tasks, exit->tid);

	if (!task || process__pid(task->process) != exit->pid)
		return NULL;
	task->exit = record->time;
	if (has_ended(task->process))
		drop_now(task->process);
	return task;
}

/* After exec() by any thread only the leader is alive, even if it had exited before. */
static void exec(struct task *leader, u64 time)
{
	struct task *task;

	process__for_each_task(leader->process, task) {
		if (task->exit == NEVER)
			task->exit = time;
	}
	leader->exit = NEVER;
	leader->process->lacks_now = false;
}

static bool is_exec(const struct sb_record *record)
{
	return record->header.type == PERF_RECORD_COMM &&
	       (record->header.misc & PERF_RECORD_MISC_COMM_EXEC);
}

void task__apply(struct task *task, enum view view, struct sb_record *record, struct tasks *tasks)
{
	struct mapset **maps = &task->process->maps[view];

	switch (record->header.type) {
	case PERF_RECORD_COMM:
		set_view(task->comm, view, record);
		if (is_exec(record)) {
			mapset__put(*maps);
			*maps = NULL;
		}
		break;
	case PERF_RECORD_NAMESPACES:
		set_view(task->namespaces, view, record);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		if (mapset__insert(maps, record))
			tasks->nr_failed++;
		else if (view == NOW && mapset__nr(*maps) > task->process->prune_threshold)
			tasks->over_threshold = true;
		break;
	default:
		break;
	}
}

/* Find or create the task that a record other than FORK and EXIT is about: for maps the leader. */
static struct task *findnew_owner(struct tasks *tasks, struct sb_record *record)
{
	const union perf_event *event = sb_record__event(record);

	switch (record->header.type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return findnew(tasks, event->mmap.pid, event->mmap.pid, record->time);
	default:
		/* COMM and NAMESPACES have pid and tid at the same offsets */
		return findnew(tasks, event->comm.pid, event->comm.tid, record->time);
	}
}

struct task *tasks__apply(struct tasks *tasks, struct sb_record *record)
{
	struct task *task;

	if (record->header.type == PERF_RECORD_EXIT)
		return apply_exit(tasks, record);
	if (record->header.type == PERF_RECORD_FORK) {
		task = apply_fork(tasks, record);
	} else {
		task = findnew_owner(tasks, record);
		if (task && is_exec(record))
			exec(task, record->time);
		if (task)
			task__apply(task, NOW, record, tasks);
	}
	if (!task)
		tasks->nr_failed++;
	return task;
}
