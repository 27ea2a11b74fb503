// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include "mapset.h"
#include "task_refs.h"
#include "state.h"

/* Sorting what is pending takes time: not in each round. */
#define SETTLE_STEP_NS	(SB_RECORD_DELAY_NS / 4)

/* With its share of the process and of the hash table. */
#define TASK_BYTES	(sizeof(struct task) + sizeof(struct process))

void state__init(struct state *state, const struct id_format *format)
{
	*state = (struct state){
		.format	    = *format,
		.large	    = STATE_LARGE,
		.large_maps = STATE_LARGE,
	};
	tasks__init(&state->tasks);
	system_wide__init(&state->system_wide);
	stale_maps__init(&state->stale_maps);
	state__begin_file(state, false);
}

void state__exit(struct state *state)
{
	size_t i;

	for (i = 0; i < state->nr; i++)
		sb_record__put(state->log[i].record);
	free(state->log);
	stale_maps__discard(&state->stale_maps, &state->tasks);
	system_wide__exit(&state->system_wide);
	tasks__exit(&state->tasks);
}

/*
 * Records come in
 */

static size_t entry__bytes(const struct entry *entry)
{
	return sizeof(*entry) + sizeof(*entry->record) + entry->record->header.size;
}

static bool is_tasks(const struct sb_record *record)
{
	switch (record->header.type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_COMM:
	case PERF_RECORD_NAMESPACES:
		return true;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return !system_wide__knows(record);
	default:
		return false;
	}
}

static bool is_timeline(const struct entry *entry)
{
	return !entry->task && !system_wide__knows(entry->record);
}

static bool make_room(struct state *state)
{
	size_t room = state->room * 2 ?: 1024;
	struct entry *log;

	if (state->nr < state->room)
		return true;
	log = realloc(state->log, room * sizeof(*log));
	if (!log)
		return false;
	state->log = log;
	state->room = room;
	return true;
}

static void add(struct state *state, struct sb_record *record)
{
	struct entry *entry;

	if (!make_room(state)) {
		sb_record__put(record);
		state->loss.no_memory++;
		return;
	}
	entry = &state->log[state->nr++];
	*entry = (struct entry){
		.record	 = record,
		.arrival = state->arrivals++,
		.file	 = state->streamed ? state->file : 0,
	};
	state->bytes += entry__bytes(entry);
	state->newest = max(state->newest, record->time);
	if (record->header.type == PERF_RECORD_LOST)
		state->loss.lost += sb_record__event(record)->lost.lost;
}

static void count_error(struct state *state, const struct sb_record *error)
{
	if (PTR_ERR(error) == -ENOMEM)
		state->loss.no_memory++;
	else
		state->loss.malformed++;
}

void state__add(struct state *state, const struct records *records)
{
	struct record_iter iter;

	records__for_each(records, iter) {
		struct sb_record *record = sb_record__new(&state->format, records, iter.pos,
							  iter.size);

		if (IS_ERR(record))
			count_error(state, record);
		else
			add(state, record);
	}
	if (iter.pos < records__len(records))
		state->loss.malformed++;
}

/* The file lacks what is in the BASE views now: it gets them whole. */
static void forget_file(struct process *process)
{
	struct task *task;

	process__for_each_task(process, task) {
		if (!task->logged)
			task->file = 0;
	}
}

void state__add_synthesized(struct state *state, const union perf_event *event, size_t id_size)
{
	struct sb_record *record;
	struct task *task;

	record = sb_record__new_synthesized(&state->format, event, id_size, state->settled);
	if (IS_ERR(record)) {
		count_error(state, record);
		return;
	}
	if (system_wide__knows(record)) {
		system_wide__apply(&state->system_wide, record, 0);
	} else if (is_tasks(record)) {
		task = tasks__apply(&state->tasks, record);
		if (task) {
			task__apply(task, BASE, record, &state->tasks);
			forget_file(task->process);
		}
	}
	sb_record__put(record);
}

