// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <internal/evlist.h>
#include <internal/evsel.h>
#include <internal/xyarray.h>
#include <linux/hash.h>
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/evsel_config.h"
#include "util/off_cpu.h"
#include "util/record.h"
#include "recording/lib/compat.h"
#include "recording/lib/evsel.h"

bool evsel__will_overwrite(struct evsel *evsel, const struct record_opts *opts)
{
	const struct evsel_config_term *term = evsel__get_config_term(evsel, OVERWRITE);

	return term ? term->val.overwrite : opts->overwrite;
}

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

void evsel__replace_id(struct evsel *evsel, int cpu_idx, u64 id)
{
	struct perf_sample_id *sid = xyarray__entry(evsel->core.sample_id, cpu_idx, 0);
	struct hlist_head *heads = evsel->evlist->core.heads;
	u32 i;

	for (i = 0; i < evsel->core.ids; i++) {
		if (evsel->core.id[i] == sid->id)
			evsel->core.id[i] = id;
	}
	hlist_del(&sid->node);
	sid->id = id;
	hlist_add_head(&sid->node, &heads[hash_64(id, PERF_EVLIST__HLIST_BITS)]);
}

/* perf record uses the private pointer of its events for nothing else. */
bool evsel__is_bpf_written(const struct evsel *evsel)
{
	return evsel->priv != NULL;
}
