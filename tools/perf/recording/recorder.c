// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <internal/lib.h>
#include <linux/kernel.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "util/debug.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/rlimit.h"
#include "util/session.h"
#include "util/target.h"
#include "util/time-utils.h"
#include "events.h"
#include "recording/output/features.h"
#include "recording/ring/reader_sched.h"
#include "recorder.h"
#include "exclude_self.h"
#include "recording/sideband/synthesize.h"
#include "recording/ring/drain.h"

/* What the shell sees when the recording itself failed; no command is likely to return it. */
#define EXIT_RECORDING_FAILED	255

static struct channel *overwrite_channel(struct recorder *rec)
{
	return &rec->channels.channel[CHANNEL_OVERWRITE];
}

static bool has_overwrite(struct recorder *rec)
{
	return overwrite_channel(rec)->nr_mapped > 0;
}

static bool has_snapshots(struct recorder *rec)
{
	return has_overwrite(rec) || aux__takes_snapshots(&rec->aux);
}

/* As perf_data__open() will decide; the workload must know before the output is opened. */
static bool writes_to_pipe(const struct recorder *rec)
{
	struct stat st;

	if (rec->output.data.path)
		return !strcmp(rec->output.data.path, "-");
	return !fstat(STDOUT_FILENO, &st) && S_ISFIFO(st.st_mode);
}

/*
 * The files
 */

static int begin_file(struct recorder *rec)
{
	const struct perf_event_mmap_page *page = channels__any_page(&rec->channels);

	return synthesize__describe(&rec->output, page) ?:
	       aux__describe(&rec->aux, &rec->output, page) ?:
	       sideband__begin_file(&rec->sideband);
}

static int close_file(struct recorder *rec, bool rename)
{
	char timestamp[] = "InvalidTimestamp";
	char *name = NULL;
	int err;

	if (!rename || output__is_pipe(&rec->output))
		return output__close(&rec->output);

	fetch_current_timestamp(timestamp, sizeof(timestamp));
	err = output__close_as(&rec->output, timestamp, &name);
	if (name) {
		summary__file(&rec->summary, name);
		rotation__keep(&rec->rotation, name);
	}
	return err;
}

/* What each file ends with. */
static int write_end(struct recorder *rec)
{
	struct lost_counters lost = { 0 };
	int err = lost_counters__read(&lost, &rec->channels, rec->evlist, false);

	err = lost_counters__write(&lost, &rec->output) ?: err;
	return sideband__end_file(&rec->sideband) ?: err;
}

/* What comes meanwhile waits in the queue for the next file. */
static int next_file(struct recorder *rec)
{
	int err = close_file(rec, true);

	err = output__reopen(&rec->output) ?: err;
	if (!err)
		err = begin_file(rec);
	return err;
}

/*
 * Reading rings
 */

/* In a reader's thread. The sizes are looked at in ours. */
static int drain_to_output(void *arg, const struct records *records, struct ring_stats *stats)
{
	struct recorder *rec = arg;
	int err = output__write(&rec->output, records, stats);

	if (rec->max_size && output__total(&rec->output) >= rec->max_size)
		readers__set_enough(&rec->readers);
	if (rec->rotation.size && output__bytes(&rec->output) >= rec->rotation.size)
		readers__wake_recorder(&rec->readers);
	return err;
}

/* A PERF_RECORD_FINISHED_ROUND, see rounds.h. */
static int finish_round(void *output)
{
	return output__mark(output, PERF_RECORD_FINISHED_ROUND);
}

/* Those of the recorder's thread. AUX areas come after the records that tell of them. */
static ssize_t drain_own(struct recorder *rec)
{
	ssize_t tracking = sideband__drain(&rec->sideband), aux;

	if (tracking < 0)
		return tracking;
	aux = aux__drain(&rec->aux, &rec->output);
	return aux < 0 ? aux : aux + tracking;
}

/*
 * Tracking comes after the streams: what a streamed sample refers to was published before it, and
 * should be in the same file. See end_data() for where files are switched; in between the rounds put
 * things in order.
 *
 * Return: how much it was [bytes], or a negative errno.
 */
static ssize_t drain(struct recorder *rec, bool *whole)
{
	ssize_t stream = readers__visit(&rec->readers, whole), own;

	if (stream < 0)
		return stream;
	own = drain_own(rec);
	return own < 0 ? own : own + stream;
}

