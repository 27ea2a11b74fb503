// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "util/debug.h"
#include "util/evlist.h"
#include "util/session.h"
#include "util/target.h"
#include "util/time-utils.h"
#include "recording/lib/clock_pair.h"
#include "recording/lib/notify.h"
#include "recording/output/features.h"
#include "recording/ring/reader_sched.h"
#include "internal.h"
#include "recorder.h"

/* Exit status when the recording itself failed; no command is likely to return it. */
#define EXIT_RECORDING_FAILED	255

/* Likewise, if there was no space for the output. */
#define EXIT_NO_SPACE		254

/* Drain all rings of streams at least this often, so that a killed recorder loses no more. */
#define STREAM_FLUSH_MS		5000

/*
 * Draining
 */

/*
 * Drain the tracking rings after the streams: whatever a streamed sample refers to was published
 * before the sample, and should be in the same file. See recorder__end_data() for the end of a
 * file; between files, the rounds put records in order.
 *
 * Return: length of the records [bytes], or a negative errno.
 */
static ssize_t drain(struct recorder *rec, bool *whole)
{
	ssize_t stream = readers__visit(&rec->readers, whole), own;

	if (stream < 0)
		return stream;
	own = sideband__drain(&rec->sideband);
	return own < 0 ? own : own + stream;
}

/*
 * Where copies are written as well, hold the readers to keep the order (see append_snapshot()).
 * Where records have no time, hold them so that what begins a file is written first. Where AUX areas
 * are streamed, hold them so that trace, index and PERF_RECORD_AUX end at the same place.
 */
static bool needs_hold(struct recorder *rec)
{
	return recorder__has_snapshots(rec) || aux__streams(&rec->aux) ||
	       rec->sideband.route == SIDEBAND_TO_FILE;
}

static int sync_and_drain(struct recorder *rec)
{
	u64 final_time = rec->sideband.state.final_time;
	ssize_t bytes = needs_hold(rec) ? readers__hold(&rec->readers) :
					  readers__sync(&rec->readers);

	if (!bytes) {
		keep__synced(&rec->keep, final_time);
		bytes = sideband__drain(&rec->sideband);
	}
	return bytes < 0 ? bytes : 0;
}

/*
 * Snapshots
 */

struct snapshot {
	struct snapshot_stats	  rings;
	struct aux_snapshot_stats aux;
	struct keep_stats	  kept;
	bool			  saved;
	int			  drain_err;	/* of the last snapshot, which is written all the same */
};

/*
 * Held readers wait for the main thread, so it is scheduled as the writing threads are. Completing
 * a file takes long, and only the chunk pool fills meanwhile: that is left to the usual class.
 */
static int raise_main_thread(struct recorder *rec, struct reader_sched *usual)
{
	reader_sched__save(usual);
	return rec->readers.nr ? readers__raise(&rec->readers, pthread_self(), false) : 0;
}

static void release_readers(struct recorder *rec, const struct reader_sched *usual)
{
	readers__release(&rec->readers);
	reader_sched__restore(usual);
}

static void measure_kept(struct recorder *rec)
{
	keep__reserve(&rec->keep, pipeline__unused_memory(&rec->output.pipeline));
	keep__measure(&rec->keep);
}

/* Writing the kept records may take long. */
static int before_block(void *arg)
{
	struct recorder *rec = arg;
	ssize_t bytes = sideband__drain(&rec->sideband);

	measure_kept(rec);
	return bytes < 0 ? bytes : 0;
}

static int before_mark(void *arg, u64 time, bool *complete)
{
	struct recorder *rec = arg;

	return snapshot_event__write_until(&rec->snapshot_event, &rec->output, time) ?:
	       sideband__write_until(&rec->sideband, time, complete);
}

static int write_kept(struct recorder *rec)
{
	const struct keep_writer writer = {
		.before_block = before_block, .before_mark = before_mark, .arg = rec,
	};

	if (!keep__enabled(&rec->keep))
		return 0;
	return keep__write(&rec->keep, &rec->output, &writer) ?:
	       sideband__finish_snapshot(&rec->sideband);
}

/*
 * Return the time of the request on the clock of the events. If streamed records are written all
 * the time, return the present time instead: marks of rounds may promise that no older record
 * follows. The sample follows the records of overwrite rings, and must not be older than these.
 */
