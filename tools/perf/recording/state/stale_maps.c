// SPDX-License-Identifier: GPL-2.0-only
#include <stdint.h>
#include <stdlib.h>
#include <linux/kernel.h>
#include "mapset.h"
#include "state.h"
#include "stale_maps.h"
#include "sb_record.h"

static bool is_pending(const struct state *state, const struct process *process)
{
	const struct proc_maps *proc_maps;

	list_for_each_entry(proc_maps, &state->proc_maps, node) {
		if (proc_maps->pid == process->pid)
			return true;
	}
	return false;
}

/* Through which of its tasks it can be looked at; NULL if all have exited. */
static const struct task *living_task(const struct process *process)
{
	const struct task *task;

	process__for_each_task(process, task) {
		if (task->exit == NEVER && task->until == NEVER)
			return task;
	}
	return NULL;
}

static void ask_about(struct state *state, struct process *process, proc_maps_read_t ask)
{
	const struct task *task = living_task(process);
	struct proc_maps *proc_maps;

	/* Whatever comes of it, not again for each map. */
	process->many = 2 * process->maps[NOW]->nr;
	if (!task || is_pending(state, process))
		return;
	proc_maps = ask(task->tid);
	if (!proc_maps)
		return;
	proc_maps->pid = process->pid;
	proc_maps->before = state->newest;
	proc_maps->seen = proc_maps->time = 0;
	list_add_tail(&proc_maps->node, &state->proc_maps);
}

void state__find_stale_maps(struct state *state, proc_maps_read_t ask)
{
	struct process *process;

	if (!state->tasks.crowded)
		return;
	state->tasks.crowded = false;
	tasks__for_each_process(&state->tasks, process) {
		if (mapset__nr(process->maps[NOW]) > process->many)
			ask_about(state, process, ask);
	}
}

/*
 * What comes with the first round may have been published before /proc was read; not what comes
 * with the next.
 */
void stale_maps__date(struct state *state)
{
	struct proc_maps *proc_maps;

	list_for_each_entry(proc_maps, &state->proc_maps, node) {
		if (!proc_maps->seen)
			proc_maps->seen = state->newest;
		else if (!proc_maps->time && state->newest > proc_maps->seen)
			proc_maps->time = state->newest + SETTLE_NS;
	}
}

static void prune(struct state *state, struct process *process, enum view view,
		  const struct proc_maps *proc_maps)
{
	if (mapset__prune(&process->maps[view], proc_maps))
		state->tasks.failed++;
}

/* For BASE two are kept, the oldest, and the newest, which says what those between would have. */
static void keep(struct process *process, struct proc_maps *proc_maps)
{
	struct proc_maps **slot = &process->proc_maps[process->proc_maps[0] != NULL];

	free(*slot);
	*slot = proc_maps;
}

struct judging {
	const struct proc_maps	*proc_maps;
	u32			 nr;
};

static void judge(void *arg, const struct mapping *map)
{
	struct judging *judging = arg;

	judging->nr += map->record->time < judging->proc_maps->before;
}

/* Not the new ones: they may all be gone by now. */
static u32 nr_judged(const struct mapset *maps, const struct proc_maps *proc_maps)
{
	struct judging judging = { .proc_maps = proc_maps };

	mapset__visit(maps, judge, &judging);
	return judging.nr;
}

static void apply(struct state *state, struct proc_maps *proc_maps)
{
	struct process *process = tasks__process(&state->tasks, proc_maps->pid);

	/* Its pid may be another's by now. */
	if (!process || !living_task(process) || process->birth > proc_maps->before) {
		free(proc_maps);
		return;
	}
	prune(state, process, NOW, proc_maps);
	process->many = max(state->tasks.min_prune_threshold, 2 * nr_judged(process->maps[NOW], proc_maps));
	keep(process, proc_maps);
}

void stale_maps__apply(struct state *state)
{
	struct proc_maps *proc_maps, *next;

	list_for_each_entry_safe(proc_maps, next, &state->proc_maps, node) {
		if (!proc_maps->time || proc_maps->time > state->settled)
			continue;
		list_del(&proc_maps->node);
		apply(state, proc_maps);
	}
}

bool stale_maps__fold(struct state *state, struct process *process)
{
	while (process->proc_maps[0] && process->proc_maps[0]->time <= process->since) {
		prune(state, process, BASE, process->proc_maps[0]);
		free(process->proc_maps[0]);
		process->proc_maps[0] = process->proc_maps[1];
		process->proc_maps[1] = NULL;
	}
	return process->proc_maps[0];
}

void stale_maps__forget(struct state *state)
{
	struct proc_maps *proc_maps, *next;
	struct process *process;

	list_for_each_entry_safe(proc_maps, next, &state->proc_maps, node)
		free(proc_maps);
	INIT_LIST_HEAD(&state->proc_maps);
	tasks__for_each_process(&state->tasks, process) {
		free(process->proc_maps[0]);
		free(process->proc_maps[1]);
		process->proc_maps[0] = process->proc_maps[1] = NULL;
	}
}
