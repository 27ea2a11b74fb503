/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Take snapshots when events happen (--switch-output-event).
 *
 * Trigger events are not recorded. Each has small rings of its own, which wake the capture thread
 * up at every event; only the kind of the event, its time, task and CPU are read from them. Their
 * clock is CLOCK_MONOTONIC: so the time from the event to the finished copy is known.
 */
#ifndef PERF_RECORDING_TRIGGER_EVENT_H
#define PERF_RECORDING_TRIGGER_EVENT_H

#include <stdbool.h>
#include <linux/types.h>
#include <sys/types.h>

#include "trigger_limit.h"

struct evlist;
struct evsel;
struct record_opts;

/**
 * struct trigger_events
 * @evlist:	the events, or NULL if there are none; owned by the caller
 * @first:	their first position in the poll set
 * @nr:		number of positions
 * @nr_found:	number of events that the last trigger_events__process() found
 * @time:	time of the oldest of them that @limit allows, or of the oldest [ns of
 *		CLOCK_MONOTONIC]
 * @evsel:	which event that was
 * @pid, @tid, @cpu: where it happened
 * @limit:	of the snapshots in a storm of events; the caller applies it
 */
struct trigger_events {
	struct evlist	*evlist;
	int		 first;
	int		 nr;
	unsigned int	 nr_found;
	u64		 time;
	struct evsel	*evsel;
	pid_t		 pid;
	pid_t		 tid;
	int		 cpu;
	struct trigger_limit limit;
};

/**
 * trigger_events__configure - set the attributes
 * @recorded:	the recorded events: triggers have the same tasks and CPUs
 * @opts:	options of the recorded events
 *
 * Return: 0, or -EINVAL after an error message: an event without a period.
 */
int trigger_events__configure(struct trigger_events *events, struct evlist *recorded,
			      const struct record_opts *opts);

/**
 * trigger_events__map - map the rings of the opened events
 * @waiter:	event list whose poll set is waited for
 *
 * Return: 0, or a negative errno after an error message.
 */
int trigger_events__map(struct trigger_events *events, struct evlist *waiter);

/** trigger_events__enable - enable the events */
void trigger_events__enable(struct trigger_events *events);

/**
 * trigger_events__process - after a poll: empty the rings, choose the event that is described
 *
 * Return: has an event happened?
 */
bool trigger_events__process(struct trigger_events *events, struct evlist *waiter);

/** trigger_events__close - unmap and close; harmless if nothing is open */
void trigger_events__close(struct trigger_events *events);

#endif
