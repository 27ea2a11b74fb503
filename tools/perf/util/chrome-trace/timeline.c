// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "recording/lib/compat.h"
#include "util/machine.h"
#include "util/thread.h"
#include "timeline.h"

#define MAX_CPUS	(GROUP_RECORDS - GROUP_CPUS - 1)

/* Name of the slice that is as long as the records of a CPU */
static const char recorded[] = "recorded";

/**
 * struct task - thread->priv
 * @name:	name in the row's title
 * @process:	name in the title of the group, if this is the main thread
 * @flow:	number of the arrow that waits for the task to run, 0 for none
 * @running_since: time of the switch to the task, 0 if it was not seen
 * @cpu:	row that has an open slice for the task; -1 for none
 * @switched_out: the task has left the CPU, or is about to
 * @off_cpu:	name of the open slice for the time off the CPU; or NULL
 * @woken:	that slice says runnable
 * @syscall:	name of the open slice for a system call; or ""
 * @had_syscall: a system call began or ended before
 * @exiting_since: time of the system call from which the task does not return, if it was not seen
 *		to leave a CPU since [ns]; or 0
 */
struct task {
	char	name[COMM_SIZE];
	char	process[COMM_SIZE];
	u64	flow;
	u64	running_since;
	int	cpu;
	bool	switched_out;
	bool	woken;
	bool	had_syscall;
	const char *off_cpu;
	char	syscall[40];
	u64	exiting_since;
};

void timeline__init(struct timeline *tl)
{
	thread__set_priv_destructor(free);
	memset(tl, 0, sizeof(*tl));
}

void timeline__exit(struct timeline *tl)
{
	zfree(&tl->cpus);
	loss_counts__exit(&tl->counts);
}

static struct chrome_track cpu_track(int cpu)
{
	return (struct chrome_track){ GROUP_CPUS, GROUP_CPUS + 1 + cpu };
}

static struct chrome_track records_track(int cpu)
{
	return (struct chrome_track){ GROUP_RECORDS, GROUP_RECORDS + 1 + cpu };
}

static struct chrome_track task_track(struct thread *thread)
{
	return (struct chrome_track){ thread__pid(thread), thread__tid(thread) };
}

static void begin_named(struct timeline *tl, char phase, struct chrome_track track, u64 time,
			const char *name)
{
	chrome_event__begin(&tl->events, phase, track, time);
	json__text(&tl->events.json, "name", name);
}

/* @name is that of the slice's beginning: the Firefox Profiler refuses a file without it. */
static void write_end(struct timeline *tl, struct chrome_track track, u64 time, const char *name)
{
	begin_named(tl, 'E', track, time, name);
	chrome_event__end(&tl->events);
}

/* ---- titles */

static void write_title(struct timeline *tl, const char *what, struct chrome_track track,
			const char *title)
{
	begin_named(tl, 'M', track, 0, what);
	json__text(chrome_event__args(&tl->events), "name", title);
	chrome_event__end(&tl->events);
}

static void write_group(struct timeline *tl, int group, const char *title, int position)
{
	struct chrome_track track = { group, group };

	write_title(tl, "process_name", track, title);
	begin_named(tl, 'M', track, 0, "process_sort_index");
	chrome_event__arg_number(&tl->events, "sort_index", position);
	chrome_event__end(&tl->events);
}

static void write_cpu_titles(struct timeline *tl, int cpu)
{
	char title[32];

	if (!tl->titled) {
		write_group(tl, GROUP_CPUS, "CPUs", -2);
		write_group(tl, GROUP_RECORDS, "Records", -1);
		tl->titled = true;
	}
	snprintf(title, sizeof(title), "CPU %d", cpu);
	write_title(tl, "thread_name", cpu_track(cpu), title);
	write_title(tl, "thread_name", records_track(cpu), title);
}

static struct task *task_of(struct thread *thread)
{
	struct task *task = thread__priv(thread);

	if (!task) {
		task = zalloc(sizeof(*task));
		if (task)
			task->cpu = -1;
		thread__set_priv(thread, task);
	}
	return task;
}

