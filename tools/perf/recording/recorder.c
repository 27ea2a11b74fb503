// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/perf_event_trailer.h>
#include <linux/zalloc.h>
#include <perf/cpumap.h>
#include <perf/threadmap.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include "ui/util.h"
#include "util/bpf-event.h"
#include "util/callchain.h"
#include "util/debug.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/header.h"
#include "util/session.h"
#include "util/symbol.h"
#include "util/target.h"
#include "util/time-utils.h"
#include "features.h"
#include "loss.h"
#include "recorder.h"
#include "sideband.h"
#include "stream.h"

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

/* As perf_data__open() will decide; the workload must know before the output is opened. */
static bool writes_to_pipe(const struct recorder *rec)
{
	struct stat st;

	if (rec->output.data.path)
		return !strcmp(rec->output.data.path, "-");
	return !fstat(STDOUT_FILENO, &st) && S_ISFIFO(st.st_mode);
}

/*
 * Configuring and opening events
 */

static int add_tracking_event(struct recorder *rec)
{
	/* Tasks migrate: to name those seen on some CPUs, all CPUs must be tracked. */
	bool all_cpus = rec->opts.target.cpu_list != NULL;

	rec->tracking = evlist__add_aux_dummy(rec->evlist, all_cpus);
	if (!rec->tracking)
		return -ENOMEM;
	evlist__set_tracking_event(rec->evlist, rec->tracking);
	return 0;
}

static void configure_tracking(struct recorder *rec)
{
	struct evsel *evsel = rec->tracking;

	evsel->core.attr.write_backward = 0;

	/*
	 * What happens before the other events begin, while /proc is read and during --delay, must
	 * be known then.
	 */
	if (!target__none(&rec->opts.target))
		evsel->core.attr.disabled = 0;
	else if (rec->opts.target.initial_delay)
		evsel->core.attr.enable_on_exec = 1;
}

static int configure(struct recorder *rec)
{
	struct evlist *evlist = rec->evlist;
	bool overwrite = false;
	struct evsel *evsel;

	if (callchain_param.enabled && callchain_param.record_mode == CALLCHAIN_FP)
		arch__add_leaf_frame_record_opts(&rec->opts);

	evlist__config(evlist, &rec->opts, &callchain_param);
	configure_tracking(rec);

	/* util leaves the time out where one ring alone is sure to be in order. Snapshots need it. */
	evlist__for_each_entry(evlist, evsel)
		overwrite |= evsel__channel(evsel) == CHANNEL_OVERWRITE;
	if (overwrite && sizeof(long) < sizeof(u64)) {
		pr_err("Overwrite events need a 64-bit perf and kernel.\n");
		return -EOPNOTSUPP;
	}
	if (overwrite && rec->opts.sample_time) {
		evlist__for_each_entry(evlist, evsel)
			evsel__set_sample_bit(evsel, TIME);
		evlist__set_id_pos(evlist);
	}
	return 0;
}

static void explain_no_target(struct target *target, int err)
{
	const char *name = target->pid ?: target->tid ?: target->uid_str;

	if (target__none(target))
		pr_err("The command ended before it was started: %s\n", strerror(err));
	else if (name)
		pr_err("Cannot attach to %s: %s\n", name, err == ENOENT || err == ESRCH ?
		       target->uid_str ? "this user has no process" :
					 "no such process, or not a number" : strerror(err));
	else
		pr_err("Cannot make the CPU map %s: %s\n", target->cpu_list ?: "", strerror(err));
}

#define REFUSED_AS_SIZED	1

