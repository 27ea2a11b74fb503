// SPDX-License-Identifier: GPL-2.0-only
/*
 * The live state: tasks are named in each file as they were, and memory does not grow.
 *
 * What a file must resolve to is looked up as a naive reader would: all tasks in a table, each
 * record applied in the order of time. Histories are random, with a fixed seed;
 * STATE_TEST_SEED=n tries other ones, STATE_TEST_HISTORIES=n more of them.
 *
 * Prints KTAP.
 */
#include "history.h"
#include "perf/tests/tap.h"

#ifndef NR_PROCESSES
#define NR_PROCESSES	1000000
#endif
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

/*
 * The naive reader
 */

static void reader__begin(void *arg)
{
	struct reader *reader = arg;
	int i;

	for (i = 0; i < READER_TASKS; i++)
		reader->task[i].used = false;
}

static struct reader_task *reader__find(struct reader *reader, u32 tid)
{
	int i;

	for (i = 0; i < READER_TASKS; i++) {
		if (reader->task[i].used && reader->task[i].tid == tid)
			return &reader->task[i];
	}
	return NULL;
}

static struct reader_task *reader__findnew(struct reader *reader, u32 pid, u32 tid)
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

static void reader__fork(struct reader *reader, const struct perf_record_fork *fork)
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

/* The newest that covers an address counts. */
static void reader__mmap(struct reader *reader, const struct perf_record_mmap2 *mmap)
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

static void reader__event(void *arg, union perf_event *event, u64 time)
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

static void reader__resolve(void *arg, u32 pid, u32 tid, u64 addr, char *comm, char *file,
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
static struct history_reader naive_reader = {
	.begin = reader__begin, .event = reader__event, .resolve = reader__resolve,
	.reader = &the_reader,
};

/*
 * Single cases, said in records
 */

static struct state state;
static struct history_list file;		/* what the state has written */
static u64 now;
static u32 speaker;			/* tid in the sample ids */

static void begin(void)
{
	struct id_format format;

	history__format(&format);
	state__init(&state, &format);
	state.tasks.min_prune_threshold = HISTORY_MIN_PRUNE_THRESHOLD;
	now = 10 * SB_RECORD_DELAY_NS;
}

static void end(void)
{
	state__exit(&state);
	history_list__clear(&file);
}

static void say(void *body, u32 type, u16 misc, size_t size, u64 time)
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
	id_format__stamp(&format, record.bytes + size, 0, speaker, time);
	run = records__of(&record, size);
	state__add(&state, &run);
}

static void say_fork(u32 pid, u32 tid, u32 ppid, u32 ptid)
{
	struct perf_record_fork fork = { .pid = pid, .tid = tid, .ppid = ppid, .ptid = ptid };

	say(&fork, PERF_RECORD_FORK, 0, sizeof(fork), now++);
}

static void say_exit(u32 pid, u32 tid)
{
	struct perf_record_fork exit = { .pid = pid, .tid = tid, .ppid = 1, .ptid = 1 };

	say(&exit, PERF_RECORD_EXIT, 0, sizeof(exit), now++);
}

static void say_comm(u32 pid, u32 tid, const char *name, u16 misc)
{
	struct perf_record_comm comm = { .pid = pid, .tid = tid };

	strcpy(comm.comm, name);
	say(&comm, PERF_RECORD_COMM, misc, sizeof(comm), now++);
}

static void say_namespaces(u32 pid, u32 tid, u64 ino)
{
	struct {
		struct perf_record_namespaces	namespaces;
		struct perf_ns_link_info	link[2];
	} record = { .namespaces = { .pid = pid, .tid = tid, .nr_namespaces = 2 },
		     .link = { { .ino = ino } } };

	say(&record, PERF_RECORD_NAMESPACES, 0, sizeof(record), now++);
}

static void say_mmap(u32 pid, u64 start, u64 len, u64 pgoff, const char *name)
{
	struct perf_record_mmap2 mmap = { .pid = pid, .tid = pid, .start = start, .len = len,
					  .pgoff = pgoff };

	strcpy(mmap.filename, name);
	say(&mmap, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER,
	    offsetof(struct perf_record_mmap2, filename) + strlen(name) + 1, now++);
}