/*
 * Where copies are written, too, their order is kept by holding the readers (see write_snapshot()); and
 * where records have no time, what is written first when a file begins must come first.
 */
static bool needs_hold(struct recorder *rec)
{
	return has_snapshots(rec) || rec->sideband.route == SIDEBAND_TO_FILE;
}

static int sync_and_drain(struct recorder *rec)
{
	ssize_t bytes = needs_hold(rec) ? readers__hold(&rec->readers) : readers__sync(&rec->readers);

	if (!bytes)
		bytes = drain_own(rec);
	return bytes < 0 ? bytes : 0;
}

/*
 * The file ends here. The readers go on, for the next one:
 *
 *  - All that was published before the readers were asked is in this file, and what the rings lost before.
 *  - What a sample in this file refers to was published before it was drained, so it is in a tracking ring,
 *    or drained: nobody else writes while those rings are drained for the last time.
 *  - What tells of pieces of a trace that were just written may have come while they were: once more.
 *  - The next file's samples may lie before what they refer to, which begin_file() writes. Whoever reads it
 *    puts records in order and takes none out before the second mark of a round (rounds.h): for that one the
 *    recorder's thread has to make a visit, which it does when it has begun the file.
 */
static int end_data(struct recorder *rec)
{
	ssize_t bytes = write_end(rec);

	if (bytes)
		return bytes;
	drain_thread__hold(&rec->drain_thread);
	output__hold(&rec->output);
	bytes = drain_own(rec);
	if (bytes >= 0 && aux__streams(&rec->aux))
		bytes = sideband__drain(&rec->sideband);
	if (bytes >= 0)
		output__next(&rec->output);
	output__release(&rec->output);
	drain_thread__release(&rec->drain_thread);
	return bytes < 0 ? bytes : 0;
}

/*
 * Handed over after the streams were drained, so that no later snapshot has records older than what
 * was drained; and before anything is written, so that what is asked for while the output hangs is
 * the next snapshot's. Leaves the readers held, if it needs to hold them.
 */
static int write_snapshot(struct recorder *rec, const char *reason, bool last)
{
	struct aux_snapshot_stats aux_stats;
	struct snapshot_stats stats;
	int err = sync_and_drain(rec);

	snapshotter__hand_over(&rec->snapshotter);
	aux_snapshotter__hand_over(&rec->aux_snapshotter);
	if (!err)
		err = sideband__begin_snapshot(&rec->sideband);
	if (!err)
		err = snapshotter__write(&rec->snapshotter, rec->evlist, &rec->output, &stats);
	if (!err)
		err = aux_snapshotter__write(&rec->aux_snapshotter, &rec->output, &aux_stats);
	if (!err && has_snapshots(rec) && stats.requests)	/* what is said to be in one is saved */
		err = output__flush(&rec->output);
	if (err)
		return err;
	sideband__end_snapshot(&rec->sideband, stats.horizon);
	if (last)		/* what a paused ring loses then came after the end */
		stats.taken.paused = 0;
	summary__snapshot(&rec->summary, has_overwrite(rec) ? &stats : NULL,
			  aux_stats.requests ? &aux_stats : NULL, reason);
	return 0;
}

static int switch_files(struct recorder *rec, const char *reason)
{
	int err = write_snapshot(rec, reason, false);

	if (!err)
		err = end_data(rec);
	if (rec->sideband.route != SIDEBAND_TO_FILE)
		readers__release(&rec->readers);
	return err ?: next_file(rec);
}

static int snapshot(struct recorder *rec, const char *reason, bool to_next_file)
{
	struct reader_sched usual;
	int err = 0;

	/* Asked for while the one before was handled, which has answered it, too. */
	if (!snapshotter__pending(&rec->snapshotter))
		return 0;
	reader_sched__save(&usual);
	if (rec->readers.nr)
		err = readers__raise(&rec->readers, pthread_self(), false);
	if (!err && to_next_file)
		err = switch_files(rec, reason);
	else if (!err)
		err = write_snapshot(rec, reason, false);
	if (!err && !to_next_file && !rec->rounds.nr_visitors)
		err = finish_round(&rec->output);
	readers__release(&rec->readers);
	reader_sched__restore(&usual);
	return err;
}

/*
 * Reacting to what the capture thread was asked for. It has taken the copies.
 */