/* Return: 0, a negative errno after an error message, or REFUSED_AS_SIZED. */
static int open_event(struct recorder *rec, struct evsel **pevsel)
{
	struct evsel *evsel = *pevsel;
	char msg[BUFSIZ];

	while (evsel__open(evsel, evsel->core.cpus, evsel->core.threads) < 0) {
		int err = errno;

		if (evsel__fallback(evsel, &rec->opts.target, err, msg, sizeof(msg))) {
			if (verbose > 0)
				ui__warning("%s\n", msg);
			continue;
		}
		if ((err == EINVAL || err == EBADF) && evsel->weak_group &&
		    evsel->core.leader != &evsel->core) {
			evsel = evlist__reset_weak_group(rec->evlist, evsel, true);
			*pevsel = evsel;
			continue;
		}
		if (err == EINVAL && evsel->core.attr.sample_type & PERF_SAMPLE_SIZE_AT_END)
			return REFUSED_AS_SIZED;
		if (err == ESRCH) {
			explain_no_target(&rec->opts.target, err);
			return -err;
		}
		evsel__open_strerror(evsel, &rec->opts.target, err, msg, sizeof(msg));
		ui__error("%s\n", msg);
		return err ? -err : -EINVAL;
	}
	evsel->supported = true;
	return 0;
}

static bool config_overwrite(struct evlist *evlist, enum perf_overwrite_kind kind)
{
	struct evsel *evsel;
	bool any = false;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel__channel(evsel) != CHANNEL_OVERWRITE)
			continue;
		perf_overwrite__config(&evsel->core.attr, kind);
		any = true;
	}
	return any;
}

static int open_all(struct recorder *rec)
{
	struct evsel *evsel;
	int err;

	evlist__for_each_entry(rec->evlist, evsel) {
		err = open_event(rec, &evsel);
		if (err)
			return err;
	}
	return 0;
}

/* A ring is of one kind: if one event is refused as a sized one, none can be. */
static int open_sized(struct recorder *rec)
{
	const struct perf_missing_features before = perf_missing_features;
	struct evlist *evlist = rec->evlist;
	struct perf_event_attr *attrs = calloc(evlist->core.nr_entries, sizeof(*attrs));
	struct evsel *evsel;
	int err;

	if (!attrs)
		return -ENOMEM;
	evlist__for_each_entry(evlist, evsel)
		attrs[evsel->core.idx] = evsel->core.attr;

	config_overwrite(evlist, PERF_OVERWRITE_SIZED);
	err = open_all(rec);
	if (err == REFUSED_AS_SIZED) {
		pr_debug("PERF_SAMPLE_SIZE_AT_END is refused for an event: "
			 "write_backward for all.\n");
		evlist__close(evlist);
		/* util took the refusal to be about other features, and left those out. */
		perf_missing_features = before;
		evlist__for_each_entry(evlist, evsel)
			evsel->core.attr = attrs[evsel->core.idx];
	}
	free(attrs);
	return err;
}

/* Attributes are left as the file is to describe them: there the records have no trailers. */
static int open_of_best_kind(struct recorder *rec)
{
	bool any = config_overwrite(rec->evlist, PERF_OVERWRITE_BACKWARD);
	int err;

	if (any && perf_overwrite__probe() == PERF_OVERWRITE_SIZED) {
		rec->overwrite = PERF_OVERWRITE_SIZED;
		err = open_sized(rec);
		config_overwrite(rec->evlist, PERF_OVERWRITE_BACKWARD);
		if (err != REFUSED_AS_SIZED)
			return err;
	}
	rec->overwrite = PERF_OVERWRITE_BACKWARD;
	return open_all(rec);
}

static int open_events(struct recorder *rec)
{
	struct evlist *evlist = rec->evlist;
	struct evsel *evsel;
	int err = open_of_best_kind(rec);

	if (err)
		return err;
	if (symbol_conf.kptr_restrict && !evlist__exclude_kernel(evlist))
		pr_warning("Kernel addresses are hidden from this user: kernel samples will not\n"
			   "resolve. See /proc/sys/kernel/kptr_restrict and perf_event_paranoid.\n");

	if (evlist__apply_filters(evlist, &evsel, &rec->opts.target)) {
		err = errno ? -errno : -EINVAL;
		pr_err("Cannot set the filter \"%s\" on %s: %s\n", evsel->filter ?: "BPF",
		       evsel__name(evsel), strerror(-err));
		return err;
	}
	return 0;
}

