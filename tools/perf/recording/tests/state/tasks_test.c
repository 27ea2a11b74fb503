// SPDX-License-Identifier: GPL-2.0-only
/*
 * The live state keeps the names, namespaces and maps of tasks.
 * tags: fast parallel
 *
 * Prints KTAP.
 */
#include "recording/state/mapset.h"
#include "state_fixture.h"
#include "perf/tests/tap.h"

static void test_fork(void)
{
	u64 before, after;

	begin();
	emit_comm(10, 10, "shell", 0);
	emit_mmap(10, 0x1000, 0x1000, 0, "/sh");
	emit_fork(20, 20, 10, 10);
	before = now++;
	emit_comm(20, 20, "ls", PERF_RECORD_MISC_COMM_EXEC);
	emit_mmap(20, 0x9000, 0x1000, 0x400, "/ls");
	emit_comm(10, 10, "make", PERF_RECORD_MISC_COMM_EXEC);
	emit_mmap(10, 0x1000, 0x1000, 0, "/make");
	after = now++;

	read_file(before);
	check(resolves(20, 20, 0x1800, "shell", "/sh", 0x800),
	      "a child inherits the name and the maps of its parent");
	read_file(after);
	check(resolves(20, 20, 0x9010, "ls", "/ls", 0x410), "exec replaces the name and the maps");

	make_final();
	collect(0, 0, 0);
	read_new_file(now);
	check(resolves(20, 20, 0x9010, "ls", "/ls", 0x410) &&
	      resolves(20, 20, 0x1800, "ls", "", 0) &&
	      resolves(10, 10, 0x1800, "make", "/make", 0x800), "exec drops the previous maps");
	check(count(PERF_RECORD_MMAP2) == 2, "the file has no dropped maps");
	end();

	begin();
	emit_comm(10, 10, "shell", 0);
	emit_mmap(10, 0x1000, 0x1000, 0, "/sh");
	emit_fork(20, 20, 10, 10);
	emit_comm(10, 10, "make", PERF_RECORD_MISC_COMM_EXEC);
	emit_mmap(10, 0x1000, 0x1000, 0, "/make");
	make_final();
	collect(0, 0, 0);
	read_file(now);
	check(resolves(20, 20, 0x1800, "shell", "/sh", 0x800) &&
	      resolves(10, 10, 0x1800, "make", "/make", 0x800),
	      "changes of the parent after the fork do not affect the child");
	end();

	begin();
	emit_comm(10, 10, "shell", 0);
	emit_mmap(10, 0x1000, 0x1000, 0, "/sh");
	emit_fork(20, 20, 10, 10);
	emit_mmap(20, 0x5000, 0x1000, 0, "/lib");
	emit_exit(10, 10);
	make_final();
	collect(20, 20, now);
	read_file(now);
	check(resolves(20, 20, 0x1800, "shell", "/sh", 0x800) &&
	      resolves(20, 20, 0x5000, "shell", "/lib", 0) && resolves(10, 10, 0x1800, "", "", 0),
	      "a child keeps what it inherited from a parent that is forgotten");
	end();
}

