// SPDX-License-Identifier: GPL-2.0-only
/* Take in side-band records, and apply them to the NOW views once they are final. */
#include <errno.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include "state.h"

#define SHORT_DELAY_NS		(SB_RECORD_DELAY_NS / 8)

/* Sorting pending records takes time, so do not do it in each round. */
#define APPLY_INTERVALS		4	/* in @delay_ns */

void state__init(struct state *state, const struct id_format *format)
{
	*state = (struct state){
		.format		   = *format,
		.delay_ns	   = SB_RECORD_DELAY_NS,
		.collect_bytes	   = STATE_MIN_COLLECT_BYTES,
		.collect_map_bytes = STATE_MIN_COLLECT_BYTES,
	};
	state_log__init(&state->log, &state->format);
	tasks__init(&state->tasks);
	system_wide__init(&state->system_wide);
	stale_maps__init(&state->stale_maps);
	state__begin_file(state, false);
}

void state__exit(struct state *state)
{
	state_log__exit(&state->log);
	stale_maps__discard(&state->stale_maps, &state->tasks);
	system_wide__exit(&state->system_wide);
	tasks__exit(&state->tasks);
}

/*
 * Take in records
 */

static bool is_about_task(const struct sb_record *record)
{
	switch (record->header.type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_COMM:
	case PERF_RECORD_NAMESPACES:
		return true;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return !system_wide__covers(record);
	default:
		return false;
	}
}

/* Take over the reference to @record. Return: false if an allocation fails. */
static bool append(struct state *state, struct sb_record *record, u32 file)
{
	if (!state_log__add(&state->log, record, file))
		return true;
	sb_record__put(record);
	state->loss.no_memory++;
	return false;
}