/* Return: whether the title was not yet @name */
static bool rename_to(char title[COMM_SIZE], const char *name)
{
	if (!strncmp(title, name, COMM_SIZE - 1))
		return false;
	strncpy(title, name, COMM_SIZE - 1);
	return true;
}

/*
 * Return: the state of the thread, after writing the titles of its row, or NULL. perf knows no name
 * of a task that has exited.
 */
static struct task *draw_task(struct timeline *tl, struct thread *thread)
{
	struct task *task = thread ? task_of(thread) : NULL;
	struct thread *leader;

	if (!task || thread__tid(thread) <= 0 || !thread__comm_set(thread))
		return task && thread__tid(thread) > 0 ? task : NULL;
	if (!rename_to(task->name, thread__comm_str(thread)))
		return task;
	write_title(tl, "thread_name", task_track(thread), thread__comm_str(thread));
	leader = thread__main_thread(tl->host, thread);
	if (leader && task_of(leader) && thread__comm_set(leader) &&
	    rename_to(task_of(leader)->process, thread__comm_str(leader)))
		write_title(tl, "process_name", task_track(leader), thread__comm_str(leader));
	thread__put(leader);
	return task;
}

/* Name a task that perf has no name of. */
static void set_name(struct thread *thread, const char *comm)
{
	if (thread && *comm && !thread__comm_set(thread))
		thread__set_comm(thread, comm, 0);
}

/* ---- CPUs */

static struct cpu_row *find_cpu(struct timeline *tl, int cpu)
{
	return cpu >= 0 && cpu < tl->nr_cpus && tl->cpus[cpu].begin ? &tl->cpus[cpu] : NULL;
}

static int add_cpu(struct timeline *tl, const struct moment *at)
{
	struct cpu_row *cpus;

	if (at->cpu >= tl->nr_cpus) {
		cpus = realloc(tl->cpus, (at->cpu + 1) * sizeof(*cpus));
		if (!cpus)
			return -ENOMEM;
		memset(cpus + tl->nr_cpus, 0, (at->cpu + 1 - tl->nr_cpus) * sizeof(*cpus));
		tl->cpus = cpus;
		tl->nr_cpus = at->cpu + 1;
	}
	tl->cpus[at->cpu].begin = at->time;
	tl->cpus[at->cpu].last = at->time;
	write_cpu_titles(tl, at->cpu);
	begin_named(tl, 'B', records_track(at->cpu), at->time, recorded);
	chrome_event__end(&tl->events);
	return 0;
}

int timeline__sample(struct timeline *tl, const struct moment *at, bool may_be_lost)
{
	struct cpu_row *cpu;

	tl->end = max(tl->end, at->time);
	if (at->cpu < 0 || at->cpu >= MAX_CPUS)
		return 0;
	cpu = find_cpu(tl, at->cpu);
	if (!cpu && add_cpu(tl, at))
		return -ENOMEM;
	cpu = &tl->cpus[at->cpu];
	cpu->nr_samples++;
	if (may_be_lost)
		cpu->last = at->time;
	return 0;
}

static void stop_running(struct timeline *tl, int cpu, u64 time)
{
	struct cpu_row *row = find_cpu(tl, cpu);

	if (!row)
		return;
	if (row->drawn)
		write_end(tl, cpu_track(cpu), time, row->name);
	row->drawn = false;
	row->prev_tid = row->tid;
	row->tid = 0;
}

static void end_off_cpu(struct timeline *tl, struct thread *thread, struct task *task, u64 time)
{
	if (task->off_cpu)
		write_end(tl, task_track(thread), time, task->off_cpu);
	task->off_cpu = NULL;
	task->woken = false;
}

static void begin_syscall(struct timeline *tl, struct thread *thread, struct task *task, u64 time,
			  const char *name)
{
	snprintf(task->syscall, sizeof(task->syscall), "%s", name);
	task->had_syscall = true;
	begin_named(tl, 'B', task_track(thread), time, task->syscall);
}

static void end_syscall(struct timeline *tl, struct thread *thread, struct task *task, u64 time)
{
	if (*task->syscall)
		write_end(tl, task_track(thread), time, task->syscall);
	*task->syscall = 0;
}

