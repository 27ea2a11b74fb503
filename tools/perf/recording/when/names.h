/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Look up the names of system calls and cgroups of this machine.
 */
#ifndef PERF_RECORDING_WHEN_NAMES_H
#define PERF_RECORDING_WHEN_NAMES_H

struct when_names;

/** when_names - for when_condition__parse() */
extern const struct when_names when_names;

/** when_names__syscall - return the name of a system call, or NULL */
const char *when_names__syscall(int number);

#endif
