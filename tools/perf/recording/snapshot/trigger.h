/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wait for what makes the recorder act: signals, the workload's end, timers, --control, events.
 *
 * Each trigger is a file descriptor in the event list's poll set: the capture thread (capture.h)
 * waits for all of them in one poll(), and nothing runs in signal context.
 *
 *   signalfd	SIGINT SIGTERM SIGHUP  stop        SIGCHLD  the workload ended
 *		SIGUSR2                snapshot    SIGUSR1  the workload could not be executed
 *   timerfd	--delay; --switch-output=TIME
 *   --control	stop, snapshot (control.h)
 *   --delay ranges	util's event_enable_timer
 *   --switch-output-event	the events' rings (trigger_event.h)
 *   --switch-output-when	reports of BPF programs (when/when.h)
 *   timerfd	--after
 */
#ifndef PERF_RECORDING_TRIGGER_H
#define PERF_RECORDING_TRIGGER_H

#include <stdbool.h>
#include <linux/types.h>
#include "control.h"
#include "recording/when/when.h"
#include "trigger_event.h"
#include "workload.h"

struct evlist;
struct record_opts;

/* Requests; a set of them may arrive at once. */
enum trigger {
	TRIGGER_STOP		= 1 << 0,	/* end the recording */
	TRIGGER_SNAPSHOT	= 1 << 1,	/* SIGUSR2 */
	TRIGGER_CONTROL		= 1 << 2,	/* --control snapshot; wants an answer when done */
	TRIGGER_TIME		= 1 << 3,	/* --switch-output=TIME is over */
	TRIGGER_ENABLE		= 1 << 4,	/* --delay is over */
	TRIGGER_EVENT		= 1 << 5,	/* --switch-output-event */
	TRIGGER_WHEN		= 1 << 6,	/* --switch-output-when */
	TRIGGER_AFTER		= 1 << 7,	/* --after is over */
};

/* Triggers whose snapshot --after delays */
#define TRIGGER_DELAYED	(TRIGGER_SNAPSHOT | TRIGGER_EVENT | TRIGGER_WHEN)

#define TRIGGER_SNAPSHOTS (TRIGGER_DELAYED | TRIGGER_CONTROL | TRIGGER_TIME)

/**
 * struct triggers
 * @evlist:	its poll set has the descriptors
 * @watching:	triggers__init() was called
 * @signals, @delay, @period, @stop, @too_long, @after: positions in the poll set, -1 where not used
 * @control:	commands of --control
 * @events:	the events of --switch-output-event; their limit is that of @when as well
 * @when:	the conditions of --switch-output-when
 * @after_ns:	--after [ns]
 * @waiting:	a request waits until --after is over: others become part of it, without a limit
 * @workload:	the command
 * @signal_pid:	process that sent the last SIGUSR2
 * @stop_signal: the signal that ended the recording, or 0
 */
struct triggers {
	struct evlist	*evlist;
	bool		 watching;
	int		 signals;
	int		 delay;
	int		 period;
	int		 stop;
	int		 too_long;
	int		 after;
	struct control	 control;
	struct trigger_events events;
	struct when	 when;
	u64		 after_ns;
	bool		 waiting;
	struct workload	 workload;
	pid_t		 signal_pid;
	int		 stop_signal;
};

/**
 * triggers__init - block the signals and put all descriptors into the poll set
 * @triggers:	zeroed, but for a prepared @workload
 * @period_sec:	for TRIGGER_TIME [s]; 0 for none
 *
 * Return: 0, or a negative errno after an error message.
 */
int triggers__init(struct triggers *triggers, struct evlist *evlist,
		   const struct record_opts *opts, unsigned long period_sec);

/**
 * triggers__add_stop - watch one more descriptor: TRIGGER_STOP when it is readable
 *
 * Return: 0, or a negative errno. @fd stays the caller's.
 */
int triggers__add_stop(struct triggers *triggers, int fd);

/**
 * triggers__start - let the command go, arm the timer of --delay
 *
 * Return: 0, or a negative errno after an error message.
 */
int triggers__start(struct triggers *triggers, const struct record_opts *opts);

/** triggers__enable - let events and durations be triggers from now on */
void triggers__enable(struct triggers *triggers);

/** triggers__wait - let TRIGGER_AFTER come when --after is over. Return: 0, or a negative errno */
int triggers__wait(struct triggers *triggers);

/**
 * triggers__process - collect the requests after a poll
 * @nr_commands: receives the number of commands among them that want an answer
 *
 * Return: a set of enum trigger, 0 for none; or a negative errno after an error message.
 */
int triggers__process(struct triggers *triggers, unsigned int *nr_commands);

/**
 * triggers__exit - end the workload if it still runs, close everything, restore the signals
 *
 * Sends SIGTERM to the command and waits for it: no process stays behind.
 */
void triggers__exit(struct triggers *triggers);

#endif
