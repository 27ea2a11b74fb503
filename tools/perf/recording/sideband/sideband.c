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
#include "recording/state/stale_maps.h"
#include "recording/lib/thread.h"
#include "sideband.h"

static struct channel *channel(const struct tracker *tracker, enum channel_kind kind)
{
	return &tracker->rec->channels.channel[kind];
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

void tracker__init(struct tracker *tracker, struct recorder *rec)
{
	struct id_format format;

	*tracker = (struct tracker){ .rec = rec };
	thread__init_lock(&tracker->reading);
	if (rec->opts.tail_synthesize || !find_format(rec->tracking, &format))
		return;
	if (!channel(tracker, CHANNEL_STREAM)->nr_mapped && !aux__streams(&rec->aux))
		tracker->mode = TRACKER_KEPT;
	else if (rec->rotation.enabled)
		tracker->mode = TRACKER_BOTH;
	if (tracker->mode)
		state__init(&tracker->state, &format);
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
	if (loss->timeline)
		pr_warning("%" PRIu64 " context switches and the like are not in the files: the live "
			   "state keeps %lu MB of them.\n", loss->timeline, STATE_TIMELINE >> 20);
	if (loss->cgroups)
		pr_warning("%" PRIu64 " cgroups are not in the files: the newest %d are.\n",
			   loss->cgroups, GLOBALS_MAX_CGROUPS);
}

void tracker__exit(struct tracker *tracker)
{
	struct state_loss loss;

	if (!tracker->mode)
		return;
	loss = state__loss(&tracker->state);
	tell_loss(&loss);
	state__exit(&tracker->state);
	tracker->mode = TRACKER_STREAMED;
}

/*
 * /proc
 */

static int add_synthesized(const struct perf_tool *tool, union perf_event *event,
			   struct perf_sample *sample __maybe_unused, struct machine *machine)
{
	struct output *output = container_of(tool, struct output, tool);
	struct recorder *rec = container_of(output, struct recorder, output);