static u64 request_time(struct recorder *rec, const struct snapshot *snapshot)
{
	u64 time = rec->rounds.nr_visitors && !keep__enabled(&rec->keep) ?
		   rdclock() : snapshot->rings.cause.time;

	if (clock_pair__from_monotonic(rec->output.session->header.env.clock.clockid, &time))
		return snapshot->kept.end ?: snapshot->rings.coverage.newest;
	return keep__enabled(&rec->keep) ? time : max(time, snapshot->rings.coverage.newest);
}

/* Prepare the record that says what requested the snapshot, if anything did, and was copied. */
static void describe_snapshot(struct recorder *rec, const struct snapshot *snapshot)
{
	const struct snapshot_stats *rings = recorder__has_overwrite(rec) ? &snapshot->rings : NULL;
	const struct aux_snapshot_stats *aux = snapshot->aux.requests ? &snapshot->aux : NULL;
	const struct keep_stats *kept = keep__enabled(&rec->keep) ? &snapshot->kept : NULL;

	if (snapshot->rings.cause.is_exit || (!rings && !aux && !kept))
		return;
	snapshot_event__set(&rec->snapshot_event, &snapshot->rings.cause,
			    request_time(rec, snapshot), rings, aux, kept);
}

/* A ring of streams that was full ends the time for which a snapshot is complete. */
static void note_losses(struct recorder *rec, struct snapshot *snapshot)
{
	struct channel *channel = &rec->channels.channel[CHANNEL_STREAM];
	struct coverage_ring covered;
	struct ring *ring;

	channel__for_each_ring(channel, ring) {
		covered = (struct coverage_ring){
			.cpu = ring->map.cpu.cpu,
			.tid = channel__ring_tid(channel, rec->evlist, ring),
			.oldest = ring_stats__lost_since(&ring->stats),
		};
		if (keep__enabled(&rec->keep))
			keep_stats__lose(&snapshot->kept, covered.oldest);
		else
			coverage__lose(&snapshot->rings.coverage, &covered);
	}
}

/*
 * Take the kept blocks for this snapshot. Records that arrive later belong to the next one, even if
 * the disk delays this one.
 */
static int hand_over_kept(struct recorder *rec, struct snapshot *snapshot,
			  const struct reader_sched *usual)
{
	int err = keep__hand_over(&rec->keep, &snapshot->kept);

	if (keep__enabled(&rec->keep))
		note_losses(rec, snapshot);
	if (keep__enabled(&rec->keep) && usual)
		release_readers(rec, usual);
	return err;
}

/*
 * Hand the copies over after the streams were drained: then no later snapshot has records older
 * than what was drained. Hand them over before anything is written: a request that arrives while
 * the output hangs belongs to the next snapshot. Leaves the readers held where needs_hold().
 *
 * The copies are used up after an error, too. If the snapshot can be dropped, the caller ends it when
 * it is known to be saved, or dropped. At the end of the recording, what is in memory is written even
 * if the rings cannot be drained.
 *
 * @usual: how the main thread was scheduled, or NULL if the readers have ended.
 */
static int append_snapshot(struct recorder *rec, struct snapshot *snapshot,
			   const struct reader_sched *usual)
{
	int err = rec->output.open ? 0 : recorder__resume_file(rec), ret;

	snapshot->drain_err = sync_and_drain(rec);
	if (usual)
		err = err ?: snapshot->drain_err;

	ret = recorder__read_lost(rec);
	err = err ?: ret;
	snapshotter__hand_over(&rec->snapshotter);
	aux_snapshotter__hand_over(&rec->aux_snapshotter);
	ret = hand_over_kept(rec, snapshot, usual);
	err = err ?: ret;
	if (!err)
		err = sideband__begin_snapshot(&rec->sideband);
	ret = snapshotter__write(&rec->snapshotter, rec->evlist, &rec->output, &snapshot->rings);
	err = err ?: ret;
	if (!keep__enabled(&rec->keep))
		note_losses(rec, snapshot);
	ret = aux_snapshotter__write(&rec->aux_snapshotter, &rec->output, &snapshot->aux);
	err = err ?: ret;
	if (!snapshot->rings.cause.reason)	/* after a request, the end needed no other copy */
		snapshot->rings.cause = snapshot_cause__exit();
	rec->hook.reason = snapshot->rings.cause.reason;
	if (!err)
		describe_snapshot(rec, snapshot);
	if (!err)
		err = write_kept(rec) ?: snapshot_event__write_until(&rec->snapshot_event,
								     &rec->output, UINT64_MAX);
	snapshot->saved = false;
	if (!err && !rec->output.droppable)
		sideband__end_snapshot(&rec->sideband, snapshot->rings.horizon);
	return err;
}