/* A trace refers to a child from a time after its FORK record on. */
static void test_late_child(void)
{
	u64 before, after;
	unsigned int i;

	begin();
	emit_comm(10, 10, "shell", 0);
	for (i = 1; i <= 4; i++)
		emit_mmap(10, i * 0x1000, 0x1000, 0, "/sh");
	before = now++;
	make_final();
	emit_fork(20, 20, 10, 10);
	emit_mmap(20, 0x9000, 0x1000, 0, "/lib");
	after = now++;
	make_final();
	collect_family(10, before, 20, after);
	read_file(after);
	check(resolves(20, 20, 0x4800, "shell", "/sh", 0x800) &&
	      resolves(20, 20, 0x9000, "shell", "/lib", 0) && count(PERF_RECORD_MMAP2) == 5,
	      "the file has inherited maps once, not again for the child");

	for (i = 0; i < 8; i++)
		emit_mmap(20, 0x9000, 0x1000, 0, i < 7 ? "/lib" : "/last");
	after = now++;
	make_final();
	collect_family(10, before, 20, after);
	read_new_file(after);
	check(resolves(20, 20, 0x4800, "shell", "/sh", 0x800) &&
	      resolves(20, 20, 0x9000, "shell", "/last", 0) && count(PERF_RECORD_MMAP2) == 9,
	      "the maps are written for the child if its log records would take more");

	collect_family(10, after, 20, after);
	read_new_file(after);
	check(resolves(20, 20, 0x4800, "shell", "/sh", 0x800) &&
	      resolves(20, 20, 0x9000, "shell", "/last", 0) && count(PERF_RECORD_MMAP2) == 9,
	      "the maps are written for the child if the parent's past is folded");
	end();

	begin();
	emit_comm(10, 10, "shell", 0);
	for (i = 1; i <= 4; i++)
		emit_mmap(10, i * 0x1000, 0x1000, 0, "/sh");
	make_final();
	emit_fork(20, 20, 10, 10);
	make_final();
	emit_mmap(10, 0x1000, 0x4000, 0, "/over");
	after = now++;
	make_final();
	collect_family(10, after, 20, after);
	read_file(after);
	check(resolves(20, 20, 0x4800, "shell", "/sh", 0x800) &&
	      resolves(10, 10, 0x4800, "shell", "/over", 0x3800),
	      "a child inherits the maps that its parent had at the fork");
	end();
}

/* A reader would drop the maps of the process that are before it in the file. */
static bool says_exec(void)
{
	size_t i;

	for (i = 0; i < file.nr; i++) {
		const struct perf_event_header *header = (void *)file.record[i].bytes;

		if (header->type == PERF_RECORD_COMM && header->misc & PERF_RECORD_MISC_COMM_EXEC)
			return true;
	}
	return false;
}

static void test_threads(void)
{
	u64 time;

	begin();
	emit_comm(10, 10, "server", PERF_RECORD_MISC_COMM_EXEC);
	emit_mmap(10, 0x1000, 0x1000, 0, "/server");
	emit_fork(10, 11, 10, 10);
	emit_comm(10, 11, "worker", 0);
	emit_fork(10, 12, 10, 11);
	emit_namespaces(10, 12, 7);
	emit_mmap(10, 0x4000, 0x1000, 0, "/plugin");
	make_final();
	collect(0, 0, 0);
	read_file(now);
	check(resolves(10, 10, 0x1000, "server", "/server", 0) &&
	      resolves(10, 11, 0x4000, "worker", "/plugin", 0) &&
	      resolves(10, 12, 0x4000, "worker", "/plugin", 0),
	      "threads share maps and have separate names");
	check(count(PERF_RECORD_COMM) == 4 && !says_exec(), "a name in the file is no exec");
	check(reader__find(&the_reader, 12)->ns == 7 && reader__find(&the_reader, 10)->ns == 0,
	      "threads have separate namespaces");

	emit_exit(10, 11);
	make_final();
	time = now;
	collect(10, 10, now);
	read_new_file(time);
	check(resolves(10, 11, 0x4000, "", "/plugin", 0) &&
	      resolves(10, 12, 0x4000, "worker", "/plugin", 0),
	      "an exited thread is forgotten, its process is not");

	emit_exit(10, 10);
	make_final();
	collect(0, 0, 0);
	read_new_file(now);
	check(resolves(10, 12, 0x4000, "worker", "/plugin", 0),
	      "a process is kept after its leader has exited");

	emit_comm(10, 10, "next", PERF_RECORD_MISC_COMM_EXEC);
	emit_mmap(10, 0x2000, 0x1000, 0, "/next");
	make_final();
	collect(0, 0, 0);
	read_new_file(now);
	check(resolves(10, 10, 0x2000, "next", "/next", 0) && resolves(10, 12, 0x4000, "", "", 0),
	      "after exec by a thread only the leader is left");
	end();
}