static void say_ksymbol(u64 addr, const char *name, u16 flags)
{
	struct perf_record_ksymbol ksymbol = { .addr = addr, .len = 64, .flags = flags };

	strcpy(ksymbol.name, name);
	say(&ksymbol, PERF_RECORD_KSYMBOL, 0,
	    offsetof(struct perf_record_ksymbol, name) + strlen(name) + 1, now++);
}

static void say_switch(void)
{
	struct perf_event_header nothing = { 0 };

	say(&nothing, PERF_RECORD_SWITCH, 0, sizeof(nothing), now++);
}

/* Of @tid, from or to @other */
static void say_switch_wide(u32 tid, u32 other)
{
	struct perf_record_switch record = { .next_prev_pid = other, .next_prev_tid = other };

	speaker = tid;
	say(&record, PERF_RECORD_SWITCH_CPU_WIDE, 0, sizeof(record), now++);
	speaker = 0;
}

/* All that was said has been published long ago, and read. */
static void settle(void)
{
	now += 3 * SB_RECORD_DELAY_NS;
	say_comm(1, 1, "init", 0);
	state__end_round(&state);
	state__end_round(&state);
	now += SB_RECORD_DELAY_NS;
}

/* Nobody refers to anything but @tid of @pid, at @time. */
static void collect(u32 pid, u32 tid, u64 time)
{
	struct task_refs refs;

	task_refs__init(&refs);
	if (pid)
		task_refs__add(&refs, pid, tid, time);
	state__collect(&state, &refs);
	task_refs__exit(&refs);
}

/* A parent is referred to since @time, its child since @later. */
static void collect_family(u32 parent, u64 time, u32 child, u64 later)
{
	struct task_refs refs;

	task_refs__init(&refs);
	task_refs__add(&refs, parent, parent, time);
	task_refs__add(&refs, child, child, later);
	state__collect(&state, &refs);
	task_refs__exit(&refs);
}

static int keep(void *arg, const void *records, size_t len)
{
	struct records run = records__of(records, len);
	struct perf_event_header header;
	size_t pos, size;

	(void)arg;
	for (pos = 0; (size = records__header(&run, pos, &header)); pos += size)
		history_list__add(&file, history__time_of(records + pos), records + pos, size);
	return 0;
}

/* The file so far, read up to and with @time. */
static void read_file(u64 time)
{
	struct history_record *sorted[1024];
	size_t i;

	if (state__write(&state, keep, NULL) || file.nr > ARRAY_SIZE(sorted))
		abort();
	for (i = 0; i < file.nr; i++)
		sorted[i] = &file.record[i];
	qsort(sorted, file.nr, sizeof(*sorted), history__by_time);
	reader__begin(&the_reader);
	for (i = 0; i < file.nr && sorted[i]->time <= time; i++)
		reader__event(&the_reader, (union perf_event *)sorted[i]->bytes, sorted[i]->time);
}

static void new_file(void)
{
	history_list__clear(&file);
	state__begin_file(&state, false);
}

static bool resolves(u32 pid, u32 tid, u64 addr, const char *comm, const char *map, u64 offset)
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

static size_t count(u32 type)
{
	size_t i, nr = 0;

	for (i = 0; i < file.nr; i++)
		nr += ((union perf_event *)file.record[i].bytes)->header.type == type;
	return nr;
}