static const char *snapshot_reason(struct recorder *rec, unsigned int what)
{
	struct evsel *by = __atomic_load_n(&rec->capture.by, __ATOMIC_RELAXED);

	if (what & TRIGGER_EVENT && by)
		return evsel__name(by);
	if (what & TRIGGER_CONTROL)
		return "control";
	return what & TRIGGER_SNAPSHOT ? "signal" : "time";
}

static int react(struct recorder *rec, unsigned int what)
{
	const struct rotation *rotation = &rec->rotation;
	bool to_next_file = rotation->enabled &&
			    ((what & (TRIGGER_TIME | TRIGGER_CONTROL | TRIGGER_EVENT)) ||
			     ((what & TRIGGER_SNAPSHOT) && rotation->on_signal));
	int err = 0;

	if (what & TRIGGER_SNAPSHOTS) {
		if (to_next_file || has_snapshots(rec))
			err = snapshot(rec, snapshot_reason(rec, what), to_next_file);
		else
			pr_warning("No event is recorded in overwrite mode, and no AUX area with -S: "
				   "nothing to snapshot.\n");
	}
	if (what & TRIGGER_CONTROL)
		evlist__ctlfd_ack(rec->evlist);
	return err;
}

static bool reached_max_size(const struct recorder *rec)
{
	if (!rec->max_size || output__total(&rec->output) < rec->max_size)
		return false;
	if (!quiet)
		fprintf(stderr, "[ perf record: Size limit of %.3f MB reached, stopping ]\n",
			rec->max_size / 1024.0 / 1024.0);
	return true;
}

/* All tasks that we were attached to are gone. Our own command's end is told by SIGCHLD. */
static bool targets_gone(struct recorder *rec)
{
	return !rec->pollset.nr_tasks && drain_thread__gone(&rec->drain_thread) && target__has_task(&rec->opts.target);
}

/* What the rings woke us up for. */
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
	      sideband__tidy(&rec->sideband);
	if (!err && rounds__due(&rec->rounds))
		readers__ask(&rec->readers);
	return err;
}

/*
 * After each wake-up the rings are drained once, not until they are empty: what comes then wakes us
 * up at its watermark, and our own writing may be what comes.
 */