/* Report the snapshot when it is saved. The disk decides when that is: the readers must run. */
static int report_snapshot(struct recorder *rec, struct snapshot *snapshot)
{
	int err = 0;

	if (recorder__has_snapshots(rec) && snapshot->rings.requests)
		err = output__flush(&rec->output);
	if (!err)
		summary__snapshot(&rec->summary,
				  recorder__has_overwrite(rec) ? &snapshot->rings : NULL,
				  snapshot->aux.requests ? &snapshot->aux : NULL,
				  keep__enabled(&rec->keep) ? &snapshot->kept : NULL,
				  &snapshot->rings.cause);
	snapshot->saved = !err;
	return err;
}

static int snapshot_to_this_file(struct recorder *rec, struct snapshot *snapshot,
				 const struct reader_sched *usual)
{
	int err = append_snapshot(rec, snapshot, usual);

	if (!err && (!rec->rounds.nr_visitors || keep__enabled(&rec->keep)))
		err = output__mark(&rec->output, PERF_RECORD_FINISHED_ROUND);
	release_readers(rec, usual);
	err = err ?: report_snapshot(rec, snapshot);
	if (!err && rec->output.droppable)
		output__set_whole(&rec->output);
	return err;
}

static int switch_files(struct recorder *rec, struct snapshot *snapshot,
			const struct reader_sched *usual)
{
	int err = append_snapshot(rec, snapshot, usual);

	if (!err)
		err = recorder__end_data(rec);
	if (recorder__reads_on(rec))
		release_readers(rec, usual);
	if (!err)
		err = report_snapshot(rec, snapshot);
	if (!err)
		err = recorder__next_file(rec);
	release_readers(rec, usual);
	return err;
}

/* A ring that is paused for the last copy loses only events after the end of the recording. */
static int last_snapshot(struct recorder *rec)
{
	struct snapshot snapshot;
	int err = append_snapshot(rec, &snapshot, NULL);

	snapshot.rings.taken.paused = 0;
	err = err ?: report_snapshot(rec, &snapshot);
	keep__end_snapshot(&rec->keep, true);
	return err ?: snapshot.drain_err;
}

/*
 * Drop a snapshot that could not be written. The rings go on, and kept records stay for the next
 * snapshot. If the file has earlier snapshots, the next one is appended to them, otherwise the next
 * one creates another file.
 */
static int drop_snapshot(struct recorder *rec)
{
	int err = 0;

	rec->nr_missing++;
	if (!rec->output.open || !rec->output.has_whole) {
		output__drop(&rec->output);
		aux__end_file(&rec->aux, &rec->output);
		return 0;
	}
	err = output__cut(&rec->output);
	aux__cut_index(&rec->aux, rec->output.pipeline.start + rec->output.whole_bytes);
	sideband__rewrite_file(&rec->sideband);
	return err;
}

static int snapshot(struct recorder *rec, bool to_next_file)
{
	struct snapshot snapshot = { .rings.cause = snapshot_cause__now("request") };
	struct reader_sched usual;
	int err;

	/* The previous snapshot, which was being written, has answered this request as well. */
	if (!snapshotter__pending(&rec->snapshotter))
		return 0;
	err = raise_main_thread(rec, &usual);
	if (!err)
		err = to_next_file ? switch_files(rec, &snapshot, &usual) :
				     snapshot_to_this_file(rec, &snapshot, &usual);
	if (err && rec->output.droppable) {
		if (!snapshot.saved)
			summary__dropped(&rec->summary, &snapshot.rings, &snapshot.kept,
					 &snapshot.rings.cause);
		err = drop_snapshot(rec);
	}
	keep__end_snapshot(&rec->keep, snapshot.saved || !rec->output.droppable);
	if (rec->output.droppable)
		sideband__end_snapshot(&rec->sideband, snapshot.rings.horizon);
	return err;
}

/*
 * Reactions to what the capture thread was asked for. It has taken the copies.
 */

/* Where the last snapshot is. Return: NULL for a pipe. */
static const char *snapshot_file(const struct recorder *rec)
{
	if (output__is_pipe(&rec->output))
		return NULL;
	return rec->rotation.enabled ? rec->summary.last_file : rec->output.data.path;
}

/* The snapshot was asked for and is written. Sync it before the answer says so. */
static void sync_snapshot(struct recorder *rec)
{
	const char *file = snapshot_file(rec);

	if (rec->fsync && file && output__sync(&rec->output, file))
		rec->nr_missing++;
}

