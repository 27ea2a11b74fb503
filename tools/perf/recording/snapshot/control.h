/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Execute the commands of --control, and answer each.
 *
 *	command					answer
 *
 *	enable [event], disable [event],	"ack" when it is executed
 *	evlist [-v|-g|-F], ping, stop
 *	snapshot				"ack FILE SECONDS LIMIT" when the records are in
 *						that file; "ack FILE" if they cover no time, as
 *						those of AUX areas; "ack" if the output is a pipe;
 *						followed by "; CAUSE" if the snapshot was taken
 *						because something took too long
 *	any command that fails			"error: REASON"
 *	any other line				"error: REASON"
 *	a command and " id=ID"			the same with "id=ID" after "ack" or "error:"
 *
 * The client chooses the id, and so recognizes the answer to its command. A line ends with a
 * newline, a NUL, or the end of what was written at once; an answer with a newline and a NUL, as
 * perf stat's do. There is one answer to each command, in the order of the commands; but those to
 * "snapshot" may come later than answers to the commands that follow.
 */
#ifndef PERF_RECORDING_CONTROL_H
#define PERF_RECORDING_CONTROL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <linux/list.h>

struct evlist;
struct record_opts;

/* Longer than any command. The rest of a longer line is ignored. */
#define CONTROL_MAX_LEN	256
#define CONTROL_MAX_ID	32

/**
 * struct control - commands of --control
 * @evlist:	its events are enabled and listed; has the descriptor of the commands
 * @ack_fd:	where the answers go, or -1; the caller's
 * @line:	what was read of a line that is not complete
 * @len:	length of @line [bytes]
 * @lock:	protects @snapshots: the thread that reads commands does not answer them
 * @snapshots:	commands "snapshot" without answer, oldest first
 */
struct control {
	struct evlist	*evlist;
	int		 ack_fd;
	char		 line[CONTROL_MAX_LEN];
	size_t		 len;
	pthread_mutex_t	 lock;
	struct list_head snapshots;
};

/** struct control_requests - what the commands ask the recorder for */
struct control_requests {
	unsigned int	snapshots;
	bool		stop;
};

/**
 * control__init - add the descriptor of the commands to the poll set of @evlist
 *
 * Answers do not block: a client that never reads them loses them.
 *
 * Return: 0, also without --control, or a negative errno.
 */
int control__init(struct control *control, struct evlist *evlist, const struct record_opts *opts);

/**
 * control__process - after a poll: execute the commands that have arrived
 *
 * Caller holds the lock under which events are enabled. Executes and answers all commands but
 * "snapshot", which it counts in @requests.
 */
void control__process(struct control *control, struct control_requests *requests);

/** control__exit - forget the snapshots without answer */
void control__exit(struct control *control);

/**
 * control__answer - answer the oldest "snapshot" without answer; in any thread
 * @error:	why it could not be written, or NULL
 * @file:	where it is, or NULL
 * @complete_ns: how long it reaches back on all CPUs [ns]; 0 if that is not known
 * @limit:	what limits that, one word; used if @complete_ns is not 0
 * @too_long:	who took how long, or ""
 */
void control__answer(struct control *control, const char *error, const char *file,
		     u64 complete_ns, const char *limit, const char *too_long);

#endif
