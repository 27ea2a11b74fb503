// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "recording/lib/compat.h"
#include "util/debug.h"
#include "util/session.h"
#include "util/thread.h"
#include "common.h"
#include "task_ids.h"

void task_ids__init(struct task_ids *ids, struct conversion *conv)
{
	*ids = (struct task_ids){ .conv = conv };
	machine__init(&ids->initial, "", HOST_KERNEL_ID);
}

int task_ids__read(struct task_ids *ids)
{
	return pid_map__read(&ids->pids, &ids->conv->data);
}

void task_ids__exit(struct task_ids *ids)
{
	machine__delete_threads(&ids->initial);
	machine__exit(&ids->initial);
	pid_map__exit(&ids->pids);
}

struct machine *task_ids__machine(struct task_ids *ids)
{
	return ids->pids.in_namespace ? &ids->initial : &ids->conv->session->machines.host;
}

/* Replace the ids of a task in the recorder's namespace, whose own id is 0 outside it. */
static void use_initial_ids(struct task_ids *ids, struct moment *at, int common_pid)
{
	if (!ids->pids.in_namespace)
		return;
	at->pid = pid_map__initial(&ids->pids, at->pid);
	at->tid = common_pid > 0 ? common_pid : pid_map__initial(&ids->pids, at->tid);
}

/* Give a task of @ids->initial the name that it has by its id in the namespace. */
static void copy_name(struct task_ids *ids, const struct moment *at, struct thread *named)
{
	struct thread *thread;

	if (!ids->pids.in_namespace || at->tid <= 0 || !named || thread__tid(named) <= 0 ||
	    !thread__comm_set(named))
		return;
	thread = machine__findnew_thread(&ids->initial, at->pid, at->tid);
	if (thread && (!thread__comm_set(thread) ||
		       strcmp(thread__comm_str(thread), thread__comm_str(named))))
		thread__set_comm(thread, thread__comm_str(named), at->time);
	thread__put(thread);
}

int task_ids__sample(struct task_ids *ids, struct evsel *evsel, struct perf_sample *sample,
		     struct machine *machine, struct moment *at, struct thread **thread)
{
	int common_pid = 0;

	*thread = NULL;
	if (!machine__is_host(machine) || conversion__omits(ids->conv, sample))
		return 1;
	if (!has_time(sample)) {
		ids->nr_without_time++;
		return 1;
	}
	*at = (struct moment){ sample->time, (int)sample->cpu, (int)sample->pid, (int)sample->tid };
	if (pid_map__differs(evsel, sample) && !ids->pids.in_namespace) {
		pr_err("Cannot convert a pipe that was recorded in a PID namespace: record to a file\n");
		ids->conv->reported = true;
		return -EOPNOTSUPP;
	}
	if (ids->pids.in_namespace) {
		common_pid = pid_map__common_pid(evsel, sample);
		if (pid_map__learn(&ids->pids, evsel, sample))
			return -ENOMEM;
	}
	*thread = machine__findnew_thread(machine, at->pid, at->tid);
	use_initial_ids(ids, at, common_pid);
	ids->nr_unknown += ids->pids.in_namespace && at->tid < 0 && (int)sample->tid >= 0;
	copy_name(ids, at, *thread);
	return 0;
}

struct moment task_ids__record(struct task_ids *ids, const struct perf_sample *sample, int pid,
			       int tid)
{
	struct moment at = { sample->time, (int)sample->cpu, pid, tid };

	use_initial_ids(ids, &at, 0);
	return at;
}

void task_ids__named(struct task_ids *ids, const struct moment *at, int pid, int tid)
{
	struct thread *thread = machine__find_thread(&ids->conv->session->machines.host, pid, tid);

	copy_name(ids, at, thread);
	thread__put(thread);
}

void task_ids__report(const struct task_ids *ids)
{
	if (ids->pids.in_namespace)
		pr_warning("The file was recorded in a PID namespace. Tasks have the ids of the initial one; the names of tasks outside the recorder's are only in fields of events.\n");
	if (ids->nr_unknown)
		pr_warning("%" PRIu64 " samples are shown without their task: its id in the initial PID namespace is not known.\n",
			   ids->nr_unknown);
	conversion__report_omitted(ids->nr_without_time, "without a time: record with -T");
}