/* Take over the reference to @record. */
static void add(struct state *state, struct sb_record *record)
{
	if (!append(state, record, state->streamed ? state->file : 0))
		return;
	state->newest = max(state->newest, record->time);
	state->has_late |= record->time <= state->final_time;
	if (record->header.type == PERF_RECORD_LOST) {
		state->loss.lost += sb_record__event(record)->lost.lost;
		state->lost_time = max(state->lost_time, record->time);
	}
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

static struct sb_record *new_synthesized(struct state *state, const union perf_event *event,
					 size_t id_size, u64 time)
{
	struct sb_record *record = sb_record__new_synthesized(&state->format, event, id_size, time);

	if (!IS_ERR(record))
		return record;
	count_error(state, record);
	return NULL;
}

static void apply_synthesized(struct state *state, struct sb_record *record)
{
	struct task *task;

	if (system_wide__covers(record)) {
		system_wide__apply(&state->system_wide, record, 0);
	} else if (is_about_task(record)) {
		task = tasks__apply(&state->tasks, record);
		if (task) {
			task__apply(task, BASE, record, &state->tasks);
			process__rewrite(task->process);
		}
	}
}

void state__add_synthesized(struct state *state, const union perf_event *event, size_t id_size)
{
	struct sb_record *record = new_synthesized(state, event, id_size, state->final_time);
	bool hidden;

	if (!record)
		return;
	apply_synthesized(state, record);
	hidden = state->lost_time > state->final_time && is_about_task(record);
	sb_record__put(record);
	if (!hidden)
		return;
	record = new_synthesized(state, event, id_size, state->lost_time);
	if (record)
		append(state, record, 0);
}

void state__lose(struct state *state)
{
	state->lost_time = max(state->lost_time, state->newest);
}

/*
 * Apply final records
 */

/* A log_filter_t: apply a record to the NOW views. Return: is the record to stay in the log? */
static bool apply(void *arg, struct log_entry *entry)
{
	struct state *state = arg;

	if (!is_about_task(entry->record)) {
		if (log_entry__is_passthrough(entry))
			state->log.passthrough_bytes += log_entry__bytes(entry);
		return true;
	}
	entry->task = tasks__apply(&state->tasks, entry->record);
	if (!entry->task || entry->record->header.type == PERF_RECORD_EXIT)
		return false;
	if (entry->record->header.type == PERF_RECORD_FORK) {
		if (!task__is_copy_of_parent(entry->task))
			return false;
		entry->task->fork_logged = true;
		entry->task->file = entry->file;
	}
	entry->task->process->nr_logged++;
	return true;
}

/* The tasks may have run until now, which is not before @newest. */
static void mark_exited(struct state *state)
{
	struct process *process;
	struct task *task;

	tasks__for_each_process(&state->tasks, process) {
		process__for_each_task(process, task) {
			if (task->exit == NEVER && !state->exists(task->tid))
				task->exit = state->newest;
		}
	}
}

void state__mark_exited(struct state *state, bool (*exists)(u32 tid))
{
	stale_maps__discard(&state->stale_maps, &state->tasks);
	state->exists = exists;
	state->mark_time = state->newest;
	mark_exited(state);
}

/* After a loss: the tasks of records that were pending then are known now. */
static void mark_others(struct state *state)
{
	if (!state->exists || state->final_time < state->mark_time)
		return;
	mark_exited(state);
	state->exists = NULL;
}

/*
 * A clock that was set back (-k CLOCK_REALTIME) makes @newest stand still until it has caught up.
 * Records that are older than the final time need not wait for that.
 */
void state__end_round(struct state *state)
{
	u64 time = state->round_newest > state->delay_ns ?
		   state->round_newest - state->delay_ns : 0;

	state->round_newest = state->newest;
	stale_maps__end_round(&state->stale_maps, state->newest);
	if (time < state->final_time + state->delay_ns / APPLY_INTERVALS && !state->has_late)
		return;
	state->final_time = max(state->final_time, time);
	state->has_late = false;
	state_log__apply(&state->log, state->final_time, apply, state);
	mark_others(state);
	state_log__pack(&state->log);
	stale_maps__apply(&state->stale_maps, &state->tasks, state->final_time);
	state->map_bytes = tasks__map_bytes(&state->tasks);
}

size_t state__pending_bytes(const struct state *state)
{
	const struct state_log *log = &state->log;

	return log->nr ? log->bytes * (log->nr - log->nr_applied) / log->nr : 0;
}

void state__shorten_delay(struct state *state, size_t max_bytes)
{
	state->delay_ns = state__pending_bytes(state) > max_bytes ? SHORT_DELAY_NS :
								    SB_RECORD_DELAY_NS;
}

void state__find_stale_maps(struct state *state, proc_maps_read_t read)
{
	stale_maps__find(&state->stale_maps, &state->tasks, state->newest, read);
}

void state__begin_file(struct state *state, bool streamed)
{
	state->file++;
	state->streamed = streamed;
	state->rewritten = false;
	system_wide__begin_file(&state->system_wide, state->file);
}

void state__rewrite_file(struct state *state)
{
	state->file++;
	state->rewritten = true;
	system_wide__rewrite_file(&state->system_wide, state->file);
}

/*
 * Look at the state
 */

static bool is_switch_to(const struct perf_event_header *header)
{
	return (header->type == PERF_RECORD_SWITCH ||
		header->type == PERF_RECORD_SWITCH_CPU_WIDE) &&
	       !(header->misc & PERF_RECORD_MISC_SWITCH_OUT);
}

struct switch_visit {
	const struct state	*state;
	state_switch_t		 visit;
	void			*arg;
};

static bool visit_switch(void *arg, struct log_entry *entry, bool applied __maybe_unused)
{
	const struct switch_visit *to = arg;
	struct sb_origin who;

	if (is_switch_to(&entry->record->header)) {
		who = id_format__read(&to->state->format, entry->record);
		to->visit(to->arg, &who, entry->record->time);
	}
	return true;
}

void state__visit_switches(const struct state *state, state_switch_t visit, void *arg)
{
	struct switch_visit to = { state, visit, arg };

	state_log__visit(&state->log, 0, visit_switch, &to);
}

struct state_loss state__loss(const struct state *state)
{
	struct state_loss loss = state->loss;

	loss.no_memory += state->tasks.nr_failed;
	loss.cgroups += state->system_wide.nr_dropped;
	return loss;
}