static void test_exit(void)
{
	u64 first, second;
	bool ok;

	begin();
	emit_comm(10, 10, "old", 0);
	emit_mmap(10, 0x1000, 0x1000, 0, "/old");
	first = now++;
	emit_exit(10, 10);
	make_final();
	emit_fork(10, 10, 1, 1);
	emit_comm(10, 10, "new", PERF_RECORD_MISC_COMM_EXEC);
	emit_mmap(10, 0x1000, 0x1000, 0, "/new");
	second = now++;
	make_final();

	read_file(first + 2);
	check(resolves(10, 10, 0x1000, "old", "/old", 0),
	      "a task keeps its name after its EXIT record");
	read_file(second);
	check(resolves(10, 10, 0x1000, "new", "/new", 0),
	      "the name ends when another task gets the tid");

	collect(10, 10, first);
	read_new_file(first);
	ok = resolves(10, 10, 0x1000, "old", "/old", 0);
	read_file(now);
	ok = ok && resolves(10, 10, 0x1000, "new", "/new", 0);
	check(ok, "both incarnations of a tid are kept if a ring refers to the older one");

	collect(10, 10, second);
	read_new_file(now);
	check(resolves(10, 10, 0x1000, "new", "/new", 0) && count(PERF_RECORD_MMAP2) == 1,
	      "the older incarnation is forgotten if no ring refers to it");

	emit_exit(10, 10);
	make_final();
	state__forget(&state, second);
	read_new_file(now);
	check(resolves(10, 10, 0x1000, "new", "/new", 0),
	      "a task that exited after the horizon is kept");
	state__forget(&state, now);
	read_new_file(now);
	check(resolves(10, 10, 0x1000, "", "", 0) && count(PERF_RECORD_MMAP2) == 0,
	      "a task that exited before the horizon is forgotten");
	end();
}

/* The child cannot be folded, since a ring refers to an older task with its pid. */
static void test_reused_pid(void)
{
	struct task_refs refs;
	u64 before, after;

	begin();
	emit_comm(10, 10, "shell", 0);
	emit_mmap(10, 0x1000, 0x1000, 0, "/sh");
	emit_comm(20, 20, "old", 0);
	before = now++;
	emit_exit(20, 20);
	emit_fork(20, 20, 10, 10);
	emit_mmap(20, 0x9000, 0x1000, 0, "/lib");
	after = now++;
	make_final();
	task_refs__init(&refs);
	task_refs__add(&refs, 20, 20, before);
	task_refs__add(&refs, 20, 20, after);
	task_refs__add(&refs, 10, 10, after);
	state__collect(&state, &refs);
	task_refs__exit(&refs);
	read_new_file(after);
	check(resolves(20, 20, 0x1800, "shell", "/sh", 0x800) &&
	      resolves(20, 20, 0x9000, "shell", "/lib", 0),
	      "a child has what it inherited when its parent's past is folded before it is");
	end();
}

/* Records that name a task, but mean another one with its tid. */
static void test_other_incarnation(void)
{
	begin();
	emit_comm(10, 10, "old", 0);
	emit_fork(10, 11, 10, 10);
	emit_fork(10, 10, 1, 1);
	make_final();
	collect(0, 0, 0);
	check(!tasks__task(&state.tasks, 11), "threads end when another process gets the pid");
	end();

	begin();
	emit_comm(20, 20, "alive", 0);
	emit_exit(99, 20);
	make_final();
	collect(0, 0, 0);
	read_file(now);
	check(resolves(20, 20, 0, "alive", "", 0), "EXIT of another process's thread ends no task");
	end();

	begin();
	emit_comm(50, 50, "server", 0);
	emit_mmap(50, 0x1000, 0x1000, 0, "/server");
	emit_fork(50, 51, 50, 50);
	emit_fork(60, 60, 10, 51);
	make_final();
	collect(0, 0, 0);
	read_file(now);
	check(resolves(60, 60, 0x1000, "", "", 0) &&
	      resolves(50, 51, 0x1000, "server", "/server", 0),
	      "a child inherits nothing from another task with its parent's tid");
	end();
}

