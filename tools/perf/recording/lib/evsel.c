// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/off_cpu.h"
#include "recording/lib/compat.h"
#include "recording/lib/evsel.h"

bool evsel__is_off_cpu(const struct evsel *evsel)
{
	return evsel__is_bpf_output((struct evsel *)evsel) && evsel->name &&
	       !strcmp(evsel->name, OFFCPU_EVENT);
}

bool evlist__defers(struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel__defers(evsel))
			return true;
	}
	return false;
}

/* perf record uses the private pointer of its events for nothing else. */
bool evsel__is_bpf_written(const struct evsel *evsel)
{
	return evsel->priv != NULL;
}