/*
 * util's side-band thread collects what HEADER_BPF_PROG_INFO needs of programs that are loaded
 * while we record. It looks whether it is to end once a second only; the eventfd wakes it up. It
 * watches all tasks: attached to ours, it would be kept busy by the hang-up of one that exits.
 */
static void start_bpf_watch(struct recorder *rec)
{
	struct target everybody = { .system_wide = true, .uid = UINT_MAX };

	if (rec->opts.no_bpf_event)
		return;
	rec->sb_evlist = evlist__new();
	if (!rec->sb_evlist)
		return;
	if (evlist__add_bpf_sb_event(rec->sb_evlist, &rec->output.session->header.env)) {
		evlist__delete(rec->sb_evlist);
		rec->sb_evlist = NULL;
		return;
	}
	rec->sb_wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (rec->sb_wake_fd >= 0)
		perf_evlist__add_pollfd(&rec->sb_evlist->core, rec->sb_wake_fd, NULL, POLLIN,
					fdarray_flag__nonfilterable);
	if (evlist__start_sb_thread(rec->sb_evlist, &everybody)) {
		pr_debug("BPF programs loaded from now on will not be annotated.\n");
		rec->sb_evlist = NULL;		/* util has deleted it */
		if (rec->sb_wake_fd >= 0)
			close(rec->sb_wake_fd);
	}
}

static void stop_bpf_watch(struct recorder *rec)
{
	const u64 one = 1;

	if (!rec->sb_evlist)
		return;
	rec->sb_evlist->thread.done = 1;
	if (write(rec->sb_wake_fd, &one, sizeof(one)) < 0)
		pr_debug("Waking the side-band thread: %m\n");
	evlist__stop_sb_thread(rec->sb_evlist);
	if (rec->sb_wake_fd >= 0)
		close(rec->sb_wake_fd);
	rec->sb_evlist = NULL;
}

/*
 * The files
 */

static int begin_file(struct recorder *rec)
{
	int err = sideband__describe(&rec->output, channels__any_page(&rec->channels));

	if (!err && !rec->opts.tail_synthesize)
		err = sideband__synthesize(&rec->output, &rec->opts);
	return err;
}

static int close_file(struct recorder *rec, bool rename)
{
	char timestamp[] = "InvalidTimestamp";
	char *name = NULL;
	int err = 0;

	if (rec->opts.tail_synthesize)
		err = sideband__synthesize(&rec->output, &rec->opts);

	if (!rename || output__is_pipe(&rec->output))
		return output__close(&rec->output) ?: err;

	fetch_current_timestamp(timestamp, sizeof(timestamp));
	err = output__close_as(&rec->output, timestamp, &name) ?: err;
	if (name) {
		summary__file(&rec->summary, name);
		rotation__keep(&rec->rotation, name);
	}
	return err;
}

static int next_file(struct recorder *rec)
{
	int err = close_file(rec, true);

	if (!err)
		err = output__reopen(&rec->output);
	if (!err)
		err = begin_file(rec);
	return err;
}

/*
 * Reading rings
 */

/* Return: 1 if there was something to write, 0 if not, or a negative errno. */
static int drain(struct recorder *rec)
{
	int tracking, stream;

	tracking = stream__drain(&rec->channels.channel[CHANNEL_TRACKING], &rec->output);
	if (tracking < 0)
		return tracking;
	stream = stream__drain(&rec->channels.channel[CHANNEL_STREAM], &rec->output);
	return stream < 0 ? stream : tracking | stream;
}

/*
 * A PERF_RECORD_FINISHED_ROUND tells the reader of the file that every ring has been visited, so that what is
 * older than the round before can be put in order and forgotten. Where there are overwrite rings
 * it is true only after a snapshot: until then they hold records older than what was drained.
 */
