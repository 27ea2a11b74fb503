// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <internal/lib.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/zalloc.h>
#include <perf/cpumap.h>
#include <perf/event.h>
#include "util/debug.h"
#include "util/env.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/mmap.h"
#include "util/pmu.h"
#include "util/record.h"
#include "util/session.h"
#include "util/synthetic-events.h"
#include "aux.h"
#include "recording/lib/compat.h"
#include "recording/ring/channel.h"
#include "recording/output/output.h"

/*
 * Options and events
 */

/* Refuse an AUX event that this perf cannot record: it would yield nothing, silently. */
static int check_events(const struct aux *aux)
{
	struct evsel *evsel;

	evlist__for_each_entry(aux->evlist, evsel) {
		const struct perf_pmu *pmu = evsel__find_pmu(evsel);

		if (aux->itr || !pmu || !pmu->auxtrace)
			continue;
		pr_err("%s: this perf cannot record the AUX area of %s on this machine.\n",
		       evsel__name(evsel), pmu->name);
		return -EOPNOTSUPP;
	}
	return 0;
}

int aux__init(struct aux *aux, struct evlist *evlist, struct record_opts *opts)
{
	int err = 0;

	*aux = (struct aux){ .evlist = evlist, .opts = opts };
	aux->itr = auxtrace_record__init(evlist, &err);
	if (err) {
		pr_err("Cannot prepare to record AUX areas: %s\n", strerror(abs(err)));
		return -abs(err);
	}
	err = check_events(aux);
	if (!err)
		err = auxtrace_parse_snapshot_options(aux->itr, opts, opts->auxtrace_snapshot_opts);
	if (!err)
		err = auxtrace_parse_sample_options(aux->itr, evlist, opts,
						    opts->auxtrace_sample_opts);
	if (err)
		return -EINVAL;
	return auxtrace_parse_aux_action(evlist) || auxtrace_parse_filters(evlist) ? -EINVAL : 0;
}

static struct evsel *find_evsel(struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel->needs_auxtrace_mmap)
			return evsel;
	}
	return NULL;
}

static bool takes_any_size(const struct aux *aux)
{
	const struct perf_pmu *pmu;
	struct evsel *evsel;
	int any = 0;

	evlist__for_each_entry(aux->evlist, evsel) {
		pmu = evsel__find_pmu(evsel);
		if (pmu && pmu->auxtrace &&
		    perf_pmu__scan_file(pmu, "caps/aux_any_size", "%d", &any) == 1)
			return any;
	}
	return false;
}

/* Most drivers take areas of a power of two of pages only. */
static void round_size(const struct aux *aux)
{
	unsigned int *pages = &aux->opts->auxtrace_mmap_pages;

	if (!*pages || is_power_of_2(*pages) || takes_any_size(aux))
		return;
	*pages = roundup_pow_of_two(*pages);
	pr_info("Rounded AUX areas up to %zu kB: the driver needs a power of two.\n",
		*pages * (size_t)page_size / 1024);
}

int aux__configure(struct aux *aux)
{
	int err;

	if (!aux->itr)
		return 0;
	round_size(aux);
	err = auxtrace_record__options(aux->itr, aux->evlist, aux->opts);
	if (err) {
		pr_debug("Cannot set the options of the AUX event: %s\n", strerror(abs(err)));
		return -abs(err);
	}
	aux->evsel = find_evsel(aux->evlist);
	/* With --delay, nothing may enable the event before the delay is over. */
	if (aux->evsel)
		aux->evsel->disabled = aux->opts->target.initial_delay != 0;
	return 0;
}

