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
 * struct when_chain - programs that run at tracepoints already, and after which others can be put
 * @next:	get the place for a program that runs after the one of @tracepoint. Return: a
 *		descriptor of a BPF array with one place; -1: attach the program instead
 * @pass_time:	let the program of sys_enter pass its time. Return: a descriptor of a BPF map with
 *		the struct event_ring_time of each CPU; -1: read the clock
 * @arg:	of both
 *
 * Descriptors stay open until the programs of the conditions are deleted.
 */
struct when_chain {
	int	(*next)(void *arg, const char *tracepoint);
	int	(*pass_time)(void *arg);
	void	*arg;
};

/**
 * struct when_setup
 * @own_tgid:	process in the initial PID namespace whose durations are not judged; 0: all are
 * @nr_cpus:	more than the highest number of a CPU
 * @tick_ns:	period of the tick of a CPU that runs a task; 0: unknown, or there may be none
 * @measures:	add durations to distributions, and report none
 * @chain:	see struct when_chain
 */
struct when_setup {
	pid_t	own_tgid;
	int	nr_cpus;
	u64	tick_ns;
	bool	measures;
	const struct when_chain *chain;
};

#endif