static void close_task(struct timeline *tl, struct thread *thread, u64 time)
{
	struct task *task = thread__priv(thread);

	if (!task)
		return;
	end_off_cpu(tl, thread, task, time);
	end_syscall(tl, thread, task, time);
}

static void begin_running(struct timeline *tl, struct cpu_row *row, const struct moment *at,
			  struct thread *thread)
{
	if (thread && thread__comm_set(thread))
		snprintf(row->name, sizeof(row->name), "%s", thread__comm_str(thread));
	else
		snprintf(row->name, sizeof(row->name), "%d", at->tid);
	row->drawn = true;
	begin_named(tl, 'B', cpu_track(at->cpu), at->time, row->name);
	if (thread)
		chrome_event__arg_number(&tl->events, "pid", thread__pid(thread));
	chrome_event__arg_number(&tl->events, "tid", at->tid);
	chrome_event__end(&tl->events);
}

static void start_running(struct timeline *tl, const struct moment *at, const char *comm)
{
	struct cpu_row *row = find_cpu(tl, at->cpu);
	struct thread *thread;
	struct task *task;

	if (at->tid <= 0) {
		if (row)
			row->tid = 0;
		return;
	}
	thread = machine__findnew_thread(tl->host, at->pid, at->tid);
	set_name(thread, comm);
	task = draw_task(tl, thread);
	if (task) {
		end_off_cpu(tl, thread, task, at->time);
		task->running_since = at->time;
		task->switched_out = false;
		task->cpu = row ? at->cpu : -1;
	}
	if (row) {
		begin_running(tl, row, at, thread);
		row->tid = at->tid;
	}
	if (row && task && task->flow) {
		begin_named(tl, 'f', cpu_track(at->cpu), at->time, "wakeup");
		json__text(&tl->events.json, "cat", "wakeup");
		json__text(&tl->events.json, "bp", "e");
		json__number(&tl->events.json, "id", task->flow);
		chrome_event__end(&tl->events);
		task->flow = 0;
	}
	thread__put(thread);
}

/* Begin another slice if the task runs: it executes another program. */
void timeline__renamed(struct timeline *tl, const struct moment *at)
{
	struct thread *thread = machine__find_thread(tl->host, at->pid, at->tid);
	struct task *task = thread ? thread__priv(thread) : NULL;
	struct cpu_row *row = task ? find_cpu(tl, task->cpu) : NULL;
	struct moment there = *at;

	if (row && row->drawn && row->tid == at->tid && at->time >= row->begin) {
		there.cpu = task->cpu;
		tl->end = max(tl->end, at->time);
		write_end(tl, cpu_track(there.cpu), at->time, row->name);
		begin_running(tl, row, &there, thread);
	}
	thread__put(thread);
}

/* Return: whether the CPU is about to switch: what happens meanwhile still belongs to this task. */
static bool is_leaving(struct timeline *tl, const struct cpu_row *row, const struct moment *at)
{
	struct thread *thread;
	struct task *task;
	bool leaving;

	if (at->tid != row->prev_tid || !at->tid)
		return false;
	thread = machine__find_thread(tl->host, at->pid, at->tid);
	task = thread ? thread__priv(thread) : NULL;
	leaving = !task || task->switched_out;
	thread__put(thread);
	return leaving;
}

void timeline__running(struct timeline *tl, const struct moment *at)
{
	struct cpu_row *row = find_cpu(tl, at->cpu);

	if (!tl->switches || !row || at->tid < 0 || at->tid == row->tid || is_leaving(tl, row, at))
		return;
	stop_running(tl, at->cpu, at->time);
	start_running(tl, at, "");
}

/* ---- context switches */

