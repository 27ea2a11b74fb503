// SPDX-License-Identifier: GPL-2.0-only
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <api/fs/fs.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "recording/lib/kernel_clock.h"
#include "recording/lib/printable.h"
#include "recording/when/condition.h"
#include "recording/when/names.h"
#include "cause.h"

struct snapshot_cause snapshot_cause__now(const char *reason)
{
	return (struct snapshot_cause){
		.reason = reason, .time = kernel_clock(), .pid = getpid(), .tid = getpid(),
		.cpu = sched_getcpu(),
	};
}

struct snapshot_cause snapshot_cause__exit(void)
{
	struct snapshot_cause cause = snapshot_cause__now("exit");

	cause.is_exit = true;
	return cause;
}

struct snapshot_cause snapshot_cause__too_long(const struct when_report *report)
{
	struct snapshot_cause cause = {
		.reason = report->condition->text, .time = report->end, .pid = report->pid,
		.tid = report->tid, .cpu = report->cpu, .is_event = true, .report = *report,
	};

	memcpy(cause.comm, report->comm, sizeof(cause.comm));
	when_report__find_cgroup(&cause.report, when_names.cgroup);
	return cause;
}

static void add_merged(struct snapshot_cause *cause, const struct merged_cause *merged)
{
	if (cause->nr_merged < CAUSE_MAX_MERGED)
		cause->merged[cause->nr_merged++] = *merged;
	else
		cause->nr_unlisted++;
}

void snapshot_cause__merge(struct snapshot_cause *cause, const struct snapshot_cause *other)
{
	struct merged_cause merged = {
		.reason = other->reason, .time = other->time, .tid = other->tid,
		.duration_ns = other->report.ns,
	};
	unsigned int i;

	memcpy(merged.comm, other->comm, sizeof(merged.comm));
	add_merged(cause, &merged);
	for (i = 0; i < other->nr_merged; i++)
		add_merged(cause, &other->merged[i]);
	cause->nr_unlisted += other->nr_unlisted;
}

/* A condition can be long: cut it before who took how long, and when. */
static void print_report(const struct when_report *report, char *text, size_t size)
{
	const char *condition = report->condition->text, *cut = "";
	char who[CAUSE_TEXT];
	size_t len, room;

	when_report__print(report, who, WHEN_REPORT_TEXT);
	len = strlen(who);
	if (report->end)
		len += scnprintf(who + len, sizeof(who) - len, "; from %.6f to %.6f",
				 (double)report->begin / NSEC_PER_SEC,
				 (double)report->end / NSEC_PER_SEC);
	room = size - len - sizeof(": ");
	if (strlen(condition) > room) {
		cut = "...";
		room -= strlen(cut);
	}
	scnprintf(text, size, "%.*s%s: %s", (int)room, condition, cut, who);
}

void snapshot_cause__print(const struct snapshot_cause *cause, char *text, size_t size)
{
	if (cause->report.condition)
		print_report(&cause->report, text, size);
	else
		scnprintf(text, size, "%s%s%s", cause->reason, cause->comm[0] ? " by " : "",
			  cause->comm);
}

void snapshot_cause__print_too_long(const struct snapshot_cause *cause, char *text, size_t size)
{
	*text = '\0';
	if (cause->report.condition)
		print_report(&cause->report, text, size);
	else if (cause->pending.condition)
		print_report(&cause->pending, text, size);
}

/* A task chooses its own name: leave nothing in it that a terminal would act on. */
void snapshot_cause__find_comm(struct snapshot_cause *cause)
{
	char entry[32], *comm;
	size_t len;

	snprintf(entry, sizeof(entry), "%d/comm", cause->tid);
	if (procfs__read_str(entry, &comm, &len))
		return;
	/* Without the newline at its end */
	copy_printable(cause->comm, comm, clamp(len, (size_t)1, sizeof(cause->comm)));
	free(comm);
}