void aux__exit(struct aux *aux)
{
	struct aux_area *area;
	u64 dropped = 0;

	aux__for_each_area(aux, area) {
		dropped += area->hw_ids.dropped;
		auxtrace_mmap__munmap(&area->mm);
		auxtrace_index__free(&area->index);
		task_history__exit(&area->history);
		hw_ids__exit(&area->hw_ids);
	}
	if (dropped)
		pr_warning("Dropped %" PRIu64 " hardware ids (PERF_RECORD_AUX_OUTPUT_HW_ID): too many. Some files "
			   "lack them.\n", dropped);
	zfree(&aux->areas);
	aux->nr = 0;
	auxtrace_record__free(aux->itr);
	aux->itr = NULL;
}

/*
 * Areas
 */

static int map_area(struct aux *aux, struct aux_area *area, const struct channel *channel,
		    struct ring *ring)
{
	bool overwrite = aux->opts->auxtrace_snapshot_mode || aux->opts->auxtrace_sample_mode;
	struct auxtrace_mmap_params params = { 0 };

	INIT_LIST_HEAD(&area->index);
	auxtrace_mmap_params__init(&params, page_size + ring__size(ring),
				   aux->opts->auxtrace_mmap_pages, overwrite);
	auxtrace_mmap_params__set_idx(&params, aux->evlist, aux->evsel,
				      channel__area_index(channel, aux->evlist, ring));
	if (auxtrace_mmap__mmap(&area->mm, &params, ring->map.base, ring->map.fd))
		return -errno;
	area->aux = aux;
	area->ring = ring;
	area->cursor.len = area->mm.len;
	task_history__init(&area->history, area->mm.len);
	hw_ids__init(&area->hw_ids);
	return 0;
}

static int explain(const struct aux *aux, int err)
{
	size_t kb = aux->opts->auxtrace_mmap_pages * (size_t)page_size / 1024;

	if (err == -EPERM)
		pr_err("AUX areas of %zu kB on each CPU are more than this user may lock.\n"
		       "Hint:\tTry a smaller one, such as -m,%zuK; see kernel.perf_event_mlock_kb "
		       "and 'ulimit -l'.\n", kb, max_t(size_t, kb / 4, page_size / 1024));
	else
		pr_err("Cannot map AUX areas of %zu kB: %s\n", kb, strerror(-err));
	return err;
}

int aux__map(struct aux *aux, struct channel *channel)
{
	struct evsel *evsel;
	struct ring *ring;
	int err;

	if (!channel->nr_mapped || !aux->opts->auxtrace_mmap_pages)
		return 0;
	aux->areas = calloc(channel->nr_mapped, sizeof(*aux->areas));
	if (!aux->areas)
		return -ENOMEM;
	evlist__for_each_entry(aux->evlist, evsel)
		aux->has_samples |= evsel->core.attr.aux_output;
	channel__for_each_ring(channel, ring) {
		err = map_area(aux, &aux->areas[aux->nr], channel, ring);
		if (err)
			return explain(aux, err);
		aux->nr++;
	}
	return 0;
}

/*
 * The file
 */

/*
 * util reads the clock's conversion from the first of its own maps, which are not used here: lend
 * it one.
 */
int aux__describe(struct aux *aux, struct output *output, const struct perf_event_mmap_page *page)
{
	struct perf_session *session = output->session;
	struct mmap map = { .core.base = (void *)page };
	int err;

	if (!aux->itr || !aux->opts->full_auxtrace)
		return 0;
	aux->is_64_bit = perf_env__kernel_is_64_bit(&session->header.env);
	perf_header__set_feat(&session->header, HEADER_AUXTRACE);

	aux->evlist->mmap = &map;
	aux->evlist->core.nr_mmaps = 1;
	err = perf_event__synthesize_auxtrace_info(aux->itr, &output->tool, session,
						   output__write_synthesized);
	aux->evlist->mmap = NULL;
	aux->evlist->core.nr_mmaps = 0;
	/* With -z, a trace would come before this record: units are not compressed. */
	if (!err && output->pipeline.level)
		err = output__flush(output);
	if (err && !output->err)
		pr_err("Cannot describe the AUX areas: %s\n", strerror(abs(err)));
	return err ? -abs(err) : 0;
}
