/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Take snapshots when something takes too long (--switch-output-when).
 *
 *	condition.h	text -> condition
 *	programs.h	BPF programs judge durations in the kernel, and report those that are too
 *			long
 *	report.h	report -> words
 *
 * Nothing comes to user space below the thresholds. A check judges open durations: it runs when the
 * oldest of them will be too long, no earlier, and not for those that ended before.
 *
 * when__add() to when__open() run in the main thread, all else in the capture thread, from
 * capture__start() to capture__stop().
 */
#ifndef PERF_RECORDING_WHEN_H
#define PERF_RECORDING_WHEN_H

#include <stdbool.h>
#include <linux/types.h>
#include <sys/types.h>
#include "distribution.h"
#include "report.h"
#include "setup.h"

struct when_condition;
struct when_programs;

/* Reports of one when__process() that are kept; more are counted */
#define WHEN_MAX_REPORTS	8

/**
 * struct when
 * @conditions:	@nr of them, owned
 * @measures:	measure how long all durations take, and report none (--advise); set before
 *		when__open()
 * @programs:	NULL before when__open()
 * @fd:		readable when there is something to do; -1 if there are no conditions
 * @timer_fd:	for the next check or lookup
 * @next_lookup: when to look up cgroups again [ns]; 0: no condition has one
 * @enabled:	time from which on durations count [ns]; 0: they do not yet
 * @reports:	what the last when__process() found, in the order of their ends
 * @nr_reports:	number of them, also of those beyond WHEN_MAX_REPORTS
 * @last_end:	when the last of them ended [ns]
 * @nr_too_long: durations that were too long, by condition
 */
struct when {
	struct when_condition	*conditions;
	unsigned int		 nr;
	bool			 measures;
	struct when_programs	*programs;
	int			 fd;
	int			 timer_fd;
	u64			 next_lookup;
	u64			 enabled;
	struct when_report	 reports[WHEN_MAX_REPORTS];
	unsigned int		 nr_reports;
	u64			 last_end;
	u64			 nr_too_long[DURATION_MAX_CONDITIONS];
};

/**
 * when__add - add a condition
 * @option:	where @text comes from, for messages
 *
 * Return: 0, or a negative errno after an error message.
 */
int when__add(struct when *when, const char *option, const char *text);

/** when__clear - remove all conditions */
void when__clear(struct when *when);

/**
 * when__open - load and attach the programs, create @when->fd
 * @own_tgid:	process in the initial PID namespace whose durations are not judged; 0: all are
 * @chain:	see struct when_chain; not needed afterwards
 *
 * Return: 0, also without conditions; or a negative errno after an error message.
 */
int when__open(struct when *when, pid_t own_tgid, const struct when_chain *chain);

/** when__enable - count durations from now on, and arm the timer of the checks */
void when__enable(struct when *when);

/**
 * when__process - @when->fd is readable: check what is open if it is time, and read the reports
 *
 * Return: 0, or a negative errno after an error message.
 */
int when__process(struct when *when);

/** when__be_quiet - let the programs only count the durations that end before @until [ns] */
void when__be_quiet(struct when *when, u64 until);

/**
 * when__too_long - return how many durations of a condition were too long
 * @condition:	its index
 * @nr_quiet:	those that were only counted are added to it; NULL: nowhere
 */
u64 when__too_long(const struct when *when, unsigned int condition, u64 *nr_quiet);

/**
 * when__measure - say how long the durations of a condition took, if @when->measures
 * @condition:	its index
 *
 * Return: 0, or a negative errno.
 */
int when__measure(const struct when *when, unsigned int condition,
		  struct when_quantiles *quantiles);

/** when__warn - after the recording: tell what could not be judged or reported, if anything */
void when__warn(const struct when *when);

/** when__close - detach the programs; the conditions stay */
void when__close(struct when *when);

#endif