static int record_until_stop(struct recorder *rec)
{
	unsigned int what = 0;
	bool gone = false;
	int err;

	while (!(what & TRIGGER_STOP) && !gone) {
		err = output__error(&rec->output) ?: readers__looked(&rec->readers);
		if (!err)
			err = drain_round(rec);
		if (!err && reached_max_size(rec))
			return 0;
		if (!err && rec->rotation.size && output__bytes(&rec->output) >= rec->rotation.size) {
			err = capture__take(&rec->capture, TRIGGER_TIME, 0) ?:
			      snapshot(rec, "size", true);
		}
		if (err)
			return err;

		pollset__wait(&rec->pollset);
		what = capture__asked(&rec->capture);
		gone = targets_gone(rec);
		err = react(rec, what);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Beginning and end
 */

static int init_capture(struct recorder *rec)
{
	struct capture *capture = &rec->capture;
	int err;

	capture->evlist = rec->evlist;
	capture->triggers = &rec->triggers;
	capture->snapshotter = &rec->snapshotter;
	capture->aux_snapshotter = &rec->aux_snapshotter;
	capture->channels = &rec->channels;
	capture->lost = &rec->lost;
	rec->aux.enabling = &capture->enabling;
	err = capture__init(capture);
	return err ?: pollset__add(&rec->pollset, capture->wake_fd);
}

static int init_output(struct recorder *rec)
{
	int err;

	if (rec->output.pipeline.level && writes_to_pipe(rec)) {
		pr_warning("-z: what goes to a pipe is not compressed.\n");
		rec->output.pipeline.level = 0;
	}
	err = output__init(&rec->output);
	return err ?: pollset__add(&rec->pollset, rec->output.error_fd);
}

static int init_readers(struct recorder *rec)
{
	struct readers *readers = &rec->readers;
	struct ring *ring;
	int err;

	rec->drain_thread.drain = sideband__take;
	rec->drain_thread.arg = &rec->sideband;
	readers->drain = drain_to_output;
	readers->arg = rec;
	readers->rounds = &rec->rounds;
	readers->least = min(readers->least,
			     (size_t)rec->channels.channel[CHANNEL_STREAM].pages * page_size / 4);
	/* Before every normal task, and woken up by itself: it would never sleep. */
	if (rec->include_self && readers->priority < 0)
		readers->priority = 0;
	channel__for_each_ring(&rec->channels.channel[CHANNEL_AUX], ring)
		ring->pollset = &rec->pollset;
	err = readers__init(readers, &rec->channels.channel[CHANNEL_STREAM], &rec->pollset);
	if (!err)
		err = drain_thread__init(&rec->drain_thread, &rec->channels.channel[CHANNEL_TRACKING], readers);
	return err ?: channels__poll(&rec->channels, rec->evlist);
}

/*
 * Where there are overwrite rings, or what was tracked is written with a snapshot, a round is finished
 * by a snapshot: until then there are records older than what was drained. So it is not up to the
 * visitors.
 */
static int init_rounds(struct recorder *rec)
{
	bool by_snapshots = has_overwrite(rec) || rec->sideband.route == SIDEBAND_TO_STATE;

	return rounds__init(&rec->rounds, by_snapshots ? 0 : readers__recorder(&rec->readers) + 1,
			    finish_round, &rec->output);
}

/*
 * Each CPU takes at least five: an event, a tracking and a BPF one, and two that its reader waits with. The
 * 1024 that are usual are not enough for 272 CPUs. A command has been forked by then, and keeps its limit.
 */
static void raise_file_limit(void)
{
	enum rlimit_action raised = NO_CHANGE;

	rlimit__increase_nofile(&raised);
}

static void explain_file_limit(void)
{
	struct rlimit limit = { 0 };

	getrlimit(RLIMIT_NOFILE, &limit);
	pr_err("Hint:\tA recording has a file open for each event and CPU (or task), and four more for each CPU. This\n"
	       "\tprocess may have %" PRIu64 " (ulimit -Hn; LimitNOFILE= of a service): allow more, or record fewer\n"
	       "\tevents or CPUs (-C).\n", (u64)limit.rlim_cur);
}

static int prepare(struct recorder *rec, int argc, const char **argv)
{
	int err;

	if (rec->rotation.enabled && writes_to_pipe(rec)) {
		pr_err("--switch-output needs files: give one with -o, not standard output.\n");
		return -EINVAL;
	}
	if (rec->output.kcore && writes_to_pipe(rec)) {
		pr_err("--kcore makes a directory: give its name with -o, not standard output.\n");
		return -EINVAL;
	}
	err = events__find_target(rec);
	if (err)
		return err;
	if (argc) {
		err = triggers__prepare_workload(&rec->triggers, rec->evlist, &rec->opts, argv,
						 writes_to_pipe(rec));
		if (err)
			return err;
	}
	raise_file_limit();
	err = init_capture(rec);
	if (!err)
		err = init_output(rec);
	if (!err)
		err = events__configure(rec);
	if (!err)
		err = events__open(rec);
	if (!err)
		err = channels__map(&rec->channels, rec->evlist, rec->opts.mmap_pages);
	if (!err)
		err = init_readers(rec);
	if (!err)
		err = loss_report__init(&rec->report, &rec->channels, rec->evlist);
	if (!err)
		err = snapshotter__init(&rec->snapshotter, overwrite_channel(rec),
					rec->overwrite);
	if (!err)
		err = aux__map(&rec->aux, &rec->channels.channel[CHANNEL_AUX]);
	if (!err)
		err = aux_snapshotter__init(&rec->aux_snapshotter, &rec->aux);
	if (!err)
		sideband__init(&rec->sideband, rec);
	if (!err)
		err = init_rounds(rec);
	if (!err)
		err = triggers__init(&rec->triggers, rec->evlist, &rec->opts, rec->rotation.seconds);
	if (!err)
		err = triggers__add_stop(&rec->triggers, rec->capture.stop_fd);
	return err;
}

static int raise_thread(void *readers, pthread_t thread)
{
	return readers__raise(readers, thread, false);
}

/* When all buffers are full, the readers wait for the pipeline's threads, and the rings fill. */
static int start_readers(struct recorder *rec)
{
	int err = readers__start(&rec->readers) ?: drain_thread__start(&rec->drain_thread);

	if (!err && rec->readers.nr)
		err = pipeline__for_each_thread(&rec->output.pipeline, raise_thread, &rec->readers);
	return err;
}

static int begin(struct recorder *rec)
{
	int err = features__init_clock(rec->output.session, &rec->opts);

	if (!rec->opts.no_bpf_event)
		bpf_thread__start(&rec->bpf_thread, &rec->output.session->header.env);
	if (!err)
		err = sideband__begin(&rec->sideband);
	if (!err)
		err = begin_file(rec);
	if (!err)
		err = start_readers(rec);
	if (err)
		return err;

	/* Those that exec is to enable, and those that --delay holds back, stay disabled. */
	if (!target__none(&rec->opts.target) && !rec->opts.target.initial_delay)
		evlist__enable(rec->evlist);
	off_cpu__start(&rec->off_cpu);
	if (!target__none(&rec->opts.target) && rec->opts.target.initial_delay <= 0)
		trigger_events__enable(&rec->triggers.events);
	if (rec->opts.target.initial_delay)
		pr_info(EVLIST_DISABLED_MSG);
	capture__start(&rec->capture);
	err = triggers__start_workload(&rec->triggers, &rec->opts);
	if (!err)
		pr_debug("perf record has started\n");	/* upstream's tests wait for this */
	return err;
}

/* The capture thread has taken the last copy: now the rings may fill with our own stopping. */
static int end(struct recorder *rec, int err)
{
	err = capture__stop(&rec->capture) ?: err;
	evlist__disable(rec->evlist);
	err = readers__stop(&rec->readers) ?: err;
	drain_thread__stop(&rec->drain_thread);
	rec->summary.wakeups += readers__wakeups(&rec->readers);
	err = lost_counters__read_filtered(&rec->lost, rec->evlist) ?: err;
	err = lost_counters__write(&rec->lost, &rec->output) ?: err;
	err = write_snapshot(rec, "exit", true) ?: err;
	err = off_cpu__write(&rec->off_cpu, &rec->channels, &rec->output) ?: err;
	err = write_end(rec) ?: err;
	bpf_thread__stop(&rec->bpf_thread);

	if (rec->triggers.exec_errno) {
		output__discard(&rec->output);
		return err;
	}
	return close_file(rec, rec->rotation.enabled || rec->timestamp_filename) ?: err;
}

static void cleanup(struct recorder *rec)
{
	capture__exit(&rec->capture);
	triggers__exit(&rec->triggers);
	snapshotter__exit(&rec->snapshotter);
	aux_snapshotter__exit(&rec->aux_snapshotter);
	sideband__exit(&rec->sideband);
	loss_report__exit(&rec->report);
	aux__exit(&rec->aux);
	off_cpu__exit(&rec->off_cpu);
	drain_thread__exit(&rec->drain_thread);
	readers__exit(&rec->readers);
	rounds__exit(&rec->rounds);
	channels__unmap(&rec->channels);
	evlist__close(rec->evlist);
	output__exit(&rec->output);
	rotation__exit(&rec->rotation);
	pollset__exit(&rec->pollset);
}

int recorder__run(struct recorder *rec, int argc, const char **argv)
{
	int stop_signal, status = 0, err;
	struct exclude_self_name name;
	bool begun;

	exclude_self__name_threads(&name);
	rec->output.evlist = rec->evlist;
	err = pollset__init(&rec->pollset);
	if (err)
		pr_err("Cannot set up what the recorder waits for: %s\n", strerror(-err));
	else
		err = prepare(rec, argc, argv);
	if (!err)
		err = output__open(&rec->output);
	begun = !err;
	if (begun)
		err = begin(rec);
	exclude_self__rename(&name);
	if (err == -EMFILE)
		explain_file_limit();
	if (!err)
		err = record_until_stop(rec);
	if (begun) {
		err = end(rec, err);
		status = triggers__workload_exit(&rec->triggers, argc ? argv[0] : NULL);
		if (!rec->triggers.exec_errno) {
			loss_report__finish(&rec->report, rec->output.data.path);
			summary__print(&rec->summary, &rec->report, &rec->output);
		}
	}
	stop_signal = rec->triggers.stop_signal;
	cleanup(rec);

	if (err)
		return EXIT_RECORDING_FAILED;
	if (stop_signal) {
		signal(stop_signal, SIG_DFL);
		raise(stop_signal);
	}
	return status;
}
