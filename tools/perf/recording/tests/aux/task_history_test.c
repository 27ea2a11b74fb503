// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tasks whose trace an AUX area holds, compared with a model that knows the task of each byte.
 * tags: fast parallel
 *
 * Tasks with bytes in the area must be referred to. Tasks whose bytes were overwritten long ago
 * must not be, and memory must not grow. Prints KTAP.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording/aux/task_history.h"
#include "recording/state/task_refs.h"
#include "perf/tests/tap.h"
#include "../random.h"

#define LEN	4096
#define TASKS	13
#define SWITCHES 65536

static u64 random_state;

/*
 * Byte n of the trace is at n % LEN while it is in the area. @switched has the newest context
 * switches.
 */
struct model {
	uint32_t	tid[LEN];
	uint64_t	time[LEN];
	uint64_t	run[LEN];	/* time of the switch to its task, or of the start */
	uint64_t	written;
	uint64_t	now;
	uint32_t	running;
	uint64_t	since;
	uint64_t	switches;
	struct {
		uint32_t	tid;
		uint64_t	time;
	}		switched[SWITCHES];
};

static void switch_to(struct model *model, uint32_t tid)
{
	uint64_t i = model->switches++ % SWITCHES;

	model->running = tid;
	model->switched[i].tid = tid;
	model->switched[i].time = model->since = ++model->now;
}

/* Some switches have no record: the kernel swaps the events of two tasks instead. */
static void trace(struct model *model, struct task_history *history, bool counted, uint64_t most)
{
	uint64_t bytes = 1 + random_below(&random_state, most), i;
	uint32_t tid;

	/* Otherwise the event was stopped and started, and the task went on. */
	if (!model->running || random_below(&random_state, 4))
		switch_to(model, 1 + random_below(&random_state, TASKS));
	else
		model->since = model->now;
	for (i = 0; i < bytes; i++) {
		if (!random_below(&random_state, most))
			switch_to(model, 1 + random_below(&random_state, TASKS));
		model->tid[model->written % LEN] = model->running;
		model->run[model->written % LEN] = model->since;
		model->time[model->written++ % LEN] = ++model->now;
	}
	tid = model->running;
	task_history__add(history, model->written % LEN, counted ? bytes : 0, 1000 + tid, tid,
			  ++model->now);
}

/* Return: number of tasks that are referred to without bytes in the area; -1 if one is missing. */
static int compare(const struct model *model, struct task_history *history, uint64_t horizon)
{
	uint64_t oldest[TASKS + 1], newest[TASKS + 1] = { 0 }, run[TASKS + 1], i;
	struct task_refs refs;
	int extra = 0;
	uint32_t tid;

	memset(oldest, 0xff, sizeof(oldest));
	for (i = model->written < LEN ? 0 : model->written - LEN; i < model->written; i++) {
		uint64_t time = model->time[i % LEN];

		tid = model->tid[i % LEN];
		if (time < horizon)
			continue;
		oldest[tid] = time < oldest[tid] ? time : oldest[tid];
		newest[tid] = time > newest[tid] ? time : newest[tid];
		run[tid] = model->run[i % LEN];
	}
	task_refs__init(&refs);
	task_history__refer(history, horizon, &refs);
	i = model->switches < SWITCHES ? 0 : model->switches - SWITCHES;
	for (; i < model->switches; i++) {
		if (model->switched[i % SWITCHES].time >= task_history__since(history))
			task_refs__add(&refs, 1000 + model->switched[i % SWITCHES].tid,
				       model->switched[i % SWITCHES].tid,
				       model->switched[i % SWITCHES].time);
	}
	for (tid = 1; tid <= TASKS && extra >= 0; tid++) {
		const struct task_ref *task = task_refs__task(&refs, tid), *process;

		process = task_refs__process(&refs, 1000 + tid);
		if (!newest[tid])
			extra += task != NULL;
		else if (!task || !process || task->oldest > oldest[tid] ||
			 task->newest < run[tid] || process->oldest > oldest[tid])
			extra = -1;
	}
	if (refs.incomplete)
		extra = TASKS;
	task_refs__exit(&refs);
	return extra;
}

static bool all_there(bool counted, uint64_t most)
{
	static struct model model;
	struct task_history history;
	uint64_t horizon = 0, later;
	int i, extra = 0, worst = 0;
	size_t room = 0;

	memset(&model, 0, sizeof(model));
	task_history__init(&history, LEN);
	for (i = 0; i < 20000 && extra >= 0; i++) {
		trace(&model, &history, counted, most);
		later = model.now > LEN ? model.now - random_below(&random_state, LEN) : 0;
		if (!random_below(&random_state, 50) && later > horizon)	/* a snapshot */
			horizon = later;
		if (i % 7 == 0)
			extra = compare(&model, &history, horizon);
		if (extra > worst)
			worst = extra;
		room = history.room;
	}
	printf("# most %d, %d tasks too many, capacity %zu\n", (int)most, worst, room);
	task_history__exit(&history);
	return extra >= 0 && room <= LEN / TASK_HISTORY_MIN_BYTES + 1 &&
	       (!counted || worst < TASKS);
}

/* Many short stretches of tasks that alternate exceed the limit: the references are incomplete. */
static bool too_many(void)
{
	struct task_history history;
	struct task_refs refs;
	bool ok;
	int i;

	task_history__init(&history, LEN);
	for (i = 0; i < 1000; i++)
		task_history__add(&history, i, 1, 1, i, 10 + i);
	task_refs__init(&refs);
	task_history__refer(&history, 0, &refs);
	ok = refs.incomplete && history.room <= LEN / TASK_HISTORY_MIN_BYTES + 1;
	task_refs__exit(&refs);
	task_refs__init(&refs);
	task_history__refer(&history, 2000, &refs);
	ok = ok && !refs.incomplete && !task_refs__task(&refs, 999);
	task_refs__exit(&refs);
	task_history__exit(&history);
	return ok;
}

static bool lost(void)
{
	struct task_history history;
	struct task_refs refs;
	bool ok;

	task_history__init(&history, LEN);
	task_history__lose(&history, 50);
	task_refs__init(&refs);
	task_history__refer(&history, 50, &refs);
	ok = refs.incomplete;
	task_refs__exit(&refs);
	task_refs__init(&refs);
	task_history__refer(&history, 51, &refs);
	ok = ok && !refs.incomplete;
	task_refs__exit(&refs);
	task_history__exit(&history);
	return ok;
}

int main(void)
{
	check(all_there(true, 700), "long stretches of known length are all referred to");
	check(all_there(true, 200), "short stretches of known length are all referred to");
	check(all_there(false, 700), "stretches of unknown length are all referred to");
	check(all_there(false, 2 * LEN),
	      "stretches of unknown length that exceed the area are referred to");
	check(all_there(true, 3 * LEN),
	      "stretches of known length that exceed the area are referred to");
	check(too_many(), "with too many stretches the references are incomplete");
	check(lost(), "after lost records the references are incomplete");
	return tap_end();
}