/* A reader would take a FORK record from a thread of another process for an error. */
static void test_parent_in_file(void)
{
	size_t i, nr = 0;

	begin();
	emit_comm(10, 10, "parent", 0);
	emit_fork(20, 20, 10, 10);
	emit_exit(10, 10);
	emit_comm(50, 50, "server", 0);
	emit_fork(50, 10, 50, 50);
	make_final();
	collect(0, 0, 0);
	read_file(now);
	for (i = 0; i < file.nr; i++) {
		const union perf_event *event = (void *)file.record[i].bytes;

		nr += event->header.type == PERF_RECORD_FORK && event->fork.pid == 20 &&
		      event->fork.ppid == (u32)-1;
	}
	check(nr == 1, "the file names no parent whose tid is that of a thread by now");
	end();
}

static void test_overlap(void)
{
	begin();
	emit_comm(10, 10, "maps", 0);
	emit_mmap(10, 0x10000, 0x10000, 0x100000, "/a");
	emit_mmap(10, 0x14000, 0x4000, 0x200000, "/b");
	emit_mmap(10, 0x1f000, 0x2000, 0x300000, "/c");
	emit_mmap(10, 0xf000, 0x2000, 0x400000, "/d");
	emit_mmap(10, 0x15000, 0x1000, 0x500000, "/e");
	make_final();
	collect(0, 0, 0);
	read_file(now);
	check(resolves(10, 10, 0x12000, "maps", "/a", 0x102000) &&
	      resolves(10, 10, 0x14800, "maps", "/b", 0x200800) &&
	      resolves(10, 10, 0x15800, "maps", "/e", 0x500800) &&
	      resolves(10, 10, 0x16800, "maps", "/b", 0x202800) &&
	      resolves(10, 10, 0x18800, "maps", "/a", 0x108800) &&
	      resolves(10, 10, 0x1f800, "maps", "/c", 0x300800) &&
	      resolves(10, 10, 0x0f800, "maps", "/d", 0x400800) &&
	      resolves(10, 10, 0x10800, "maps", "/d", 0x401800),
	      "the parts of a map that newer maps do not cover keep their file offsets");
	check(count(PERF_RECORD_MMAP2) == 7, "each part is written once");

	emit_mmap(10, 0x0, 0x100000, 0, "/all");
	make_final();
	collect(0, 0, 0);
	read_new_file(now);
	check(count(PERF_RECORD_MMAP2) == 1, "a map that covers all others replaces them");
	end();
}

/* A process that has ended needs its records only. */
static void test_ended(void)
{
	size_t before;
	u64 alive;

	begin();
	emit_comm(10, 10, "shell", 0);
	emit_mmap(10, 0x1000, 0x1000, 0, "/sh");
	make_final();
	before = mapsets__bytes();
	emit_fork(20, 20, 10, 10);
	emit_comm(20, 20, "ls", PERF_RECORD_MISC_COMM_EXEC);
	emit_mmap(20, 0x9000, 0x1000, 0, "/ls");
	emit_mmap(20, 0xa000, 0x1000, 0, "/lib");
	emit_fork(20, 21, 20, 20);
	alive = now++;
	emit_exit(20, 20);
	make_final();
	check(mapsets__bytes() > before, "the maps of a process outlive its leader");
	emit_exit(20, 21);
	make_final();
	check(mapsets__bytes() == before, "when all its tasks have exited, they take no memory");
	read_file(alive);
	check(resolves(20, 20, 0x9010, "ls", "/ls", 0x10) &&
	      resolves(20, 21, 0xa010, "ls", "/lib", 0x10),
	      "but the file has them");
	collect(20, 20, alive);
	read_new_file(alive);
	check(resolves(20, 20, 0x9010, "ls", "/ls", 0x10) &&
	      resolves(20, 20, 0xa010, "ls", "/lib", 0x10),
	      "also when they are folded");
	end();
}

int main(void)
{
	test_fork();
	test_late_child();
	test_threads();
	test_exit();
	test_reused_pid();
	test_other_incarnation();
	test_parent_in_file();
	test_overlap();
	test_ended();
	free(file.record);
	return tap_end();
}
