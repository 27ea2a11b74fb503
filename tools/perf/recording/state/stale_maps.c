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
	const struct survey *survey;

	list_for_each_entry(survey, &state->surveys, node) {
		if (survey->pid == process->pid)
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

static void ask_about(struct state *state, struct process *process, survey_t ask)
{
	const struct task *task = living_task(process);
	struct survey *survey;

	/* Whatever comes of it, not again for each map. */
	process->many = 2 * process->maps[NOW]->nr;
	if (!task || is_pending(state, process))
		return;
	survey = ask(task->tid);
	if (!survey)
		return;
	survey->pid = process->pid;
	survey->before = state->newest;
	survey->seen = survey->time = 0;
	list_add_tail(&survey->node, &state->surveys);
}

void state__survey(struct state *state, survey_t ask)
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
void surveys__date(struct state *state)
{
	struct survey *survey;

	list_for_each_entry(survey, &state->surveys, node) {
		if (!survey->seen)
			survey->seen = state->newest;
		else if (!survey->time && state->newest > survey->seen)
			survey->time = state->newest + SETTLE_NS;
	}
}

static void prune(struct state *state, struct process *process, enum view view,
		  const struct survey *survey)
{
	if (mapset__prune(&process->maps[view], survey))
		state->tasks.failed++;
}

/* For BASE two are kept, the oldest, and the newest, which says what those between would have. */
static void keep(struct process *process, struct survey *survey)
{
	struct survey **slot = &process->surveys[process->surveys[0] != NULL];

	free(*slot);
	*slot = survey;
}

struct judging {
	const struct survey	*survey;
	u32			 nr;
};

static void judge(void *arg, const struct mapping *map)
{
	struct judging *judging = arg;

	judging->nr += map->record->time < judging->survey->before;
}

/* Not the new ones: they may all be gone by now. */
static u32 nr_judged(const struct mapset *maps, const struct survey *survey)
{
	struct judging judging = { .survey = survey };

	mapset__visit(maps, judge, &judging);
	return judging.nr;
}

static void apply(struct state *state, struct survey *survey)
{
	struct process *process = tasks__process(&state->tasks, survey->pid);

	/* Its pid may be another's by now. */
	if (!process || !living_task(process) || process->birth > survey->before) {
		free(survey);
		return;
	}
	prune(state, process, NOW, survey);
	process->many = max(SURVEYS_FEW, 2 * nr_judged(process->maps[NOW], survey));
	keep(process, survey);
}

void surveys__apply(struct state *state)
{
	struct survey *survey, *next;

	list_for_each_entry_safe(survey, next, &state->surveys, node) {
		if (!survey->time || survey->time > state->settled)
			continue;
		list_del(&survey->node);
		apply(state, survey);
	}
}

bool surveys__fold(struct state *state, struct process *process)
{
	while (process->surveys[0] && process->surveys[0]->time <= process->since) {
		prune(state, process, BASE, process->surveys[0]);
		free(process->surveys[0]);
		process->surveys[0] = process->surveys[1];
		process->surveys[1] = NULL;
	}
	return process->surveys[0];
}

void surveys__forget(struct state *state)
{
	struct survey *survey, *next;
	struct process *process;

	list_for_each_entry_safe(survey, next, &state->surveys, node)
		free(survey);
	INIT_LIST_HEAD(&state->surveys);
	tasks__for_each_process(&state->tasks, process) {
		free(process->surveys[0]);
		free(process->surveys[1]);
		process->surveys[0] = process->surveys[1] = NULL;
	}
}
