// SPDX-License-Identifier: GPL-2.0-only
/* Restore pid, tid and name of tasks in the samples that follow their exit. */
#include <byteswap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>
#include "util/event.h"
#include "util/evsel.h"
#include "util/exited-task.h"
#include "util/machine.h"
#include "util/sample.h"
#include "util/thread.h"

#define NR_EXITED	1024	/* tasks that may exit before another one runs for the last time */
#define NR_MAPPED	16384	/* tasks of a pid namespace */
#define COMM_SIZE	16	/* of the kernel, with the final zero */
#define COMMON_PID	4	/* offset in the raw data of all tracepoints */

/**
 * struct exited_tasks - what is known of the tasks of a machine
 * @exited:	tasks that have exited, by tid; a later one replaces another
 * @mapped:	tids by those of the initial pid namespace, or NULL
 *
 * The raw data has tids of the initial pid namespace, the other fields those of the recorder's.
 *
 * A valid pid of a sample takes precedence over @exited: a FORK record may have been lost.
 */
struct exited_tasks {
	struct exited_task {
		int	pid;
		int	tid;
		char	comm[COMM_SIZE];
	} exited[NR_EXITED];
	struct mapped_task {
		int	initial_tid;
		int	tid;
	} *mapped;
};

static struct exited_tasks *tasks_of(struct machine *machine)
{
	if (!machine->exited_tasks)
		machine->exited_tasks = calloc(1, sizeof(*machine->exited_tasks));
	return machine->exited_tasks;
}

void exited_tasks__delete(struct exited_tasks *tasks)
{
	if (tasks)
		free(tasks->mapped);
	free(tasks);
}

static struct exited_task *exited_of(struct exited_tasks *tasks, int tid)
{
	return &tasks->exited[(unsigned int)tid % NR_EXITED];
}

static void note_exit(struct machine *machine, struct exited_tasks *tasks, int pid, int tid)
{
	struct exited_task *exited = exited_of(tasks, tid);
	struct thread *thread = machine__find_thread(machine, pid, tid);

	exited->pid = pid;
	exited->tid = tid;
	exited->comm[0] = 0;
	if (thread && thread__comm_set(thread))
		snprintf(exited->comm, COMM_SIZE, "%s", thread__comm_str(thread));
	thread__put(thread);
}

/* Return: the tid in the raw data, which is one of the initial pid namespace, or -1. */
static int initial_tid_of(const struct perf_sample *sample, const struct evsel *evsel)
{
	u32 tid;

	if (evsel->core.attr.type != PERF_TYPE_TRACEPOINT ||
	    !(evsel->core.attr.sample_type & PERF_SAMPLE_TID) ||
	    !sample->raw_data || sample->raw_size < COMMON_PID + sizeof(tid))
		return -1;
	memcpy(&tid, (const char *)sample->raw_data + COMMON_PID, sizeof(tid));
	return (int)(evsel->needs_swap ? bswap_32(tid) : tid);
}

/* Note which tid a task has in the recorder's namespace, if that is not the initial one. */
static void map_tid(struct exited_tasks *tasks, int initial_tid, int tid)
{
	if (!tasks->mapped && initial_tid != tid)
		tasks->mapped = calloc(NR_MAPPED, sizeof(*tasks->mapped));
	/* A task outside of the namespace has the tid 0. */
	if (tasks->mapped && tid > 0)
		tasks->mapped[initial_tid % NR_MAPPED] = (struct mapped_task){ initial_tid, tid };
}

/* Return: the tid in the recorder's namespace, or -1 if it is unknown. */
static int mapped_tid(const struct exited_tasks *tasks, int initial_tid)
{
	const struct mapped_task *task;

	if (!tasks->mapped)
		return initial_tid;
	task = &tasks->mapped[initial_tid % NR_MAPPED];
	return task->initial_tid == initial_tid ? task->tid : -1;
}

static void restore_tid(struct exited_tasks *tasks, struct perf_sample *sample,
			const struct evsel *evsel)
{
	int initial_tid = initial_tid_of(sample, evsel);

	if (initial_tid <= 0)
		return;
	if ((int)sample->tid >= 0)
		map_tid(tasks, initial_tid, sample->tid);
	else
		sample->tid = mapped_tid(tasks, initial_tid);
}

/* Name a task again that was removed from @machine by its exit. */
static void restore_thread(struct machine *machine, const struct exited_task *exited,
			   struct perf_sample *sample)
{
	struct thread *thread = machine__find_thread(machine, exited->pid, exited->tid);

	sample->pid = exited->pid;
	/* A map that perf inject -B adds before a sample makes a thread without a name. */
	if (exited->comm[0] && !(thread && thread__comm_set(thread))) {
		thread = thread ?: machine__findnew_thread(machine, exited->pid, exited->tid);
		if (thread)
			thread__set_comm(thread, exited->comm, sample->time);
	}
	thread__put(thread);
}

static void restore_sample(struct machine *machine, struct exited_tasks *tasks,
			   struct perf_sample *sample, const struct evsel *evsel)
{
	const struct exited_task *exited;
	struct thread *thread;

	restore_tid(tasks, sample, evsel);
	if ((int)sample->tid <= 0)
		return;
	exited = exited_of(tasks, sample->tid);
	if (exited->tid == (int)sample->tid &&
	    ((int)sample->pid < 0 || (int)sample->pid == exited->pid)) {
		restore_thread(machine, exited, sample);
	} else if ((int)sample->pid < 0) {
		thread = machine__find_thread(machine, -1, sample->tid);
		if (thread)
			sample->pid = thread__pid(thread);
		thread__put(thread);
	}
}

void machine__restore_task(struct machine *machine, const union perf_event *event,
			   struct perf_sample *sample, const struct evsel *evsel)
{
	struct exited_tasks *tasks = machine ? tasks_of(machine) : NULL;
	struct exited_task *exited;

	if (!tasks)
		return;
	switch (event->header.type) {
	case PERF_RECORD_FORK:
		exited = exited_of(tasks, event->fork.tid);
		if (exited->tid == (int)event->fork.tid)
			exited->tid = 0;
		break;
	case PERF_RECORD_EXIT:
		note_exit(machine, tasks, event->fork.pid, event->fork.tid);
		break;
	case PERF_RECORD_SAMPLE:
		if (evsel)
			restore_sample(machine, tasks, sample, evsel);
		break;
	default:
		break;
	}
}
