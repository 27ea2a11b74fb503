/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events that trigger a snapshot (--switch-output-event).
 *
 * They are not recorded. Each goes to small rings of its own, which wake up the capture thread at
 * every event; all that is read from there is which one it was, and when. Their clock is
 * CLOCK_MONOTONIC, so that the time from the event to the finished copy is known.
 */
#ifndef PERF_RECORDING_TRIGGER_EVENT_H
#define PERF_RECORDING_TRIGGER_EVENT_H

#include <stdbool.h>
#include <linux/types.h>

struct evlist;
struct evsel;
struct record_opts;

/**
 * struct trigger_events
 * @evlist:	the events, or NULL if there are none; owned by the caller
 * @first:	their first position in the poll set
 * @nr:		number of positions
 * @time:	when the oldest event happened that the last trigger_events__process() saw [ns of
 *		CLOCK_MONOTONIC]
 * @evsel:		which event that was
 */
struct trigger_events {
	struct evlist	*evlist;
	int		 first;
	int		 nr;
	u64		 time;
	struct evsel	*evsel;
};

/**
 * trigger_events__configure - set their attributes
 * @recorded:	the events that are recorded: of the same tasks and CPUs
 * @opts:	how those are recorded
 *
 * Return: 0, or -EINVAL after an error message: an event that does not say how often it happens.
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

/** trigger_events__enable - from now on they trigger */
void trigger_events__enable(struct trigger_events *events);

/**
 * trigger_events__process - after a poll: did one happen?
 *
 * Empties their rings. Sets @time and @by.
 */
bool trigger_events__process(struct trigger_events *events, struct evlist *waiter);

/** trigger_events__close - unmap and close; harmless if nothing is open */
void trigger_events__close(struct trigger_events *events);

#endif
