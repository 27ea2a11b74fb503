/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ask what kind of event an evsel is.
 */
#ifndef PERF_RECORDING_EVSEL_H
#define PERF_RECORDING_EVSEL_H

#include <stdbool.h>

struct evsel;

/** evsel__is_off_cpu - is @evsel the event of --off-cpu, in a recording or in any file? */
bool evsel__is_off_cpu(const struct evsel *evsel);

#endif