	pthread_mutex_lock(&rec->tracker.reading);
	state__add_synthesized(&rec->tracker.state, event, machine->id_hdr_size);
	pthread_mutex_unlock(&rec->tracker.reading);
	return 0;
}

static int read_proc(struct tracker *tracker)
{
	return sideband__synthesize(&tracker->rec->output, &tracker->rec->opts, add_synthesized);
}

int tracker__begin(struct tracker *tracker)
{
	return tracker->mode ? read_proc(tracker) : 0;
}

static bool task_exists(u32 tid)
{
	return !kill(tid, 0) || errno != ESRCH;
}

static int make_up_for_loss(struct tracker *tracker)
{
	u64 lost = tracker->state.loss.lost;

	if (lost == tracker->lost)
		return 0;
	pr_debug("%" PRIu64 " tracking records lost: reading /proc again.\n", lost - tracker->lost);
	tracker->lost = lost;
	state__retire_gone(&tracker->state, task_exists);
	return read_proc(tracker);
}

/*
 * Files
 */

static int to_output(void *arg, const void *records, size_t len)
{
	struct span span = span__of(records, len);

	return output__write(arg, &span, NULL);
}

/* Readers that wait for it know then what there was before the first sample. */
static int finish_init(struct tracker *tracker)
{
	if (tracker->initialised)
		return 0;
	tracker->initialised = true;
	return sideband__mark(&tracker->rec->output, PERF_RECORD_FINISHED_INIT);
}

static int write_state(struct tracker *tracker)
{
	return make_up_for_loss(tracker) ?:
	       state__write(&tracker->state, to_output, &tracker->rec->output) ?:
	       finish_init(tracker);
}

static int write_proc(struct tracker *tracker)
{
	struct recorder *rec = tracker->rec;

	return sideband__synthesize(&rec->output, &rec->opts, sideband__write) ?:
	       finish_init(tracker);
}

/* What is in the traces that are to come. */
static int begin_traces(struct tracker *tracker)
{
	struct recorder *rec = tracker->rec;
	struct aux_area *area;
	int err = 0;

	aux__for_each_area(&rec->aux, area)
		err = err ?: aux__write_outputs(&rec->aux, area, &rec->output);
	return err;
}

int tracker__begin_file(struct tracker *tracker)
{
	struct recorder *rec = tracker->rec;
	int err = tracker->mode == TRACKER_KEPT ? 0 : begin_traces(tracker);

	if (err)
		return err;
	tracker->initialised = false;
	switch (tracker->mode) {
	case TRACKER_STREAMED:
		return rec->opts.tail_synthesize ? 0 : write_proc(tracker);
	case TRACKER_KEPT:
		state__begin_file(&tracker->state, false);
		return 0;
	case TRACKER_BOTH:
	default:
		state__begin_file(&tracker->state, true);
		return write_state(tracker);
	}
}

int tracker__end_file(struct tracker *tracker)
{
	return tracker->rec->opts.tail_synthesize ? write_proc(tracker) : 0;
}

void tracker__end_snapshot(struct tracker *tracker, u64 horizon)
{
	if (!tracker->mode)
		return;
	/* Streamed records that are not written yet are newer than what has settled. */
	if (!channel(tracker, CHANNEL_OVERWRITE)->nr_mapped &&
	    !aux__takes_snapshots(&tracker->rec->aux))
		horizon = tracker->state.settled;
	state__forget(&tracker->state, horizon);
}

/*
 * Rings
 */

static int drain_to_file(void *arg, const struct span *span, struct account *account)
{
	struct tracker *tracker = arg;

	return output__write(&tracker->rec->output, span, account);
}

/* What the AUX area of a ring holds, as the ring's records tell. */
static void note_stretch(struct tracker *tracker, struct aux_area *area, union perf_event *event)
{
	struct perf_sample sample = { 0 };

	if (evlist__parse_sample(tracker->rec->evlist, event, &sample))
		return;
	if (event->header.type == PERF_RECORD_LOST)
		aux_history__lose(&area->history, sample.time);
	if (event->header.type == PERF_RECORD_AUX && event->header.size >= sizeof(event->aux))
		aux_history__add(&area->history, event->aux.aux_offset,
				 aux_area__counts(area) ? event->aux.aux_size : 0,
				 sample.pid, sample.tid, sample.time);
}

static void note_stretches(struct tracker *tracker, const struct span *span, struct aux_area *area)
{
	union {
		union perf_event event;
		char room[PERF_SAMPLE_MAX_SIZE];
	} copy;
	struct perf_event_header header;
	size_t pos, size;

	for (pos = 0; (size = span__header(span, pos, &header)); pos += size)
		note_stretch(tracker, area, span__at(span, pos, size, &copy));
}

static int drain_to_state(void *arg, const struct span *span, struct account *account)
{
	struct tracker *tracker = arg;

	state__add(&tracker->state, span);
	account__add(account, span, span__len(span));
	return 0;
}

/* As the mode has it; there is room in the backlog. */
static int take(void *arg, const struct span *span, struct account *account)
{
	struct tracker *tracker = arg;
	int err = 0;

	if (tracker->mode == TRACKER_KEPT)
		account__add(account, span, span__len(span));
	else
		err = drain_to_file(tracker, span, account);
	if (!err && tracker->mode)
		intake__add(&tracker->rec->intake, span);
	return err;
}

int tracker__take(void *arg, const struct span *span, struct account *account)
{
	struct tracker *tracker = arg;

	if (tracker->mode && !intake__has_room(&tracker->rec->intake, span))
		return -EAGAIN;
	return mend__hand_on(tracker->rec->evlist, span, take, tracker, account);
}

static void fold(void *arg, const struct span *span)
{
	struct tracker *tracker = arg;

	state__add(&tracker->state, span);
}

static struct aux_area *find_area(const struct tracker *tracker, const struct account *account)
{
	struct aux_area *area;

	aux__for_each_area(&tracker->rec->aux, area) {
		if (&area->ring->account == account)
			return area;
	}
	return NULL;
}

/* What tells of the areas as a whole. */
static int pass_on(struct tracker *tracker, const struct span *span, size_t from, size_t to,
		   struct account *account)
{
	struct span part = span__part(span, from, to - from);

	if (from == to)
		return 0;
	return aux__takes_snapshots(&tracker->rec->aux) && tracker->mode == TRACKER_KEPT ?
	       drain_to_state(tracker, &part, account) : drain_to_file(tracker, &part, account);
}

static int take_output(struct tracker *tracker, const struct span *span, size_t pos, size_t size,
		       struct aux_area *area, struct account *account)
{
	struct recorder *rec = tracker->rec;
	struct span record = span__part(span, pos, size);
	union {
		union perf_event event;
		char room[PERF_SAMPLE_MAX_SIZE];
	} copy;