bool timeline__begin_off_cpu(struct timeline *tl, const struct moment *at, enum off_cpu state)
{
	static const char * const names[] = {
		[OFF_CPU_RUNNABLE] = "runnable",
		[OFF_CPU_SLEEPING] = "sleeping",
		[OFF_CPU_BLOCKED]  = "uninterruptible",
		[OFF_CPU_STOPPED]  = "stopped",
	};
	struct thread *thread;
	struct task *task;
	bool drawn = false;

	if (at->tid <= 0)
		return false;
	/* Not findnew: the record of the task's exit may have come before its last switch. */
	thread = machine__find_thread(tl->host, at->pid, at->tid);
	task = draw_task(tl, thread);
	if (task) {
		end_off_cpu(tl, thread, task, at->time);
		task->exiting_since = 0;
		task->flow = 0;
		task->switched_out = true;
		drawn = state != OFF_CPU_DEAD;
	}
	if (task && !drawn)
		close_task(tl, thread, at->time);
	if (drawn) {
		task->off_cpu = names[state];
		task->woken = state == OFF_CPU_RUNNABLE;
		begin_named(tl, 'B', task_track(thread), at->time, task->off_cpu);
	}
	thread__put(thread);
	return drawn;
}

/* A record of a task's switch, as opposed to a CPU's, may be without the CPU. */
void timeline__switch_out(struct timeline *tl, const struct moment *at)
{
	struct thread *thread = machine__find_thread(tl->host, at->pid, at->tid);
	struct task *task = thread ? thread__priv(thread) : NULL;
	int cpu = at->cpu < 0 && task ? task->cpu : at->cpu;
	struct cpu_row *row = find_cpu(tl, cpu);

	tl->end = max(tl->end, at->time);
	if (row && (at->cpu >= 0 || row->tid == at->tid))
		stop_running(tl, cpu, at->time);
	if (task)
		task->cpu = -1;
	thread__put(thread);
}

void timeline__switch_in(struct timeline *tl, const struct moment *at, const char *comm)
{
	tl->end = max(tl->end, at->time);
	start_running(tl, at, comm);
}

/* ---- wake-ups */

static void write_arrow(struct timeline *tl, const struct moment *at, struct task *task, int tid)
{
	begin_named(tl, task->flow ? 't' : 's', cpu_track(at->cpu), at->time, "wakeup");
	json__text(&tl->events.json, "cat", "wakeup");
	if (!task->flow)
		task->flow = ++tl->nr_flows;
	json__number(&tl->events.json, "id", task->flow);
	chrome_event__arg_number(&tl->events, "wakes", tid);
	chrome_event__end(&tl->events);
}

static void begin_runnable(struct timeline *tl, const struct moment *at, struct thread *thread,
			   struct task *task)
{
	struct thread *waker = at->tid > 0 ? machine__find_thread(tl->host, at->pid, at->tid) :
			       NULL;

	task->off_cpu = "runnable";
	begin_named(tl, 'B', task_track(thread), at->time, task->off_cpu);
	if (waker && thread__comm_set(waker))
		json__text(chrome_event__args(&tl->events), "woken by", thread__comm_str(waker));
	chrome_event__arg_number(&tl->events, "waker tid", at->tid);
	chrome_event__arg_number(&tl->events, "waker CPU", at->cpu);
	chrome_event__end(&tl->events);
	thread__put(waker);
}

/*
 * Draw an arrow from the slice of the task that wakes another. An interrupt of an idle CPU has no
 * slice, and is a point instead.
 */
void timeline__wakeup(struct timeline *tl, const struct moment *at, int tid, const char *comm)
{
	struct thread *thread = tid > 0 ? machine__findnew_thread(tl->host, -1, tid) : NULL;
	struct cpu_row *row = find_cpu(tl, at->cpu);
	struct task *task;
	char name[64];

	set_name(thread, comm);
	task = draw_task(tl, thread);
	if (row && row->drawn && task) {
		write_arrow(tl, at, task, tid);
	} else {
		snprintf(name, sizeof(name), "wakes %s", comm);
		timeline__begin_point(tl, at, name);
		json__text(&tl->events.json, "cat", "wakeup");
		chrome_event__arg_number(&tl->events, "wakes", tid);
		chrome_event__end(&tl->events);
	}
	if (task && task->off_cpu && !task->woken) {
		write_end(tl, task_track(thread), at->time, task->off_cpu);
		task->woken = true;
		begin_runnable(tl, at, thread, task);
	}
	thread__put(thread);
}

/* ---- system calls */

static bool never_returns(const char *syscall)
{
	return !strcmp(syscall, "exit") || !strcmp(syscall, "exit_group");
}

