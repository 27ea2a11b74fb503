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
#include "recording/aux/write.h"
#include "recording/lib/notify.h"
#include "recording/output/features.h"
#include "internal.h"
#include "recorder.h"

/* Exit status when the recording itself failed; no command is likely to return it. */
#define EXIT_RECORDING_FAILED	255

/* Likewise, if there was no space for the output. */
#define EXIT_NO_SPACE		254

/* Drain all rings of streams at least this often, so that a killed recorder loses no more. */
#define STREAM_FLUSH_MS		5000

/* Look at least this often whether BPF programs can be dropped. */
#define BPF_TIDY_MS		(10 * 60 * 1000)

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
 * Reactions to what the capture thread was asked for. It has taken the copies.
 */

/* Leave messages to a command that is recorded: the service manager may wait for them. */
static bool notifies(const struct recorder *rec)
{
	return !rec->triggers.workload.evlist;
}

static void notify_snapshot(const struct recorder *rec, const char *error)
{
	const char *file = recorder__snapshot_file(rec);

	if (error)
		notify__send("STATUS=Recording; the last snapshot failed");
	else
		notify__send("STATUS=Recording; snapshot %" PRIu64 " is in %s%s%s",
			     rec->summary.snapshots, file ?: "a pipe",
			     rec->summary.too_long[0] ? ": " : "", rec->summary.too_long);
}

static void answer_commands(struct recorder *rec, unsigned int nr, const char *error)
{
	while (nr--)
		control__answer(&rec->triggers.control, error, recorder__snapshot_file(rec),
				rec->summary.complete_ns, keep_limit__name(rec->summary.limit),
				rec->summary.too_long);
}

/* Return: the set of enum trigger whose requests are refused, as there is nothing to copy. */
static unsigned int refused_triggers(const struct recorder *rec)
{
	if (!rec->advice.wanted_ns) {
		if (recorder__has_snapshots(rec))
			return 0;
		if (rec->rotation.enabled)
			return rec->rotation.on_signal ? 0 : TRIGGER_SNAPSHOT;
	}
	return TRIGGER_SNAPSHOTS;
}

