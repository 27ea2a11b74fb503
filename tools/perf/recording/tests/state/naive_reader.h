/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Read records of a file as simply as possible, and resolve samples.
 *
 * All tasks are in a table. Each record is applied in the order of time.
 */
#ifndef PERF_RECORDING_TESTS_NAIVE_READER_H
#define PERF_RECORDING_TESTS_NAIVE_READER_H

#include "history.h"

#define READER_TASKS	64
#define READER_MAPS	512

struct reader_map {
	u64	start;
	u64	end;
	u64	pgoff;
	char	file[32];
};

struct reader_task {
	bool			used;
	u32			pid;
	u32			tid;
	char			comm[16];
	char			ns;
	int			nr_maps;
	struct reader_map	map[READER_MAPS];
};

struct reader {
	struct reader_task	task[READER_TASKS];
};

static inline void reader__begin(void *arg)
{
	struct reader *reader = arg;
	int i;

	for (i = 0; i < READER_TASKS; i++)
		reader->task[i].used = false;
}

static inline struct reader_task *reader__find(struct reader *reader, u32 tid)
{
	int i;

	for (i = 0; i < READER_TASKS; i++) {
		if (reader->task[i].used && reader->task[i].tid == tid)
			return &reader->task[i];
	}
	return NULL;
}

static inline struct reader_task *reader__findnew(struct reader *reader, u32 pid, u32 tid)
{
	struct reader_task *task = reader__find(reader, tid);
	int i;

	for (i = 0; !task && i < READER_TASKS; i++) {
		if (!reader->task[i].used)
			task = &reader->task[i];
	}
	if (!task)
		abort();
	if (task->used && task->pid == pid)
		return task;
	*task = (struct reader_task){ .used = true, .pid = pid, .tid = tid };
	return task;
}

static inline void reader__fork(struct reader *reader, const struct perf_record_fork *fork)
{
	struct reader_task *parent = reader__findnew(reader, fork->ppid, fork->ptid);
	struct reader_task *leader, *old = reader__find(reader, fork->tid), *task;

	if (old && old != parent)
		old->used = false;
	task = reader__findnew(reader, fork->pid, fork->tid);
	memcpy(task->comm, parent->comm, sizeof(task->comm));
	if (fork->pid == fork->ppid || (fork->header.misc & PERF_RECORD_MISC_FORK_EXEC))
		return;
	leader = reader__findnew(reader, fork->ppid, fork->ppid);
	memcpy(task->map, leader->map, sizeof(task->map));
	task->nr_maps = leader->nr_maps;
}

/* Maps are not cut: the newest one that covers an address counts. */
static inline void reader__mmap(struct reader *reader, const struct perf_record_mmap2 *mmap)
{
	struct reader_task *leader = reader__findnew(reader, mmap->pid, mmap->pid);
	struct reader_map *map;

	if (leader->nr_maps == READER_MAPS) {
		memmove(leader->map, leader->map + READER_MAPS / 2, sizeof(leader->map) / 2);
		leader->nr_maps /= 2;
	}
	map = &leader->map[leader->nr_maps++];
	*map = (struct reader_map){ mmap->start, mmap->start + mmap->len, mmap->pgoff };
	snprintf(map->file, sizeof(map->file), "%.31s", mmap->filename);
}

static inline void reader__event(void *arg, union perf_event *event, u64 time)
{
	struct reader *reader = arg;
	struct reader_task *task;

	(void)time;
	switch (event->header.type) {
	case PERF_RECORD_FORK:
		reader__fork(reader, &event->fork);
		break;
	case PERF_RECORD_EXIT:
		task = reader__find(reader, event->fork.tid);
		if (task)
			task->used = false;
		break;
	case PERF_RECORD_COMM:
		task = reader__findnew(reader, event->comm.pid, event->comm.tid);
		snprintf(task->comm, sizeof(task->comm), "%s", event->comm.comm);
		break;
	case PERF_RECORD_NAMESPACES:
		task = reader__findnew(reader, event->namespaces.pid, event->namespaces.tid);
		task->ns = event->namespaces.link_info[0].ino;
		break;
	case PERF_RECORD_MMAP2:
		reader__mmap(reader, &event->mmap2);
		break;
	default:
		break;
	}
}

static inline void reader__resolve(void *arg, u32 pid, u32 tid, u64 addr, char *comm, char *file,
				   u64 *offset)
{
	const struct reader_task *task = reader__find(arg, tid), *leader = reader__find(arg, pid);
	int i;

	strcpy(comm, task && task->pid == pid ? task->comm : "");
	*file = '\0';
	for (i = leader ? leader->nr_maps - 1 : -1; i >= 0; i--) {
		const struct reader_map *map = &leader->map[i];

		if (addr < map->start || addr >= map->end)
			continue;
		strcpy(file, map->file);
		*offset = addr - map->start + map->pgoff;
		return;
	}
}

static struct reader the_reader;

#endif