static int finish_round(struct recorder *rec)
{
	return sideband__mark(&rec->output, PERF_RECORD_FINISHED_ROUND);
}

static int write_snapshot(struct recorder *rec, const char *reason, bool last)
{
	struct snapshot_stats stats;
	int err = drain(rec);

	if (err >= 0)
		err = snapshotter__write(&rec->snapshotter, rec->evlist, &rec->output, &stats);
	if (!err && last)	/* what a paused ring loses then came after the end */
		stats.taken.paused = 0;
	if (!err && has_overwrite(rec))
		summary__snapshot(&rec->summary, &stats, reason);
	return err;
}

static int snapshot(struct recorder *rec, const char *reason, bool to_next_file)
{
	int err;

	snapshotter__take(&rec->snapshotter, 0);
	err = write_snapshot(rec, reason, false);
	if (!err)
		err = to_next_file ? next_file(rec) : finish_round(rec);
	return err;
}

/*
 * Reacting
 */

static const char *snapshot_reason(unsigned int what)
{
	if (what & TRIGGER_CONTROL)
		return "control";
	return what & TRIGGER_SNAPSHOT ? "signal" : "time";
}

static int react(struct recorder *rec, unsigned int what)
{
	const struct rotation *rotation = &rec->rotation;
	bool to_next_file = rotation->enabled &&
			    ((what & (TRIGGER_TIME | TRIGGER_CONTROL)) ||
			     ((what & TRIGGER_SNAPSHOT) && rotation->on_signal));
	int err = 0;

	if (what & TRIGGER_ENABLE) {
		evlist__enable(rec->evlist);
		pr_info(EVLIST_ENABLED_MSG);
		event_enable_timer__start(rec->evlist->eet);
	}
	if (what & (TRIGGER_SNAPSHOT | TRIGGER_CONTROL | TRIGGER_TIME)) {
		if (to_next_file || has_overwrite(rec))
			err = snapshot(rec, snapshot_reason(what), to_next_file);
		else
			pr_warning("No event is recorded in overwrite mode: nothing to snapshot.\n");
	}
	if (what & TRIGGER_CONTROL)
		evlist__ctlfd_ack(rec->evlist);
	return err;
}

static bool reached_max_size(const struct recorder *rec)
{
	if (!rec->max_size || rec->output.total < rec->max_size)
		return false;
	if (!quiet)
		fprintf(stderr, "[ perf record: Size limit of %.3f MB reached, stopping ]\n",
			rec->max_size / 1024.0 / 1024.0);
	return true;
}

/* poll() reports a hang-up again and again, asked for or not. */
static void forget(struct fdarray *fda, int pos, void *arg __maybe_unused)
{
	fda->entries[pos].fd = -1;
}

/* All tasks that we were attached to are gone. Our own command's end is told by SIGCHLD. */
static bool targets_gone(struct recorder *rec)
{
	int alive = fdarray__filter(&rec->evlist->core.pollfd, POLLERR | POLLHUP, forget, NULL);

	return !alive && target__has_task(&rec->opts.target);
}

/* What the rings woke us up for. */
static int drain_round(struct recorder *rec)
{
	int any = drain(rec);

	if (any <= 0)
		return any;
	rec->summary.wakeups++;
	return has_overwrite(rec) ? 0 : finish_round(rec);
}

/*
 * After each wake-up the rings are drained once, not until they are empty: what comes then wakes us
 * up at its watermark, and our own writing may be what comes.
 */
