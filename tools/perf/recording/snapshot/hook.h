/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Run a command for each completed file (--exec-snapshot).
 *
 * The command runs in the background, with the name of the file as its argument and the reason of
 * the snapshot in $PERF_SNAPSHOT_REASON. The recorder never waits for it while it records. Commands
 * that hang do not pile up: beyond HOOK_MAX_RUNNING, the command is not run, and a warning says for
 * which file.
 */
#ifndef PERF_RECORDING_HOOK_H
#define PERF_RECORDING_HOOK_H

#include <stdbool.h>
#include <linux/types.h>
#include <sys/types.h>
#include "cause.h"

#define HOOK_MAX_RUNNING	16

/**
 * struct hook_command - a command that runs
 * @pid:	0 in a free slot
 * @file:	its argument, owned
 */
struct hook_command {
	pid_t	 pid;
	char	*file;
};

/**
 * struct hook
 * @command:	for the shell; NULL for none
 * @max_files:	its soft limit of open files; 0: that of the recorder
 * @reason:	of the last snapshot; empty before the first one
 * @running:	commands that run, and free slots
 */
struct hook {
	const char	*command;
	u64		 max_files;
	char		 reason[CAUSE_TEXT];
	struct hook_command running[HOOK_MAX_RUNNING];
};

/**
 * hook__set_reason - set the reason of the next commands: one word, or who took too long, in words
 */
void hook__set_reason(struct hook *hook, const struct snapshot_cause *cause);

/** hook__run - start the command for @file; an error costs a warning */
void hook__run(struct hook *hook, const char *file);

/** hook__reap - reap commands that have ended, and warn about those that failed */
void hook__reap(struct hook *hook);

/** hook__works_on - return whether a command that was started for @file may still run */
bool hook__works_on(const struct hook *hook, const char *file);

/** hook__wait - the same for all commands: wait until they have ended */
void hook__wait(struct hook *hook);

#endif