/* Leave messages to a command that is recorded: the service manager may wait for them. */
static bool notifies(const struct recorder *rec)
{
	return !rec->triggers.workload.evlist;
}

static void notify_snapshot(const struct recorder *rec, const char *error)
{
	const char *file = snapshot_file(rec);

	if (error)
		notify__send("STATUS=Recording; the last snapshot failed");
	else
		notify__send("STATUS=Recording; snapshot %" PRIu64 " is in %s",
			     rec->summary.snapshots, file ?: "a pipe");
}

static void answer_commands(struct recorder *rec, unsigned int nr, const char *error)
{
	while (nr--)
		control__answer(&rec->triggers.control, error, snapshot_file(rec),
				rec->summary.complete_ns, keep_limit__name(rec->summary.limit));
}

static int react(struct recorder *rec, unsigned int what, unsigned int nr_commands)
{
	const struct rotation *rotation = &rec->rotation;
	bool to_next_file = rotation->enabled &&
			    ((what & (TRIGGER_TIME | TRIGGER_CONTROL | TRIGGER_EVENT)) ||
			     ((what & TRIGGER_SNAPSHOT) && rotation->on_signal));
	const unsigned int nr_missing = rec->nr_missing;
	const char *error = NULL;
	int err = 0;

	if (what & TRIGGER_SNAPSHOTS) {
		if (rec->advice.wanted_ns)
			error = "--advise only measures";
		else if (to_next_file || recorder__has_snapshots(rec))
			err = snapshot(rec, to_next_file);
		else
			error = "no event is recorded in overwrite mode, no AUX area with -S, and nothing kept (--keep)";
	}
	if (error)
		pr_warning("Cannot take a snapshot: %s.\n", error);
	else if (what & TRIGGER_SNAPSHOTS && !err && rec->nr_missing == nr_missing)
		sync_snapshot(rec);
	if (err || rec->nr_missing > nr_missing)
		error = "the snapshot could not be written, see the messages of perf record";
	if (what & TRIGGER_SNAPSHOTS && notifies(rec))
		notify_snapshot(rec, error);
	answer_commands(rec, nr_commands, error);
	return err;
}

/*
 * Main loop
 */

static bool reached_max_size(const struct recorder *rec)
{
	u64 max = rec->output.max_bytes;

	if (!max || output__kept(&rec->output) < max)
		return false;
	if (!quiet)
		fprintf(stderr, "[ perf record: Size limit of %.3f MB reached, stopping ]\n",
			max / 1024.0 / 1024.0);
	return true;
}

static bool reached_file_size(const struct recorder *rec)
{
	return rec->rotation.size && output__bytes(&rec->output) >= rec->output.max_file_bytes;
}

/* All tasks that events are attached to have exited. SIGCHLD tells when the command has. */
static bool targets_exited(struct recorder *rec)
{
	return !rec->pollset.nr_tasks && drain_thread__no_tasks(&rec->drain_thread) &&
	       target__has_task(&rec->opts.target);
}

/*
 * A ring with few events reaches its watermark after hours. A recorder that is killed loses what is
 * in the rings, and a reader of a pipe waits for it.
 */
static int flush_streams(struct recorder *rec)
{
	u64 final_time = rec->sideband.state.final_time;
	int err;

	if (!rec->readers.nr)
		return 0;
	rec->flushed_ns = rdclock();
	err = readers__sync(&rec->readers);
	keep__synced(&rec->keep, final_time);
	return err;
}

static bool must_flush_streams(const struct recorder *rec)
{
	return rdclock() - rec->flushed_ns >= STREAM_FLUSH_MS * NSEC_PER_MSEC;
}

/* The live state forgets nothing newer than the last flush. */
static int tidy(struct recorder *rec)
{
	int err = sideband__must_reduce(&rec->sideband) ? flush_streams(rec) : 0;

	return err ?: sideband__tidy(&rec->sideband);
}

/* Drain the rings that woke this thread up. */
static int drain_round(struct recorder *rec)
{
	u64 round = rounds__begin(&rec->rounds);
	bool whole;
	ssize_t bytes = drain(rec, &whole);
	int err;

	if (bytes < 0)
		return bytes;
	rec->summary.wakeups += bytes > 0;
	err = rounds__end(&rec->rounds, readers__recorder(&rec->readers), round, bytes, whole) ?:
	      tidy(rec);
	if (!err && rounds__due(&rec->rounds))
		readers__ask(&rec->readers);
	return err;
}