static int record_until_stop(struct recorder *rec)
{
	bool gone = false;
	int what = 0, err;

	while (!(what & TRIGGER_STOP) && !gone) {
		err = drain_round(rec);
		if (!err && reached_max_size(rec))
			return 0;
		if (!err && rec->rotation.size && rec->output.bytes >= rec->rotation.size)
			err = snapshot(rec, "size", true);
		if (err)
			return err;

		evlist__poll(rec->evlist, -1);
		what = triggers__process(&rec->triggers);
		if (what < 0)
			return what;
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

static int prepare(struct recorder *rec, int argc, const char **argv)
{
	struct target *target = &rec->opts.target;
	int err;

	if (rec->rotation.enabled && writes_to_pipe(rec)) {
		pr_err("--switch-output needs files: give one with -o, not standard output.\n");
		return -EINVAL;
	}
	err = add_tracking_event(rec);
	if (err)
		return err;
	if (evlist__create_maps(rec->evlist, target) < 0) {
		err = errno ? -errno : -EINVAL;
		explain_no_target(target, -err);
		return err;
	}
	if (target__has_task(target) && !perf_thread_map__nr(rec->evlist->core.threads)) {
		explain_no_target(target, ESRCH);
		return -ESRCH;
	}
	if (argc) {
		err = triggers__prepare_workload(&rec->triggers, rec->evlist, &rec->opts, argv,
						 writes_to_pipe(rec));
		if (err)
			return err;
	}
	err = configure(rec);
	if (!err)
		err = open_events(rec);
	if (!err)
		err = channels__map(&rec->channels, rec->evlist, rec->opts.mmap_pages);
	if (!err)
		err = snapshotter__init(&rec->snapshotter, overwrite_channel(rec),
					rec->overwrite);
	if (!err)
		err = triggers__init(&rec->triggers, rec->evlist, &rec->opts, rec->rotation.seconds);
	return err;
}

static int begin(struct recorder *rec)
{
	int err = features__init_clock(rec->output.session, &rec->opts);

	start_bpf_watch(rec);
	if (!err)
		err = begin_file(rec);
	if (err)
		return err;

	/* Those that exec is to enable, and those that --delay holds back, stay disabled. */
	if (!target__none(&rec->opts.target) && !rec->opts.target.initial_delay)
		evlist__enable(rec->evlist);
	if (rec->opts.target.initial_delay)
		pr_info(EVLIST_DISABLED_MSG);
	return triggers__start_workload(&rec->triggers, &rec->opts);
}

/*
 * The snapshot comes before the events are disabled, so that the rings do not fill with our own
 * stopping. What a paused ring loses then is no loss: it came after the end.
 */
static int end(struct recorder *rec, int err)
{
	u64 *lost = &rec->summary.lost_in_kernel;

	err = loss__note(rec->evlist, true, &rec->output, lost) ?: err;
	snapshotter__take(&rec->snapshotter, 0);
	evlist__disable(rec->evlist);
	err = write_snapshot(rec, "exit", true) ?: err;
	err = loss__note(rec->evlist, false, &rec->output, lost) ?: err;
	stop_bpf_watch(rec);

	if (rec->triggers.exec_errno) {
		output__discard(&rec->output);
		return err;
	}
	return close_file(rec, rec->rotation.enabled || rec->timestamp_filename) ?: err;
}

static void cleanup(struct recorder *rec)
{
	triggers__exit(&rec->triggers);
	snapshotter__exit(&rec->snapshotter);
	channels__unmap(&rec->channels);
	evlist__close(rec->evlist);
	output__exit(&rec->output);
	rotation__exit(&rec->rotation);
}

int recorder__run(struct recorder *rec, int argc, const char **argv)
{
	int stop_signal, status = 0, err;

	rec->output.evlist = rec->evlist;
	err = prepare(rec, argc, argv);
	if (!err)
		err = output__open(&rec->output);
	if (!err) {
		err = begin(rec);
		if (!err)
			err = record_until_stop(rec);
		err = end(rec, err);
		status = triggers__workload_exit(&rec->triggers, argc ? argv[0] : NULL);
		if (!rec->triggers.exec_errno)
			summary__print(&rec->summary, &rec->channels, &rec->output);
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
