/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fork the command that is recorded, start it, reap it, and tell its exit status.
 *
 * The command is forked before events are opened, with the signals that perf was started with
 * (signals.h). It waits in a pipe's read until workload__start(). If it cannot be executed it says
 * so by SIGUSR1, with errno as the signal's value.
 */
#ifndef PERF_RECORDING_WORKLOAD_H
#define PERF_RECORDING_WORKLOAD_H

#include <stdbool.h>
#include <sys/types.h>

struct evlist;
struct record_opts;

/**
 * struct workload
 * @evlist:	has its pid; NULL if no command was given
 * @ended:	it was reaped
 * @status:	from waitpid(), if @ended
 * @exec_errno:	why the command could not be executed, 0 if it was
 */
struct workload {
	struct evlist	*evlist;
	bool		 ended;
	int		 status;
	int		 exec_errno;
};

/**
 * workload__prepare - fork the command; it waits until workload__start()
 * @argv:	command and arguments, NULL terminated
 * @pipe_output: standard output carries the recording: the command's goes to standard error
 *
 * Return: 0, or a negative errno after an error message.
 */
int workload__prepare(struct workload *workload, struct evlist *evlist, struct record_opts *opts,
		      const char **argv, bool pipe_output);

/** workload__start - let the command go; does nothing without one */
void workload__start(struct workload *workload);

/** workload__exec_failed - SIGUSR1 came from @pid with value @err */
void workload__exec_failed(struct workload *workload, pid_t pid, int err);

/** workload__reap - reap the command if it has ended. Return: true when it was */
bool workload__reap(struct workload *workload);

/**
 * workload__terminate - send SIGTERM to a command that still runs, or cancel one that never started
 */
void workload__terminate(struct workload *workload);

/** workload__wait - wait until the command has ended: no process stays behind */
void workload__wait(struct workload *workload);

/**
 * workload__exit_status - what the command's end means for the exit status of perf record
 * @name:	of the command, for messages
 *
 * Return: its exit status; 128 + N if signal N killed it; 127 or 126 if it could not be executed.
 */
int workload__exit_status(const struct workload *workload, const char *name);

#endif