void timeline__begin_syscall(struct timeline *tl, const struct moment *at, const char *name)
{
	struct thread *thread = machine__findnew_thread(tl->host, at->pid, at->tid);
	struct task *task = draw_task(tl, thread);

	if (task) {
		end_off_cpu(tl, thread, task, at->time);
		end_syscall(tl, thread, task, at->time);
		task->exiting_since = never_returns(name) ? at->time : 0;
		begin_syscall(tl, thread, task, at->time, name);
	} else {
		timeline__begin_point(tl, at, name);
	}
	json__text(&tl->events.json, "cat", "syscall");
	thread__put(thread);
}

/*
 * Write the end of a system call. If the task was seen in no other, this one began before the file:
 * it fills the time since the task runs, or since the CPU's first sample.
 */
void timeline__end_syscall(struct timeline *tl, const struct moment *at, const char *name, s64 ret)
{
	struct thread *thread = machine__findnew_thread(tl->host, at->pid, at->tid);
	struct task *task = draw_task(tl, thread);
	struct cpu_row *row = find_cpu(tl, at->cpu);

	if (task)
		end_off_cpu(tl, thread, task, at->time);
	if (task && !task->had_syscall) {
		u64 begin = task->running_since ?: row ? row->begin : at->time;

		begin_syscall(tl, thread, task, begin, name);
		json__text(&tl->events.json, "cat", "syscall");
		json__text(chrome_event__args(&tl->events), "cut", "begin");
		chrome_event__end(&tl->events);
	}
	if (task && *task->syscall) {
		begin_named(tl, 'E', task_track(thread), at->time, task->syscall);
		*task->syscall = 0;
	} else {
		timeline__begin_point(tl, at, name);
		json__text(&tl->events.json, "cat", "syscall");
	}
	chrome_event__arg_number(&tl->events, "ret", ret);
	chrome_event__end(&tl->events);
	thread__put(thread);
}

/* ---- points in time */

void timeline__begin_point(struct timeline *tl, const struct moment *at, const char *name)
{
	struct thread *thread = at->tid > 0 ? machine__findnew_thread(tl->host, at->pid, at->tid) :
					      NULL;
	struct chrome_track track = { at->pid, at->tid };

	if (draw_task(tl, thread))
		track = task_track(thread);
	else if (find_cpu(tl, at->cpu))
		track = cpu_track(at->cpu);
	begin_named(tl, 'i', track, at->time, name);
	json__text(&tl->events.json, "s", "t");
	thread__put(thread);
}

/* Draw the duration that caused a snapshot in a row of its own: it may begin before the file. */
static void draw_too_long(struct timeline *tl, const struct moment *at, const char *text,
			  struct too_long *too_long)
{
	int lane = too_long__choose_lane(&tl->too_long, too_long);
	struct chrome_track track = { GROUP_TOO_LONG, GROUP_TOO_LONG + 1 + lane };
	char name[1024], title[32] = "too long";

	if (!tl->too_long_titled) {
		write_group(tl, GROUP_TOO_LONG, "Too long", -3);
		tl->too_long_titled = true;
	}
	if (lane)
		snprintf(title, sizeof(title), "too long (%d)", lane + 1);
	write_title(tl, "thread_name", track, title);
	snprintf(name, sizeof(name), "%.*s", (int)too_long->len, text);
	begin_named(tl, 'B', track, too_long->begin, name);
	json__text(&tl->events.json, "cat", "too-long");
	chrome_event__arg_number(&tl->events, "pid", at->pid);
	chrome_event__arg_number(&tl->events, "tid", at->tid);
	chrome_event__arg_number(&tl->events, "CPU", at->cpu);
	chrome_event__end(&tl->events);
	write_end(tl, track, too_long->end, name);
}

void timeline__snapshot(struct timeline *tl, const struct moment *at, const char *text, size_t size)
{
	struct too_long too_long;
	char name[1536];

	tl->end = max(tl->end, at->time);
	snprintf(name, sizeof(name), "snapshot: %.*s", (int)strnlen(text, min(size, sizeof(name))),
		 text);
	begin_named(tl, 'i', (struct chrome_track){ at->pid, at->tid }, at->time, name);
	json__text(&tl->events.json, "s", "g");
	chrome_event__end(&tl->events);
	if (too_long__parse(&too_long, text, size))
		draw_too_long(tl, at, text, &too_long);
}

