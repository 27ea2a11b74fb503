/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Simulate a small system that emits side-band records and samples, for history.h.
 */
#ifndef PERF_RECORDING_TESTS_HISTORY_SYSTEM_H
#define PERF_RECORDING_TESTS_HISTORY_SYSTEM_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <perf/event.h>
#include "recording/state/state.h"
#include "../random.h"

#define HISTORY_CPUS		3
#define HISTORY_TASKS		48
#define HISTORY_MAPS		64
#define HISTORY_RING		24
#define HISTORY_MSEC		1000000ULL
#define HISTORY_FIRST_TID	5000000	/* above pid_max: no such task exists */
#define HISTORY_SAMPLE_TYPE	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | \
				 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)
#define HISTORY_ID_SIZE		40
#define HISTORY_ID		4711
#define HISTORY_MIN_PRUNE_THRESHOLD 4	/* tasks of these histories have few maps */
#define HISTORY_MAX_UNPACKED	4	/* ... and few records */

struct history_map {
	u64	start;
	u64	len;
	u64	pgoff;
	u32	file;
};

/* A task of the simulated system. Tasks with the same pid use the maps of their leader. */
struct history_task {
	enum { FREE, ALIVE, DYING } state;
	u32			pid;
	u32			tid;
	u32			comm;
	u64			died;
	struct history_map	map[HISTORY_MAPS];
	int			nr_maps;
};

struct history_sample {
	u64	time;
	u32	pid;
	u32	tid;
	u64	addr;
	u32	comm;
	u32	file;		/* 0: @addr is in no map, such as an address in the kernel */
	u64	offset;
};

struct history_record {
	u64			 time;
	bool			 in_file;
	size_t			 size;
	unsigned char		*bytes;
};

/* Records of a CPU that are not added to the state yet, or records of a file. */
struct history_list {
	struct history_record	*record;
	size_t			 nr;
	size_t			 capacity;
};

struct history {
	u64			 random;
	u64			 now;
	u32			 names;
	struct history_task	 task[HISTORY_TASKS];
	struct history_list	 cpu[HISTORY_CPUS];
	struct history_sample	 ring[HISTORY_CPUS][HISTORY_RING];
	int			 nr_samples[HISTORY_CPUS];
	struct history_list	 file;
	u64			 written;	/* hash of all that was written to files */
	struct history_sample	*sample;	/* samples in the file */
	size_t			 nr;
	struct state		 state;
	u64			 checked;
	u64			 in_maps;
	u64			 failed;
};

static inline u64 history__random(struct history *history, u64 below)
{
	return random_below(&history->random, below);
}

static inline void history_list__add(struct history_list *list, u64 time, const void *bytes,
				     size_t size)
{
	struct history_record *record;

	if (list->nr == list->capacity) {
		list->capacity = list->capacity * 2 ?: 64;
		list->record = realloc(list->record, list->capacity * sizeof(*list->record));
		if (!list->record)
			abort();
	}
	record = &list->record[list->nr++];
	*record = (struct history_record){ .time = time, .size = size, .bytes = malloc(size) };
	if (!record->bytes)
		abort();
	memcpy(record->bytes, bytes, size);
}

static inline void history_list__clear(struct history_list *list)
{
	size_t i;

	for (i = 0; i < list->nr; i++)
		free(list->record[i].bytes);
	list->nr = 0;
}

static inline void history__format(struct id_format *format)
{
	const u64 sample[ID_SAMPLE_WORDS] = { 0, 0, HISTORY_ID, (u32)-1, HISTORY_ID };

	if (!id_format__init(format, HISTORY_SAMPLE_TYPE, sample))
		abort();
}

static inline u64 history__time_of(const union perf_event *event)
{
	u64 time;

	memcpy(&time, (void *)event + event->header.size - HISTORY_ID_SIZE + sizeof(u64),
	       sizeof(time));
	return time;
}

static inline void history__emit(struct history *history, void *body, u32 type, u16 misc,
				 size_t size, u32 pid, u32 tid)
{
	union {
		struct perf_event_header header;
		unsigned char		 bytes[512];
	} record;
	struct id_format format;
	int cpu = history__random(history, HISTORY_CPUS);

	size = (size + 7) & ~7;
	memcpy(&record, body, size);
	size += HISTORY_ID_SIZE;
	record.header = (struct perf_event_header){ .type = type, .misc = misc, .size = size };
	history__format(&format);
	id_format__stamp(&format, record.bytes + size, pid, tid, history->now);
	history_list__add(&history->cpu[cpu], history->now, &record, size);
	history->now += 1 + history__random(history, 1000);
}

