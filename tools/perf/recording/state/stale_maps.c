// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <linux/kernel.h>
#include "mapset.h"
#include "sb_record.h"
#include "stale_maps.h"
#include "tasks.h"

void stale_maps__init(struct stale_maps *stale)
{
	INIT_LIST_HEAD(&stale->pending);
}

static bool is_pending(const struct stale_maps *stale, const struct process *process)
{
	const struct proc_maps *maps;

	list_for_each_entry(maps, &stale->pending, node) {
		if (maps->pid == process__pid(process))
			return true;
	}
	return false;
}

/* Return: a task through which /proc shows the process; NULL if all have exited. */
static const struct task *living_task(const struct process *process)
{
	const struct task *task;

	process__for_each_task(process, task) {
		if (task->exit == NEVER && task->until == NEVER)
			return task;
	}
	return NULL;
}

static void find(struct stale_maps *stale, struct process *process, u64 newest,
		 proc_maps_read_t read)
{
	const struct task *task = living_task(process);
	struct proc_maps *maps;

	/* Even if reading fails: do not try again for each new map. */
	process->prune_threshold = 2 * process->maps[NOW]->nr;
	if (!task || is_pending(stale, process))
		return;
	maps = read(task->tid);
	if (!maps)
		return;
	maps->pid = process__pid(process);
	maps->newer = NULL;
	maps->read_time = newest;
	maps->seen_time = maps->final_time = 0;
	list_add_tail(&maps->node, &stale->pending);
}

void stale_maps__find(struct stale_maps *stale, struct tasks *tasks, u64 newest,
		      proc_maps_read_t read)
{
	struct process *process;

	if (!tasks->over_threshold)
		return;
	tasks->over_threshold = false;
	tasks__for_each_process(tasks, process) {
		if (mapset__nr(process->maps[NOW]) > process->prune_threshold)
			find(stale, process, newest, read);
	}
}

/*
 * Records that arrive in the first round may have been published before /proc was read. Those that
 * arrive in the next one were published after that.
 */
void stale_maps__end_round(struct stale_maps *stale, u64 newest)
{
	struct proc_maps *maps;

	list_for_each_entry(maps, &stale->pending, node) {
		if (!maps->seen_time)
			maps->seen_time = newest;
		else if (!maps->final_time && newest > maps->seen_time)
			maps->final_time = newest + SB_RECORD_DELAY_NS;
	}
}

static void prune(struct tasks *tasks, struct process *process, enum view view,
		  const struct proc_maps *maps)
{
	if (mapset__prune(&process->maps[view], maps))
		tasks->nr_failed++;
}

/* Keep two for BASE: the oldest, and the newest, which covers those in between. */
static void keep(struct process *process, struct proc_maps *maps)
{
	struct proc_maps **slot = &process->proc_maps;

	if (*slot)
		slot = &(*slot)->newer;
	free(*slot);
	*slot = maps;
}

struct counting {
	const struct proc_maps	*maps;
	u32			 nr;
};

static void count_older(void *arg, const struct mapping *map)
{
	struct counting *counting = arg;

	counting->nr += map->record->time < counting->maps->read_time;
}

/* Count the maps that were checked against @maps: newer ones may all be unmapped by now. */
static u32 nr_checked(const struct mapset *set, const struct proc_maps *maps)
{
	struct counting counting = { .maps = maps };

	mapset__visit(set, count_older, &counting);
	return counting.nr;
}

static void apply(struct tasks *tasks, struct proc_maps *maps)
{
	struct process *process = tasks__process(tasks, maps->pid);

	/* The pid may belong to another process by now. */
	if (!process || !living_task(process) || process->leader.birth > maps->read_time) {
		free(maps);
		return;
	}
	prune(tasks, process, NOW, maps);
	process->prune_threshold = max(tasks->min_prune_threshold,
				       2 * nr_checked(process->maps[NOW], maps));
	keep(process, maps);
}

void stale_maps__apply(struct stale_maps *stale, struct tasks *tasks, u64 final)
{
	struct proc_maps *maps, *next;

	list_for_each_entry_safe(maps, next, &stale->pending, node) {
		if (!maps->final_time || maps->final_time > final)
			continue;
		list_del(&maps->node);
		apply(tasks, maps);
	}
}

bool stale_maps__fold(struct process *process, struct tasks *tasks)
{
	struct proc_maps *maps;

	while ((maps = process->proc_maps) && maps->final_time <= process->base_time) {
		prune(tasks, process, BASE, maps);
		process->proc_maps = maps->newer;
		free(maps);
	}
	return maps;
}

void stale_maps__discard(struct stale_maps *stale, struct tasks *tasks)
{
	struct proc_maps *maps, *next;
	struct process *process;

	list_for_each_entry_safe(maps, next, &stale->pending, node)
		free(maps);
	INIT_LIST_HEAD(&stale->pending);
	tasks__for_each_process(tasks, process) {
		proc_maps__free(process->proc_maps);
		process->proc_maps = NULL;
	}
}
