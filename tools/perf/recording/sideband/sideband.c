// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <linux/kernel.h>
#include "util/debug.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/machine.h"
#include "util/sample.h"
#include "util/session.h"
#include "util/synthetic-events.h"
#include "fixup_size.h"
#include "recording/recorder.h"
#include "recording/state/task_refs.h"
#include "synthesize.h"
#include "recording/ring/drain.h"
#include "recording/state/proc_maps.h"
#include "recording/lib/thread.h"
#include "sideband.h"

static struct channel *channel(const struct sideband *sideband, enum channel_kind kind)
{
	return &sideband->rec->channels.channel[kind];
}

/* What the kernel makes records of here: their sample ids, and the one for ours. */
static bool find_format(const struct evsel *evsel, struct id_format *format)
{
	const struct perf_event_attr *attr = &evsel->core.attr;
	struct perf_sample sample = { .cpu = -1 };
	u64 id[ID_SAMPLE_WORDS];

	if (!attr->sample_id_all)
		return false;
	if (evsel->core.ids)
		sample.id = sample.stream_id = evsel->core.id[0];
	perf_event__synthesize_id_sample((__u64 *)id, attr->sample_type, &sample);
	return id_format__init(format, attr->sample_type, id);
}

void sideband__init(struct sideband *sideband, struct recorder *rec)
{
	struct id_format format;

	*sideband = (struct sideband){ .rec = rec };
	thread__init_lock(&sideband->reading);
	if (rec->opts.tail_synthesize || !find_format(rec->tracking, &format))
		return;
	if (!channel(sideband, CHANNEL_STREAM)->nr_mapped && !aux__streams(&rec->aux))
		sideband->route = SIDEBAND_TO_STATE;
	else if (rec->rotation.enabled)
		sideband->route = SIDEBAND_TO_BOTH;
	if (sideband->route)
		state__init(&sideband->state, &format);
}

static void tell_loss(const struct state_loss *loss)
{
	if (loss->lost)
		pr_warning("The kernel had no room for %" PRIu64 " records about tasks and their maps: "
			   "some samples may have no names.\n", loss->lost);
	if (loss->no_memory)
		pr_warning("There was no memory for %" PRIu64 " names and maps of tasks: some samples "
			   "may have none.\n", loss->no_memory);
	if (loss->malformed)
		pr_warning("%" PRIu64 " records about tasks were malformed, and are left out.\n",
			   loss->malformed);
	if (loss->passthrough)
		pr_warning("%" PRIu64 " context switches and the like are not in the files: the live "
			   "state keeps %lu MB of them.\n", loss->passthrough, STATE_MAX_PASSTHROUGH_BYTES >> 20);
	if (loss->cgroups)
		pr_warning("%" PRIu64 " cgroups are not in the files: the newest %d are.\n",
			   loss->cgroups, SYSTEM_WIDE_MAX_CGROUPS);
}

void sideband__exit(struct sideband *sideband)
{
	struct state_loss loss;

	if (!sideband->route)
		return;
	loss = state__loss(&sideband->state);
	tell_loss(&loss);
	state__exit(&sideband->state);
	sideband->route = SIDEBAND_TO_FILE;
}

/*
 * /proc
 */

static int add_synthesized(const struct perf_tool *tool, union perf_event *event,
			   struct perf_sample *sample __maybe_unused, struct machine *machine)
{
	struct output *output = container_of(tool, struct output, tool);
	struct recorder *rec = container_of(output, struct recorder, output);

	pthread_mutex_lock(&rec->sideband.reading);
	state__add_synthesized(&rec->sideband.state, event, machine->id_hdr_size);
	pthread_mutex_unlock(&rec->sideband.reading);
	return 0;
}

static int read_proc(struct sideband *sideband)
{
	return synthesize__all(&sideband->rec->output, &sideband->rec->opts, add_synthesized);
}

int sideband__begin(struct sideband *sideband)
{
	return sideband->route ? read_proc(sideband) : 0;
}

static bool task_exists(u32 tid)
{
	return !kill(tid, 0) || errno != ESRCH;
}

