// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include "util/evsel.h"
#include "util/off_cpu.h"
#include "recording/lib/evsel.h"

bool evsel__is_off_cpu(const struct evsel *evsel)
{
	return evsel__is_bpf_output((struct evsel *)evsel) && evsel->name &&
	       !strcmp(evsel->name, OFFCPU_EVENT);
}