static inline void history__task_event(struct history *history, u32 type,
				       const struct history_task *task,
				       const struct history_task *parent)
{
	struct perf_record_fork fork = {
		.pid = task->pid, .tid = task->tid,
		.ppid = parent->pid, .ptid = parent->tid, .time = history->now,
	};

	history__emit(history, &fork, type, 0, sizeof(fork), parent->pid, parent->tid);
}

static inline void history__comm_event(struct history *history, const struct history_task *task,
				       u16 misc)
{
	struct perf_record_comm comm = { .pid = task->pid, .tid = task->tid };

	snprintf(comm.comm, sizeof(comm.comm), "c%u", task->comm);
	history__emit(history, &comm, PERF_RECORD_COMM, misc, sizeof(comm), task->pid, task->tid);
}

static inline struct history_task *history__leader(struct history *history,
						   const struct history_task *task)
{
	int i;

	for (i = 0; i < HISTORY_TASKS; i++) {
		if (history->task[i].state != FREE && history->task[i].tid == task->pid)
			return &history->task[i];
	}
	abort();
}

/* Return: a random task that is alive; NULL if the random one is not. */
static inline struct history_task *history__some(struct history *history)
{
	struct history_task *task = &history->task[history__random(history, HISTORY_TASKS)];

	return task->state == ALIVE ? task : NULL;
}

static inline struct history_task *history__new_task(struct history *history)
{
	struct history_task *task = &history->task[history__random(history, HISTORY_TASKS)];

	if (task->state != FREE)
		return NULL;
	task->tid = HISTORY_FIRST_TID + (task - history->task);
	task->state = ALIVE;
	return task;
}

static inline void history__fork(struct history *history, bool thread)
{
	struct history_task *parent = history__some(history), *task, *leader;

	if (!parent)
		return;
	task = history__new_task(history);
	if (!task)
		return;
	leader = history__leader(history, parent);
	task->comm = parent->comm;
	task->pid = thread ? parent->pid : task->tid;
	if (!thread) {
		memcpy(task->map, leader->map, sizeof(task->map));
		task->nr_maps = leader->nr_maps;
	}
	history__task_event(history, PERF_RECORD_FORK, task, parent);
}

static inline void history__mmap(struct history *history, struct history_task *task)
{
	struct history_task *leader = history__leader(history, task);
	struct history_map new = {
		.start = 0x10000 + history__random(history, 64) * 0x1000,
		.len = (1 + history__random(history, 8)) * 0x1000,
		.pgoff = history__random(history, 16) * 0x1000,
		.file = 1 + history__random(history, 1000000),
	};
	struct perf_record_mmap2 mmap = {
		.pid = task->pid, .tid = task->tid,
		.start = new.start, .len = new.len, .pgoff = new.pgoff,
		.prot = 5, .flags = 2,
	};
	struct history_map left[HISTORY_MAPS * 2];
	int nr = 0, i, len;

	for (i = 0; i < leader->nr_maps; i++) {
		const struct history_map *old = &leader->map[i];
		u64 end = old->start + old->len, new_end = new.start + new.len;

		if (old->start < new.start) {
			left[nr] = *old;
			left[nr++].len = min(end, new.start) - old->start;
		}
		if (end > new_end) {
			u64 start = max(old->start, new_end);

			left[nr] = *old;
			left[nr].start = start;
			left[nr].len = end - start;
			left[nr++].pgoff = old->pgoff + (start - old->start);
		}
	}
	if (nr + 1 > HISTORY_MAPS)
		return;
	left[nr++] = new;
	memcpy(leader->map, left, nr * sizeof(*left));
	leader->nr_maps = nr;

	len = snprintf(mmap.filename, sizeof(mmap.filename), "/nowhere/%u", new.file) + 1;
	history__emit(history, &mmap, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER,
		      offsetof(struct perf_record_mmap2, filename) + len, task->pid, task->tid);
}