static int make_up_for_loss(struct sideband *sideband)
{
	u64 lost = sideband->state.loss.lost;

	if (lost == sideband->lost)
		return 0;
	pr_debug("%" PRIu64 " tracking records lost: reading /proc again.\n", lost - sideband->lost);
	sideband->lost = lost;
	state__mark_exited(&sideband->state, task_exists);
	return read_proc(sideband);
}

/*
 * Files
 */

static int to_output(void *arg, const void *data, size_t len)
{
	struct records records = records__of(data, len);

	return output__write(arg, &records, NULL);
}

/* Readers that wait for it know then what there was before the first sample. */
static int finish_init(struct sideband *sideband)
{
	if (sideband->initialised)
		return 0;
	sideband->initialised = true;
	return output__mark(&sideband->rec->output, PERF_RECORD_FINISHED_INIT);
}

static int write_state(struct sideband *sideband)
{
	return make_up_for_loss(sideband) ?:
	       state__write(&sideband->state, to_output, &sideband->rec->output) ?:
	       finish_init(sideband);
}

static int write_proc(struct sideband *sideband)
{
	struct recorder *rec = sideband->rec;

	return synthesize__all(&rec->output, &rec->opts, synthesize__write) ?:
	       finish_init(sideband);
}

/* What is in the traces that are to come. */
static int begin_traces(struct sideband *sideband)
{
	struct recorder *rec = sideband->rec;
	struct aux_area *area;
	int err = 0;

	aux__for_each_area(&rec->aux, area)
		err = err ?: aux__write_hw_ids(&rec->aux, area, &rec->output);
	return err;
}

int sideband__begin_file(struct sideband *sideband)
{
	struct recorder *rec = sideband->rec;
	int err = sideband->route == SIDEBAND_TO_STATE ? 0 : begin_traces(sideband);

	if (err)
		return err;
	sideband->initialised = false;
	switch (sideband->route) {
	case SIDEBAND_TO_FILE:
		return rec->opts.tail_synthesize ? 0 : write_proc(sideband);
	case SIDEBAND_TO_STATE:
		state__begin_file(&sideband->state, false);
		return 0;
	case SIDEBAND_TO_BOTH:
	default:
		state__begin_file(&sideband->state, true);
		return write_state(sideband);
	}
}

int sideband__end_file(struct sideband *sideband)
{
	return sideband->rec->opts.tail_synthesize ? write_proc(sideband) : 0;
}

void sideband__end_snapshot(struct sideband *sideband, u64 horizon)
{
	if (!sideband->route)
		return;
	/* Streamed records that are not written yet are newer than what has settled. */
	if (!channel(sideband, CHANNEL_OVERWRITE)->nr_mapped &&
	    !aux__takes_snapshots(&sideband->rec->aux))
		horizon = sideband->state.final_time;
	state__forget(&sideband->state, horizon);
}

/*
 * Rings
 */

static int drain_to_file(void *arg, const struct records *records, struct ring_stats *stats)
{
	struct sideband *sideband = arg;

	return output__write(&sideband->rec->output, records, stats);
}

/* What the AUX area of a ring holds, as the ring's records tell. */
static void note_stretch(struct sideband *sideband, struct aux_area *area, union perf_event *event)
{
	struct perf_sample sample = { 0 };

	if (evlist__parse_sample(sideband->rec->evlist, event, &sample))
		return;
	if (event->header.type == PERF_RECORD_LOST)
		task_history__lose(&area->history, sample.time);
	if (event->header.type == PERF_RECORD_AUX && event->header.size >= sizeof(event->aux))
		task_history__add(&area->history, event->aux.aux_offset,
				 aux_area__counts(area) ? event->aux.aux_size : 0,
				 sample.pid, sample.tid, sample.time);
}

static void note_stretches(struct sideband *sideband, const struct records *records, struct aux_area *area)
{
	union {
		union perf_event event;
		char room[PERF_SAMPLE_MAX_SIZE];
	} copy;
	struct record_iter iter;

	records__for_each(records, iter)
		note_stretch(sideband, area, records__at(records, iter.pos, iter.size, &copy));
}

