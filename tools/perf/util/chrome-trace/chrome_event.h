/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write trace events as JSON, one per line, as soon as they are known.
 */
#ifndef PERF_CHROME_TRACE_CHROME_EVENT_H
#define PERF_CHROME_TRACE_CHROME_EVENT_H

#include "util/json.h"

/**
 * struct chrome_track - a row of the viewer
 * @pid:	group of rows
 * @tid:	row; no two groups have a row of the same number
 */
struct chrome_track {
	int	pid;
	int	tid;
};

/**
 * struct chrome_events
 * @json:	output
 * @base:	what is subtracted from all times [ns]
 * @nr_events:	number of events that were begun
 * @in_args:	the arguments of the current event have begun
 * @err:	errno of the first write that failed
 */
struct chrome_events {
	struct json	json;
	u64		base;
	u64		nr_events;
	bool		in_args;
	int		err;
};

/**
 * chrome_event__begin - begin an event, to which members of @events->json may be added
 * @phase:	type of the event: B, E, i, s, t, f or M
 * @time:	in ns; not used by M
 */
void chrome_event__begin(struct chrome_events *events, char phase, struct chrome_track track,
			 u64 time);
void chrome_event__end(struct chrome_events *events);

/** chrome_event__args - return where to add arguments, which follow all members of the event */
struct json *chrome_event__args(struct chrome_events *events);
void chrome_event__arg_number(struct chrome_events *events, const char *key, s64 number);
void chrome_event__arg_hex(struct chrome_events *events, const char *key, u64 number);

#endif
