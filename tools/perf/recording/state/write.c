// SPDX-License-Identifier: GPL-2.0-only
/* The live state as the records of a file. */
#include <stdint.h>
#include <string.h>
#include <linux/kernel.h>
#include "mapset.h"
#include "state.h"

/* Collects records, so that not each of them is a system call. A record is no longer than 64 kB. */
struct writer {
	struct state	*state;
	state_write_t	 write;
	void		*arg;
	int		 err;
	size_t		 len;
	u64		 buf[(UINT16_MAX + 1) / sizeof(u64)];
};

static void writer__flush(struct writer *writer)
{
	if (!writer->err && writer->len)
		writer->err = writer->write(writer->arg, writer->buf, writer->len);
	writer->len = 0;
}

/* Returns a record to be filled in, of which the header is there. */
static union perf_event *writer__add(struct writer *writer, const struct perf_event_header *header)
{
	union perf_event *event;

	if (writer->len + header->size > sizeof(writer->buf))
		writer__flush(writer);
	event = (void *)writer->buf + writer->len;
	writer->len += header->size;
	event->header = *header;
	return event;
}

static union perf_event *writer__copy(struct writer *writer, const struct sb_record *record)
{
	union perf_event *event = writer__add(writer, &record->header);

	memcpy(event, &record->header, record->header.size);
	return event;
}

static u64 base_time(const struct task *task)
{
	return max(task->birth, task->process->base_time);
}

/* Makes the record this task's, at the time of its BASE view. */
static void stamp(struct writer *writer, union perf_event *event, const struct task *task)
{
	id_format__stamp(&writer->state->format, (void *)event + event->header.size,
			 task->process->pid, task->tid, base_time(task));
}

/* pid and tid are at the same place in COMM, NAMESPACES and the MMAPs. */
static union perf_event *write_copy(struct writer *writer, const struct sb_record *record,
				    const struct task *task)
{
	union perf_event *event = writer__copy(writer, record);

	event->comm.pid = task->process->pid;
	event->comm.tid = task->tid;
	stamp(writer, event, task);
	return event;
}

/*
 * The parent named is a leader that the file knows, or none: a reader would take a thread that has
 * got the tid of another process's task since for an error, and forget it.
 */
static u32 known_parent(const struct tasks *tasks, const struct task *task)
{
	struct task *parent;

	if (!task__is_leader(task))
		return task->process->pid;
	if (!hashmap__find(&tasks->by_tid, task->ppid, &parent) || !task__is_leader(parent) ||
	    parent == task)
		return -1;
	return task->ppid;
}

/*
 * With PERF_RECORD_MISC_FORK_EXEC a reader forgets what it knows of this tid, and copies no maps.
 */
static void write_fork(struct writer *writer, const struct task *task)
{
	const struct perf_event_header header = {
		.type = PERF_RECORD_FORK,
		.misc = PERF_RECORD_MISC_FORK_EXEC,
		.size = sizeof(struct perf_record_fork) + writer->state->format.size,
	};
	union perf_event *event = writer__add(writer, &header);

	event->fork.pid = task->process->pid;
	event->fork.tid = task->tid;
	event->fork.ppid = event->fork.ptid = known_parent(&writer->state->tasks, task);
	event->fork.time = base_time(task);
	stamp(writer, event, task);
}

struct map_writer {
	struct writer		*writer;
	const struct task	*leader;
};

static void write_map(void *arg, const struct mapping *map)
{
	const struct map_writer *to = arg;
	struct perf_record_mmap *mmap = &write_copy(to->writer, map->record, to->leader)->mmap;

	mmap->pgoff += map->start - mmap->start;
	mmap->start = map->start;
	mmap->len = map->end - map->start;
}

static void write_maps(struct writer *writer, const struct task *leader)
{
	struct map_writer to = { writer, leader };

	mapset__visit(leader->process->maps[BASE], write_map, &to);
}

static void write_task(struct writer *writer, struct task *task)
{
	union perf_event *event;

	write_fork(writer, task);
	if (task->namespaces[BASE])
		write_copy(writer, task->namespaces[BASE], task);
	if (task->comm[BASE]) {
		event = write_copy(writer, task->comm[BASE], task);
		event->header.misc &= ~PERF_RECORD_MISC_COMM_EXEC;
	}
	if (task__is_leader(task))
		write_maps(writer, task);
	task->file = writer->state->file;
}

static void write_globals(struct writer *writer)
{
	struct global *global;

	system_wide__for_each(&writer->state->system_wide, global) {
		if (global->file == writer->state->file)
			continue;
		writer__copy(writer, global->record);
		global->file = writer->state->file;
	}
}

/* Of a process the leader comes first, which a reader gives the maps to. */
static void write_base(struct writer *writer)
{
	struct process *process;
	struct task *task;

	tasks__for_each_process(&writer->state->tasks, process) {
		process__for_each_task(process, task) {
			if (!task->fork_logged && task->file != writer->state->file)
				write_task(writer, task);
		}
	}
}

static void write_log(struct writer *writer)
{
	struct state *state = writer->state;
	size_t i;

	for (i = 0; i < state->log.nr; i++) {
		struct log_entry *entry = &state->log.entries[i];

		if (entry->file == state->file || entry->record->header.type == PERF_RECORD_EXIT)
			continue;
		writer__copy(writer, entry->record);
		entry->file = state->file;
		if (entry->task && entry->record->header.type == PERF_RECORD_FORK)
			entry->task->file = state->file;
	}
}

int state__write(struct state *state, state_write_t write, void *arg)
{
	struct writer writer = { .state = state, .write = write, .arg = arg };

	write_globals(&writer);
	write_base(&writer);
	write_log(&writer);
	writer__flush(&writer);
	return writer.err;
}
