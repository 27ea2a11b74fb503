/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Describe the settings that the BPF programs of all conditions share.
 */
#ifndef PERF_RECORDING_WHEN_SETUP_H
#define PERF_RECORDING_WHEN_SETUP_H

#include <stdbool.h>
#include <linux/types.h>
#include <sys/types.h>

/**
 * when_next_fn - where a program can be put that runs at @tracepoint, after one that runs already
 *
 * Return: a descriptor of a BPF array with one place, which stays open until the programs are
 * deleted; -1: attach the program instead.
 */
typedef int (*when_next_fn)(const void *arg, const char *tracepoint);

/**
 * struct when_setup
 * @own_tgid:	process in the initial PID namespace whose durations are not judged; 0: all are
 * @nr_cpus:	more than the highest number of a CPU
 * @tick_ns:	period of the tick of a CPU that runs a task; 0: unknown, or there may be none
 * @measures:	add durations to distributions, and report none
 * @next, @next_arg: see when_next_fn
 */
struct when_setup {
	pid_t	own_tgid;
	int	nr_cpus;
	u64	tick_ns;
	bool	measures;
	when_next_fn next;
	const void *next_arg;
};

#endif