/*
 * Records settle
 */

static int by_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->record->time != y->record->time)
		return x->record->time < y->record->time ? -1 : 1;
	return x->arrival < y->arrival ? -1 : 1;
}

/*
 * A reader makes the child of a FORK record a copy of its parent, so the file must have the parent
 * as it was then. Else the child's own BASE view is written instead of the record.
 */
static bool is_copy_of_parent(const struct task *task)
{
	return !task->parent ||
	       (!task->parent->drop && task->parent->process->since <= task->birth);
}

/* Return: true if the record is to stay in the log. */
static bool apply(struct state *state, struct entry *entry)
{
	if (!is_tasks(entry->record)) {
		if (is_timeline(entry))
			state->timeline += entry__bytes(entry);
		return true;
	}
	entry->task = tasks__apply(&state->tasks, entry->record);
	if (!entry->task || entry->record->header.type == PERF_RECORD_EXIT)
		return false;
	if (entry->record->header.type == PERF_RECORD_FORK) {
		if (!is_copy_of_parent(entry->task))
			return false;
		entry->task->logged = true;
		entry->task->file = entry->file;
	}
	entry->task->process->nr_logged++;
	return true;
}

/* Entries @to to @from are gone; what is behind them moves down. */
static void close_gap(struct state *state, size_t to, size_t from)
{
	if (to == from)
		return;
	memmove(state->log + to, state->log + from, (state->nr - from) * sizeof(*state->log));
	state->nr -= from - to;
}

/* A child that is in the log takes no more than its records there. */
static void weigh_maps(struct state *state)
{
	const struct process *process;

	state->maps = 0;
	tasks__for_each_process(&state->tasks, process) {
		if (process->maps[BASE] &&
		    !list_first_entry(&process->tasks, struct task, node)->logged)
			state->maps += process->maps[BASE]->bytes;
	}
}

static void settle(struct state *state, u64 time)
{
	size_t from, to = state->applied;

	state->settled = time;
	if (state->nr == state->applied)
		return;
	qsort(state->log + to, state->nr - to, sizeof(*state->log), by_time);

	for (from = to; from < state->nr && state->log[from].record->time <= time; from++) {
		struct entry entry = state->log[from];

		if (apply(state, &entry)) {
			state->log[to++] = entry;
		} else {
			state->bytes -= entry__bytes(&entry);
			sb_record__put(entry.record);
		}
	}
	close_gap(state, to, from);
	state->applied = to;
}

void state__end_round(struct state *state)
{
	u64 time = state->round > SB_RECORD_DELAY_NS ? state->round - SB_RECORD_DELAY_NS : 0;

	state->round = state->newest;
	stale_maps__end_round(&state->stale_maps, state->newest);
	if (time >= state->settled + SETTLE_STEP_NS) {
		settle(state, time);
		stale_maps__apply(&state->stale_maps, &state->tasks, state->settled);
		weigh_maps(state);
	}
}

void state__find_stale_maps(struct state *state, proc_maps_read_t read)
{
	stale_maps__find(&state->stale_maps, &state->tasks, state->newest, read);
}

/*
 * Records are folded, tasks are forgotten
 */

static bool refers(const struct task_ref *ref, u64 from, u64 until)
{
	return ref && ref->newest >= from && ref->oldest < until;
}

static bool is_over(const struct state *state, const struct task *task, const struct task_refs *refs)
{
	if (task->exit == NEVER)
		return false;
	if (task->exit < state->horizon)
		return true;
	return refs && !refers(task_refs__task(refs, task->tid), task->birth, task->until);
}

/* A leader has the maps: it stays as long as there is any task of the process. */
static void choose_drops(const struct state *state, struct process *process,
			 const struct task_refs *refs)
{
	struct task *leader = list_first_entry(&process->tasks, struct task, node), *task;
	bool all = true;

	process__for_each_task(process, task) {
		task->drop = is_over(state, task, refs);
		all = all && task->drop;
	}
	leader->drop = all;
}