static void test_fork(void)
{
	u64 before, after;
	bool ok;

	begin();
	say_comm(10, 10, "shell", 0);
	say_mmap(10, 0x1000, 0x1000, 0, "/sh");
	say_fork(20, 20, 10, 10);
	before = now++;
	say_comm(20, 20, "ls", PERF_RECORD_MISC_COMM_EXEC);
	say_mmap(20, 0x9000, 0x1000, 0x400, "/ls");
	say_comm(10, 10, "make", PERF_RECORD_MISC_COMM_EXEC);
	say_mmap(10, 0x1000, 0x1000, 0, "/make");
	after = now++;

	read_file(before);
	ok = resolves(20, 20, 0x1800, "shell", "/sh", 0x800);
	check(ok, "a child has its parent's name and maps");
	read_file(after);
	ok = resolves(20, 20, 0x9010, "ls", "/ls", 0x410);
	check(ok, "exec gives it others");

	settle();
	collect(0, 0, 0);
	new_file();
	read_file(now);
	ok = resolves(20, 20, 0x9010, "ls", "/ls", 0x410) && resolves(20, 20, 0x1800, "ls", "", 0) &&
	     resolves(10, 10, 0x1800, "make", "/make", 0x800);
	check(ok, "exec drops the maps that were before");
	check(count(PERF_RECORD_MMAP2) == 2, "and the file has no more than what is");
	end();

	begin();
	say_comm(10, 10, "shell", 0);
	say_mmap(10, 0x1000, 0x1000, 0, "/sh");
	say_fork(20, 20, 10, 10);
	say_comm(10, 10, "make", PERF_RECORD_MISC_COMM_EXEC);
	say_mmap(10, 0x1000, 0x1000, 0, "/make");
	settle();
	collect(0, 0, 0);
	read_file(now);
	ok = resolves(20, 20, 0x1800, "shell", "/sh", 0x800) &&
	     resolves(10, 10, 0x1800, "make", "/make", 0x800);
	check(ok, "what the parent does after the fork does not change the child");
	end();

	begin();
	say_comm(10, 10, "shell", 0);
	say_mmap(10, 0x1000, 0x1000, 0, "/sh");
	say_fork(20, 20, 10, 10);
	say_mmap(20, 0x5000, 0x1000, 0, "/lib");
	say_exit(10, 10);
	settle();
	collect(20, 20, now);
	read_file(now);
	ok = resolves(20, 20, 0x1800, "shell", "/sh", 0x800) &&
	     resolves(20, 20, 0x5000, "shell", "/lib", 0) && resolves(10, 10, 0x1800, "", "", 0);
	check(ok, "a child keeps what it has of a parent that is forgotten");
	end();
}

/* A trace refers to a child since somewhat after its FORK record. */
static void test_late_child(void)
{
	u64 before, after;
	unsigned int i;
	bool ok;

	begin();
	say_comm(10, 10, "shell", 0);
	for (i = 1; i <= 4; i++)
		say_mmap(10, i * 0x1000, 0x1000, 0, "/sh");
	before = now++;
	settle();
	say_fork(20, 20, 10, 10);
	say_mmap(20, 0x9000, 0x1000, 0, "/lib");
	after = now++;
	settle();
	collect_family(10, before, 20, after);
	read_file(after);
	ok = resolves(20, 20, 0x4800, "shell", "/sh", 0x800) && resolves(20, 20, 0x9000, "shell", "/lib", 0);
	check(ok && count(PERF_RECORD_MMAP2) == 5, "what a child has of its parent is there once");

	for (i = 0; i < 8; i++)
		say_mmap(20, 0x9000, 0x1000, 0, i < 7 ? "/lib" : "/last");
	after = now++;
	settle();
	collect_family(10, before, 20, after);
	new_file();
	read_file(after);
	ok = resolves(20, 20, 0x4800, "shell", "/sh", 0x800) && resolves(20, 20, 0x9000, "shell", "/last", 0);
	check(ok && count(PERF_RECORD_MMAP2) == 9, "but not if that takes more than all it has");

	collect_family(10, after, 20, after);
	new_file();
	read_file(after);
	ok = resolves(20, 20, 0x4800, "shell", "/sh", 0x800) && resolves(20, 20, 0x9000, "shell", "/last", 0);
	check(ok && count(PERF_RECORD_MMAP2) == 9, "nor if nothing refers to its parent's past");
	end();

	begin();
	say_comm(10, 10, "shell", 0);
	for (i = 1; i <= 4; i++)
		say_mmap(10, i * 0x1000, 0x1000, 0, "/sh");
	settle();
	say_fork(20, 20, 10, 10);
	settle();
	say_mmap(10, 0x1000, 0x4000, 0, "/over");
	after = now++;
	settle();
	collect_family(10, after, 20, after);
	read_file(after);
	ok = resolves(20, 20, 0x4800, "shell", "/sh", 0x800) && resolves(10, 10, 0x4800, "shell", "/over", 0x3800);
	check(ok, "it has what its parent had then, not now");
	end();
}

