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
#include "util/sample.h"
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

	auxtrace_mmap_params__init(&params, page_size + ring__size(ring),
				   aux->opts->auxtrace_mmap_pages, overwrite);
	auxtrace_mmap_params__set_idx(&params, aux->evlist, aux->evsel,
				      channel__area_index(channel, aux->evlist, ring));
	if (auxtrace_mmap__mmap(&area->mm, &params, ring->map.base, ring->map.fd))
		return -errno;
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
	struct aux_area *area;
	int err;

	if (!aux->itr || !aux->opts->full_auxtrace)
		return 0;
	aux__for_each_area(aux, area)
		hw_ids__begin_file(&area->hw_ids);
	auxtrace_index__free(&session->auxtrace_index);
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

/*
 * Some traces have records that never wrap: cut off the rest of the area that holds no whole
 * record.
 */
static struct records align(const struct aux *aux, const struct records *data)
{
	struct records aligned = *data;

	if (aux->itr->alignment)
		aligned.part[0].iov_len -= aligned.part[0].iov_len % aux->itr->alignment;
	return aligned;
}

static int to_output(void *arg, const void *record, size_t len)
{
	struct records records = records__of(record, len);

	return output__write(arg, &records, NULL);
}

void aux__add_hw_id(struct aux *aux, struct aux_area *area, union perf_event *event)
{
	struct perf_sample sample = { 0 };

	if (evlist__parse_sample(aux->evlist, event, &sample))
		return;
	hw_ids__add(&area->hw_ids, event, sample.id);
	perf_sample__exit(&sample);
}

/* Begin the trace with padding: in traces with samples, zeros are padding. */
int aux__write_hw_ids(struct aux *aux, struct aux_area *area, struct output *output)
{
	static const u64 padding;
	struct records records = records__of(&padding, sizeof(padding));

	if (!hw_ids__has_news(&area->hw_ids))
		return 0;
	if (aux->has_samples && !area->hw_ids.begun)
		return aux__write(aux, area, &records, 0, auxtrace_record__reference(aux->itr), output);
	return hw_ids__write(&area->hw_ids, to_output, output);
}

int aux__write_all_hw_ids(struct aux *aux, struct output *output)
{
	struct aux_area *area;
	int err = 0;

	aux__for_each_area(aux, area)
		err = err ?: aux__write_hw_ids(aux, area, output);
	return err;
}

int aux__write(struct aux *aux, struct aux_area *area, const struct records *data, u64 position,
	       u64 reference, struct output *output)
{
	static const char zeros[PERF_AUXTRACE_RECORD_ALIGNMENT];
	struct records records = align(aux, data);
	size_t padding = -records__len(&records) % PERF_AUXTRACE_RECORD_ALIGNMENT;
	union perf_event event = {
		.auxtrace = {
			.header.type = PERF_RECORD_AUXTRACE,
			.header.size = sizeof(event.auxtrace),
			.size	     = records__len(&records) + padding,
			.offset	     = position,
			.reference   = reference,
			.idx	     = area->mm.idx,
			.tid	     = area->mm.tid,
			.cpu	     = area->mm.cpu,
		},
	};
	const struct records unit = {
		.part = {
			{ &event, sizeof(event.auxtrace) },
			records.part[0],
			records.part[1],
			{ (void *)zeros, padding },
		},
	};
	u64 pos;
	int err = hw_ids__write(&area->hw_ids, to_output, output);

	area->hw_ids.begun = true;
	if (!err)
		err = output__write_unit(output, &unit, &pos);
	if (!err && !output__is_pipe(output))
		err = auxtrace_index__auxtrace_event(&output->session->auxtrace_index, &event, pos);
	return err;
}

void aux__cut_index(struct output *output)
{
	const u64 end = output->pipeline.start + output->whole_bytes;
	struct auxtrace_index *index;

	list_for_each_entry(index, &output->session->auxtrace_index, list) {
		while (index->nr && index->entries[index->nr - 1].file_offset >= end)
			index->nr--;
	}
}

/*
 * Full traces
 */

/*
 * Needed even without new bytes: the kernel disables the event as well when the data ring is full.
 */
static int enable_again(struct aux *aux, struct aux_area *area)
{
	int err;

	area->truncated = area->ring->stats.aux_truncated;
	if (!aux->itr->read_finish)
		return 0;
	pthread_mutex_lock(aux->enabling);
	err = aux->itr->read_finish(aux->itr, area->mm.idx);	/* does nothing if evsel->disabled */
	pthread_mutex_unlock(aux->enabling);
	if (err)
		pr_err("Cannot enable %s again: %m\n", evsel__name(aux->evsel));
	return err ? -EIO : 0;
}

static int drain_area(struct aux *aux, struct aux_area *area, struct output *output)
{
	int is_64_bit = perf_env__kernel_is_64_bit(&output->session->header.env);
	u64 head = auxtrace_mmap__read_head(&area->mm, is_64_bit);			/* (C) */
	u64 written = area->cursor.written + bytes_between(area->cursor.written, head);
	struct aux_news news = aux_cursor__count(&area->cursor, head, written);
	struct records records = aux_news__records(&news, area->mm.base, area->mm.len);
	int err;

	if (!news.bytes)
		return area->truncated == area->ring->stats.aux_truncated ? 0 :
		       enable_again(aux, area);
	aux->overrun += news.overwritten;
	err = aux__write(aux, area, &records, written - news.bytes,
			 auxtrace_record__reference(aux->itr), output);
	if (!err)
		err = auxtrace_mmap__write_tail(&area->mm, head, is_64_bit);		/* (D) */
	return err ?: enable_again(aux, area) ?: 1;
}

int aux__drain(struct aux *aux, struct output *output)
{
	struct aux_area *area;
	int any = 0, ret;

	if (!aux__streams(aux))
		return 0;
	aux__for_each_area(aux, area) {
		ret = drain_area(aux, area, output);
		if (ret < 0)
			return ret;
		any |= ret;
	}
	return any;
}
