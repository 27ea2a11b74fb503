/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Say in words which duration was too long, and whose it was.
 */
#ifndef PERF_RECORDING_WHEN_REPORT_H
#define PERF_RECORDING_WHEN_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#include <sys/types.h>
#include "util/bpf_skel/durations.h"

struct when_condition;

/* Space for the text of a report */
#define WHEN_REPORT_TEXT	640

/**
 * struct when_report - a duration that is too long; names are printable
 * @condition:	that it meets; NULL: there is no report
 * @begin, @end: [ns of CLOCK_MONOTONIC]; if @open, @end is the time when that was noticed
 * @ns:		its length so far
 * @open:	not ended yet
 * @pid, @tid, @comm: the task; of an interrupt, the task that it interrupted
 * @cgroup:	path of its cgroup, the end of a longer one after "..."; empty if unknown
 * @cgroup_id:	id of this cgroup (v2)
 * @cpu:	where the duration ended, or where the task is
 * @what:	system call, state of a task, interrupt, or value of the field; or empty
 * @holder:	of DURATION_SCHED_DELAY, the task that ran longest meanwhile on the CPU
 *		@holder_cpu, for @holder_ns; @holder_comm is empty if none is known
 */
struct when_report {
	const struct when_condition *condition;
	u64	begin;
	u64	end;
	u64	ns;
	bool	open;
	pid_t	pid;
	pid_t	tid;
	char	comm[DURATION_COMM_LEN];
	char	cgroup[256];
	u64	cgroup_id;
	int	cpu;
	char	what[32];
	pid_t	holder_tid;
	char	holder_comm[DURATION_COMM_LEN];
	int	holder_cpu;
	u64	holder_ns;
};

/**
 * when_report__init - take over what a BPF program has reported
 * @syscall_name: returns the name of a system call, or NULL
 *
 * @report->cgroup stays empty.
 */
void when_report__init(struct when_report *report, const struct when_condition *condition,
		       const struct duration_report *judged,
		       const char *(*syscall_name)(int number));

/**
 * when_report__find_cgroup - read @report->cgroup from /proc, while the task lives
 * @cgroup_id:	returns the id of a cgroup (v2), or 0
 *
 * Another task may have its id now, or in the PID namespace of perf: the path of another cgroup is
 * not taken.
 */
void when_report__find_cgroup(struct when_report *report, u64 (*cgroup_id)(const char *path));

/** when_report__print - write who took how long, without times, at most WHEN_REPORT_TEXT bytes */
void when_report__print(const struct when_report *report, char *text, size_t size);

#endif