static int react(struct recorder *rec, unsigned int what, unsigned int nr_commands)
{
	const struct rotation *rotation = &rec->rotation;
	bool to_next_file = rotation->enabled &&
			    ((what &
			      (TRIGGER_TIME | TRIGGER_CONTROL | TRIGGER_EVENT | TRIGGER_WHEN)) ||
			     ((what & TRIGGER_SNAPSHOT) && rotation->on_signal));
	const unsigned int nr_missing = rec->nr_missing;
	const char *error = NULL;
	int err = 0;

	if (what & TRIGGER_SNAPSHOTS) {
		if (rec->advice.wanted_ns)
			error = "--advise only measures";
		else if (what & TRIGGER_SNAPSHOTS & ~rec->capture.refused)
			err = recorder__take_snapshot(rec, to_next_file, true);
		else
			error = "no event is recorded in overwrite mode, no AUX area with -S, and nothing kept (--keep)";
	}
	if (error)
		pr_warning("Cannot take a snapshot: %s.\n", error);
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

/*
 * Records age as blocks, and not while they are in a ring: drain the rings of rare events at least
 * as often as a block ends.
 */
static u64 flush_ms(const struct recorder *rec)
{
	if (!keep__enabled(&rec->keep))
		return STREAM_FLUSH_MS;
	return min((u64)STREAM_FLUSH_MS, keep__max_span(&rec->keep) / NSEC_PER_MSEC);
}

/* BPF programs of other tasks are followed, and make no record that wakes this thread up. */
static int max_sleep_ms(const struct recorder *rec)
{
	if (rec->readers.nr)
		return flush_ms(rec);
	return rec->bpf_thread.evlist ? BPF_TIDY_MS : -1;
}

static bool must_flush_streams(const struct recorder *rec)
{
	return rdclock() - rec->flushed_ns >= flush_ms(rec) * NSEC_PER_MSEC;
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

	return capture__take(&rec->capture, TRIGGER_TIME, &cause) ?:
	       recorder__take_snapshot(rec, true, false);
}

/*
 * The rings of --pin have what was recorded since another recorder was killed. That is copied
 * before any request is served, whose copy would otherwise have it, under another cause.
 */
static int copy_adopted(struct recorder *rec)
{
	const struct snapshot_cause cause = snapshot_cause__now("the recorder before was killed");

	if (!bpf_ring__adopted(&rec->bpf_ring))
		return 0;
	return capture__take(&rec->capture, TRIGGER_TIME, &cause);
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
			err = recorder__drop_snapshot(rec);
		err = err ?: readers__looked(&rec->readers);
		if (!err)
			err = drain_round(rec);
		if (!err && reached_max_size(rec))
			return 0;
		readers__resume(&rec->readers);		/* files have been deleted meanwhile */
		if (!err && reached_file_size(rec))
			err = snapshot_of_size(rec);
		if (err)
			return err;

		pollset__wait(&rec->pollset, max_sleep_ms(rec));
		if (must_flush_streams(rec))
			err = flush_streams(rec);
		if (err)
			return err;
		hook__reap(&rec->hook);
		what = capture__asked(&rec->capture, &nr_commands);
		if (what & TRIGGER_ENABLE)
			off_cpu__start(&rec->off_cpu);
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
		err = recorder__begin_file(rec) ?: recorder__store_session(rec) ?:
		      prepare_to_drop(rec);
	if (!err)
		err = start_readers(rec);
	if (!err)
		err = events__exclude_threads(rec);
	if (err)
		return err;
	keep__begin(&rec->keep);
	rec->advice.begin_ns = rdclock();

	/* Events that exec enables, and those that --delay holds back, stay disabled. */
	if (!target__none(target) && !target->initial_delay)
		evlist__enable(rec->evlist);
	if (!target->initial_delay)
		bpf_ring__sync(rec->evlist);
	if (target->initial_delay <= 0)
		off_cpu__start(&rec->off_cpu);
	/* Durations are those of all tasks: they do not wait for an exec. */
	if (target__none(target) && !target->initial_delay)
		when__enable(&rec->triggers.when);
	else if (target->initial_delay <= 0)
		triggers__enable(&rec->triggers);
	if (target->initial_delay)
		pr_info(EVLIST_DISABLED_MSG);
	err = copy_adopted(rec);
	rec->capture.refused = refused_triggers(rec);
	capture__start(&rec->capture);
	err = err ?: triggers__start(&rec->triggers, &rec->opts);
	if (!err)
		pr_debug("perf record has started\n");	/* upstream's tests wait for this */
	if (!err && bpf_ring__adopted(&rec->bpf_ring))
		err = recorder__take_snapshot(rec, rec->rotation.enabled, false);
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

/* There is nothing to save, except in pinned rings that another recorder has filled. */
static void discard(struct recorder *rec)
{
	output__discard(&rec->output);
	rec->bpf_ring.saved = !bpf_ring__adopted(&rec->bpf_ring);
}

/* The recording could not begin. */
static void abandon(struct recorder *rec)
{
	stop(rec, 0);
	bpf_thread__stop(&rec->bpf_thread);
	discard(rec);
}

/* Reading the file back needs more memory than it has bytes. */
static void omit_build_ids(struct output *output)
{
	if (output->build_ids || output->cache_binaries)
		pr_warning("Not enough memory to read the file back: it will have no build-ids.\n");
	output->build_ids = output->cache_binaries = output->sample_times = false;
}

/*
 * The file of --keep-file has the last records until another has them for sure: its header may not
 * fit, or the disk may refuse it in the end.
 */
static void end_kept(struct recorder *rec, bool saved)
{
	rec->keep.unsaved_end = !saved;
	if (rec->keep.box)
		keep__end_snapshot(&rec->keep, saved);
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
				       recorder__take_last(rec)) ?: err;
	err = off_cpu__write(&rec->off_cpu, &rec->channels, &rec->output) ?: err;
	err = recorder__write_end(rec) ?: err;
	aux__end_file(&rec->aux, &rec->output);
	bpf_thread__stop(&rec->bpf_thread);

	if (rec->triggers.workload.exec_errno) {
		discard(rec);
		end_kept(rec, true);
		return err;
	}
	err = recorder__close_file(rec, rec->rotation.enabled || rec->timestamp_filename) ?: err;
	if (!err && (rec->rotation.enabled || recorder__has_snapshots(rec)))
		recorder__sync_snapshot(rec);
	end_kept(rec, !err && rec->nr_missing == nr_missing);
	rec->bpf_ring.saved = !rec->keep.unsaved_end;
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
	advice__compute(advice, &rec->channels, rec->evlist, &rec->keep,
			&rec->report.metric);
	summary__advice(&rec->summary, advice, &rec->report);
}

/* Return: exit status of the command. */
static int report(struct recorder *rec, const char *command)
{
	const struct workload *workload = &rec->triggers.workload;
	int status = workload__exit_status(workload, command);

	if (!workload->exec_errno) {
		loss_report__finish(&rec->report, output__name(&rec->output));
		summary__triggers(&rec->summary, &rec->triggers.events.limit, &rec->triggers.when);
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
