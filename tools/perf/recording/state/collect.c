// SPDX-License-Identifier: GPL-2.0-only
/* Bound the live state: move horizons, fold records into the BASE views, forget exited tasks. */
#include <linux/kernel.h>
#include "log_block.h"
#include "mapset.h"
#include "task_refs.h"
#include "state.h"

/* A process with one task, its share of the hash table, and what malloc() adds [bytes]. */
#define TASK_BYTES	(sizeof(struct process) + sizeof(struct hashmap_entry) + \
			 2 * sizeof(void *) + 2 * sizeof(size_t))

static bool refers(const struct task_ref *ref, u64 from, u64 until)
{
	return ref && ref->newest >= from && ref->oldest < until;
}

/* Can the task be forgotten, as far as it alone is concerned? @refs: NULL if unknown. */
static bool is_unreferenced(const struct state *state, const struct task *task,
			    const struct task_refs *refs)
{
	if (task->exit == NEVER)
		return false;
	if (task->exit < state->horizon)
		return true;
	return refs && !refers(task_refs__task(refs, task->tid), task->birth, task->until);
}

/* A leader has the maps of its process, so it stays as long as any task of the process. */
static void choose_drops(const struct state *state, struct process *process,
			 const struct task_refs *refs)
{
	struct task *leader = process__leader(process), *task;
	bool all = true;

	process__for_each_task(process, task) {
		task->drop = is_unreferenced(state, task, refs);
		all = all && task->drop;
	}
	leader->drop = all;
}

/*
 * A child whose FORK record stays in the log costs its records since then; folded, it costs all the
 * maps that it has inherited. The drops of its parent are chosen by now: parents come before their
 * children.
 */
static bool is_smaller_in_log(const struct process *process)
{
	const struct task *leader = process__leader(process);

	return leader->fork_logged && task__is_copy_of_parent(leader) &&
	       process->nr_logged <= mapset__nr(process->maps[BASE]);
}

static u64 choose_horizon(const struct state *state, const struct process *process,
			  const struct task_refs *refs)
{
	const struct task_ref *ref;
	u64 time;

	if (!refs)
		return state->horizon;
	if (is_smaller_in_log(process))
		return 0;
	ref = task_refs__process(refs, process__pid(process));
	time = refers(ref, process->base_time, process__leader(process)->until) ?
	       ref->oldest : state->final_time;
	return min(state->final_time, max(state->horizon, time));
}

/* Before records are folded: children compare their birth with the time that BASE will have. */
static void move_base(struct process *process, u64 horizon)
{
	process->folds = horizon >= process->base_time;
	if (process->folds)
		process->base_time = horizon;
}

/* Horizon of records that are about no task. */
static u64 system_wide_horizon(const struct state *state, const struct task_refs *refs)
{
	return refs ? min(state->final_time, max(state->horizon, refs->oldest)) : state->horizon;
}

/* Arguments of the filters below. */
struct folding {
	struct state		*state;
	const struct task_refs	*refs;
	u64			 horizon;	/* system_wide_horizon() */
};

static bool keep_passthrough(struct state *state, const struct log_entry *entry, u64 horizon)
{
	bool too_much = state->log.passthrough_bytes > STATE_MAX_PASSTHROUGH_BYTES;

	if (entry->record->time >= horizon && !too_much)
		return true;
	if (entry->record->time >= horizon)
		state->loss.passthrough++;
	state->log.passthrough_bytes -= log_entry__bytes(entry);
	return false;
}

/* Apply a record to @task, or to the system-wide data if that is NULL. @file: of the log_entry. */
static void apply_to_base(struct state *state, struct task *task, struct sb_record *record,
			  u32 file)
{
	record = sb_record__own(record);
	if (!record) {
		state->loss.no_memory++;
		return;
	}
	if (task)
		task__apply(task, BASE, record, &state->tasks);
	else
		system_wide__apply(&state->system_wide, record, file);
	sb_record__put(record);
}

/* A log_filter_t: fold an entry that is older than the horizon, drop one that nothing refers to. */
static bool fold(void *arg, struct log_entry *entry)
{
	const struct folding *folding = arg;
	struct state *state = folding->state;
	struct sb_record *record = entry->record;
	struct task *task = entry->task;

	if (log_entry__is_passthrough(entry))
		return keep_passthrough(state, entry, folding->horizon);
	if (!task) {
		if (record->time <= folding->horizon)
			apply_to_base(state, NULL, record, entry->file);
		return record->time > folding->horizon;
	}
	if (task->drop) {
		task->process->nr_logged--;
		return false;
	}

	if (task->process->folds && record->time <= task->process->base_time) {
		task->process->nr_logged--;
		if (entry->file != state->file)
			task->process->file_lacks_base = true;
		if (record->header.type == PERF_RECORD_FORK)
			task->fork_logged = false;
		else
			apply_to_base(state, task, record, entry->file);
		return false;
	}
	if (record->header.type == PERF_RECORD_FORK && !task__is_copy_of_parent(task)) {
		task->process->nr_logged--;
		task->fork_logged = false;
		return false;
	}
	return true;
}