/* Emits no record. */
static inline void history__munmap(struct history *history, struct history_task *task)
{
	struct history_task *leader = history__leader(history, task);
	int unmapped;

	if (!leader->nr_maps)
		return;
	unmapped = history__random(history, leader->nr_maps--);
	leader->map[unmapped] = leader->map[leader->nr_maps];
}

static inline void history__exit(struct history *history, struct history_task *task)
{
	history__task_event(history, PERF_RECORD_EXIT, task, task);
	task->state = DYING;
	task->died = history->now;
}

static inline void history__exit_others(struct history *history, struct history_task *task)
{
	int i;

	for (i = 0; i < HISTORY_TASKS; i++) {
		struct history_task *other = &history->task[i];

		if (other != task && other->state == ALIVE && other->pid == task->pid)
			history__exit(history, other);
	}
}

/* The caller becomes the leader. No record says that its own tid ends. */
static inline void history__exec(struct history *history)
{
	struct history_task *task = history__some(history), *leader;
	int i, maps;

	if (!task)
		return;
	leader = history__leader(history, task);
	history__exit_others(history, task);
	if (task != leader) {
		task->state = FREE;
		leader->state = ALIVE;
	}
	leader->comm = ++history->names;
	leader->nr_maps = 0;
	history__comm_event(history, leader, PERF_RECORD_MISC_COMM_EXEC);
	maps = history__random(history, 4);
	for (i = 0; i < maps; i++)
		history__mmap(history, leader);
}

static inline void history__one_exit(struct history *history)
{
	struct history_task *task = history__some(history);

	/* Task 0 is init. */
	if (!task || task->pid == HISTORY_FIRST_TID)
		return;
	if (history__random(history, 3))
		history__exit_others(history, task);
	history__exit(history, task);
}

/* Free tasks that have been exiting for long enough, leaders only when they have no threads. */
static inline void history__reap(struct history *history)
{
	int i, j;

	for (i = 0; i < HISTORY_TASKS; i++) {
		struct history_task *task = &history->task[i];
		bool has_threads = false;

		if (task->state != DYING || history->now < task->died + 300 * HISTORY_MSEC)
			continue;
		for (j = 0; j < HISTORY_TASKS; j++) {
			if (j != i && history->task[j].state != FREE &&
			    history->task[j].pid == task->tid)
				has_threads = true;
		}
		if (!has_threads)
			task->state = FREE;
	}
}

static inline void history__sample(struct history *history)
{
	struct history_task *task = &history->task[history__random(history, HISTORY_TASKS)];
	int cpu = history__random(history, HISTORY_CPUS);
	struct history_sample *ring = history->ring[cpu], *sample;
	const struct history_task *leader;
	const struct history_map *map;

	if (task->state == FREE ||
	    (task->state == DYING && history->now > task->died + 300 * HISTORY_MSEC))
		return;
	leader = history__leader(history, task);
	if (history->nr_samples[cpu] == HISTORY_RING)
		memmove(ring, ring + 1, --history->nr_samples[cpu] * sizeof(*ring));
	sample = &ring[history->nr_samples[cpu]++];
	*sample = (struct history_sample){ .time = history->now++, .pid = task->pid,
					   .tid = task->tid, .comm = task->comm };
	if (task->state == ALIVE && leader->nr_maps) {
		map = &leader->map[history__random(history, leader->nr_maps)];
		sample->addr = map->start + history__random(history, map->len);
		sample->file = map->file;
		sample->offset = sample->addr - map->start + map->pgoff;
	}
}

static inline void history__step(struct history *history)
{
	struct history_task *task;

	history__reap(history);
	switch (history__random(history, 16)) {
	case 0 ... 2:
		history__fork(history, false);
		break;
	case 3:
		history__fork(history, true);
		break;
	case 4 ... 5:
		history__exec(history);
		break;
	case 6 ... 7:
		task = history__some(history);
		if (task)
			history__mmap(history, task);
		if (task && !history__random(history, 2))
			history__munmap(history, task);
		break;
	case 8:
		task = history__some(history);
		if (task) {
			task->comm = ++history->names;
			history__comm_event(history, task, 0);
		}
		break;
	case 9 ... 10:
		history__one_exit(history);
		break;
	case 11 ... 14:
		history__sample(history);
		break;
	default:
		history->now += history__random(history, 1000 * HISTORY_MSEC);
		break;
	}
}

#endif
