/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random histories of a small system, for tests of the live state (../state.h).
 *
 * A system forks, starts threads, executes, maps, renames, exits and uses tids again, and says so
 * in records of the tracking channel, on one of several CPUs each. Samples are taken of it, of
 * which it is known what they must resolve to. They lie in overwrite rings of few samples. At
 * times the records that have been published are given to a state; at times it collects, with what
 * the rings refer to; at times there is a snapshot: the state and the samples go to a file, and a
 * reader of that file must resolve each sample to what it was.
 *
 * The reader is the caller's: state_test.c has a naive one, record-state.c util's own.
 */
#ifndef PERF_RECORDING_TESTS_HISTORY_H
#define PERF_RECORDING_TESTS_HISTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <perf/event.h>
#include "recording/state/task_refs.h"
#include "recording/lib/records.h"
#include "recording/state/state.h"

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

/* What the caller's reader does. Without a reader nobody looks what the file says. */
struct history_reader {
	/* a new file */
	void (*begin)(void *reader);
	/* records come in the order of their times */
	void (*event)(void *reader, union perf_event *event, u64 time);
	/* what does the address of the task resolve to now? Names are "" if it does not. */
	void (*resolve)(void *reader, u32 pid, u32 tid, u64 addr, char *comm, char *file,
			u64 *offset);
	void *reader;
};

struct history_map {
	u64	start;
	u64	len;
	u64	pgoff;
	u32	file;
};

/* A task of the simulated system. Those with the same pid have the maps of the leader. */
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
	u32	file;		/* 0: in no map, as in the kernel */
	u64	offset;
};

struct history_record {
	u64			 time;
	bool			 in_file;
	size_t			 size;
	unsigned char		*bytes;
};

/* Records of a CPU that the state has not seen, or those of a file. */
struct history_list {
	struct history_record	*record;
	size_t			 nr;
	size_t			 room;
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
	struct history_sample	*sample;	/* in the file */
	size_t			 nr;
	struct state		 state;
	u64			 checked;
	u64			 in_maps;
	u64			 failed;
};

static inline u64 history__random(struct history *history, u64 below)
{
	history->random ^= history->random << 13;
	history->random ^= history->random >> 7;
	history->random ^= history->random << 17;
	return history->random % below;
}