static int drain_to_state(void *arg, const struct records *records, struct ring_stats *stats)
{
	struct sideband *sideband = arg;

	state__add(&sideband->state, records);
	ring_stats__add(stats, records, records__len(records));
	return 0;
}

/* As the mode has it; there is room in the backlog. */
static int take(void *arg, const struct records *records, struct ring_stats *stats)
{
	struct sideband *sideband = arg;
	int err = 0;

	if (sideband->route == SIDEBAND_TO_STATE)
		ring_stats__add(stats, records, records__len(records));
	else
		err = drain_to_file(sideband, records, stats);
	if (!err && sideband->route)
		drain_thread__add(&sideband->rec->drain_thread, records);
	return err;
}

int sideband__take(void *arg, const struct records *records, struct ring_stats *stats)
{
	struct sideband *sideband = arg;

	if (sideband->route && !drain_thread__has_room(&sideband->rec->drain_thread, records))
		return -EAGAIN;
	return fixup_size__drain(sideband->rec->evlist, records, take, sideband, stats);
}

static void fold(void *arg, const struct records *records)
{
	struct sideband *sideband = arg;

	state__add(&sideband->state, records);
}

static struct aux_area *find_area(const struct sideband *sideband, const struct ring_stats *stats)
{
	struct aux_area *area;

	aux__for_each_area(&sideband->rec->aux, area) {
		if (&area->ring->stats == stats)
			return area;
	}
	return NULL;
}

/* What tells of the areas as a whole. */
static int pass_on(struct sideband *sideband, const struct records *records, size_t from, size_t to,
		   struct ring_stats *stats)
{
	struct records part = records__part(records, from, to - from);

	if (from == to)
		return 0;
	return aux__takes_snapshots(&sideband->rec->aux) && sideband->route == SIDEBAND_TO_STATE ?
	       drain_to_state(sideband, &part, stats) : drain_to_file(sideband, &part, stats);
}

static int take_output(struct sideband *sideband, const struct records *records, size_t pos, size_t size,
		       struct aux_area *area, struct ring_stats *stats)
{
	struct recorder *rec = sideband->rec;
	struct records record = records__part(records, pos, size);
	union {
		union perf_event event;
		char room[PERF_SAMPLE_MAX_SIZE];
	} copy;

	ring_stats__add(stats, &record, size);
	aux__add_hw_id(&rec->aux, area, records__at(records, pos, size, &copy));
	return sideband->route == SIDEBAND_TO_STATE ? 0 :
					       aux__write_hw_ids(&rec->aux, area, &rec->output);
}

/* All but PERF_RECORD_AUX_OUTPUT_HW_ID (hw_ids.h) goes where tracking goes. */
static int drain_aux(void *arg, const struct records *records, struct ring_stats *stats)
{
	struct sideband *sideband = arg;
	struct aux_area *area = find_area(sideband, stats);
	struct record_iter iter;
	size_t from = 0;
	int err = 0;

	if (area && aux__takes_snapshots(&sideband->rec->aux))
		note_stretches(sideband, records, area);
	if (!area || !aux__writes_areas(&sideband->rec->aux))
		return pass_on(sideband, records, 0, records__len(records), stats);
	records__for_each(records, iter) {
		if (iter.header.type != PERF_RECORD_AUX_OUTPUT_HW_ID)
			continue;
		err = pass_on(sideband, records, from, iter.pos, stats) ?:
		      take_output(sideband, records, iter.pos, iter.size, area, stats);
		if (err)
			break;
		from = iter.pos + iter.size;
	}
	return err ?: pass_on(sideband, records, from, records__len(records), stats);
}

struct looking {
	struct evlist	*evlist;
	struct task_refs	 refs;
};

static void add_ref(void *arg, union perf_event *event)
{
	struct looking *looking = arg;
	struct perf_sample sample = { 0 };

	if (!evlist__parse_sample(looking->evlist, event, &sample))
		task_refs__add(&looking->refs, sample.pid, sample.tid, sample.time);
}