static int snapshot_of_size(struct recorder *rec)
{
	const struct snapshot_cause cause = snapshot_cause__now("size");

	return capture__take(&rec->capture, TRIGGER_TIME, &cause) ?: snapshot(rec, true);
}

/*
 * Drain the rings once after each wake-up, not until they are empty: later records wake the thread
 * up at their watermark, and the recorder's own writing may be what produces them.
 */
static int record_until_stop(struct recorder *rec)
{
	unsigned int what = 0, nr_commands;
	bool exited = false;
	int err;

	while (!(what & TRIGGER_STOP) && !exited) {
		err = output__error(&rec->output);
		if (err && rec->output.droppable)	/* nothing but the beginning of a file */
			err = drop_snapshot(rec);
		err = err ?: readers__looked(&rec->readers);
		if (!err)
			err = drain_round(rec);
		if (!err && reached_max_size(rec))
			return 0;
		if (!err && reached_file_size(rec))
			err = snapshot_of_size(rec);
		if (err)
			return err;

		pollset__wait(&rec->pollset, rec->readers.nr ? STREAM_FLUSH_MS : -1);
		if (must_flush_streams(rec))
			err = flush_streams(rec);
		if (err)
			return err;
		hook__reap(&rec->hook);
		what = capture__asked(&rec->capture, &nr_commands);
		exited = targets_exited(rec);
		err = react(rec, what, nr_commands);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Begin and end
 */

static int raise_thread(void *readers, pthread_t thread)
{
	return readers__raise(readers, thread, false);
}

/*
 * While the queues are full, readers wait for the pipeline's threads, and the rings fill. A copy
 * that comes late has lost the incident.
 */
static int start_readers(struct recorder *rec)
{
	int err = readers__start(&rec->readers) ?: drain_thread__start(&rec->drain_thread);

	if (!err)
		err = readers__raise(&rec->readers, rec->capture.thread, false);
	if (!err && rec->readers.nr)
		err = pipeline__for_each_fast_thread(&rec->output.pipeline, raise_thread,
						     &rec->readers);
	return err;
}

/* Snapshots that are appended to one file are cut off it if they cannot be written. */
static int prepare_to_drop(struct recorder *rec)
{
	int err;

	if (rec->rotation.enabled || !rec->output.droppable)
		return 0;
	rec->output.droppable = rec->output.regular;
	err = output__flush(&rec->output);
	output__set_whole(&rec->output);
	return err;
}

static int begin(struct recorder *rec)
{
	struct target *target = &rec->opts.target;
	int err = features__init_clock(rec->output.session, &rec->opts);

	if (!rec->opts.no_bpf_event)
		bpf_thread__start(&rec->bpf_thread, &rec->output.session->header.env);
	if (!err)
		err = sideband__begin(&rec->sideband);
	if (!err)
		err = recorder__begin_file(rec) ?: prepare_to_drop(rec);
	if (!err)
		err = start_readers(rec);
	if (!err)
		err = events__exclude_threads(rec);
	if (err)
		return err;
	keep__begin(&rec->keep);
	rec->advice.begin_ns = rdclock();

	/* Events that exec enables, and those that --delay holds back, stay disabled. */
	if (!target__none(target) && !target->initial_delay) {
		evlist__enable(rec->evlist);
		bpf_ring__sync(rec->evlist);
	}
	off_cpu__start(&rec->off_cpu);
	if (!target__none(target) && target->initial_delay <= 0)
		trigger_events__enable(&rec->triggers.events);
	if (target->initial_delay)
		pr_info(EVLIST_DISABLED_MSG);
	capture__start(&rec->capture);
	err = triggers__start(&rec->triggers, &rec->opts);
	if (!err)
		pr_debug("perf record has started\n");	/* upstream's tests wait for this */
	return err;
}

/* The capture thread has taken the last copy: the events of stopping may fill the rings now. */
static int stop(struct recorder *rec, int err)
{
	err = capture__stop(&rec->capture) ?: err;
	evlist__disable(rec->evlist);
	bpf_ring__sync(rec->evlist);
	events__warn_of_hotplug(rec);
	err = readers__stop(&rec->readers) ?: err;
	drain_thread__stop(&rec->drain_thread);
	return err;
}

/* The recording could not begin: there is nothing to save. */
static void abandon(struct recorder *rec)
{
	stop(rec, 0);
	bpf_thread__stop(&rec->bpf_thread);
	output__discard(&rec->output);
}

/* Reading the file back needs more memory than it has bytes. */
static void omit_build_ids(struct output *output)
{
	if (output->build_ids || output->cache_binaries)
		pr_warning("Not enough memory to read the file back: it will have no build-ids.\n");
	output->build_ids = output->cache_binaries = output->sample_times = false;
}

static int end(struct recorder *rec, int err)
{
	const unsigned int nr_missing = rec->nr_missing;
	unsigned int nr_commands;

	rec->advice.end_ns = rdclock();
	err = stop(rec, err);
	if (err == -ENOMEM)
		omit_build_ids(&rec->output);
	rec->summary.wakeups += readers__wakeups(&rec->readers);
	rec->summary.normal_class = rec->readers.normal_class;
	rec->output.droppable = false;		/* keep what can be saved of the last snapshot */
	if (output__error(&rec->output))
		sideband__rescue(&rec->sideband);
	if (!rec->output.open && !err)
		err = recorder__resume_file(rec);
	err = lost_counters__read_filtered(&rec->lost, rec->evlist) ?: err;
	err = recorder__write_lost(rec, &rec->lost) ?: err;
	err = (rec->advice.wanted_ns ? keep__take_stock(&rec->keep, &rec->advice.kept) :
				       last_snapshot(rec)) ?: err;
	err = off_cpu__write(&rec->off_cpu, &rec->channels, &rec->output) ?: err;
	err = recorder__write_end(rec) ?: err;
	aux__end_file(&rec->aux, &rec->output);
	bpf_thread__stop(&rec->bpf_thread);

	if (rec->triggers.workload.exec_errno) {
		output__discard(&rec->output);
		return err;
	}
	err = recorder__close_file(rec, rec->rotation.enabled || rec->timestamp_filename) ?: err;
	if (!err && (rec->rotation.enabled || recorder__has_snapshots(rec)))
		sync_snapshot(rec);
	/* Commands that the main loop did not see before it ended are part of the last snapshot. */
	capture__asked(&rec->capture, &nr_commands);
	answer_commands(rec, nr_commands,
			err || rec->nr_missing > nr_missing ? "the recording has failed" : NULL);
	return err;
}

static void print_summary(struct recorder *rec)
{
	struct advice *advice = &rec->advice;

	if (!advice->wanted_ns)
		return summary__print(&rec->summary, &rec->report, &rec->output, &rec->keep);
	advice__compute(advice, &rec->channels.channel[CHANNEL_STREAM], rec->evlist, &rec->keep,
			&rec->report.metric);
	summary__advice(&rec->summary, advice, &rec->report);
}

/* Return: exit status of the command. */
static int report(struct recorder *rec, const char *command)
{
	const struct workload *workload = &rec->triggers.workload;
	int status = workload__exit_status(workload, command);

	if (!workload->exec_errno) {
		loss_report__finish(&rec->report, rec->output.data.path);
		summary__triggers(&rec->triggers.events.limit);
		print_summary(rec);
	}
	return status;
}

int recorder__run(struct recorder *rec, int argc, const char **argv)
{
	int stop_signal, status = 0, err;
	bool opened, begun;

	rec->output.evlist = rec->evlist;
	err = pollset__init(&rec->pollset);
	if (err)
		pr_err("Cannot create the main thread's poll set: %s\n", strerror(-err));
	else
		err = recorder__prepare(rec, argc, argv);
	if (!err)
		err = output__open(&rec->output);
	opened = !err;
	if (opened)
		err = begin(rec);
	begun = opened && (!err || rec->output.err);
	if (err == -EMFILE)
		recorder__explain_file_limit();
	if (!err && notifies(rec))
		notify__send("READY=1\nSTATUS=Recording");
	if (!err)
		err = record_until_stop(rec);
	if (begun && notifies(rec))
		notify__send("STOPPING=1\nSTATUS=Completing the file");
	if (begun) {
		err = end(rec, err);
		status = report(rec, argc ? argv[0] : NULL);
	} else if (opened) {
		abandon(rec);
	}
	stop_signal = rec->triggers.stop_signal;
	recorder__cleanup(rec);
	hook__wait(&rec->hook);

	if (err || rec->nr_missing)
		return output__no_space(&rec->output) ? EXIT_NO_SPACE : EXIT_RECORDING_FAILED;
	if (stop_signal) {
		signal(stop_signal, SIG_DFL);
		raise(stop_signal);
	}
	return status;
}