static void test_threads(void)
{
	u64 time;
	bool ok;

	begin();
	say_comm(10, 10, "server", PERF_RECORD_MISC_COMM_EXEC);
	say_mmap(10, 0x1000, 0x1000, 0, "/server");
	say_fork(10, 11, 10, 10);
	say_comm(10, 11, "worker", 0);
	say_fork(10, 12, 10, 11);
	say_namespaces(10, 12, 7);
	say_mmap(10, 0x4000, 0x1000, 0, "/plugin");
	settle();
	collect(0, 0, 0);
	read_file(now);
	ok = resolves(10, 10, 0x1000, "server", "/server", 0) &&
	     resolves(10, 11, 0x4000, "worker", "/plugin", 0) &&
	     resolves(10, 12, 0x4000, "worker", "/plugin", 0);
	check(ok, "threads share maps and have names of their own");
	check(reader__find(&the_reader, 12)->ns == 7 && reader__find(&the_reader, 10)->ns == 0,
	      "and namespaces");

	say_exit(10, 11);
	settle();
	time = now;
	collect(10, 10, now);
	new_file();
	read_file(time);
	ok = resolves(10, 11, 0x4000, "", "/plugin", 0) &&
	     resolves(10, 12, 0x4000, "worker", "/plugin", 0);
	check(ok, "a thread that has exited is forgotten, the process is not");

	say_exit(10, 10);
	settle();
	collect(0, 0, 0);
	new_file();
	read_file(now);
	ok = resolves(10, 12, 0x4000, "worker", "/plugin", 0);
	check(ok, "a process goes on without its leader");

	say_comm(10, 10, "next", PERF_RECORD_MISC_COMM_EXEC);
	say_mmap(10, 0x2000, 0x1000, 0, "/next");
	settle();
	collect(0, 0, 0);
	new_file();
	read_file(now);
	ok = resolves(10, 10, 0x2000, "next", "/next", 0) && resolves(10, 12, 0x4000, "", "", 0);
	check(ok, "a thread that executes becomes the leader, and the only one");
	end();
}

static void test_exit(void)
{
	u64 first, second;
	bool ok;

	begin();
	say_comm(10, 10, "old", 0);
	say_mmap(10, 0x1000, 0x1000, 0, "/old");
	first = now++;
	say_exit(10, 10);
	settle();
	say_fork(10, 10, 1, 1);
	say_comm(10, 10, "new", PERF_RECORD_MISC_COMM_EXEC);
	say_mmap(10, 0x1000, 0x1000, 0, "/new");
	second = now++;
	settle();

	read_file(first + 2);
	ok = resolves(10, 10, 0x1000, "old", "/old", 0);
	check(ok, "a task that has exited keeps its name on its way out");
	read_file(second);
	ok = resolves(10, 10, 0x1000, "new", "/new", 0);
	check(ok, "until another one gets its tid");

	collect(10, 10, first);
	new_file();
	read_file(first);
	ok = resolves(10, 10, 0x1000, "old", "/old", 0);
	read_file(now);
	ok = ok && resolves(10, 10, 0x1000, "new", "/new", 0);
	check(ok, "both are kept if the rings refer to the older one");

	collect(10, 10, second);
	new_file();
	read_file(now);
	ok = resolves(10, 10, 0x1000, "new", "/new", 0);
	check(ok && count(PERF_RECORD_MMAP2) == 1, "the older one is not if they do not");

	say_exit(10, 10);
	settle();
	state__forget(&state, second);
	new_file();
	read_file(now);
	ok = resolves(10, 10, 0x1000, "new", "/new", 0);
	check(ok, "an exit that is newer than the horizon is not forgotten");
	state__forget(&state, now);
	new_file();
	read_file(now);
	ok = resolves(10, 10, 0x1000, "", "", 0);
	check(ok && count(PERF_RECORD_MMAP2) == 0, "one that is older is");
	end();
}

