// SPDX-License-Identifier: GPL-2.0-only
/* Write the live state to a file, as records. */
#include <stdint.h>
#include <string.h>
#include <linux/kernel.h>
#include "mapset.h"
#include "state.h"

/*
 * Gather records, to save calls of @write. Any record fits into @buf. @all: write what a new file
 * needs, and do not note that the present one has it.
 */
struct batch {
	struct state	*state;
	bool		 all;
	state_write_t	 write;
	void		*arg;
	int		 err;
	size_t		 len;
	u64		 buf[(UINT16_MAX + 1) / sizeof(u64)];
};

static void batch__flush(struct batch *batch)
{
	if (!batch->err && batch->len)
		batch->err = batch->write(batch->arg, batch->buf, batch->len);
	batch->len = 0;
}

/* Return: a record with @header; the caller fills in the body. */
static union perf_event *batch__reserve(struct batch *batch, const struct perf_event_header *header)
{
	union perf_event *event;

	if (batch->len + header->size > sizeof(batch->buf))
		batch__flush(batch);
	event = (void *)batch->buf + batch->len;
	batch->len += header->size;
	event->header = *header;
	return event;
}

static union perf_event *batch__copy(struct batch *batch, const struct sb_record *record)
{
	union perf_event *event = batch__reserve(batch, &record->header);

	memcpy(event, &record->header, record->header.size);
	return event;
}

static u64 task_base_time(const struct task *task)
{
	return max(task->birth, task->process->base_time);
}

/* Give @event a sample id with the task, and with the time of its BASE view. */
static void stamp(struct batch *batch, union perf_event *event, const struct task *task)
{
	id_format__stamp(&batch->state->format, (void *)event + event->header.size,
			 process__pid(task->process), task->tid, task_base_time(task));
}

/* COMM, NAMESPACES, MMAP and MMAP2 have pid and tid at the same offsets. */
static union perf_event *write_copy(struct batch *batch, const struct sb_record *record,
				    const struct task *task)
{
	union perf_event *event = batch__copy(batch, record);

	event->comm.pid = process__pid(task->process);
	event->comm.tid = task->tid;
	stamp(batch, event, task);
	return event;
}

/*
 * Return: the pid of the parent if it names the leader of a process that the file has, otherwise
 * -1. If it were the tid of a thread of another process by now, a reader would take the record for
 * an error, and forget that thread.
 */
static u32 find_parent(const struct tasks *tasks, const struct task *task)
{
	struct task *parent;

	if (!task__is_leader(task))
		return process__pid(task->process);
	if (!hashmap__find(&tasks->by_tid, task->ppid, &parent) || !task__is_leader(parent) ||
	    parent == task)
		return -1;
	return task->ppid;
}

/*
 * PERF_RECORD_MISC_FORK_EXEC makes a reader forget its data of this tid, and copy no maps of the
 * parent.
 */
static void write_fork(struct batch *batch, const struct task *task)
{
	const struct perf_event_header header = {
		.type = PERF_RECORD_FORK,
		.misc = PERF_RECORD_MISC_FORK_EXEC,
		.size = sizeof(struct perf_record_fork) + batch->state->format.size,
	};
	union perf_event *event = batch__reserve(batch, &header);

	event->fork.pid = process__pid(task->process);
	event->fork.tid = task->tid;
	event->fork.ppid = event->fork.ptid = find_parent(&batch->state->tasks, task);
	event->fork.time = task_base_time(task);
	stamp(batch, event, task);
}

struct map_arg {
	struct batch		*batch;
	const struct task	*leader;
};

static void write_map(void *arg, const struct mapping *map)
{
	const struct map_arg *to = arg;
	struct perf_record_mmap *mmap = &write_copy(to->batch, map->record, to->leader)->mmap;

	mmap->pgoff += map->start - mmap->start;
	mmap->start = map->start;
	mmap->len = map->end - map->start;
}

static void write_maps(struct batch *batch, const struct task *leader)
{
	struct map_arg to = { batch, leader };

	mapset__visit(leader->process->maps[BASE], write_map, &to);
}

