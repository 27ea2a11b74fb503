// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <internal/lib.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "util/debug.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/machine.h"
#include "util/sample.h"
#include "util/session.h"
#include "util/synthetic-events.h"
#include "util/time-utils.h"
#include "recording/aux/aux.h"
#include "recording/aux/sideband.h"
#include "recording/aux/snapshot.h"
#include "recording/keep/journal.h"
#include "recording/keep/keep.h"
#include "recording/lib/compat.h"
#include "recording/lib/thread.h"
#include "recording/output/output.h"
#include "recording/ring/channel.h"
#include "recording/snapshot/overwrite.h"
#include "recording/state/proc_maps.h"
#include "recording/state/task_refs.h"
#include "drain_thread.h"
#include "sideband.h"
#include "synthesize.h"

/*
 * Find the layout of the sample ids that the kernel writes here, and make one for our own records.
 */
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

static void take_in(void *arg, const struct records *records)
{
	struct sideband *sideband = arg;

	state__add(&sideband->state, records);
	journal__add(sideband->keep, records);
}

static int write_to_state(struct record_sink *sink, const struct records *records,
			  struct ring *ring)
{
	struct sideband *sideband = container_of(sink, struct sideband, to_state);

	take_in(sideband, records);
	ring_stats__add(&ring->stats, records, records__len(records));
	return 0;
}

void sideband__init(struct sideband *sideband, const struct evsel *tracking, bool has_streams,
		    bool switches_files)
{
	struct id_format format;

	thread__init_lock(&sideband->reading);
	sideband->to_state.write = write_to_state;
	if (!sideband->opts->tail_synthesize && find_format(tracking, &format)) {
		if (!has_streams)
			sideband->route = SIDEBAND_TO_STATE;
		else if (switches_files)
			sideband->route = SIDEBAND_TO_BOTH;
	}
	if (sideband->route)
		state__init(&sideband->state, &format);
	if (sideband->route != SIDEBAND_TO_STATE)
		sideband->drain_thread->to_file = &sideband->output->sink;
	sideband->drain_thread->to_backlog = sideband->route != SIDEBAND_TO_FILE;
}

static void warn_of_loss(const struct state_loss *loss)
{
	if (loss->lost)
		pr_warning("The kernel lost %" PRIu64 " records about tasks and their maps: some samples may "
			   "have no names.\n", loss->lost);
	if (loss->no_memory)
		pr_warning("Not enough memory for %" PRIu64 " names and maps of tasks: some samples may have "
			   "none.\n", loss->no_memory);
	if (loss->malformed)
		pr_warning("Left out %" PRIu64 " malformed records about tasks.\n",
			   loss->malformed);
	if (loss->passthrough)
		pr_warning("Left out %" PRIu64 " context switches and similar records: the live state "
			   "keeps %lu MB of them.\n", loss->passthrough,
			   STATE_MAX_PASSTHROUGH_BYTES >> 20);
	if (loss->cgroups)
		pr_warning("Left out %" PRIu64 " cgroups: the files have the newest %d.\n",
			   loss->cgroups, SYSTEM_WIDE_MAX_CGROUPS);
}

static void warn_of_missing_programs(const struct bpf_progs *progs)
{
	if (progs->nr_missing)
		pr_warning("Left out the code of %" PRIu64 " BPF programs that were unloaded: perf keeps "
			   "%lu MB of programs.\n", progs->nr_missing, BPF_PROGS_MAX_BYTES >> 20);
}

void sideband__exit(struct sideband *sideband)
{
	struct state_loss loss;

	if (!sideband->route)
		return;
	loss = state__loss(&sideband->state);
	warn_of_loss(&loss);
	warn_of_missing_programs(&sideband->bpf_progs);
	bpf_progs__exit(&sideband->bpf_progs);
	state__exit(&sideband->state);
	sideband->route = SIDEBAND_TO_FILE;
}

/*
 * /proc
 */

/* util passes the tool on to add_synthesized(), which finds the side-band through it. */
struct proc_reader {
	struct perf_tool	 tool;
	struct sideband		*sideband;
};

static int add_synthesized(const struct perf_tool *tool, union perf_event *event,
			   struct perf_sample *sample __maybe_unused, struct machine *machine)
{
	struct sideband *sideband = container_of(tool, struct proc_reader, tool)->sideband;

	pthread_mutex_lock(&sideband->reading);
	state__add_synthesized(&sideband->state, event, machine->id_hdr_size);
	pthread_mutex_unlock(&sideband->reading);
	return 0;
}

static int read_proc(struct sideband *sideband)
{
	struct proc_reader reader = { sideband->output->tool, sideband };

	return synthesize__system(sideband->output, &reader.tool, sideband->opts,
				  sideband->data_maps, sideband->began, add_synthesized);
}

