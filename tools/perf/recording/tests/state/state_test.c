// SPDX-License-Identifier: GPL-2.0-only
/*
 * The live state: order of records, files, limits, losses, malformed records.
 * tags: fast parallel
 *
 * Prints KTAP.
 */
#include "state_fixture.h"
#include "perf/tests/tap.h"
#include "../random.h"

static void test_order(void)
{
	u64 t;

	/* The records of the parent's CPU arrive a round after those of the child's CPU. */
	begin();
	t = now;
	now = t + 200;
	emit_comm(20, 20, "child", PERF_RECORD_MISC_COMM_EXEC);
	emit_mmap(20, 0x2000, 0x1000, 0, "/child");
	state__end_round(&state);
	now = t;
	emit_comm(10, 10, "parent", 0);
	emit_mmap(10, 0x1000, 0x1000, 0, "/parent");
	emit_fork(20, 20, 10, 10);
	emit_fork(30, 30, 10, 10);
	now = t + 1000;
	make_final();
	collect(0, 0, 0);
	read_file(now);
	check(resolves(20, 20, 0x2000, "child", "/child", 0) &&
	      resolves(30, 30, 0x1000, "parent", "/parent", 0),
	      "records are applied in the order of their times, not of their arrival");
	end();
}

/* With -k CLOCK_REALTIME times can go back. */
static void test_clock_set_back(void)
{
	size_t pending;
	u32 tid;

	begin();
	emit_comm(10, 10, "one", 0);
	make_final();
	pending = state.log.nr - state.log.nr_applied;
	now -= 5 * SB_RECORD_DELAY_NS;
	for (tid = 100; tid < 200; tid++)
		emit_comm(tid, tid, "late", 0);
	state__end_round(&state);
	check(state.log.nr - state.log.nr_applied == pending,
	      "records do not stay pending until a clock that was set back has caught up");
	check(tasks__task(&state.tasks, 150), "... and are applied");
	end();
}

/* The task that is kept is older than what was forgotten before the clock was set. */
static void test_forget_set_back(void)
{
	u64 t;

	begin();
	emit_comm(10, 10, "old", 0);
	emit_mmap(10, 0x1000, 0x1000, 0, "/old");
	make_final();
	state__forget(&state, state.final_time);
	now -= 3 * SB_RECORD_DELAY_NS;
	t = now;
	emit_fork(20, 20, 10, 10);
	emit_comm(20, 20, "short", PERF_RECORD_MISC_COMM_EXEC);
	emit_mmap(20, 0x2000, 0x1000, 0, "/short");
	emit_exit(20, 20);
	state__end_round(&state);
	state__end_round(&state);
	state__move_back(&state, t);
	state__forget(&state, t);
	read_new_file(now);
	check(resolves(20, 20, 0x2000, "short", "/short", 0) &&
	      resolves(10, 10, 0x1000, "old", "/old", 0),
	      "tasks are remembered after the clock was set back");
	end();
}

