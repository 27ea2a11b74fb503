/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Choose the feature sections behind the data.
 */
#ifndef PERF_RECORDING_FEATURES_H
#define PERF_RECORDING_FEATURES_H

#include <stdbool.h>
#include "util/record.h"

struct evlist;
struct perf_session;

/** features__init - select the features to write for the events of @evlist */
void features__init(struct perf_session *session, struct evlist *evlist, bool build_ids);

/**
 * features__write - write the header with all features that the session has
 * @fd:		the file, up to the end of its data
 * @incomplete:	set to whether the header is written, but lacks features
 *
 * Features that do not exist on this machine, or that cannot be written, are left out. The next
 * file may have them.
 *
 * Return: 0, or a negative errno: the header could not be written, there was no space for all
 * features, or the formats of tracepoints could not be read, after an error message.
 */
int features__write(struct perf_session *session, struct evlist *evlist, int fd, bool *incomplete);

/**
 * features__init_clock - select the clock of the events, and read it together with the time of day
 *
 * Return: 0, or a negative errno after an error message: the clock of -k cannot be read.
 */
int features__init_clock(struct perf_session *session, const struct record_opts *opts);

/**
 * features__update_clock - read the clock of the events together with the time of day again
 *
 * The two clocks drift apart: 1 ppm is 86 ms a day. Call this for each file.
 *
 * Return: 0, or a negative errno: then the header keeps the previous pair, if any.
 */
int features__update_clock(struct perf_session *session);

#endif