static void test_overlap(void)
{
	bool ok;

	begin();
	say_comm(10, 10, "maps", 0);
	say_mmap(10, 0x10000, 0x10000, 0x100000, "/a");
	say_mmap(10, 0x14000, 0x4000, 0x200000, "/b");
	say_mmap(10, 0x1f000, 0x2000, 0x300000, "/c");
	say_mmap(10, 0xf000, 0x2000, 0x400000, "/d");
	say_mmap(10, 0x15000, 0x1000, 0x500000, "/e");
	settle();
	collect(0, 0, 0);
	read_file(now);
	ok = resolves(10, 10, 0x12000, "maps", "/a", 0x102000) &&
	     resolves(10, 10, 0x14800, "maps", "/b", 0x200800) &&
	     resolves(10, 10, 0x15800, "maps", "/e", 0x500800) &&
	     resolves(10, 10, 0x16800, "maps", "/b", 0x202800) &&
	     resolves(10, 10, 0x18800, "maps", "/a", 0x108800) &&
	     resolves(10, 10, 0x1f800, "maps", "/c", 0x300800) &&
	     resolves(10, 10, 0x0f800, "maps", "/d", 0x400800) &&
	     resolves(10, 10, 0x10800, "maps", "/d", 0x401800);
	check(ok, "what newer maps leave of older ones is there, at its place in the file");
	check(count(PERF_RECORD_MMAP2) == 7, "and nothing of it twice");

	say_mmap(10, 0x0, 0x100000, 0, "/all");
	settle();
	collect(0, 0, 0);
	new_file();
	read_file(now);
	check(count(PERF_RECORD_MMAP2) == 1, "a map over all others takes their place");
	end();
}

static void test_order(void)
{
	u64 t;
	bool ok;

	/* The parent's CPU is read after the child's; what it said last is read a round later. */
	begin();
	t = now;
	now = t + 200;
	say_comm(20, 20, "child", PERF_RECORD_MISC_COMM_EXEC);
	say_mmap(20, 0x2000, 0x1000, 0, "/child");
	state__end_round(&state);
	now = t;
	say_comm(10, 10, "parent", 0);
	say_mmap(10, 0x1000, 0x1000, 0, "/parent");
	say_fork(20, 20, 10, 10);
	say_fork(30, 30, 10, 10);
	now = t + 1000;
	settle();
	collect(0, 0, 0);
	read_file(now);
	ok = resolves(20, 20, 0x2000, "child", "/child", 0) &&
	     resolves(30, 30, 0x1000, "parent", "/parent", 0);
	check(ok, "records are put in the order of their times, whenever they come");
	end();
}