/* Samples of an earlier snapshot in the same file must still resolve. */
static void test_same_file(void)
{
	u64 before, after;

	begin();
	emit_comm(10, 10, "one", 0);
	emit_mmap(10, 0x1000, 0x1000, 0, "/one");
	emit_fork(10, 11, 10, 10);
	emit_ksymbol(0xffff0000, "bpf_one", 0);
	before = now++;
	make_final();
	collect(10, 10, before);
	read_file(now);

	emit_comm(10, 10, "two", PERF_RECORD_MISC_COMM_EXEC);
	emit_mmap(10, 0x1000, 0x1000, 0, "/two");
	emit_fork(10, 12, 10, 10);
	emit_comm(10, 12, "thread", 0);
	emit_ksymbol(0xffff0000, "bpf_one", PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
	emit_ksymbol(0xffff1000, "bpf_two", 0);
	emit_ksymbol(0xffff1000, "bpf_two", PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
	after = now++;
	make_final();
	collect(0, 0, 0);
	read_file(before);
	check(resolves(10, 10, 0x1000, "one", "/one", 0) &&
	      resolves(10, 11, 0x1000, "one", "/one", 0),
	      "a later snapshot in the same file does not change what earlier samples resolve to");
	read_file(after + SB_RECORD_DELAY_NS * 8);
	check(resolves(10, 10, 0x1000, "two", "/two", 0) &&
	      resolves(10, 12, 0x1000, "thread", "/two", 0),
	      "a later snapshot has the changes, even if they were folded before it");
	check(count(PERF_RECORD_KSYMBOL) == 2,
	      "a symbol that the file has is unregistered in it, another one is not");

	after = file.nr;
	read_file(now);
	check(file.nr == after, "a second write without changes writes nothing");
	end();
}

/* Read back the newest record of this type. */
static const union perf_event *newest(u32 type)
{
	size_t i = file.nr;

	while (i-- && ((union perf_event *)file.record[i].bytes)->header.type != type)
		;
	return i < file.nr ? (union perf_event *)file.record[i].bytes : NULL;
}

/* The second of three snapshots is cut off the file. */
static void test_cut_file(void)
{
	u64 whole, horizon;
	size_t i;
	bool ok;

	begin();
	emit_comm(10, 10, "one", 0);
	emit_mmap(10, 0x1000, 0x1000, 0, "/one");
	emit_ksymbol(0xffff0000, "bpf_one", 0);
	make_final();
	read_file(now);
	whole = file.nr;

	emit_comm(10, 10, "two", 0);
	emit_mmap(10, 0x2000, 0x1000, 0, "/two");
	emit_ksymbol(0xffff2000, "bpf_two", 0);
	emit_ksymbol(0xffff0000, "bpf_one", PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
	make_final();
	read_file(now);
	ok = file.nr > whole;
	while (file.nr > whole)
		free(file.record[--file.nr].bytes);
	horizon = state.final_time;
	state__rewrite_file(&state);
	state__forget(&state, horizon);

	emit_fork(20, 20, 10, 10);
	make_final();
	read_file(now);
	ok &= resolves(10, 10, 0x2000, "two", "/two", 0) &&
	      resolves(20, 20, 0x1000, "two", "/one", 0);
	check(ok, "after a cut, the file gets what it has lost");
	check(count(PERF_RECORD_KSYMBOL) == 3 &&
	      newest(PERF_RECORD_KSYMBOL)->ksymbol.flags == PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER,
	      "... and what was unregistered in it");
	ok = true;
	for (i = whole; i < file.nr; i++)
		ok &= file.record[i].time >= horizon;
	check(ok, "... as records that are newer than those that it has");
	read_new_file(now);
	check(count(PERF_RECORD_KSYMBOL) == 1, "the next file has what is registered");
	end();
}

/* Write up to @time. Return whether all records written by now are not newer, and none follows. */
static bool write_until(u64 time, size_t *next)
{
	bool complete;
	size_t i;

	if (state__write_until(&state, time, next, &complete, append_to_file, NULL) || !complete)
		return false;
	for (i = 0; i < file.nr; i++) {
		if (file.record[i].time <= time)
			continue;
		printf("# record %zu, type %u, is %llu ns newer\n", i,
		       ((union perf_event *)file.record[i].bytes)->header.type,
		       (unsigned long long)(file.record[i].time - time));
		return false;
	}
	return true;
}

/*
 * A mark between the parts of a snapshot promises that nothing older follows. So a part may have
 * nothing newer: the next mark would promise too much for it. Task 20 has no FORK record.
 */
static void test_parts(void)
{
	size_t next = 0, nr;
	u64 first, second;

	begin();
	emit_comm(10, 10, "old", 0);
	emit_mmap(10, 0x1000, 0x1000, 0, "/old");
	make_final();
	state__forget(&state, now);
	first = now++;
	emit_comm(20, 20, "late", 0);
	emit_mmap(20, 0x2000, 0x1000, 0, "/late");
	emit_fork(30, 30, 10, 10);
	emit_ksymbol(0xffff0000, "bpf_late", 0);
	second = now++;
	make_final();
	new_file();
	check(write_until(first, &next) && count(PERF_RECORD_MMAP2) == 1 &&
	      !count(PERF_RECORD_KSYMBOL),
	      "a part of a snapshot has what is not newer than its end");
	nr = file.nr;
	check(write_until(second, &next) && file.nr > nr && count(PERF_RECORD_KSYMBOL) == 1,
	      "the next part has the rest");
	nr = file.nr;
	read_file(now);
	check(resolves(20, 20, 0x2000, "late", "/late", 0) &&
	      resolves(30, 30, 0x1000, "old", "/old", 0) && count(PERF_RECORD_MMAP2) == 2 &&
	      file.nr - nr == 1,
	      "all parts together are the file, but for what was not final");
	new_file();
	next = 0;
	check(!write_until(state.final_time + 1, &next),
	      "a part that ends later than what is final is not complete");
	end();
}

/* Parts may end within packed entries. */
static void test_packed_parts(void)
{
	size_t next = 0, i, nr = 50, nr_wrong = 0, before;
	u64 times[50];

	begin();
	state.log.max_unpacked = 4;
	emit_fork(20, 20, 10, 10);
	make_final();
	state__forget(&state, now);
	for (i = 0; i < nr; i++) {
		times[i] = now;
		emit_comm(20, 20, "name", 0);
	}
	make_final();
	new_file();
	for (i = 0; i < nr; i++) {
		before = count(PERF_RECORD_COMM);
		nr_wrong += !write_until(times[i], &next) ||
			    (i && count(PERF_RECORD_COMM) != before + 1);
	}
	check(state.log.nr_blocks > 8 && !nr_wrong, "a part has exactly what its time says");
	before = file.nr;
	read_file(now);
	check(file.nr == before + 1, "nothing of the parts is written again");
	end();
}

static void test_system_wide(void)
{
	struct perf_record_cgroup cgroup = { .id = 5, .path = "/a" };
	struct perf_record_mmap kernel = {
		.header = { .type = PERF_RECORD_MMAP, .misc = PERF_RECORD_MISC_KERNEL,
			    .size = offsetof(struct perf_record_mmap, filename) + 8 },
		.pid = -1, .filename = "[k]",
	};
	size_t i;

	begin();
	state__add_synthesized(&state, (union perf_event *)&kernel, 0);
	emit_ksymbol(0x1000, "first", 0);
	emit_ksymbol(0x1000, "first", PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
	emit_ksymbol(0x1000, "second", 0);
	emit_ksymbol(0x2000, "third", 0);
	for (i = 0; i < SYSTEM_WIDE_MAX_CGROUPS + 10; i++) {
		cgroup.id = i;
		emit(&cgroup, PERF_RECORD_CGROUP, 0,
		     offsetof(struct perf_record_cgroup, path) + 8, now++);
	}
	make_final();
	collect(0, 0, 0);
	history_list__clear(&file);
	state__write(&state, append_to_file, NULL);
	check(count(PERF_RECORD_MMAP) == 1 && count(PERF_RECORD_KSYMBOL) == 2,
	      "the file has the kernel's maps, and its registered symbols");
	check(count(PERF_RECORD_CGROUP) == SYSTEM_WIDE_MAX_CGROUPS &&
	      state__loss(&state).cgroups == 10,
	      "cgroups are kept up to a limit, and the dropped ones are counted");
	end();
}

static void test_passthrough(void)
{
	struct perf_record_lost lost = { .lost = 13 };
	size_t nr = 2 * STATE_MAX_PASSTHROUGH_BYTES / 64, i;
	u64 begun;

	begin();
	begun = now;
	for (i = 0; i < nr; i++)
		emit_switch();
	emit(&lost, PERF_RECORD_LOST, 0, sizeof(lost), now++);
	make_final();
	collect(1, 1, begun);
	check(state.log.passthrough_bytes <= STATE_MAX_PASSTHROUGH_BYTES &&
	      state.log.passthrough_bytes > STATE_MAX_PASSTHROUGH_BYTES / 2,
	      "context switches after the horizon are kept up to a limit");
	check(state__loss(&state).passthrough + state.log.nr_packed + state.log.nr_applied >= nr &&
	      state__loss(&state).passthrough < nr, "dropped context switches are counted");
	check(state__loss(&state).lost == 13, "events in LOST records are counted");
	collect(1, 1, now);
	check(state.log.passthrough_bytes == 0, "context switches before the horizon are dropped");
	end();
}

static void collect_traced(u32 tid, u64 time)
{
	struct task_refs refs;

	task_refs__init(&refs);
	task_refs__add(&refs, tid, tid, time);
	task_refs__add(&refs, 8, 8, time);	/* unknown to the state */
	refs.traced = true;
	state__collect(&state, &refs);
	task_refs__exit(&refs);
}

static struct sb_origin visited;
static u64 visited_at;
static unsigned int visits;

static void visit(void *arg, const struct sb_origin *who, u64 time)
{
	(void)arg;
	visited = *who;
	visited_at = time;
	visits++;
}

static void test_visits(void)
{
	struct perf_record_switch record = { .next_prev_pid = 20, .next_prev_tid = 20 };
	u64 first;
	bool ok;

	begin();
	first = now;
	emit_switch_wide(30, 20);
	emit(&record, PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT, sizeof(record),
	     now++);
	emit_comm(40, 40, "other", 0);
	visits = 0;
	state__visit_switches(&state, visit, NULL);
	ok = visits == 1 && visited.tid == 30 && visited.cpu == (u32)-1 && visited_at == first;
	make_final();
	sample_tid = 50;
	emit_switch();
	sample_tid = 0;
	visits = 0;
	state__visit_switches(&state, visit, NULL);
	ok = ok && visits == 2 && visited.tid == 50;
	check(ok, "pending and applied switches are visited, with the task switched to");
	end();
}

static void test_switches(void)
{
	size_t nr = 2 * STATE_MAX_PASSTHROUGH_BYTES / 64, i;
	u64 begun;

	begin();
	begun = now;
	emit_comm(20, 20, "traced", 0);
	emit_switch_wide(20, 7);
	emit_switch_wide(7, 20);
	for (i = 0; i < 10; i++)
		emit_switch_wide(7, 8);
	make_final();
	collect_traced(20, begun);
	read_new_file(now);
	check(count(PERF_RECORD_SWITCH_CPU_WIDE) == 12, "all switches are kept below the limit");
	for (i = 0; i < nr; i++)
		emit_switch_wide(7, 8);
	make_final();
	collect_traced(20, begun);
	read_new_file(now);
	check(count(PERF_RECORD_SWITCH_CPU_WIDE) == 2 && !state__loss(&state).passthrough,
	      "above the limit switches of traced tasks are kept, whatever their age");
	end();
}

static bool all_but_30(u32 tid)
{
	return tid != 30;
}

static void test_lost_exit(void)
{
	begin();
	emit_comm(20, 20, "alive", 0);
	emit_comm(30, 30, "gone", 0);
	make_final();
	state__mark_exited(&state, all_but_30);
	collect(0, 0, 0);
	read_file(now);
	check(resolves(20, 20, 0, "alive", "", 0) && resolves(30, 30, 0, "", "", 0),
	      "tasks whose EXIT record was lost are forgotten");
	end();

	begin();
	emit_comm(20, 20, "alive", 0);
	make_final();
	emit_fork(30, 30, 20, 20);
	state__mark_exited(&state, all_but_30);
	make_final();
	collect(0, 0, 0);
	check(tasks__task(&state.tasks, 20) && !tasks__task(&state.tasks, 30),
	      "so are those whose FORK record was pending then");
	end();
}

/* A task has run for an unknown time: until it was seen that it does not exist. */
static void test_exit_time(void)
{
	u64 time;

	begin();
	emit_comm(30, 30, "gone", 0);
	make_final();
	emit_comm(20, 20, "alive", 0);
	time = now;
	emit_comm(20, 20, "later", 0);
	state__mark_exited(&state, all_but_30);
	make_final();
	state__forget(&state, time);
	read_new_file(now);
	check(resolves(30, 30, 0, "gone", "", 0), "... but not before that");
	end();
}

static void test_dropped_thread(void)
{
	begin();
	emit_comm(20, 20, "leader", 0);
	emit_fork(20, 21, 20, 20);
	emit_comm(20, 21, "thread", 0);
	emit_exit(20, 21);
	make_final();
	collect(0, 0, 0);
	check(!tasks__task(&state.tasks, 21) &&
	      !tasks__process(&state.tasks, 20)->nr_logged,
	      "records of a dropped thread do not count as records of its process");
	end();
}

/* As util reads a process from /proc: a child of init that has called exec(). */
static void synthesize_process(u32 pid, const char *name, const char *map)
{
	struct perf_record_fork fork = {
		.header = { .type = PERF_RECORD_FORK, .misc = PERF_RECORD_MISC_FORK_EXEC,
			    .size = sizeof(fork) },
		.pid = pid, .tid = pid, .ppid = 1, .ptid = 1,
	};
	struct perf_record_comm comm = {
		.header = { .type = PERF_RECORD_COMM, .size = sizeof(comm) },
		.pid = pid, .tid = pid,
	};
	struct perf_record_mmap2 mmap = {
		.header = { .type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER,
			    .size = sizeof(mmap) },
		.pid = pid, .tid = pid, .start = 0x1000, .len = 0x1000,
	};

	strcpy(comm.comm, name);
	strcpy(mmap.filename, map);
	state__add_synthesized(&state, (union perf_event *)&fork, 0);
	state__add_synthesized(&state, (union perf_event *)&comm, 0);
	state__add_synthesized(&state, (union perf_event *)&mmap, 0);
}

/* The FORK record of a child is pending when its COMM and MMAP records are lost. */
static void test_lost_exec(void)
{
	struct perf_record_lost lost = { .lost = 2 };

	begin();
	emit_mmap(1, 0x9000, 0x1000, 0, "/init");
	emit_comm(20, 20, "parent", 0);
	emit_mmap(20, 0x1000, 0x1000, 0, "/parent");
	make_final();
	emit_fork(30, 30, 20, 20);
	emit(&lost, PERF_RECORD_LOST, 0, sizeof(lost), now++);
	synthesize_process(30, "child", "/child");
	read_file(now);
	check(resolves(30, 30, 0x1000, "child", "/child", 0) &&
	      resolves(20, 20, 0x1000, "parent", "/parent", 0),
	      "what is read after a loss replaces what pending records say");
	make_final();
	read_new_file(now);
	check(resolves(30, 30, 0x1000, "child", "/child", 0), "also when these are final");
	collect(0, 0, 0);
	read_new_file(now);
	check(resolves(30, 30, 0x1000, "child", "/child", 0) &&
	      resolves(30, 30, 0x9000, "child", "", 0), "also when these are folded");
	end();
}

static void add_bytes(const void *bytes, size_t len)
{
	unsigned char *copy = malloc(len ?: 1);
	struct records run = records__of(copy, len);

	memcpy(copy, bytes, len);
	state__add(&state, &run);
	free(copy);
}

/* Records of each type, truncated at each length, with each size in the header, for sanitizers. */
static void test_malformed(void)
{
	struct {
		union {
			struct perf_event_header header;
			unsigned char bytes[256];
		};
	} record;
	unsigned int type, size, fill;
	u64 random = 0;
	size_t i;

	begin();
	for (type = 0; type < 24; type++) {
		for (size = 0; size < sizeof(record); size += 4) {
			for (fill = 0; fill < 3; fill++) {
				for (i = 0; i < sizeof(record); i++)
					record.bytes[i] = fill == 2 ? random_below(&random, 256) :
							  fill ? 0xff : 0;
				record.header = (struct perf_event_header){ .type = type, .misc = 2,
									    .size = size };
				add_bytes(&record, size);
				add_bytes(&record, size / 2);
			}
		}
	}
	check(state__loss(&state).malformed > 0,
	      "records that are too short are counted as malformed");
	state__end_round(&state);
	state__end_round(&state);
	collect(0, 0, 0);
	state__forget(&state, UINT64_MAX);
	check(!state__write(&state, append_to_file, NULL),
	      "random records of the right length are handled");
	end();
}

int main(void)
{
	test_order();
	test_clock_set_back();
	test_forget_set_back();
	test_same_file();
	test_cut_file();
	test_parts();
	test_packed_parts();
	test_system_wide();
	test_passthrough();
	test_visits();
	test_switches();
	test_lost_exit();
	test_exit_time();
	test_dropped_thread();
	test_lost_exec();
	test_malformed();
	free(file.record);
	return tap_end();
}
