/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Run random histories of a simulated system, to test the live state (recording/state/state.h).
 *
 * The tasks of the system fork, start threads, call exec, map and unmap, change their names, exit,
 * and reuse tids. Each such event emits a side-band record on one of several CPUs. Samples of the
 * tasks, for which the true name and map are known, lie in overwrite rings of a few samples. The
 * recorder does one of these at random times:
 *
 * - It adds the records that were published so far to a state.
 * - It collects, with the references from the rings.
 * - It takes a snapshot: the state and the samples are written to a file, and a reader of the file
 *   must resolve each sample to the true name and map.
 *
 * The caller provides the reader: naive_reader.h, or util's own in tools/perf/tests/record-state.c.
 */
#ifndef PERF_RECORDING_TESTS_HISTORY_H
#define PERF_RECORDING_TESTS_HISTORY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "history_system.h"
#include "recording/lib/records.h"
#include "recording/state/state.h"
#include "recording/state/task_refs.h"

/* The caller's reader. Without one files are written and not checked. */
struct history_reader {
	/* begin to read a file */
	void (*begin)(void *reader);
	/* read the next record, in the order of time */
	void (*event)(void *reader, union perf_event *event, u64 time);
	/* resolve an address of a task at the time of the last record; names are "" if unknown */
	void (*resolve)(void *reader, u32 pid, u32 tid, u64 addr, char *comm, char *file,
			u64 *offset);
	void *reader;
};

static struct history *history__of_read_maps;

static inline int history__by_address(const void *a, const void *b)
{
	const struct mapped_range *x = a, *y = b;

	return x->start < y->start ? -1 : 1;
}

static inline struct proc_maps *history__read_maps(u32 tid)
{
	struct history_task *task = &history__of_read_maps->task[tid - HISTORY_FIRST_TID], *leader;
	struct proc_maps *proc_maps;
	int i;

	if (task->state != ALIVE)
		return NULL;
	leader = history__leader(history__of_read_maps, task);
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

/* Read the rings of all CPUs. Records that are younger than @lag may not be published yet [ns]. */
static inline void history__round(struct history *history, u64 lag)
{
	int cpu;

	for (cpu = 0; cpu < HISTORY_CPUS; cpu++) {
		struct history_list *list = &history->cpu[cpu];
		u64 published = history->now - (lag ? history__random(history, lag) : 0);
		size_t i;

		for (i = 0; i < list->nr && list->record[i].time <= published; i++) {
			struct records run = records__of(list->record[i].bytes,
							 list->record[i].size);

			state__add(&history->state, &run);
			free(list->record[i].bytes);
		}
		if (i)
			memmove(list->record, list->record + i,
				(list->nr - i) * sizeof(*list->record));
		list->nr -= i;
	}
	state__end_round(&history->state);
	history__of_read_maps = history;
	state__find_stale_maps(&history->state, history__read_maps);
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
	size_t pos, size, i;

	for (i = 0; i < len; i++)
		history->written = (history->written ^ ((const unsigned char *)records)[i]) *
				   0x100000001b3ULL;
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

/* Read the records of the file in the order of time, as readers do. Check samples in between. */
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

/* Samples of earlier snapshots in the same file must still resolve, so check them again. */
static inline void history__snapshot(struct history *history, struct history_reader *reader)
{
	u64 final_time = history->state.final_time;
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
		state__forget(&history->state, final_time);
		state__begin_file(&history->state, false);
		history_list__clear(&history->file);
		history->nr = 0;
	}
}

/* Begin with a synthesized record of init. */
static inline void history__begin(struct history *history, u64 seed, size_t max_unpacked)
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
	history->state.log.max_unpacked = max_unpacked;
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

/*
 * Entries of the log are packed when there are more than @max_unpacked.
 *
 * Return: number of samples that did not resolve correctly.
 */
static inline u64 history__run_packing(struct history *history, u64 seed, int steps,
				       size_t max_unpacked, struct history_reader *reader)
{
	history__begin(history, seed, max_unpacked);
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

static inline u64 history__run(struct history *history, u64 seed, int steps,
			       struct history_reader *reader)
{
	return history__run_packing(history, seed, steps, HISTORY_MAX_UNPACKED, reader);
}

#endif