static inline void history_list__add(struct history_list *list, u64 time, const void *bytes,
				     size_t size)
{
	struct history_record *record;

	if (list->nr == list->room) {
		list->room = list->room * 2 ?: 64;
		list->record = realloc(list->record, list->room * sizeof(*list->record));
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

/*
 * The system and what it says
 */

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

/* A random task that is alive; NULL if it happens not to find one. */
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

/* Nobody is told. */
static inline void history__munmap(struct history *history, struct history_task *task)
{
	struct history_task *leader = history__leader(history, task);

	int gone;

	if (!leader->nr_maps)
		return;
	gone = history__random(history, leader->nr_maps--);
	leader->map[gone] = leader->map[leader->nr_maps];
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

/* Whoever calls it goes on as the leader; its own tid goes without a word. */
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

/* What takes long to die has died by now; a leader's tid stays with its threads. */
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

/*
 * The recorder
 */

static struct history *history__looked_up;

static inline int history__by_address(const void *a, const void *b)
{
	const struct mapped_range *x = a, *y = b;

	return x->start < y->start ? -1 : 1;
}

static inline struct proc_maps *history__look_up(u32 tid)
{
	struct history_task *task = &history__looked_up->task[tid - HISTORY_FIRST_TID], *leader;
	struct proc_maps *proc_maps;
	int i;

	if (task->state != ALIVE)
		return NULL;
	leader = history__leader(history__looked_up, task);
	proc_maps = malloc(sizeof(*proc_maps) + leader->nr_maps * sizeof(struct mapped_range));
	if (!proc_maps)
		abort();
	proc_maps->nr = leader->nr_maps;
	for (i = 0; i < leader->nr_maps; i++) {
		proc_maps->range[i] = (struct mapped_range){
			leader->map[i].start, leader->map[i].start + leader->map[i].len, true
		};
	}
	qsort(proc_maps->range, proc_maps->nr, sizeof(struct mapped_range), history__by_address);
	return proc_maps;
}

/* Reads the rings of all CPUs; what is younger than @lag may not have been published yet [ns]. */
static inline void history__round(struct history *history, u64 lag)
{
	int cpu;

	for (cpu = 0; cpu < HISTORY_CPUS; cpu++) {
		struct history_list *list = &history->cpu[cpu];
		u64 published = history->now - (lag ? history__random(history, lag) : 0);
		size_t i;

		for (i = 0; i < list->nr && list->record[i].time <= published; i++) {
			struct records run = records__of(list->record[i].bytes, list->record[i].size);

			state__add(&history->state, &run);
			free(list->record[i].bytes);
		}
		if (i)
			memmove(list->record, list->record + i,
				(list->nr - i) * sizeof(*list->record));
		list->nr -= i;
	}
	state__end_round(&history->state);
	history__looked_up = history;
	state__find_stale_maps(&history->state, history__look_up);
}

static inline void history__collect(struct history *history)
{
	struct task_refs refs;
	int cpu, i;

	task_refs__init(&refs);
	for (cpu = 0; cpu < HISTORY_CPUS; cpu++) {
		for (i = 0; i < history->nr_samples[cpu]; i++) {
			const struct history_sample *sample = &history->ring[cpu][i];

			task_refs__add(&refs, sample->pid, sample->tid, sample->time);
		}
	}
	state__collect(&history->state, &refs);
	task_refs__exit(&refs);
}

static inline int history__write(void *arg, const void *records, size_t len)
{
	struct history *history = arg;
	struct records run = records__of(records, len);
	struct perf_event_header header;
	size_t pos, size;

	for (pos = 0; (size = records__header(&run, pos, &header)); pos += size) {
		const union perf_event *event = records + pos;

		history_list__add(&history->file, history__time_of(event), event, size);
	}
	return pos == len ? 0 : -1;
}

static inline int history__by_time(const void *a, const void *b)
{
	const struct history_record *const *x = a, *const *y = b;

	if ((*x)->time != (*y)->time)
		return (*x)->time < (*y)->time ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

static inline void history__check_sample(struct history *history,
					 const struct history_sample *sample,
					 struct history_reader *reader)
{
	char comm[64], file[64], true_comm[64], true_file[64];
	u64 offset = 0;
	bool ok;

	reader->resolve(reader->reader, sample->pid, sample->tid, sample->addr, comm, file,
			&offset);
	snprintf(true_comm, sizeof(true_comm), "c%u", sample->comm);
	snprintf(true_file, sizeof(true_file), "/nowhere/%u", sample->file);
	ok = !strcmp(comm, true_comm);
	if (sample->file)
		ok = ok && !strcmp(file, true_file) && offset == sample->offset;
	history->checked++;
	history->in_maps += sample->file != 0;
	if (ok)
		return;
	if (!history->failed++)
		printf("# %u/%u at %llu addr %llx: comm %s, not %s; file %s+%llx, not %s+%llx\n",
		       sample->pid, sample->tid, (unsigned long long)sample->time,
		       (unsigned long long)sample->addr, comm, true_comm,
		       file, (unsigned long long)offset,
		       sample->file ? true_file : "any", (unsigned long long)sample->offset);
}

static inline int history__older_sample(const void *a, const void *b)
{
	const struct history_sample *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/* A stable sort of all that the file has, as readers do it; samples in between. */
static inline void history__read(struct history *history, struct history_reader *reader)
{
	struct history_record **sorted = malloc((history->file.nr + 1) * sizeof(*sorted));
	const struct history_sample *sample = history->sample;
	size_t i, next = 0;

	if (!sorted)
		abort();
	for (i = 0; i < history->file.nr; i++)
		sorted[i] = &history->file.record[i];
	qsort(sorted, history->file.nr, sizeof(*sorted), history__by_time);

	reader->begin(reader->reader);
	for (i = 0; i < history->file.nr; i++) {
		while (next < history->nr && sample[next].time < sorted[i]->time)
			history__check_sample(history, &sample[next++], reader);
		reader->event(reader->reader, (union perf_event *)sorted[i]->bytes,
			      sorted[i]->time);
	}
	while (next < history->nr)
		history__check_sample(history, &sample[next++], reader);
	free(sorted);
}

/* The samples of earlier snapshots in the same file must still resolve, too. */
static inline void history__snapshot(struct history *history, struct history_reader *reader)
{
	u64 settled = history->state.final_time;
	int cpu;

	for (cpu = 0; cpu < HISTORY_CPUS; cpu++) {
		history->sample = realloc(history->sample, (history->nr + HISTORY_RING) *
					  sizeof(*history->sample));
		if (!history->sample)
			abort();
		memcpy(history->sample + history->nr, history->ring[cpu],
		       history->nr_samples[cpu] * sizeof(*history->sample));
		history->nr += history->nr_samples[cpu];
		history->nr_samples[cpu] = 0;
	}
	qsort(history->sample, history->nr, sizeof(*history->sample), history__older_sample);

	history__round(history, 0);
	if (state__write(&history->state, history__write, history))
		abort();
	if (reader)
		history__read(history, reader);

	if (history__random(history, 2)) {
		state__forget(&history->state, settled);
		state__begin_file(&history->state, false);
		history_list__clear(&history->file);
		history->nr = 0;
	}
}

/* Begins with init, synthesized. */
static inline void history__begin(struct history *history, u64 seed)
{
	struct perf_record_comm comm = {
		.header = { .type = PERF_RECORD_COMM, .size = sizeof(comm) },
		.pid = HISTORY_FIRST_TID, .tid = HISTORY_FIRST_TID, .comm = "c0",
	};
	struct history_task *init = &history->task[0];
	struct id_format format;

	memset(history, 0, sizeof(*history));
	history->random = seed * 0x9e3779b97f4a7c15ULL + 1;
	history->now = 5000 * HISTORY_MSEC;
	history__format(&format);
	state__init(&history->state, &format);
	history->state.tasks.min_prune_threshold = HISTORY_MIN_PRUNE_THRESHOLD;
	init->state = ALIVE;
	init->pid = init->tid = HISTORY_FIRST_TID;
	state__add_synthesized(&history->state, (union perf_event *)&comm, 0);
}

static inline void history__end(struct history *history)
{
	int cpu;

	for (cpu = 0; cpu < HISTORY_CPUS; cpu++) {
		history_list__clear(&history->cpu[cpu]);
		free(history->cpu[cpu].record);
	}
	history_list__clear(&history->file);
	free(history->file.record);
	free(history->sample);
	state__exit(&history->state);
}

/* Returns the number of samples that did not resolve. */
static inline u64 history__run(struct history *history, u64 seed, int steps,
			       struct history_reader *reader)
{
	history__begin(history, seed);
	while (steps--) {
		history__step(history);
		switch (history__random(history, 64)) {
		case 0 ... 7:
			history__round(history, 400 * HISTORY_MSEC);
			break;
		case 8 ... 9:
			history__collect(history);
			break;
		case 10:
			history__snapshot(history, reader);
			break;
		default:
			break;
		}
	}
	history__snapshot(history, reader);
	history__end(history);
	return history->failed;
}

#endif