static ssize_t read_tracking(struct sideband *sideband)
{
	struct drain_thread *drain_thread = &sideband->rec->drain_thread;
	ssize_t bytes;

	do {
		bytes = drain_thread__drain(drain_thread);
		if (sideband->route)
			drain_thread__fold(drain_thread, fold, sideband);
	} while (bytes == -EAGAIN);
	return bytes;
}

static ssize_t read_rings(struct sideband *sideband)
{
	struct channel *aux = channel(sideband, CHANNEL_AUX);
	ssize_t bytes, aux_bytes;

	aux_bytes = channel__drain(aux, drain_aux, sideband);
	if (aux_bytes < 0)
		return aux_bytes;
	bytes = read_tracking(sideband);
	if (bytes < 0)
		return bytes;
	bytes += aux_bytes;
	if (!sideband->route)
		return bytes;
	state__end_round(&sideband->state);
	snapshotter__set_settled(&sideband->rec->snapshotter, sideband->state.final_time);
	return bytes;
}

/* What was traced so far has records after this, and they are read. */
static int flush_aux(struct sideband *sideband)
{
	struct recorder *rec = sideband->rec;
	ssize_t err;

	pthread_mutex_lock(&rec->capture.enabling);
	err = aux_snapshotter__flush(&rec->aux_snapshotter);
	pthread_mutex_unlock(&rec->capture.enabling);
	if (!err)
		err = read_rings(sideband);
	return err < 0 ? err : 0;
}

struct tracing {
	struct aux	*aux;
	struct task_refs	*refs;
};

static void add_switch_ref(void *arg, const struct sb_origin *who, u64 time)
{
	const struct tracing *tracing = arg;
	struct aux_area *area;

	aux__for_each_area(tracing->aux, area) {
		if ((who->cpu == (u32)area->mm.cpu || who->cpu == (u32)-1) &&
		    time >= task_history__since(&area->history))
			task_refs__add(tracing->refs, who->pid, who->tid, time);
	}
}

static void add_aux_refs(struct sideband *sideband, struct task_refs *refs)
{
	struct tracing tracing = { &sideband->rec->aux, refs };
	struct aux_area *area;

	aux__for_each_area(tracing.aux, area)
		task_history__refer(&area->history, sideband->state.horizon, refs);
	state__visit_switches(&sideband->state, add_switch_ref, &tracing);
}

/* A snapshot that waits to be written will be in a moment: collecting can wait, too. */
static int collect(struct sideband *sideband)
{
	struct looking looking = { .evlist = sideband->rec->evlist };
	int err = 0;

	if (aux__takes_snapshots(&sideband->rec->aux))
		err = flush_aux(sideband);
	if (err)
		return err;
	task_refs__init(&looking.refs);
	add_aux_refs(sideband, &looking.refs);
	looking.refs.traced = aux__takes_snapshots(&sideband->rec->aux) &&
			      !sideband->rec->opts.record_switch_events_set;
	if (!snapshotter__look(&sideband->rec->snapshotter, add_ref, &looking))
		state__collect(&sideband->state, &looking.refs);
	task_refs__exit(&looking.refs);
	pr_debug2("Live state: %zu tasks, %zu records, %zu bytes of them.\n",
		  sideband->state.tasks.nr, sideband->state.log.nr, sideband->state.log.bytes);
	return 0;
}

ssize_t sideband__drain(struct sideband *sideband)
{
	return read_rings(sideband);
}

int sideband__tidy(struct sideband *sideband)
{
	if (!sideband->route)
		return 0;
	state__find_stale_maps(&sideband->state, proc_maps__read);
	return state__must_collect(&sideband->state) ? collect(sideband) : 0;
}

/*
 * What was sampled since the tracking rings were read, up to the last copy, has a name as well. Nothing
 * may be collected now: the copies are handed over, and refer to tasks that the rings do not.
 */
int sideband__begin_snapshot(struct sideband *sideband)
{
	ssize_t err = 0;

	if (sideband->route == SIDEBAND_TO_STATE || aux__takes_snapshots(&sideband->rec->aux))
		err = read_rings(sideband);
	if (err >= 0 && sideband->route == SIDEBAND_TO_STATE)
		err = write_state(sideband);
	return err < 0 ? err : 0;
}
