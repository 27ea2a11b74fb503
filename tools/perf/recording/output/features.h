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
 * features__init_clock - store how the clock of -k relates to the time of day
 *
 * Return: 0, or a negative errno after an error message.
 */
int features__init_clock(struct perf_session *session, const struct record_opts *opts);

#endif