static int write_to_journal(void *keep, const void *data, size_t len)
{
	struct records records = records__of(data, len);

	journal__add(keep, &records);
	return 0;
}

/* Let the file of --keep-file have the live state as it is now. */
static void store_state(struct sideband *sideband)
{
	if (!sideband->keep->box)
		return;
	journal__begin_state(sideband->keep);
	state__dump(&sideband->state, write_to_journal, sideband->keep);
	journal__end_state(sideband->keep);
}

static int write_to_file(void *fd, const void *data, size_t len)
{
	return writen(*(int *)fd, (void *)data, len) == (ssize_t)len ? 0 : -errno;
}

int sideband__dump(void *arg, int fd)
{
	struct sideband *sideband = arg;

	return sideband->route ? state__dump(&sideband->state, write_to_file, &fd) : 0;
}

int sideband__begin(struct sideband *sideband)
{
	int err = sideband->route ? read_proc(sideband) : 0;

	bpf_progs__init(&sideband->bpf_progs, &sideband->output->session->header.env);
	if (!err)
		store_state(sideband);
	sideband->begin_bytes = state__bytes(&sideband->state);
	return err;
}

static bool task_exists(u32 tid)
{
	return !kill(tid, 0) || errno != ESRCH;
}

/* Losses that no LOST record tells of, since nothing followed on that CPU, are known as well. */
static u64 counted_losses(const struct channel *channel)
{
	const struct ring *ring;
	u64 lost = 0;

	channel__for_each_ring(channel, ring)
		lost += ring->stats.counter_lost;
	return lost;
}

static int make_up_for_loss(struct sideband *sideband)
{
	u64 counted = counted_losses(sideband->drain_thread->channel);
	u64 lost = sideband->state.loss.lost;
	int err;

	if (lost == sideband->lost && counted == sideband->counted)
		return 0;
	pr_debug("%" PRIu64 " tracking records lost: reading /proc again.\n",
		 max(lost - sideband->lost, counted - sideband->counted));
	if (counted - sideband->counted > lost - sideband->lost)
		state__lose(&sideband->state);
	sideband->lost = lost;
	sideband->counted = counted;
	state__mark_exited(&sideband->state, task_exists);
	err = read_proc(sideband);
	if (!err)
		store_state(sideband);
	return err;
}

/*
 * Files
 */

/* Readers that wait for the mark know then everything that was there before the first sample. */
static int finish_init(struct sideband *sideband)
{
	if (sideband->init_finished)
		return 0;
	sideband->init_finished = true;
	return output__mark(sideband->output, PERF_RECORD_FINISHED_INIT);
}

static int write_state(struct sideband *sideband)
{
	return make_up_for_loss(sideband) ?:
	       state__write(&sideband->state, output__write_data, sideband->output) ?:
	       finish_init(sideband);
}

static int write_proc(struct sideband *sideband)
{
	return synthesize__system(sideband->output, &sideband->output->tool, sideband->opts,
				  sideband->data_maps, sideband->began,
				  output__write_synthesized) ?:
	       finish_init(sideband);
}

static int begin_file(struct sideband *sideband)
{
	switch (sideband->route) {
	case SIDEBAND_TO_FILE:
		return sideband->opts->tail_synthesize ? 0 : write_proc(sideband);
	case SIDEBAND_TO_STATE:
		state__begin_file(&sideband->state, false);
		return 0;
	case SIDEBAND_TO_BOTH:
	default:
		state__begin_file(&sideband->state, true);
		return write_state(sideband);
	}
}

int sideband__begin_file(struct sideband *sideband)
{
	int err;

	sideband->init_finished = false;
	sideband->has_snapshots = false;
	sideband->file_horizon = sideband->state.horizon;
	err = begin_file(sideband);
	sideband->began = true;
	return err;
}

void sideband__rewrite_file(struct sideband *sideband)
{
	sideband->init_finished = false;
	state__rewrite_file(&sideband->state);
}

int sideband__end_file(struct sideband *sideband)
{
	return sideband->opts->tail_synthesize ? write_proc(sideband) : 0;
}

/*
 * Rings
 */

/* The rings of areas that are streamed are drained by readers (aux/drain.h). */
static ssize_t drain_aux(struct sideband *sideband)
{
	bool to_state = sideband->route == SIDEBAND_TO_STATE;
	bool rest_to_state = to_state && aux__takes_snapshots(sideband->aux);

	if (aux__streams(sideband->aux))
		return 0;
	return aux_sideband__drain(sideband->aux, sideband->aux_rings,
				   to_state ? NULL : sideband->output,
				   rest_to_state ? &sideband->to_state : &sideband->output->sink);
}

