/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Describe the settings that the BPF programs of all conditions share.
 */
#ifndef PERF_RECORDING_WHEN_SETUP_H
#define PERF_RECORDING_WHEN_SETUP_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * struct when_setup
 * @own_tgid:	process in the initial PID namespace whose durations are not judged; 0: all are
 * @nr_cpus:	more than the highest number of a CPU
 * @measures:	add durations to distributions, and report none
 */
struct when_setup {
	pid_t	own_tgid;
	int	nr_cpus;
	bool	measures;
};

#endif