/*
 * With its FORK record in the log a child costs its records since then, without it all the maps that
 * it has inherited. What happens to its parent is known: parents come first.
 */
static bool stays_in_log(const struct process *process)
{
	const struct task *leader = list_first_entry(&process->tasks, struct task, node);

	return leader->logged && is_copy_of_parent(leader) &&
	       process->nr_logged <= mapset__nr(process->maps[BASE]);
}

static u64 choose_horizon(const struct state *state, const struct process *process,
			  const struct task_refs *refs)
{
	const struct task *leader = list_first_entry(&process->tasks, struct task, node);
	const struct task_ref *ref;
	u64 time;

	if (!refs)
		return state->horizon;
	if (stays_in_log(process))
		return 0;
	ref = task_refs__process(refs, process->pid);
	time = refers(ref, process->since, leader->until) ? ref->oldest : state->settled;
	return min(state->settled, max(state->horizon, time));
}

/* Where the view of things that belong to no task is going to. */
static u64 global_horizon(const struct state *state, const struct task_refs *refs)
{
	return refs ? min(state->settled, max(state->horizon, refs->oldest)) : state->horizon;
}

static bool keep_timeline(struct state *state, const struct entry *entry, u64 horizon)
{
	bool too_much = state->timeline > STATE_TIMELINE;

	if (entry->record->time >= horizon && !too_much)
		return true;
	if (entry->record->time >= horizon)
		state->loss.timeline++;
	state->timeline -= entry__bytes(entry);
	return false;
}

/* Return: false if the entry has been folded or is not needed any more. */
static bool keep_entry(struct state *state, struct entry *entry, u64 horizon)
{
	struct sb_record *record = entry->record;
	struct task *task = entry->task;

	if (is_timeline(entry))
		return keep_timeline(state, entry, horizon);
	if (!task) {
		if (record->time <= horizon)
			system_wide__apply(&state->system_wide, record, entry->file);
		return record->time > horizon;
	}
	if (task->drop)
		return false;

	if (record->time <= task->process->horizon) {
		task->process->nr_logged--;
		if (entry->file != state->file)
			task->process->stale = true;
		if (record->header.type == PERF_RECORD_FORK)
			task->logged = false;
		else
			task__apply(task, BASE, record, &state->tasks);
		return false;
	}
	if (record->header.type == PERF_RECORD_FORK && !is_copy_of_parent(task)) {
		task->process->nr_logged--;
		task->logged = false;
		return false;
	}
	return true;
}

/* Tracking tells of nobody else; switches, from which references were made, tell of all tasks. */
static bool is_traced(const struct state *state, const struct task_refs *refs, u32 tid)
{
	return task_refs__task(refs, tid) && tasks__task(&state->tasks, tid);
}

/*
 * A trace that is asleep most of the time goes back further than all context switches of the machine
 * that there is room for: rather than the oldest, those go that are between others.
 */
static bool is_between_others(const struct state *state, const struct entry *entry,
			      const struct task_refs *refs)
{
	const struct perf_record_switch *record =
		&sb_record__event(entry->record)->context_switch;

	if (record->header.type != PERF_RECORD_SWITCH_CPU_WIDE || !state->format.tid)
		return false;
	return !is_traced(state, refs, id_format__read(&state->format, entry->record).tid) &&
	       !is_traced(state, refs, record->next_prev_tid);
}

static void drop_switches(struct state *state, const struct task_refs *refs)
{
	size_t from, to = 0;

	for (from = 0; from < state->applied; from++) {
		struct entry *entry = &state->log[from];

		if (is_between_others(state, entry, refs)) {
			state->timeline -= entry__bytes(entry);
			state->bytes -= entry__bytes(entry);
			sb_record__put(entry->record);
		} else {
			state->log[to++] = *entry;
		}
	}
	close_gap(state, to, from);
	state->applied = to;
}