static void write_task(struct batch *batch, struct task *task)
{
	union perf_event *event;

	write_fork(batch, task);
	if (task->namespaces[BASE])
		write_copy(batch, task->namespaces[BASE], task);
	if (task->comm[BASE]) {
		event = write_copy(batch, task->comm[BASE], task);
		event->header.misc &= ~PERF_RECORD_MISC_COMM_EXEC;
	}
	if (task__is_leader(task))
		write_maps(batch, task);
	if (!batch->all)
		task->file = batch->state->file;
}

/* Records that the file may have already must not be older than what follows them there. */
static void write_again(struct batch *batch, const struct sb_record *record)
{
	const struct state *state = batch->state;
	union perf_event *event = batch__copy(batch, record);
	struct sb_origin who = id_format__read(&state->format, record);

	id_format__stamp(&state->format, (void *)event + event->header.size, who.pid, who.tid,
			 state->horizon);
}

static void write_system_wide(struct batch *batch)
{
	const struct state *state = batch->state;
	struct system_wide_record *entry;

	system_wide__for_each(&batch->state->system_wide, entry) {
		if (batch->all) {
			batch__copy(batch, entry->record);
			continue;
		}
		if (entry->file == state->file)
			continue;
		if (state->rewritten && entry->record->time < state->horizon)
			write_again(batch, entry->record);
		else
			batch__copy(batch, entry->record);
		entry->file = state->file;
	}
}

/*
 * Write tasks whose BASE view has a time up to @until. Write the leader of a process first, because
 * a reader attributes the maps to it.
 */
static void write_base(struct batch *batch, u64 until)
{
	struct process *process;
	struct task *task;

	tasks__for_each_process(&batch->state->tasks, process) {
		process__for_each_task(process, task) {
			if (!task->fork_logged &&
			    (batch->all || task->file != batch->state->file) &&
			    task_base_time(task) <= until)
				write_task(batch, task);
		}
	}
}

static void write_entry(struct batch *batch, struct log_entry *entry)
{
	struct state *state = batch->state;

	if ((!batch->all && entry->file == state->file) ||
	    entry->record->header.type == PERF_RECORD_EXIT)
		return;
	batch__copy(batch, entry->record);
	if (batch->all)
		return;
	entry->file = state->file;
	if (entry->task && entry->record->header.type == PERF_RECORD_FORK)
		entry->task->file = state->file;
}

static bool visit_entry(void *arg, struct log_entry *entry, bool applied __maybe_unused)
{
	write_entry(arg, entry);
	return true;
}

struct until {
	struct batch	*batch;
	u64		 time;
};

static bool visit_entry_until(void *arg, struct log_entry *entry, bool applied)
{
	const struct until *until = arg;

	if (!applied || entry->record->time > until->time)
		return false;
	write_entry(until->batch, entry);
	return true;
}

/* Late records may be put before @next: state__write() finds them. */
int state__write_until(struct state *state, u64 time, size_t *next, bool *complete,
		       state_write_t write, void *arg)
{
	struct batch batch = { .state = state, .write = write, .arg = arg };
	struct until until = { &batch, time };

	if (!*next)
		write_system_wide(&batch);
	write_base(&batch, time);
	*next = state_log__visit(&state->log, *next, visit_entry_until, &until);
	batch__flush(&batch);
	*complete = time <= state->final_time;
	return batch.err;
}

static int write_all(struct batch *batch)
{
	write_system_wide(batch);
	write_base(batch, UINT64_MAX);
	state_log__visit(&batch->state->log, 0, visit_entry, batch);
	batch__flush(batch);
	return batch->err;
}

int state__write(struct state *state, state_write_t write, void *arg)
{
	struct batch batch = { .state = state, .write = write, .arg = arg };

	return write_all(&batch);
}

int state__dump(struct state *state, state_write_t write, void *arg)
{
	struct batch batch = { .state = state, .all = true, .write = write, .arg = arg };

	return write_all(&batch);
}
