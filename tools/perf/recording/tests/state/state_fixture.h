/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Emit single side-band records to a live state, and read the file that it writes.
 */
#ifndef PERF_RECORDING_TESTS_STATE_FIXTURE_H
#define PERF_RECORDING_TESTS_STATE_FIXTURE_H

#include "naive_reader.h"

static struct state state;
static struct history_list file;		/* what the state wrote */
static u64 now;
static u32 sample_tid;			/* tid in the sample id of the next record */

static inline void begin(void)
{
	struct id_format format;

	history__format(&format);
	state__init(&state, &format);
	state.tasks.min_prune_threshold = HISTORY_MIN_PRUNE_THRESHOLD;
	state.log.max_unpacked = HISTORY_MAX_UNPACKED;
	now = 10 * SB_RECORD_DELAY_NS;
}

static inline void end(void)
{
	state__exit(&state);
	history_list__clear(&file);
}

static inline void emit(void *body, u32 type, u16 misc, size_t size, u64 time)
{
	union {
		struct perf_event_header header;
		unsigned char		 bytes[512];
	} record;
	struct records run;
	struct id_format format;

	size = (size + 7) & ~7;
	memcpy(&record, body, size);
	size += HISTORY_ID_SIZE;
	record.header = (struct perf_event_header){ .type = type, .misc = misc, .size = size };
	history__format(&format);
	id_format__stamp(&format, record.bytes + size, 0, sample_tid, time);
	run = records__of(&record, size);
	state__add(&state, &run);
}

static inline void emit_fork(u32 pid, u32 tid, u32 ppid, u32 ptid)
{
	struct perf_record_fork fork = { .pid = pid, .tid = tid, .ppid = ppid, .ptid = ptid };

	emit(&fork, PERF_RECORD_FORK, 0, sizeof(fork), now++);
}

static inline void emit_exit(u32 pid, u32 tid)
{
	struct perf_record_fork exit = { .pid = pid, .tid = tid, .ppid = 1, .ptid = 1 };

	emit(&exit, PERF_RECORD_EXIT, 0, sizeof(exit), now++);
}

static inline void emit_comm(u32 pid, u32 tid, const char *name, u16 misc)
{
	struct perf_record_comm comm = { .pid = pid, .tid = tid };

	strcpy(comm.comm, name);
	emit(&comm, PERF_RECORD_COMM, misc, sizeof(comm), now++);
}

static inline void emit_namespaces(u32 pid, u32 tid, u64 ino)
{
	struct {
		struct perf_record_namespaces	namespaces;
		struct perf_ns_link_info	link[2];
	} record = { .namespaces = { .pid = pid, .tid = tid, .nr_namespaces = 2 },
		     .link = { { .ino = ino } } };

	emit(&record, PERF_RECORD_NAMESPACES, 0, sizeof(record), now++);
}

static inline void emit_mmap(u32 pid, u64 start, u64 len, u64 pgoff, const char *name)
{
	struct perf_record_mmap2 mmap = { .pid = pid, .tid = pid, .start = start, .len = len,
					  .pgoff = pgoff };

	strcpy(mmap.filename, name);
	emit(&mmap, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER,
	     offsetof(struct perf_record_mmap2, filename) + strlen(name) + 1, now++);
}

static inline void emit_ksymbol(u64 addr, const char *name, u16 flags)
{
	struct perf_record_ksymbol ksymbol = { .addr = addr, .len = 64, .flags = flags };

	strcpy(ksymbol.name, name);
	emit(&ksymbol, PERF_RECORD_KSYMBOL, 0,
	     offsetof(struct perf_record_ksymbol, name) + strlen(name) + 1, now++);
}

static inline void emit_switch(void)
{
	struct perf_event_header nothing = { 0 };

	emit(&nothing, PERF_RECORD_SWITCH, 0, sizeof(nothing), now++);
}

/* A switch of @tid from or to @other. */
static inline void emit_switch_wide(u32 tid, u32 other)
{
	struct perf_record_switch record = { .next_prev_pid = other, .next_prev_tid = other };

	sample_tid = tid;
	emit(&record, PERF_RECORD_SWITCH_CPU_WIDE, 0, sizeof(record), now++);
	sample_tid = 0;
}

/* Make all emitted records final, and end two rounds. */
static inline void make_final(void)
{
	now += 3 * SB_RECORD_DELAY_NS;
	emit_comm(1, 1, "init", 0);
	state__end_round(&state);
	state__end_round(&state);
	now += SB_RECORD_DELAY_NS;
}

/* Collect; the only reference is to @tid of @pid at @time. */
static inline void collect(u32 pid, u32 tid, u64 time)
{
	struct task_refs refs;

	task_refs__init(&refs);
	if (pid)
		task_refs__add(&refs, pid, tid, time);
	state__collect(&state, &refs);
	task_refs__exit(&refs);
}

/* Collect with references to a parent since @time, and to its child since @later. */
static inline void collect_family(u32 parent, u64 time, u32 child, u64 later)
{
	struct task_refs refs;

	task_refs__init(&refs);
	task_refs__add(&refs, parent, parent, time);
	task_refs__add(&refs, child, child, later);
	state__collect(&state, &refs);
	task_refs__exit(&refs);
}

static inline int append_to_file(void *arg, const void *records, size_t len)
{
	struct records run = records__of(records, len);
	struct perf_event_header header;
	size_t pos, size;

	(void)arg;
	for (pos = 0; (size = records__header(&run, pos, &header)); pos += size)
		history_list__add(&file, history__time_of(records + pos), records + pos, size);
	return 0;
}

/* Write what the file lacks, and read the file up to @time, inclusive. */
static inline void read_file(u64 time)
{
	struct history_record *sorted[1024];
	size_t i;

	if (state__write(&state, append_to_file, NULL) || file.nr > ARRAY_SIZE(sorted))
		abort();
	for (i = 0; i < file.nr; i++)
		sorted[i] = &file.record[i];
	qsort(sorted, file.nr, sizeof(*sorted), history__by_time);
	reader__begin(&the_reader);
	for (i = 0; i < file.nr && sorted[i]->time <= time; i++)
		reader__event(&the_reader, (union perf_event *)sorted[i]->bytes, sorted[i]->time);
}

static inline void new_file(void)
{
	history_list__clear(&file);
	state__begin_file(&state, false);
}

/* Begin another file, write it, and read it up to @time, inclusive. */
static inline void read_new_file(u64 time)
{
	new_file();
	read_file(time);
}

static inline bool resolves(u32 pid, u32 tid, u64 addr, const char *comm, const char *map,
			    u64 offset)
{
	char found_comm[64], found_map[64];
	u64 found_offset = 0;

	reader__resolve(&the_reader, pid, tid, addr, found_comm, found_map, &found_offset);
	if (!strcmp(found_comm, comm) && !strcmp(found_map, map) && found_offset == offset)
		return true;
	printf("# %u/%u %llx: %s %s+%llx, not %s %s+%llx\n", pid, tid, (unsigned long long)addr,
	       found_comm, found_map, (unsigned long long)found_offset, comm, map,
	       (unsigned long long)offset);
	return false;
}

static inline size_t count(u32 type)
{
	size_t i, nr = 0;

	for (i = 0; i < file.nr; i++)
		nr += ((union perf_event *)file.record[i].bytes)->header.type == type;
	return nr;
}

#endif
