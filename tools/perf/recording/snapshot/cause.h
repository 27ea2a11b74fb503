/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Say why a snapshot is taken: what requested it, when, and which task that was.
 */
#ifndef PERF_RECORDING_CAUSE_H
#define PERF_RECORDING_CAUSE_H

#include <stdbool.h>
#include <linux/types.h>
#include <sys/types.h>
#include <unistd.h>

/**
 * struct snapshot_cause
 * @reason:	"signal", "control", "time", "size", "exit", or the name of the trigger event
 * @time:	of the request, or of the trigger event [ns of CLOCK_MONOTONIC]
 * @pid:	process that requested it; the recorder if no other is known
 * @tid:	its thread
 * @cpu:	CPU of the event, or of the recorder
 * @comm:	name of @tid, printable; empty if the recorder requested it, or if @tid has exited
 * @is_event:	a trigger event
 * @is_exit:	nothing requested it: the recording ends
 */
struct snapshot_cause {
	const char	*reason;
	u64		 time;
	pid_t		 pid;
	pid_t		 tid;
	int		 cpu;
	char		 comm[16];
	bool		 is_event;
	bool		 is_exit;
};

/** snapshot_cause__now - describe a request that the recorder makes, or receives, now */
struct snapshot_cause snapshot_cause__now(const char *reason);

/** snapshot_cause__exit - describe the snapshot at the end of the recording */
struct snapshot_cause snapshot_cause__exit(void);

/** snapshot_cause__is_other - did another process request it than the recorder? */
static inline bool snapshot_cause__is_other(const struct snapshot_cause *cause)
{
	return cause->pid != getpid();
}

/** snapshot_cause__find_comm - set @cause->comm from @cause->tid */
void snapshot_cause__find_comm(struct snapshot_cause *cause);

#endif
