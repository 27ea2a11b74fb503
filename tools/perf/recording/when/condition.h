/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parse the conditions of --switch-output-when: what takes too long.
 *
 *	condition = duration '>' time [ 'by' field ] [ 'if' filter { ',' filter } ]
 *	duration  = 'sched-delay' | 'on-cpu' | 'irq' | 'softirq'
 *		  | 'off-cpu' [ '(' states ')' ]
 *		  | 'syscall' [ '(' name { ',' name } ')' ]
 *		  | event '..' event
 *	time	  = number [ '.' digits ] ( 'ns' | 'us' | 'ms' | 's' | 'm' | 'h' | 'd' )
 *	filter	  = ( 'comm' | 'cgroup' | 'pid' ) ( '==' | '!=' ) value
 *
 * Blanks may stand between words. A value that contains a comma, == or !=, or begins or ends with a
 * blank, is put in double quotes. The parser knows nothing of this machine: struct when_names looks
 * up names.
 */
#ifndef PERF_RECORDING_WHEN_CONDITION_H
#define PERF_RECORDING_WHEN_CONDITION_H

#include <stddef.h>
#include <linux/types.h>
#include "util/bpf_skel/durations.h"

/**
 * struct when_condition
 * @judged:	what the BPF programs need
 * @text:	as the user wrote it, without blanks around it; owned
 * @cgroup:	path of the cgroup to compare with, NULL if there is none; owned
 * @begin, @end: events of DURATION_PAIR; owned, NULL otherwise
 * @field:	of both events, whose value tells which end belongs to which beginning; owned, NULL
 *		for the thread
 */
struct when_condition {
	struct duration_condition judged;
	char	*text;
	char	*cgroup;
	char	*begin;
	char	*end;
	char	*field;
};

/**
 * struct when_names - look up names on this machine
 * @syscall:	return the number of a system call, or -1
 * @similar_syscall: return the system call whose name is most similar, or NULL
 * @cgroup:	return the id of a cgroup (v2), or 0
 */
struct when_names {
	int		(*syscall)(const char *name);
	const char	*(*similar_syscall)(const char *name);
	u64		(*cgroup)(const char *path);
};

/**
 * struct when_error - why a condition cannot be parsed
 * @at:		position of the error in the text [bytes]
 * @text:	what is wrong there, and what is possible
 */
struct when_error {
	size_t	at;
	char	text[256];
};

/**
 * when_condition__parse - parse one condition
 * @condition:	overwritten
 *
 * Return: 0 (then the caller frees @condition by when_condition__exit()); -EINVAL, with @error set;
 * -ENOMEM.
 */
int when_condition__parse(struct when_condition *condition, const char *text,
			  const struct when_names *names, struct when_error *error);


/** when_condition__exit - free the strings */
void when_condition__exit(struct when_condition *condition);

#endif
