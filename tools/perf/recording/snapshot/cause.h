/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Say why a snapshot is taken: what requested it, when, and which task that was.
 */
#ifndef PERF_RECORDING_CAUSE_H
#define PERF_RECORDING_CAUSE_H

#include <stdbool.h>
#include <linux/types.h>
#include <sys/types.h>
#include <unistd.h>
#include "recording/when/report.h"

/* Requests that are listed beside the first one; more are counted */
#define CAUSE_MAX_MERGED	8

/* Space for the text of snapshot_cause__print() */
#define CAUSE_TEXT		(WHEN_REPORT_TEXT + 128)

/**
 * struct merged_cause - a request that became part of the snapshot of an earlier one
 * @reason, @time, @tid, @comm: see struct snapshot_cause; in the summary, @time is on the clock of
 *		the events, 0 if unknown
 * @duration_ns: of a condition, or 0
 */
struct merged_cause {
	const char	*reason;
	u64		 time;
	u64		 duration_ns;
	pid_t		 tid;
	char		 comm[16];
};

/**
 * struct snapshot_cause
 * @reason:	"signal", "control", "time", "size", "exit", the name of the trigger event, or the
 *		condition of --switch-output-when
 * @time:	of the request, of the trigger event, or of the end of the duration [ns of
 *		CLOCK_MONOTONIC]
 * @pid:	process that requested it; the recorder if no other is known
 * @tid:	its thread
 * @cpu:	CPU of the event, or of the recorder
 * @comm:	name of @tid, printable; empty if the recorder requested it, or if @tid has exited
 * @is_event:	a trigger event, or a duration
 * @is_exit:	nothing requested it: the recording ends
 * @after_ns:	how long after @time the copy was to be taken (--after) [ns]
 * @report:	the duration that was too long; its condition is NULL otherwise
 * @pending:	a duration whose snapshot waits for --after, while another request has this one
 *		taken; its condition is NULL if there is none
 * @merged:	later requests that the same copy answers, the first @nr_merged
 * @nr_unlisted: further ones, which @merged has no room for
 */
struct snapshot_cause {
	const char	*reason;
	u64		 time;
	pid_t		 pid;
	pid_t		 tid;
	int		 cpu;
	char		 comm[16];
	bool		 is_event;
	bool		 is_exit;
	u64		 after_ns;
	struct when_report  report;
	struct when_report  pending;
	struct merged_cause merged[CAUSE_MAX_MERGED];
	unsigned int	 nr_merged;
	unsigned int	 nr_unlisted;
};

/** snapshot_cause__now - describe a request that the recorder makes, or receives, now */
struct snapshot_cause snapshot_cause__now(const char *reason);

/** snapshot_cause__exit - describe the snapshot at the end of the recording */
struct snapshot_cause snapshot_cause__exit(void);

/** snapshot_cause__too_long - describe a request because of a duration that is too long */
struct snapshot_cause snapshot_cause__too_long(const struct when_report *report);

/** snapshot_cause__merge - list @other, and what is merged with it, as part of @cause */
void snapshot_cause__merge(struct snapshot_cause *cause, const struct snapshot_cause *other);

/** snapshot_cause__print_too_long - write what was too long before @cause, or nothing */
void snapshot_cause__print_too_long(const struct snapshot_cause *cause, char *text, size_t size);

/**
 * snapshot_cause__print - write the reason, who caused it, and the duration
 *
 * The times of a duration are those of @cause->report, in seconds.
 */
void snapshot_cause__print(const struct snapshot_cause *cause, char *text, size_t size);

/** snapshot_cause__is_other - did another process request it than the recorder? */
static inline bool snapshot_cause__is_other(const struct snapshot_cause *cause)
{
	return cause->pid != getpid();
}

/** snapshot_cause__find_comm - set @cause->comm from @cause->tid */
void snapshot_cause__find_comm(struct snapshot_cause *cause);

#endif
