/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What can make the recorder do something: signals, the workload's end, timers, --control.
 *
 * All of them are file descriptors in the event list's poll set, so one poll() waits for everything and
 * nothing runs in signal context. The capture thread does that (capture.h).
 *
 *   signalfd	SIGINT SIGTERM SIGHUP  stop        SIGCHLD  the workload ended
 *		SIGUSR2                snapshot    SIGUSR1  the workload could not be executed
 *   timerfd	--delay; --switch-output=TIME
 *   --control	stop, snapshot; enable, disable, evlist and ping are answered by util
 *   --delay ranges	util's event_enable_timer
 *   --switch-output-event	the events' rings (trigger_event.h)
 */
#ifndef PERF_RECORDING_TRIGGER_H
#define PERF_RECORDING_TRIGGER_H

#include <signal.h>
#include <stdbool.h>
#include <linux/types.h>
#include "trigger_event.h"

struct evlist;
struct record_opts;

#define NR_IGNORED_SIGNALS	2

/* What is asked for; several may come at once. */
enum trigger {
	TRIGGER_STOP		= 1 << 0,	/* end the recording */
	TRIGGER_SNAPSHOT	= 1 << 1,	/* SIGUSR2 */
	TRIGGER_CONTROL		= 1 << 2,	/* --control snapshot; wants an ack when done */
	TRIGGER_TIME		= 1 << 3,	/* --switch-output=TIME is over */
	TRIGGER_ENABLE		= 1 << 4,	/* --delay is over */
	TRIGGER_EVENT		= 1 << 5,	/* --switch-output-event */
};

#define TRIGGER_SNAPSHOTS (TRIGGER_SNAPSHOT | TRIGGER_CONTROL | TRIGGER_TIME | TRIGGER_EVENT)

/**
 * struct triggers
 * @evlist:	in whose poll set the descriptors are, and whose workload is watched
 * @saved:	signal mask to be restored
 * @handlers:	of the signals that are ignored, to be restored
 * @watching:	triggers__init() was called
 * @signals, @delay, @period, @stop: positions in the poll set, -1 where not used
 * @events:	those of --switch-output-event
 * @has_workload: a command was given
 * @workload_ended: its status is known
 * @workload_status: from waitpid()
 * @exec_errno:	why the command could not be executed, 0 if it was
 * @stop_signal: the signal that ended the recording, or 0
 */
struct triggers {
	struct evlist	*evlist;
	sigset_t	 saved;
	sighandler_t	 handlers[NR_IGNORED_SIGNALS];
	bool		 watching;
	int		 signals;
	int		 delay;
	int		 period;
	int		 stop;
	struct trigger_events events;
	bool		 has_workload;
	bool		 workload_ended;
	int		 workload_status;
	int		 exec_errno;
	int		 stop_signal;
};

/**
 * triggers__prepare_workload - fork the command; it waits until triggers__start_workload()
 * @argv:	command and arguments, NULL terminated
 * @pipe_output: standard output carries the recording: the command's goes to standard error
 *
 * Must precede triggers__init(), so that the command does not inherit blocked signals.
 *
 * Return: 0, or a negative errno after an error message.
 */
int triggers__prepare_workload(struct triggers *triggers, struct evlist *evlist,
			       struct record_opts *opts, const char **argv, bool pipe_output);

/**
 * triggers__init - block the signals and put all descriptors into the poll set
 * @triggers:	zeroed, or with a prepared workload
 * @period_sec:	for TRIGGER_TIME [s]; 0 for none
 *
 * Return: 0, or a negative errno after an error message.
 */
int triggers__init(struct triggers *triggers, struct evlist *evlist,
		   const struct record_opts *opts, unsigned long period_sec);

/**
 * triggers__add_stop - watch one more descriptor: when it is readable, that is TRIGGER_STOP
 *
 * Return: 0, or a negative errno. @fd stays the caller's.
 */
int triggers__add_stop(struct triggers *triggers, int fd);

/**
 * triggers__start_workload - let the command go, and --delay begin
 *
 * Return: 0, or a negative errno after an error message.
 */
int triggers__start_workload(struct triggers *triggers, const struct record_opts *opts);

/**
 * triggers__process - after a poll: what is asked for
 *
 * Return: a set of enum trigger, 0 for none; or a negative errno after an error message.
 */
int triggers__process(struct triggers *triggers);

/**
 * triggers__exit - end the workload if it still runs, close everything, restore the signals
 *
 * Waits for the command, which has got SIGTERM: no process stays behind.
 */
void triggers__exit(struct triggers *triggers);

/**
 * triggers__workload_exit - what the command's end means for our own exit status
 *
 * Return: its exit status; 128 + N if signal N killed it; 127 or 126 if it could not be executed.
 */
int triggers__workload_exit(const struct triggers *triggers, const char *command);

#endif