/*
 * Context switches are recorded for all tasks of the machine, and task_refs were made from them;
 * but the state knows traced tasks only.
 */
static bool is_traced(const struct state *state, const struct task_refs *refs, u32 tid)
{
	return task_refs__task(refs, tid) && tasks__task(&state->tasks, tid);
}

/*
 * A log_filter_t: drop context switches between tasks that are not traced.
 *
 * The trace of a task that sleeps most of the time reaches further back than all context switches
 * of the machine that fit into STATE_MAX_PASSTHROUGH_BYTES. So these go before the oldest ones do.
 */
static bool keep_traced_switch(void *arg, struct log_entry *entry)
{
	const struct folding *folding = arg;
	struct state *state = folding->state;
	const struct perf_record_switch *record =
		&sb_record__event(entry->record)->context_switch;

	if (record->header.type != PERF_RECORD_SWITCH_CPU_WIDE || !state->format.tid)
		return true;
	if (is_traced(state, folding->refs, id_format__read(&state->format, entry->record).tid) ||
	    is_traced(state, folding->refs, record->next_prev_tid))
		return true;
	state->log.passthrough_bytes -= log_entry__bytes(entry);
	return false;
}

/* All records of the process are folded: BASE equals NOW again and can share its nodes. */
static void share_maps(struct process *process)
{
	struct mapset *now = mapset__get(process->maps[NOW]);

	mapset__put(process->maps[BASE]);
	process->maps[BASE] = now;
}

static void end_folding(struct state *state, struct process *process)
{
	bool more = stale_maps__fold(process, &state->tasks);

	if (process->file_lacks_base)
		process__rewrite(process);
	process->file_lacks_base = false;
	if (!process->nr_logged && !more && !process->lacks_now)
		share_maps(process);
}

/* The records and map sets of all states are counted: a process has one state. */
size_t state__bytes(const struct state *state)
{
	return sb_records__bytes() + mapsets__bytes() + state->tasks.nr * TASK_BYTES +
	       state->log.capacity * sizeof(*state->log.entries) + state->log.block_bytes +
	       log_packer__bytes(state->log.packer);
}

static size_t bytes_without_maps(const struct state *state)
{
	return state_log__total_bytes(&state->log) + state->tasks.nr * TASK_BYTES;
}

static void set_collect_limits(struct state *state)
{
	state->collect_bytes = max(STATE_MIN_COLLECT_BYTES, 2 * bytes_without_maps(state));
	state->map_bytes = tasks__map_bytes(&state->tasks);
	state->collect_map_bytes = max(STATE_MIN_COLLECT_BYTES, 2 * state->map_bytes);
}

bool state__must_collect(const struct state *state)
{
	return bytes_without_maps(state) > state->collect_bytes ||
	       state->map_bytes > state->collect_map_bytes;
}

void state__collect(struct state *state, const struct task_refs *refs)
{
	struct folding folding = { .state = state };
	struct process *process;

	if (refs && refs->incomplete)
		refs = NULL;
	tasks__for_each_process(&state->tasks, process) {
		choose_drops(state, process, refs);
		move_base(process, choose_horizon(state, process, refs));
	}
	folding.refs = refs;
	folding.horizon = state->system_wide_horizon = system_wide_horizon(state, refs);
	if (refs && refs->traced && state->log.passthrough_bytes > STATE_MAX_PASSTHROUGH_BYTES)
		state_log__filter(&state->log, keep_traced_switch, &folding);
	state_log__filter(&state->log, fold, &folding);
	tasks__for_each_process(&state->tasks, process)
		end_folding(state, process);
	tasks__sweep(&state->tasks);
	state_log__shrink(&state->log);
	set_collect_limits(state);
}

void state__move_back(struct state *state, u64 time)
{
	struct process *process;

	if (time >= state->horizon)
		return;
	state->horizon = time;
	tasks__for_each_process(&state->tasks, process)
		process->base_time = min(process->base_time, time);
}

void state__forget(struct state *state, u64 time)
{
	state->horizon = max(state->horizon, min(time, state->final_time));
	state__collect(state, NULL);
}