/* In the same file: what was there before must still hold. */
static void test_same_file(void)
{
	u64 before, after;
	bool ok;

	begin();
	say_comm(10, 10, "one", 0);
	say_mmap(10, 0x1000, 0x1000, 0, "/one");
	say_fork(10, 11, 10, 10);
	say_ksymbol(0xffff0000, "bpf_one", 0);
	before = now++;
	settle();
	collect(10, 10, before);
	read_file(now);

	say_comm(10, 10, "two", PERF_RECORD_MISC_COMM_EXEC);
	say_mmap(10, 0x1000, 0x1000, 0, "/two");
	say_fork(10, 12, 10, 10);
	say_comm(10, 12, "thread", 0);
	say_ksymbol(0xffff0000, "bpf_one", PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
	say_ksymbol(0xffff1000, "bpf_two", 0);
	say_ksymbol(0xffff1000, "bpf_two", PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
	after = now++;
	settle();
	collect(0, 0, 0);
	read_file(before);
	ok = resolves(10, 10, 0x1000, "one", "/one", 0) && resolves(10, 11, 0x1000, "one", "/one", 0);
	check(ok, "a later snapshot in the same file leaves the earlier ones as they were");
	read_file(after + SB_RECORD_DELAY_NS * 8);
	ok = resolves(10, 10, 0x1000, "two", "/two", 0) &&
	     resolves(10, 12, 0x1000, "thread", "/two", 0);
	check(ok, "and has what changed, also if it has been folded before it was written");
	check(count(PERF_RECORD_KSYMBOL) == 2, "a symbol that the file knows is unregistered in it");

	after = file.nr;
	read_file(now);
	check(file.nr == after, "nothing is written twice");
	end();
}

static void test_globals(void)
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
	say_ksymbol(0x1000, "first", 0);
	say_ksymbol(0x1000, "first", PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
	say_ksymbol(0x1000, "second", 0);
	say_ksymbol(0x2000, "third", 0);
	for (i = 0; i < SYSTEM_WIDE_MAX_CGROUPS + 10; i++) {
		cgroup.id = i;
		say(&cgroup, PERF_RECORD_CGROUP, 0, offsetof(struct perf_record_cgroup, path) + 8, now++);
	}
	settle();
	collect(0, 0, 0);
	history_list__clear(&file);
	state__write(&state, keep, NULL);
	check(count(PERF_RECORD_MMAP) == 1 && count(PERF_RECORD_KSYMBOL) == 2,
	      "of the kernel there is what is: maps, and symbols that are registered");
	check(count(PERF_RECORD_CGROUP) == SYSTEM_WIDE_MAX_CGROUPS && state__loss(&state).cgroups == 10,
	      "cgroups are kept up to a number, and the others counted");
	end();
}

static void test_timeline(void)
{
	struct perf_record_lost lost = { .lost = 13 };
	size_t nr = 2 * STATE_MAX_PASSTHROUGH_BYTES / 64, i;
	u64 begun;

	begin();
	begun = now;
	for (i = 0; i < nr; i++)
		say_switch();
	say(&lost, PERF_RECORD_LOST, 0, sizeof(lost), now++);
	settle();
	collect(1, 1, begun);
	check(state.log.passthrough_bytes <= STATE_MAX_PASSTHROUGH_BYTES && state.log.passthrough_bytes > STATE_MAX_PASSTHROUGH_BYTES / 2,
	      "switches that could be referred to are kept up to a size");
	check(state__loss(&state).passthrough + state.log.nr_applied >= nr &&
	      state__loss(&state).passthrough < nr, "the others are counted");
	check(state__loss(&state).lost == 13, "so is what the kernel lost");
	collect(1, 1, now);
	check(state.log.passthrough_bytes == 0, "switches before all samples are not kept");
	end();
}

static bool nobody(u32 tid)
{
	return tid != 30;
}

static void collect_traced(u32 tid, u64 time)
{
	struct task_refs refs;

	task_refs__init(&refs);
	task_refs__add(&refs, tid, tid, time);
	task_refs__add(&refs, 8, 8, time);		/* was switched to, too, but nothing is known of it */
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
	say_switch_wide(30, 20);
	say(&record, PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT, sizeof(record), now++);
	say_comm(40, 40, "other", 0);
	visits = 0;
	state__visit_switches(&state, visit, NULL);
	ok = visits == 1 && visited.tid == 30 && visited.cpu == (u32)-1 && visited_at == first;
	settle();
	speaker = 50;
	say_switch();
	speaker = 0;
	visits = 0;
	state__visit_switches(&state, visit, NULL);
	ok = ok && visits == 2 && visited.tid == 50;
	check(ok, "it is told who was switched to, settled or not");
	end();
}

static void test_switches(void)
{
	size_t nr = 2 * STATE_MAX_PASSTHROUGH_BYTES / 64, i;
	u64 begun;

	begin();
	begun = now;
	say_comm(20, 20, "traced", 0);
	say_switch_wide(20, 7);
	say_switch_wide(7, 20);
	for (i = 0; i < 10; i++)
		say_switch_wide(7, 8);
	settle();
	collect_traced(20, begun);
	new_file();
	read_file(now);
	check(count(PERF_RECORD_SWITCH_CPU_WIDE) == 12, "few switches are kept, whoever's they are");
	for (i = 0; i < nr; i++)
		say_switch_wide(7, 8);
	settle();
	collect_traced(20, begun);
	new_file();
	read_file(now);
	check(count(PERF_RECORD_SWITCH_CPU_WIDE) == 2 && !state__loss(&state).passthrough,
	      "of many those of whom is traced, however old");
	end();
}

static void test_lost_exit(void)
{
	bool ok;

	begin();
	say_comm(20, 20, "alive", 0);
	say_comm(30, 30, "gone", 0);
	settle();
	state__mark_exited(&state, nobody);
	collect(0, 0, 0);
	read_file(now);
	ok = resolves(20, 20, 0, "alive", "", 0) && resolves(30, 30, 0, "", "", 0);
	check(ok, "tasks whose exit was lost are found to be gone");
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

/* Each type, cut off at each length and with each size in its header; the sanitizers watch. */
static bool somebody(u32 tid)
{
	(void)tid;
	return true;
}

#define MANY	(HISTORY_MIN_PRUNE_THRESHOLD + 10)

static unsigned int asked;
static u64 is_mapped;	/* a page there; 0 if nobody knows */

static struct proc_maps *look_up(u32 tid)
{
	bool known = is_mapped && tid != 30;
	struct proc_maps *proc_maps = known ? malloc(sizeof(*proc_maps) + sizeof(struct mapped_range)) : NULL;

	asked++;
	if (proc_maps) {
		proc_maps->nr = 1;
		proc_maps->range[0] = (struct mapped_range){ is_mapped, is_mapped + 0x1000, true };
	}
	return proc_maps;
}

/* Each where none was; the process had a map more, before them. */
static void say_many(u32 pid)
{
	unsigned int i;

	for (i = 1; i < MANY; i++)
		say_mmap(pid, i * 0x2000, 0x1000, 0, "/gone");
}

static size_t maps_in_file(void)
{
	collect(0, 0, 0);
	new_file();
	read_file(now);
	return count(PERF_RECORD_MMAP2);
}

/* With it settles what was asked before: by then the rings were read, and had something new. */
static void settle_survey(void)
{
	settle();
	settle();
	settle();
}

static void begin_crowded(void)
{
	begin();
	asked = 0;
	is_mapped = 0x1000000;
	say_comm(10, 10, "jit", 0);
	say_mmap(10, is_mapped, 0x1000, 0, "/there");
	say_many(10);
	settle();
}

static void test_surveys(void)
{
	u64 meanwhile;
	bool ok;

	begin();
	asked = 0;
	say_comm(10, 10, "small", 0);
	say_mmap(10, 0x1000, 0x1000, 0, "/there");
	settle();
	state__find_stale_maps(&state, look_up);
	check(!asked, "of few maps nobody is asked whether they are there");
	end();

	begin_crowded();
	state__find_stale_maps(&state, look_up);
	state__find_stale_maps(&state, look_up);
	ok = asked == 1;
	meanwhile = now++;
	say_mmap(10, 0x2000000, 0x1000, 0, "/new");
	settle_survey();
	ok = check(ok, "of many that is asked, once");
	/* Somebody was there when it was asked. */
	collect(10, 10, meanwhile);
	new_file();
	read_file(meanwhile);
	check(resolves(10, 10, 0x2010, "jit", "/gone", 0x10),
	      "a map that is gone is there as long as it is referred to");
	ok = maps_in_file() == 2 && resolves(10, 10, 0x1000010, "jit", "/there", 0x10) &&
	     resolves(10, 10, 0x2000010, "jit", "/new", 0x10) && resolves(10, 10, 0x2010, "jit", "", 0);
	check(ok, "and then what is there is left, and what is newer");
	say_many(10);
	settle();
	state__find_stale_maps(&state, look_up);
	settle_survey();
	check(asked == 2 && maps_in_file() == 1, "and again");
	end();

	begin_crowded();
	say_fork(20, 20, 10, 10);
	settle();
	state__find_stale_maps(&state, look_up);
	settle_survey();
	check(asked == 2 && maps_in_file() == 2, "of children, too");
	end();

	begin_crowded();
	say_fork(30, 30, 10, 10);
	settle();
	state__find_stale_maps(&state, look_up);
	settle_survey();
	check(maps_in_file() == MANY + 1, "but not if nothing is known of them");
	end();

	begin_crowded();
	meanwhile = now++;
	settle();
	state__find_stale_maps(&state, look_up);
	settle_survey();
	collect(10, 10, meanwhile);
	new_file();
	read_file(meanwhile);
	ok = resolves(10, 10, 0x2010, "jit", "/gone", 0x10);
	check(ok, "what is referred to stays, if nothing came since");
	meanwhile = now++;
	say_mmap(10, 0x2000000, 0x1000, 0, "/new");
	settle();
	collect(10, 10, meanwhile);
	new_file();
	read_file(now);
	check(count(PERF_RECORD_MMAP2) == 2, "and goes when that is over, whatever came");
	end();

	begin_crowded();
	is_mapped = 0;
	state__find_stale_maps(&state, look_up);
	say_mmap(10, 0x2000000, 0x1000, 0, "/new");
	settle_survey();
	state__find_stale_maps(&state, look_up);
	check(asked == 1 && maps_in_file() == MANY + 1, "if nobody knows, all are there");
	end();

	begin_crowded();
	say_mmap(1, 0x9000, 0x1000, 0, "/parent");
	settle();
	state__find_stale_maps(&state, look_up);
	say_exit(10, 10);
	say_fork(10, 10, 1, 1);
	say_comm(10, 10, "other", 0);
	settle_survey();
	ok = maps_in_file() == 2 && resolves(10, 10, 0x9010, "other", "/parent", 0x10);
	check(ok, "another process with that pid keeps its own");
	end();

	begin_crowded();
	state__find_stale_maps(&state, look_up);
	state__mark_exited(&state, somebody);
	settle_survey();
	check(maps_in_file() == MANY, "after a loss nothing of it holds");
	end();
}

static void test_malformed(void)
{
	struct {
		union {
			struct perf_event_header header;
			unsigned char bytes[256];
		};
	} record;
	unsigned int type, size, fill;
	u64 random = 88172645463325252ULL;
	size_t i;

	begin();
	for (type = 0; type < 24; type++) {
		for (size = 0; size < sizeof(record); size += 4) {
			for (fill = 0; fill < 3; fill++) {
				for (i = 0; i < sizeof(record); i++) {
					random = random * 6364136223846793005ULL + 1442695040888963407ULL;
					record.bytes[i] = fill == 2 ? random >> 56 : fill ? 0xff : 0;
				}
				record.header = (struct perf_event_header){ .type = type, .misc = 2,
									    .size = size };
				add_bytes(&record, size);
				add_bytes(&record, size / 2);
			}
		}
	}
	check(state__loss(&state).malformed > 0, "records that are too short are refused");
	state__end_round(&state);
	state__end_round(&state);
	collect(0, 0, 0);
	state__forget(&state, UINT64_MAX);
	check(!state__write(&state, keep, NULL), "and the others do no harm, whatever they say");
	end();
}

size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t allocated(void)
{
	return __sanitizer_get_current_allocated_bytes ?
	       __sanitizer_get_current_allocated_bytes() : 0;
}

/* A process a millisecond, as a shell makes them. The ring refers to every hundredth. */
static void test_flat(void)
{
	size_t first_most = 0, most = 0, i;
	u32 pid, collections = 0;

	begin();
	say_comm(10, 10, "shell", 0);
	say_mmap(10, 0x1000, 0x1000, 0, "/sh");
	for (i = 0; i < NR_PROCESSES; i++) {
		pid = 1000 + i % 30000;
		say_fork(pid, pid, 10, 10);
		say_comm(pid, pid, "cmd", PERF_RECORD_MISC_COMM_EXEC);
		say_mmap(pid, 0x1000, 0x1000, 0, "/cmd");
		say_mmap(pid, 0x3000, 0x1000, 0, "/libc");
		say_exit(pid, pid);
		now += SB_RECORD_DELAY_NS / 1000;
		if (i % 10 == 0)
			state__end_round(&state);
		if (state__must_collect(&state)) {
			collect(pid, pid, now);
			collections++;
		}
		most = max(most, allocated());
		if (i == NR_PROCESSES / 5)
			first_most = most;
	}
	printf("# %u collections, at most %zu bytes, %zu in the first fifth\n",
	       collections, most, first_most);
	check(collections > 2 && most <= first_most + first_most / 10,
	      "a million processes take no more memory than some");
	settle();
	collect(0, 0, 0);
	check(state.tasks.nr <= 2, "those that have exited are forgotten");
	end();
}

static void test_histories(void)
{
	const char *seed = getenv("STATE_TEST_SEED"), *number = getenv("STATE_TEST_HISTORIES");
	static struct history history;
	u64 first = seed ? strtoull(seed, NULL, 0) : 1, failed = 0, checked = 0, in_maps = 0, i;
	u64 nr = number ? strtoull(number, NULL, 0) : 200;

	for (i = first; i < first + nr; i++) {
		if (history__run(&history, i, 2000, &naive_reader))
			printf("# seed %llu\n", (unsigned long long)i);
		failed += history.failed;
		checked += history.checked;
		in_maps += history.in_maps;
	}
	printf("# %llu samples, %llu of them in maps, %llu wrong\n", (unsigned long long)checked,
	       (unsigned long long)in_maps, (unsigned long long)failed);
	check(!failed && in_maps, "samples of random histories resolve to what they were");
}

int main(void)
{
	test_fork();
	test_late_child();
	test_threads();
	test_exit();
	test_overlap();
	test_order();
	test_same_file();
	test_globals();
	test_timeline();
	test_visits();
	test_switches();
	test_lost_exit();
	test_surveys();
	test_malformed();
	test_histories();
	test_flat();
	free(file.record);
	return tap_end();
}
