// SPDX-License-Identifier: GPL-2.0-only
#include <linux/kernel.h>
#include <perf/event.h>
#include "util/event.h"
#include "util/evlist.h"
#include "util/sample.h"
#include "recording/lib/compat.h"
#include "recording/lib/records.h"
#include "recording/ring/channel.h"
#include "recording/ring/drain.h"
#include "recording/state/state.h"
#include "recording/state/task_refs.h"
#include "aux.h"
#include "sideband.h"
#include "write.h"

/* Room for a record that passes the end of a ring. */
union event_copy {
	union perf_event event;
	char		 bytes[PERF_SAMPLE_MAX_SIZE];
};

/**
 * struct area_sink - what receives the records of one area's ring
 * @sink:	called by ring__drain()
 * @rest:	gets what is left
 */
struct area_sink {
	struct record_sink	 sink;
	struct aux		*aux;
	struct aux_area		*area;
	struct output		*output;
	struct record_sink	*rest;
};

static void note_trace(struct aux *aux, struct aux_area *area, union perf_event *event)
{
	struct perf_sample sample = { 0 };

	if (evlist__parse_sample(aux->evlist, event, &sample))
		return;
	if (event->header.type == PERF_RECORD_LOST)
		task_history__lose(&area->history, sample.time);
	if (event->header.type == PERF_RECORD_AUX && event->header.size >= sizeof(event->aux))
		task_history__add(&area->history, event->aux.aux_offset,
				  aux_area__counts(area) ? event->aux.aux_size : 0,
				  sample.pid, sample.tid, sample.time);
	perf_sample__exit(&sample);
}

static void note_traces(struct aux *aux, struct aux_area *area, const struct records *records)
{
	struct record_iter iter;
	union event_copy copy;

	records__for_each(records, iter)
		note_trace(aux, area, records__at(records, iter.pos, iter.size, &copy));
}

/* Keep a PERF_RECORD_AUX_OUTPUT_HW_ID; the next aux__write() writes it. */
static void keep_hw_id(struct aux *aux, struct aux_area *area, union perf_event *event)
{
	struct perf_sample sample = { 0 };

	if (evlist__parse_sample(aux->evlist, event, &sample))
		return;
	hw_ids__add(&area->hw_ids, event, sample.id);
	perf_sample__exit(&sample);
}

static int pass_rest(struct area_sink *to, const struct records *records, size_t from, size_t until)
{
	struct records part = records__part(records, from, until - from);
	int ret = from < until ? to->rest->write(to->rest, &part, to->area->ring) : 0;

	return ret < 0 ? ret : 0;
}

static int take_hw_id(struct area_sink *to, const struct records *records, size_t pos, size_t size)
{
	struct records record = records__part(records, pos, size);
	union event_copy copy;

	ring_stats__add(&to->area->ring->stats, &record, size);
	keep_hw_id(to->aux, to->area, records__at(records, pos, size, &copy));
	return to->output ? aux__write_hw_ids(to->aux, to->area, to->output) : 0;
}

static int write_area(struct record_sink *sink, const struct records *records,
		      struct ring *ring __maybe_unused)
{
	struct area_sink *to = container_of(sink, struct area_sink, sink);
	struct record_iter iter;
	size_t from = 0;
	int err;

	if (aux__takes_snapshots(to->aux))
		note_traces(to->aux, to->area, records);
	if (!aux__writes_areas(to->aux))
		return pass_rest(to, records, 0, records__len(records));
	records__for_each(records, iter) {
		if (iter.header.type != PERF_RECORD_AUX_OUTPUT_HW_ID)
			continue;
		err = pass_rest(to, records, from, iter.pos) ?:
		      take_hw_id(to, records, iter.pos, iter.size);
		if (err)
			return err;
		from = iter.pos + iter.size;
	}
	return pass_rest(to, records, from, records__len(records));
}

int aux_sideband__drain_area(struct aux *aux, struct aux_area *area, struct output *output,
			     struct record_sink *rest, size_t *bytes)
{
	struct area_sink to = { { write_area }, aux, area, output, rest };

	return ring__drain(area->ring, 0, &to.sink, bytes);
}

ssize_t aux_sideband__drain(struct aux *aux, struct channel *channel, struct output *output,
			    struct record_sink *rest)
{
	struct aux_area *area;
	size_t bytes = 0;
	int err;

	if (!aux->nr)			/* no area is mapped, but events may be of the channel */
		return channel__drain(channel, rest);
	aux__for_each_area(aux, area) {
		err = aux_sideband__drain_area(aux, area, output, rest, &bytes);
		if (err)
			return err;
	}
	return bytes;
}

struct switch_refs {
	struct aux		*aux;
	struct task_refs	*refs;
};

static void add_switch_ref(void *arg, const struct sb_origin *who, u64 time)
{
	const struct switch_refs *to = arg;
	struct aux_area *area;

	aux__for_each_area(to->aux, area) {
		if ((who->cpu == (u32)area->mm.cpu || who->cpu == (u32)-1) &&
		    time >= task_history__since(&area->history))
			task_refs__add(to->refs, who->pid, who->tid, time);
	}
}

void aux_sideband__add_refs(struct aux *aux, const struct state *state, struct task_refs *refs)
{
	struct switch_refs to = { aux, refs };
	struct aux_area *area;

	aux__for_each_area(aux, area)
		task_history__refer(&area->history, state->horizon, refs);
	state__visit_switches(state, add_switch_ref, &to);
}
