// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "recording/lib/printable.h"
#include "condition.h"
#include "report.h"

static void name_what(struct when_report *report, enum duration_kind kind,
		      const struct duration_report *judged, const char *(*syscall_name)(int number))
{
	static const char * const softirqs[] = {
		"hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched",
		"hrtimer", "rcu",
	};
	char name[DURATION_COMM_LEN];
	const char *call;

	switch (kind) {
	case DURATION_OFF_CPU:
		if (judged->number < strlen(DURATION_STATE_LETTERS))
			scnprintf(report->what, sizeof(report->what), "%c",
				  DURATION_STATE_LETTERS[judged->number]);
		break;
	case DURATION_SYSCALL:
		call = syscall_name(judged->number);
		if (judged->number >> 16 == DURATION_COMPAT_CALL >> 16)
			scnprintf(report->what, sizeof(report->what), "32-bit call %u",
				  judged->number & 0xffff);
		else if (call)
			copy_printable(report->what, call, sizeof(report->what));
		else
			scnprintf(report->what, sizeof(report->what), "%u", judged->number);
		break;
	case DURATION_IRQ:
		copy_printable(name, judged->name, sizeof(name));
		scnprintf(report->what, sizeof(report->what), "%u%s%s", judged->number,
			  *name ? " " : "", name);
		break;
	case DURATION_SOFTIRQ:
		if (judged->number < ARRAY_SIZE(softirqs))
			scnprintf(report->what, sizeof(report->what), "%s",
				  softirqs[judged->number]);
		break;
	case DURATION_PAIR:
		if (report->condition->field)
			scnprintf(report->what, sizeof(report->what),
				  judged->key >> 63 ? "%#llx" : "%llu",
				  judged->key);	/* an address of the kernel, or a number */
		break;
	case DURATION_SCHED_DELAY:
	case DURATION_ON_CPU:
	case NR_DURATION_KINDS:
	default:
		break;
	}
}

/* Return: the turn number @n, counted from the last one. */
static const struct duration_turn *turn(const struct duration_report *judged, u32 n)
{
	return &judged->turns[(judged->next_turn - 1 - n) % DURATION_NR_TURNS];
}

/* How long did a task run during the delay, as far as the turns tell? */
static u64 held_ns(const struct duration_report *judged, u32 nr, u32 tid)
{
	u64 end = judged->end, begin, sum = 0;
	u32 i;

	for (i = 0; i < nr; i++) {
		const struct duration_turn *of = turn(judged, i);

		begin = max((u64)of->since, (u64)judged->begin);
		if (of->tid == tid && end > begin)
			sum += end - begin;
		end = min((u64)of->since, end);
	}
	return sum;
}

/*
 * Find the task that held the CPU longest. The last turn is that of the task itself if it got this
 * CPU. The turns may be written meanwhile, by the CPU that a task waits for: the oldest is not
 * used.
 */
static void find_holder(struct when_report *report, const struct duration_report *judged)
{
	u32 nr = min(judged->next_turn, DURATION_NR_TURNS - 1U), i;
	u64 ns;

	for (i = 0; i < nr; i++) {
		const struct duration_turn *of = turn(judged, i);

		ns = of->tid && of->tid != judged->tid ? held_ns(judged, nr, of->tid) : 0;
		if (ns > report->holder_ns) {
			report->holder_ns = ns;
			report->holder_tid = of->tid;
			copy_printable(report->holder_comm, of->comm, sizeof(report->holder_comm));
		}
		if (of->since <= judged->begin)
			break;
	}
	report->holder_cpu = judged->turns_cpu;
}

void when_report__init(struct when_report *report, const struct when_condition *condition,
		       const struct duration_report *judged,
		       const char *(*syscall_name)(int number))
{
	*report = (struct when_report){
		.condition = condition, .begin = judged->begin, .end = judged->end,
		.ns = judged->end - judged->begin, .open = judged->open,
		.pid = judged->pid, .tid = judged->tid, .cpu = judged->cpu,
		.cgroup_id = judged->cgroup,
	};
	copy_printable(report->comm, judged->comm, sizeof(report->comm));
	name_what(report, condition->judged.kind, judged, syscall_name);
	if (condition->judged.kind == DURATION_SCHED_DELAY)
		find_holder(report, judged);
}

/* Containers differ in the end of their paths, so the beginning is cut. */
static void copy_cgroup(struct when_report *report, const char *path)
{
	size_t len = strlen(path), max = sizeof(report->cgroup) - 1;

	copy_printable(report->cgroup, len > max ? path + len - max : path,
		       sizeof(report->cgroup));
	if (len > max)
		memcpy(report->cgroup, "...", strlen("..."));
}

void when_report__find_cgroup(struct when_report *report, u64 (*cgroup_id)(const char *path))
{
	char path[32], line[PATH_MAX + 16];
	u64 id;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", report->tid);
	file = fopen(path, "re");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, "0::", 3))
			continue;
		line[strcspn(line, "\n")] = '\0';
		id = cgroup_id(line + 3);
		if (!id || id == report->cgroup_id)
			copy_cgroup(report, line + 3);
		break;
	}
	fclose(file);
}

static size_t print_took(const struct when_report *report, char *text, size_t size)
{
	const char *what = report->what, *open = report->open ? "has " : "";
	double ms = (double)report->ns / NSEC_PER_MSEC;
	const struct when_condition *condition = report->condition;

	switch ((enum duration_kind)condition->judged.kind) {
	case DURATION_SCHED_DELAY:
		return scnprintf(text, size, " %swaited %.3f ms for a CPU", open, ms);
	case DURATION_OFF_CPU:
		return scnprintf(text, size, " %s off the CPU for %.3f ms, in state %s",
				 report->open ? "has been" : "was", ms, what);
	case DURATION_ON_CPU:
		return scnprintf(text, size, " %s for %.3f ms on CPU %d without a switch",
				 report->open ? "has run" : "ran", ms, report->cpu);
	case DURATION_SYSCALL:
		return scnprintf(text, size, " %s in %s for %.3f ms",
				 report->open ? "has been" : "was", what, ms);
	case DURATION_IRQ:
		return scnprintf(text, size,
				 " was interrupted for %.3f ms on CPU %d by interrupt %s", ms,
				 report->cpu, what);
	case DURATION_SOFTIRQ:
		return scnprintf(text, size, " was interrupted for %.3f ms on CPU %d by softirq %s",
				 ms, report->cpu, what);
	case DURATION_PAIR:
	case NR_DURATION_KINDS:
	default:
		return scnprintf(text, size, ": %s..%s %s %.3f ms%s%s%s%s", condition->begin,
				 condition->end, report->open ? "has taken" : "took", ms,
				 *what ? ", " : "", *what ? condition->field : "",
				 *what ? " " : "", what);
	}
}

void when_report__print(const struct when_report *report, char *text, size_t size)
{
	size_t len = scnprintf(text, size, "%s (pid %d, tid %d%s%s)", report->comm, report->pid,
			       report->tid, *report->cgroup ? ", cgroup " : "", report->cgroup);

	len += print_took(report, text + len, size - len);
	if (report->holder_comm[0])
		scnprintf(text + len, size - len, "; %s (tid %d) held CPU %d for %.3f ms of them",
			  report->holder_comm, report->holder_tid, report->holder_cpu,
			  (double)report->holder_ns / NSEC_PER_MSEC);
}