ssize_t sideband__drain(struct sideband *sideband)
{
	ssize_t aux_bytes = drain_aux(sideband), bytes;

	if (aux_bytes < 0)
		return aux_bytes;
	bytes = drain_thread__drain(sideband->drain_thread, take_in, sideband);
	if (bytes < 0)
		return bytes;
	if (sideband->route) {
		state__end_round(&sideband->state);
		snapshotter__set_final_time(sideband->snapshotter, sideband->state.final_time);
	}
	return bytes + aux_bytes;
}

void sideband__rescue(struct sideband *sideband)
{
	if (sideband->route == SIDEBAND_TO_STATE)
		return;
	output__begin_rescue(sideband->output);
	drain_thread__drain(sideband->drain_thread, take_in, sideband);
}

/*
 * Snapshots
 */

/*
 * Names must cover what was sampled since the last drain, up to the copy. Nothing may be collected
 * now: the copies that were handed over refer to tasks that the rings no longer refer to.
 */
static bool writes_in_parts(const struct sideband *sideband)
{
	return keep__enabled(sideband->keep) && !sideband->has_overwrite &&
	       !aux__takes_snapshots(sideband->aux);
}

int sideband__write_until(struct sideband *sideband, u64 time, bool *complete)
{
	*complete = false;
	if (!writes_in_parts(sideband))
		return 0;
	return state__write_until(&sideband->state, time, &sideband->log_next, complete,
				  output__write_data, sideband->output);
}

static int write_beginning(struct sideband *sideband)
{
	bool complete;

	sideband->log_next = 0;
	if (!writes_in_parts(sideband))
		return write_state(sideband);
	return make_up_for_loss(sideband) ?:
	       sideband__write_until(sideband, sideband->state.horizon, &complete) ?:
	       finish_init(sideband);
}

int sideband__begin_snapshot(struct sideband *sideband)
{
	ssize_t ret = 0;

	sideband->has_snapshots = true;
	if (sideband->route == SIDEBAND_TO_STATE || aux__takes_snapshots(sideband->aux))
		ret = sideband__drain(sideband);
	if (ret >= 0 && sideband->route == SIDEBAND_TO_STATE)
		ret = write_beginning(sideband);
	return ret < 0 ? ret : 0;
}

int sideband__finish_snapshot(struct sideband *sideband)
{
	return writes_in_parts(sideband) ? write_state(sideband) : 0;
}

/* Kept records are older than what was forgotten if the clock was set back meanwhile. */
static u64 kept_horizon(struct sideband *sideband)
{
	u64 horizon = keep__horizon(sideband->keep);

	state__move_back(&sideband->state, horizon);
	return horizon;
}

void sideband__end_snapshot(struct sideband *sideband, u64 horizon)
{
	if (!sideband->route)
		return;
	/* Streamed records that are not written yet are newer than state.final_time. */
	if (!sideband->has_overwrite && !aux__takes_snapshots(sideband->aux))
		horizon = sideband->state.final_time;
	if (keep__enabled(sideband->keep))
		horizon = min(horizon, kept_horizon(sideband));
	state__forget(&sideband->state, horizon);
}

/*
 * Memory
 */

/* Make the kernel write records about everything that was traced so far, and drain them. */
static int flush_aux(struct sideband *sideband)
{
	ssize_t err;

	pthread_mutex_lock(sideband->aux->enabling);
	err = aux_snapshotter__flush(sideband->aux_snapshotter);
	pthread_mutex_unlock(sideband->aux->enabling);
	if (!err)
		err = sideband__drain(sideband);
	return err < 0 ? err : 0;
}

struct ring_refs {
	struct evlist		*evlist;
	struct task_refs	 refs;
};

static void add_ref(void *arg, union perf_event *event)
{
	struct ring_refs *to = arg;
	struct perf_sample sample = { 0 };

	if (evlist__parse_sample(to->evlist, event, &sample))
		return;
	task_refs__add(&to->refs, sample.pid, sample.tid, sample.time);
	perf_sample__exit(&sample);
}

/* The kept records are compressed: of what they refer to, only the time of the oldest is known. */
static void forget_unreferenced(struct sideband *sideband, const struct task_refs *refs)
{
	if (keep__enabled(sideband->keep))
		state__forget(&sideband->state, min(keep__horizon(sideband->keep), refs->oldest));
	else
		state__collect(&sideband->state, refs);
}