static void sweep_log(struct state *state, u64 horizon)
{
	size_t from, to = 0;

	for (from = 0; from < state->applied; from++) {
		struct entry *entry = &state->log[from];

		if (keep_entry(state, entry, horizon)) {
			state->log[to++] = *entry;
		} else {
			state->bytes -= entry__bytes(entry);
			sb_record__put(entry->record);
		}
	}
	close_gap(state, to, from);
	state->applied = to;
}

/* All of it that was in the log has been folded: what was copied on write is equal again. */
static void share_maps(struct process *process)
{
	struct mapset *now = mapset__get(process->maps[NOW]);

	mapset__put(process->maps[BASE]);
	process->maps[BASE] = now;
}

static void end_folding(struct state *state, struct process *process)
{
	bool more = stale_maps__fold(process, &state->tasks);

	if (process->stale)
		forget_file(process);
	process->stale = false;
	if (!process->nr_logged && !more)
		share_maps(process);
}

static size_t size(const struct state *state)
{
	return state->bytes + state->tasks.nr * TASK_BYTES;
}

static void shrink(struct state *state)
{
	size_t room = state->nr + state->nr / 2 + 1024;
	struct entry *log;

	if (room < state->room) {
		log = realloc(state->log, room * sizeof(*log));
		if (log) {
			state->log = log;
			state->room = room;
		}
	}
	state->large = max(STATE_LARGE, 2 * size(state));
	weigh_maps(state);
	state->large_maps = max(STATE_LARGE, 2 * state->maps);
}

void state__collect(struct state *state, const struct task_refs *refs)
{
	struct process *process;

	if (refs && refs->incomplete)
		refs = NULL;
	tasks__for_each_process(&state->tasks, process) {
		choose_drops(state, process, refs);
		process->horizon = choose_horizon(state, process, refs);
		/* Before the sweep: children compare with where the BASE view will be. */
		process->since = max(process->since, process->horizon);
	}
	if (refs && refs->traced && state->timeline > STATE_TIMELINE)
		drop_switches(state, refs);
	sweep_log(state, global_horizon(state, refs));
	tasks__for_each_process(&state->tasks, process)
		end_folding(state, process);
	tasks__sweep(&state->tasks);
	shrink(state);
}

void state__forget(struct state *state, u64 time)
{
	state->horizon = max(state->horizon, min(time, state->settled));
	state__collect(state, NULL);
}

static bool is_switch_to(const struct perf_event_header *header)
{
	return (header->type == PERF_RECORD_SWITCH ||
		header->type == PERF_RECORD_SWITCH_CPU_WIDE) &&
	       !(header->misc & PERF_RECORD_MISC_SWITCH_OUT);
}

void state__visit_switches(const struct state *state, state_switch_t visit, void *arg)
{
	const struct entry *entry;
	struct sb_origin who;

	for (entry = state->log; entry < state->log + state->nr; entry++) {
		if (!is_switch_to(&entry->record->header))
			continue;
		who = id_format__read(&state->format, entry->record);
		visit(arg, &who, entry->record->time);
	}
}

bool state__is_large(const struct state *state)
{
	return size(state) > state->large || state->maps > state->large_maps;
}

void state__retire_gone(struct state *state, bool (*exists)(u32 tid))
{
	struct process *process;
	struct task *task;

	stale_maps__discard(&state->stale_maps, &state->tasks);
	tasks__for_each_process(&state->tasks, process) {
		process__for_each_task(process, task) {
			if (task->exit == NEVER && !exists(task->tid))
				task->exit = state->settled;
		}
	}
}

void state__begin_file(struct state *state, bool streamed)
{
	state->file++;
	state->streamed = streamed;
	system_wide__begin_file(&state->system_wide, state->file);
}

struct state_loss state__loss(const struct state *state)
{
	struct state_loss loss = state->loss;

	loss.no_memory += state->tasks.failed;
	loss.cgroups += state->system_wide.given_up;
	return loss;
}