	account__add(account, &record, size);
	aux__add_output(&rec->aux, area, span__at(span, pos, size, &copy));
	return tracker->mode == TRACKER_KEPT ? 0 :
					       aux__write_outputs(&rec->aux, area, &rec->output);
}

/* All but PERF_RECORD_AUX_OUTPUT_HW_ID (aux_outputs.h) goes where tracking goes. */
static int drain_aux(void *arg, const struct span *span, struct account *account)
{
	struct tracker *tracker = arg;
	struct aux_area *area = find_area(tracker, account);
	struct perf_event_header header;
	size_t pos, size, from = 0;
	int err = 0;

	if (area && aux__takes_snapshots(&tracker->rec->aux))
		note_stretches(tracker, span, area);
	if (!area || !aux__writes_areas(&tracker->rec->aux))
		return pass_on(tracker, span, 0, span__len(span), account);
	for (pos = 0; !err && (size = span__header(span, pos, &header)); pos += size) {
		if (header.type != PERF_RECORD_AUX_OUTPUT_HW_ID)
			continue;
		err = pass_on(tracker, span, from, pos, account) ?:
		      take_output(tracker, span, pos, size, area, account);
		from = pos + size;
	}
	return err ?: pass_on(tracker, span, from, span__len(span), account);
}

struct looking {
	struct evlist	*evlist;
	struct refs	 refs;
};

static void add_ref(void *arg, union perf_event *event)
{
	struct looking *looking = arg;
	struct perf_sample sample = { 0 };

	if (!evlist__parse_sample(looking->evlist, event, &sample))
		refs__add(&looking->refs, sample.pid, sample.tid, sample.time);
}

static ssize_t read_tracking(struct tracker *tracker)
{
	struct intake *intake = &tracker->rec->intake;
	ssize_t bytes;

	do {
		bytes = intake__drain(intake);
		if (tracker->mode)
			intake__fold(intake, fold, tracker);
	} while (bytes == -EAGAIN);
	return bytes;
}

static ssize_t read_rings(struct tracker *tracker)
{
	struct channel *aux = channel(tracker, CHANNEL_AUX);
	ssize_t bytes, aux_bytes;

	aux_bytes = stream__drain(aux, drain_aux, tracker);
	if (aux_bytes < 0)
		return aux_bytes;
	bytes = read_tracking(tracker);
	if (bytes < 0)
		return bytes;
	bytes += aux_bytes;
	if (!tracker->mode)
		return bytes;
	state__end_round(&tracker->state);
	snapshotter__set_settled(&tracker->rec->snapshotter, tracker->state.settled);
	return bytes;
}

/* What was traced so far has records after this, and they are read. */
static int flush_aux(struct tracker *tracker)
{
	struct recorder *rec = tracker->rec;
	ssize_t err;

	pthread_mutex_lock(&rec->capture.enabling);
	err = aux_snapshotter__flush(&rec->aux_snapshotter);
	pthread_mutex_unlock(&rec->capture.enabling);
	if (!err)
		err = read_rings(tracker);
	return err < 0 ? err : 0;
}

struct tracing {
	struct aux	*aux;
	struct refs	*refs;
};

static void add_switch_ref(void *arg, const struct whereabouts *who, u64 time)
{
	const struct tracing *tracing = arg;
	struct aux_area *area;

	aux__for_each_area(tracing->aux, area) {
		if ((who->cpu == (u32)area->mm.cpu || who->cpu == (u32)-1) &&
		    time >= aux_history__since(&area->history))
			refs__add(tracing->refs, who->pid, who->tid, time);
	}
}

static void add_aux_refs(struct tracker *tracker, struct refs *refs)
{
	struct tracing tracing = { &tracker->rec->aux, refs };
	struct aux_area *area;

	aux__for_each_area(tracing.aux, area)
		aux_history__refer(&area->history, tracker->state.horizon, refs);
	state__visit_switches(&tracker->state, add_switch_ref, &tracing);
}

/* A snapshot that waits to be written will be in a moment: collecting can wait, too. */
static int collect(struct tracker *tracker)
{
	struct looking looking = { .evlist = tracker->rec->evlist };
	int err = 0;

	if (aux__takes_snapshots(&tracker->rec->aux))
		err = flush_aux(tracker);
	if (err)
		return err;
	refs__init(&looking.refs);
	add_aux_refs(tracker, &looking.refs);
	looking.refs.traced = aux__takes_snapshots(&tracker->rec->aux) &&
			      !tracker->rec->opts.record_switch_events_set;
	if (!snapshotter__look(&tracker->rec->snapshotter, add_ref, &looking))
		state__collect(&tracker->state, &looking.refs);
	refs__exit(&looking.refs);
	pr_debug2("Live state: %zu tasks, %zu records, %zu bytes of them.\n",
		  tracker->state.tasks.nr, tracker->state.nr, tracker->state.bytes);
	return 0;
}

ssize_t tracker__drain(struct tracker *tracker)
{
	return read_rings(tracker);
}

int tracker__tidy(struct tracker *tracker)
{
	if (!tracker->mode)
		return 0;
	state__survey(&tracker->state, survey__proc);
	return state__is_large(&tracker->state) ? collect(tracker) : 0;
}

/*
 * What was sampled since the tracking rings were read, up to the last copy, has a name as well. Nothing
 * may be collected now: the copies are handed over, and refer to tasks that the rings do not.
 */
int tracker__begin_snapshot(struct tracker *tracker)
{
	ssize_t err = 0;

	if (tracker->mode == TRACKER_KEPT || aux__takes_snapshots(&tracker->rec->aux))
		err = read_rings(tracker);
	if (err >= 0 && tracker->mode == TRACKER_KEPT)
		err = write_state(tracker);
	return err < 0 ? err : 0;
}
