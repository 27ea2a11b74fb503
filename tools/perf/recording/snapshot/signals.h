/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Take over the signals of the process for a recording, and give them back.
 *
 *	signals__claim()	SIGUSR2 waits until the recording can answer; children can be waited
 *				for; failed writes are errors
 *	signals__watch()	all watched signals come through a descriptor
 *	signals__restore()	as perf was started
 *
 * A child that is forked in between has the signals that perf was started with.
 *
 * Signals belong to the process, so the state behind these functions is static. All are called by
 * the main thread.
 */
#ifndef PERF_RECORDING_SIGNALS_H
#define PERF_RECORDING_SIGNALS_H

/**
 * signals__claim - block SIGUSR2, reset SIGCHLD to its default, ignore SIGPIPE and SIGXFSZ
 *
 * The first thing that a recording does: SIGUSR2 would kill it, and preparing takes seconds where
 * there are many events. No child has been forked, no other thread runs.
 */
void signals__claim(void);

/**
 * signals__watch - block all signals that the recorder reacts to, and make a descriptor for them
 *
 * A SIGUSR2 since signals__claim() is readable at once. SIGHUP is left alone where perf was started
 * with SIGHUP ignored, as by nohup(1).
 *
 * Return: a non-blocking signalfd, the caller's; or a negative errno.
 */
int signals__watch(void);

/** signals__restore - undo signals__claim(), once; a SIGUSR2 that is pending or late is ignored */
void signals__restore(void);

#endif