/* ---- losses */

static struct chrome_track loss_track(struct timeline *tl, int cpu)
{
	return find_cpu(tl, cpu) ? records_track(cpu) :
				   (struct chrome_track){ GROUP_RECORDS, GROUP_RECORDS };
}

/* The kernel reports a loss with the next record that the ring has room for. */
int timeline__lost(struct timeline *tl, const struct loss *loss)
{
	struct cpu_row *row = find_cpu(tl, loss->cpu);
	char name[64];

	if (!row || !loss->time || loss->kind != LOSS_RECORD)
		return loss_counts__add(&tl->counts, loss, MAX_CPUS);
	tl->end = max(tl->end, loss->time);
	snprintf(name, sizeof(name), "%" PRIu64 " lost", loss->nr);
	begin_named(tl, 'B', records_track(loss->cpu), row->last, name);
	json__text(&tl->events.json, "cat", "lost");
	chrome_event__arg_number(&tl->events, "lost", loss->nr);
	chrome_event__end(&tl->events);
	write_end(tl, records_track(loss->cpu), loss->time, name);
	row->nr_lost += loss->nr;
	row->last = loss->time;
	return 0;
}

static void write_counts(struct timeline *tl, unsigned int index)
{
	static const char * const names[] = {
		[LOSS_RECORD]	= "lost",
		[LOSS_COUNTER]	= "lost in all",
		[LOSS_FILTERED]	= "filtered out",
	};
	char name[64];
	int kind;

	for (kind = 0; kind < NR_LOSS_KINDS; kind++) {
		u64 nr = tl->counts.nr[index][kind];

		if (!nr)
			continue;
		snprintf(name, sizeof(name), "%" PRIu64 " %s", nr, names[kind]);
		begin_named(tl, 'i', loss_track(tl, (int)index - 1), tl->end, name);
		json__text(&tl->events.json, "s", "t");
		json__text(&tl->events.json, "cat", "lost");
		chrome_event__arg_number(&tl->events, names[kind], nr);
		chrome_event__end(&tl->events);
	}
}

/* ---- the end */

void timeline__exited(struct timeline *tl, const struct moment *at)
{
	struct thread *thread = machine__find_thread(tl->host, at->pid, at->tid);

	if (thread)
		close_task(tl, thread, max(at->time, tl->end));
	thread__put(thread);
}

/*
 * Close a task for which the file has no EXIT record, as in snapshots. It may have exited long ago:
 * a system call of which nothing more was seen has no length then.
 */
static void close_unended(struct timeline *tl, struct thread *thread, u64 time)
{
	struct task *task = thread__priv(thread);

	close_task(tl, thread, task && task->exiting_since ? task->exiting_since : time);
}

void timeline__replaced(struct timeline *tl, const struct moment *at)
{
	struct thread *thread = machine__find_thread(tl->host, at->pid, at->tid);

	if (thread)
		close_unended(tl, thread, max(at->time, tl->end));
	thread__put(thread);
}

static int finish_task(struct thread *thread, void *data)
{
	struct timeline *tl = data;

	close_unended(tl, thread, tl->end);
	return 0;
}

void timeline__finish(struct timeline *tl)
{
	unsigned int i;
	int cpu;

	for (i = 0; i < tl->counts.len; i++)
		write_counts(tl, i);
	if (tl->host)
		machine__for_each_thread(tl->host, finish_task, tl);
	for (cpu = 0; cpu < tl->nr_cpus; cpu++) {
		struct cpu_row *row = find_cpu(tl, cpu);

		if (!row)
			continue;
		stop_running(tl, cpu, tl->end);
		begin_named(tl, 'E', records_track(cpu), tl->end, recorded);
		chrome_event__arg_number(&tl->events, "samples", row->nr_samples);
		chrome_event__arg_number(&tl->events, "lost", row->nr_lost);
		chrome_event__end(&tl->events);
	}
}