/* Do nothing while a snapshot waits to be written: collecting can wait, too. */
static int collect(struct sideband *sideband)
{
	bool traces = aux__takes_snapshots(sideband->aux);
	struct ring_refs to = { .evlist = sideband->evlist };
	int err = traces ? flush_aux(sideband) : 0;

	if (err)
		return err;
	task_refs__init(&to.refs);
	aux_sideband__add_refs(sideband->aux, &sideband->state, &to.refs);
	to.refs.traced = traces && !sideband->opts->record_switch_events_set;
	if (!snapshotter__look(sideband->snapshotter, add_ref, &to))
		forget_unreferenced(sideband, &to.refs);
	task_refs__exit(&to.refs);
	pr_debug2("Live state: %zu tasks, %zu records, %zu bytes of them.\n",
		  sideband->state.tasks.nr,
		  sideband->state.log.nr_packed + sideband->state.log.nr,
		  state_log__total_bytes(&sideband->state.log));
	return 0;
}

/*
 * Return: the memory that the state may take with --keep, or a part of what it may forget again
 * [bytes]. In any case, that is an eighth of --keep: with less, no record could be kept for longer
 * than side-band records are pending.
 */
static size_t state_limit(const struct sideband *sideband, unsigned int quarters)
{
	const struct keep *keep = sideband->keep;
	u64 growth = keep__growth_limit(keep), least = keep->max_bytes / 8;

	return sideband->begin_bytes +
	       max(growth * quarters / 4,
		   state__pending_bytes(&sideband->state) + least * quarters / 4);
}

/*
 * After the state was reduced: a part of it that is still needed must not be looked at each time.
 */
static void set_reduce_bytes(struct sideband *sideband)
{
	size_t limit = state_limit(sideband, 4);

	sideband->reduce_bytes = max(limit, state__bytes(&sideband->state) + limit / 8);
}

bool sideband__must_reduce(const struct sideband *sideband)
{
	return keep__enabled(sideband->keep) && sideband->reduce_bytes &&
	       state__bytes(&sideband->state) > sideband->reduce_bytes;
}

/*
 * The memory of the live state is missing for kept records. So collect more often than the size
 * doubles, as far as that takes little time.
 */
static bool must_collect(const struct sideband *sideband, u64 now)
{
	const struct state *state = &sideband->state;

	return state__must_collect(state) || sideband__must_reduce(sideband) ||
	       (keep__enabled(sideband->keep) && now >= sideband->collect_at &&
		state_log__total_bytes(&state->log) > sideband->keep->max_bytes / 16);
}

/*
 * Drop kept records until the state that they need takes less than three quarters of the limit. The
 * newest ones stay: the state forgets nothing newer than @final_time.
 */
static int reduce(struct sideband *sideband)
{
	size_t enough = state_limit(sideband, 3);
	int err = 0;

	while (!err && state__bytes(&sideband->state) > enough &&
	       keep__drop_oldest(sideband->keep, sideband->state.final_time))
		err = collect(sideband);
	set_reduce_bytes(sideband);
	malloc_trim(0);
	return err;
}

/* A file without records needs only what later records refer to. */
static int tidy_bpf_progs(struct sideband *sideband, u64 now)
{
	bool empty = sideband->route == SIDEBAND_TO_STATE && !sideband->has_snapshots;
	u64 horizon = sideband->file_horizon;
	int err;

	if (!bpf_progs__due(&sideband->bpf_progs, now))
		return 0;
	if (empty && sideband->bpf_progs.nr) {
		err = collect(sideband);
		if (err)
			return err;
		horizon = sideband->state.system_wide_horizon;
	}
	bpf_progs__tidy(&sideband->bpf_progs, now, sideband->state.newest, horizon, empty);
	return 0;
}

int sideband__tidy(struct sideband *sideband)
{
	bool keeps = keep__enabled(sideband->keep), reduces = false;
	u64 now = rdclock(), took;
	int err;

	if (!sideband->route)
		return 0;
	state__find_stale_maps(&sideband->state, proc_maps__read);
	err = tidy_bpf_progs(sideband, now);
	if (err)
		return err;
	if (journal__due(sideband->keep))
		store_state(sideband);
	if (keeps) {
		keep__age(sideband->keep, sideband->state.newest);
		if (!sideband->reduce_bytes)
			set_reduce_bytes(sideband);
		state__shorten_delay(&sideband->state, state_limit(sideband, 4) / 8);
		reduces = sideband__must_reduce(sideband);
	}
	if (!must_collect(sideband, now))
		return 0;
	if (keeps)
		keep__measure(sideband->keep);
	err = collect(sideband);
	if (!err && reduces)
		err = reduce(sideband);
	took = rdclock() - now;
	sideband->collect_at = now + max(16 * took, (u64)NSEC_PER_SEC);
	return err;
}
