// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#include <internal/lib.h>
#include <linux/kernel.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include "util/debug.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/rlimit.h"
#include "internal.h"
#include "own_tids.h"
#include "recorder.h"
#include "recording/aux/drain.h"
#include "recording/lib/evsel.h"
#include "recording/output/names.h"

static struct channel *channel(struct recorder *rec, enum channel_kind kind)
{
	return &rec->channels.channel[kind];
}

bool recorder__has_overwrite(const struct recorder *rec)
{
	return rec->channels.channel[CHANNEL_OVERWRITE].nr_mapped ||
	       rec->channels.channel[CHANNEL_BPF].nr_mapped;
}

bool recorder__has_snapshots(const struct recorder *rec)
{
	return recorder__has_overwrite(rec) || aux__takes_snapshots(&rec->aux) ||
	       keep__enabled(&rec->keep);
}

/* A dot, a timestamp and a number. Files that cannot be renamed would replace each other. */
#define SUFFIX_LEN	(1 + 16 + 4)

static int check_name(const struct recorder *rec)
{
	const char *path = rec->output.data.path ?: "perf.data";

	if (!(rec->rotation.enabled || rec->timestamp_filename) ||
	    !name__check_suffix(path, SUFFIX_LEN))
		return 0;
	pr_err("-o %s: the name of a completed file has %d more characters, and would be too long.\n",
	       path, SUFFIX_LEN);
	return -ENAMETOOLONG;
}

static int check_output(const struct recorder *rec)
{
	if (!output__will_be_pipe(&rec->output))
		return check_name(rec);
	if (keep__enabled(&rec->keep))
		pr_err("--keep needs a file: give one with -o, not standard output.\n");
	else if (rec->rotation.enabled)
		pr_err("--switch-output needs files: give one with -o, not standard output.\n");
	else if (rec->output.kcore)
		pr_err("--kcore makes a directory: give its name with -o, not standard output.\n");
	else
		return 0;
	return -EINVAL;
}

static int init_capture(struct recorder *rec)
{
	struct capture *capture = &rec->capture;
	int err;

	capture->evlist = rec->evlist;
	capture->triggers = &rec->triggers;
	capture->snapshotter = &rec->snapshotter;
	capture->aux_snapshotter = &rec->aux_snapshotter;
	capture->keep = rec->advice.wanted_ns ? NULL : &rec->keep;
	capture->channels = &rec->channels;
	capture->lost = &rec->lost;
	capture->defers = evlist__defers(rec->evlist);
	rec->aux.enabling = &capture->enabling;
	err = capture__init(capture);
	return err ?: pollset__add(&rec->pollset, capture->wake_fd);
}

static bool works_on(void *hook, const char *file)
{
	return hook__works_on(hook, file);
}

static int init_output(struct recorder *rec)
{
	int err;

	if (rec->output.pipeline.level && output__will_be_pipe(&rec->output)) {
		pr_warning("-z: data in a pipe are not compressed.\n");
		rec->output.pipeline.level = 0;
	}
	rec->output.max_file_bytes = rec->rotation.size;
	if (rec->hook.command) {
		rec->kept.in_use = works_on;
		rec->kept.in_use_arg = &rec->hook;
	}
	kept_files__init(&rec->kept);
	rec->output.kept_level = min(rec->keep.level, PIPELINE_FAST_LEVEL);	/* restore.c */
	err = output__init(&rec->output);
	keep__reserve(&rec->keep, pipeline__unused_memory(&rec->output.pipeline));
	return err ?: pollset__add(&rec->pollset, rec->output.error_fd);
}

/* A reader that precedes all normal tasks and is woken up by its own events would never sleep. */
static int choose_priority(struct recorder *rec)
{
	bool wakes_itself = rec->opts.no_buffering && !rec->self_excluded;
	struct readers *readers = &rec->readers;

	if (wakes_itself && readers->priority > 0) {
		pr_err("Cannot combine -r with --no-buffering while perf records itself: a reader that goes to "
		       "sleep causes an event, which wakes the reader up. Leave out one of them.\n");
		return -EINVAL;
	}
	if ((wakes_itself || rec->include_self) && readers->priority < 0)
		readers->priority = 0;
	return 0;
}

static int init_readers(struct recorder *rec)
{
	struct channel *stream = channel(rec, CHANNEL_STREAM), *aux = channel(rec, CHANNEL_AUX);
	struct channel *drained[] = { stream, channel(rec, CHANNEL_BPF_STREAM), aux };
	struct readers *readers = &rec->readers;
	int nr = aux__streams(&rec->aux) ? 3 : 2, err;
	struct ring *ring;

	readers->sink = keep__enabled(&rec->keep) ? &rec->keep.sink : &rec->output.sink;
	readers->rounds = &rec->rounds;
	readers->min_bytes = min(readers->min_bytes, (size_t)stream->pages * page_size / 4);
	channel__for_each_ring(aux, ring)
		ring->pollset = &rec->pollset;
	err = choose_priority(rec) ?:
	      readers__init(readers, drained, nr, &rec->pollset);
	if (!err)
		err = drain_thread__init(&rec->drain_thread, channel(rec, CHANNEL_TRACKING),
					 rec->evlist, readers, rec->keep.box);
	return err ?: channels__poll(&rec->channels, rec->evlist);
}

static int init_snapshots(struct recorder *rec)
{
	int err = snapshotter__init(&rec->snapshotter, &rec->channels, rec->overwrite,
				    evlist__defers(rec->evlist));

	if (!err)
		err = aux__map(&rec->aux, channel(rec, CHANNEL_AUX));
	aux_drain__init(&rec->aux, &rec->output);
	return err ?: aux_snapshotter__init(&rec->aux_snapshotter, &rec->aux);
}

static void init_sideband(struct recorder *rec)
{
	bool has_streams = (channels__have_streams(&rec->channels) && !keep__enabled(&rec->keep)) ||
			   aux__streams(&rec->aux);

	rec->sideband = (struct sideband){
		.evlist		 = rec->evlist,
		.opts		 = &rec->opts,
		.data_maps	 = rec->data_mmap,
		.output		 = &rec->output,
		.drain_thread	 = &rec->drain_thread,
		.aux		 = &rec->aux,
		.aux_rings	 = channel(rec, CHANNEL_AUX),
		.aux_snapshotter = &rec->aux_snapshotter,
		.snapshotter	 = &rec->snapshotter,
		.keep		 = &rec->keep,
		.has_overwrite	 = recorder__has_overwrite(rec),
	};
	sideband__init(&rec->sideband, rec->tracking, has_streams, rec->rotation.enabled);
	/* Then nothing but snapshots is written. */
	rec->output.droppable = rec->sideband.route == SIDEBAND_TO_STATE;
}

/* The memory of BPF maps counts in the cgroup of their creator, that of perf's rings in none. */
static u64 bpf_ring_bytes(const struct recorder *rec)
{
	static const enum channel_kind kinds[] = { CHANNEL_BPF, CHANNEL_BPF_STREAM };
	u64 bytes = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct channel *channel = &rec->channels.channel[kinds[i]];

		bytes += (u64)channel->nr_mapped * channel->pages * page_size;
	}
	return bytes;
}

/* Without this, a file would not have the tasks of its oldest kept record. */
static int check_keep(struct recorder *rec)
{
	if (!keep__enabled(&rec->keep))
		return 0;
	if (!channels__have_streams(&rec->channels) && rec->advice.wanted_ns)
		pr_err("--advise measures the samples of events, and there are none. -m ,SIZE is the "
		       "size of an AUX area.\n");
	else if (!channels__have_streams(&rec->channels))
		pr_err("--keep: all events are recorded in overwrite mode, which keeps their last records "
		       "itself. Leave out --keep, or /overwrite/ at some events.\n");
	else if (aux__streams(&rec->aux))
		pr_err("--keep does not keep AUX areas. Use -S to keep the last part of the trace.\n");
	else if (rec->sideband.route != SIDEBAND_TO_STATE)
		pr_err("--keep needs the time of each record: leave out --no-timestamp and "
		       "--tail-synthesize.\n");
	else
		return 0;
	return -EINVAL;
}

/* Write a PERF_RECORD_FINISHED_ROUND, see rounds.h. */
static int write_mark(void *output)
{
	return output__mark(output, PERF_RECORD_FINISHED_ROUND);
}

static int end_kept_round(void *keep)
{
	return keep__end_round(keep);
}

/*
 * With overwrite rings, or where side-band is written with snapshots, records older than what was
 * drained remain until a snapshot is written: then the snapshot finishes the round, not the
 * visitors.
 */
static int init_rounds(struct recorder *rec)
{
	bool by_snapshots = recorder__has_overwrite(rec) ||
			    rec->sideband.route == SIDEBAND_TO_STATE;

	if (keep__enabled(&rec->keep))
		return rounds__init(&rec->rounds, readers__recorder(&rec->readers) + 1,
				    end_kept_round, &rec->keep);
	return rounds__init(&rec->rounds, by_snapshots ? 0 : readers__recorder(&rec->readers) + 1,
			    write_mark, &rec->output);
}

static int next_program(void *arg, const char *tracepoint)
{
	return bpf_ring__next(arg, tracepoint);
}

static int pass_time(void *arg)
{
	return bpf_ring__pass_time(arg);
}

/* Programs see the ids of the initial PID namespace. */
static int open_when(struct recorder *rec)
{
	const struct when_chain chain = {
		.next = next_program, .pass_time = pass_time, .arg = &rec->bpf_ring,
	};
	struct own_tids own = { .process = 0 };
	int err = 0;

	if (!rec->triggers.when.nr)
		return 0;
	if (!own_tids__are_initial())
		pr_warning("--switch-output-when: perf is in a PID namespace. Except for interrupts and EVENT..EVENT, "
			   "tasks outside it\nthat exist already are not judged, others there only when their "
			   "durations end. Process ids are those of the\ninitial namespace.\n");
	if (!rec->include_self)
		err = own_tids__find_process(&own);
	if (err)
		pr_err("Cannot exclude the recorder from --switch-output-when: its process id is unknown: "
		       "%s.\nUse --no-exclude-perf to include it.\n", strerror(-err));
	err = err ?: when__open(&rec->triggers.when, own.process, &chain);
	own_tids__free(&own);
	return err;
}

static int init_triggers(struct recorder *rec)
{
	int err = open_when(rec);

	if (!err)
		err = triggers__init(&rec->triggers, rec->evlist, &rec->opts,
				     rec->rotation.seconds);
	return err ?: triggers__add_stop(&rec->triggers, rec->capture.stop_fd);
}

/*
 * Each CPU takes at least five descriptors: event, tracking event, BPF event, and two that its
 * reader waits with. The usual limit of 1024 is too low for 272 CPUs. The workload is forked
 * before, and keeps its limit. Commands of --exec-snapshot set it again: select(2) handles 1024.
 */
static void raise_file_limit(struct hook *hook)
{
	enum rlimit_action raised = NO_CHANGE;
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max)
		hook->max_files = limit.rlim_cur;
	rlimit__increase_nofile(&raised);
}

/*
 * Keep the capabilities of the recorder away from the commands of --exec-snapshot: a service has
 * ambient ones, which every program that it executes would inherit. The workload is forked before,
 * and has those that perf was started with.
 */
static void clear_ambient_capabilities(void)
{
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
		pr_debug("Cannot clear ambient capabilities: %m\n");	/* Linux before 4.3 */
}

void recorder__explain_file_limit(void)
{
	struct rlimit limit = { 0 };

	getrlimit(RLIMIT_NOFILE, &limit);
	pr_err("Hint:\tA recording has a file open for each event and CPU (or task), and four more for each CPU. This\n"
	       "\tprocess may have %" PRIu64 " (ulimit -Hn; LimitNOFILE= of a service): allow more, or record fewer\n"
	       "\tevents or CPUs (-C).\n", (u64)limit.rlim_cur);
}

/* A sample is at least as long as what is copied to it. The kernel drops longer ones silently. */
static size_t min_sample_bytes(const struct evsel *evsel)
{
	const struct perf_event_attr *attr = &evsel->core.attr;

	return (attr->sample_type & PERF_SAMPLE_STACK_USER ? attr->sample_stack_user : 0) +
	       (attr->sample_type & PERF_SAMPLE_AUX ? attr->aux_sample_size : 0);
}

static int check_ring_sizes(struct recorder *rec)
{
	struct evsel *evsel;

	evlist__for_each_entry(rec->evlist, evsel) {
		size_t ring = (size_t)channel(rec, evsel__channel(evsel))->pages * page_size;
		size_t sample = min_sample_bytes(evsel);

		if (!sample || sample < ring)
			continue;
		pr_err("Samples of %s have more than %zu bytes each, a ring has %zu: none would fit. Use a "
		       "larger -m, or smaller samples.\n", evsel__name(evsel), sample, ring);
		return -EINVAL;
	}
	return 0;
}

static int open_rings(struct recorder *rec)
{
	int err = events__configure(rec);

	if (!err)
		err = events__open(rec);
	if (!err)
		err = channels__map(&rec->channels, rec->evlist, rec->opts.mmap_pages);
	if (!err)
		err = bpf_ring__map(&rec->bpf_ring, &rec->channels, rec->evlist,
				    rec->opts.mmap_pages);
	return err ?: check_ring_sizes(rec);
}

/* Before the recorder has much memory: the guard keeps what the recorder changes later. */
static int start_guard(struct recorder *rec)
{
	if (!rec->keep.box)
		return 0;
	return guard__start(&rec->guard, rec->keep.file, rec->keep.box->header->sum);
}

static int guard_channel(struct recorder *rec, struct channel *channel)
{
	struct ring *ring;
	int err = 0;

	channel__for_each_ring(channel, ring)
		err = err ?: guard__add(&rec->guard, ring->map.fd, ring__size(ring) + page_size);
	return err;
}

/* The backlog of side-band is read as a ring: the box does not have it yet. */
static int guard_backlog(struct recorder *rec)
{
	const struct drain_thread *drain_thread = &rec->drain_thread;

	return guard__add(&rec->guard, drain_thread->fd, page_size + drain_thread->size);
}

static int guard_rings(struct recorder *rec)
{
	struct channel *stream;
	int err = 0;

	if (!rec->keep.box)
		return 0;
	channels__for_each_stream(&rec->channels, stream)
		err = err ?: guard_channel(rec, stream);
	return err ?: guard_channel(rec, &rec->channels.channel[CHANNEL_TRACKING]) ?:
	       guard_backlog(rec);
}

int recorder__prepare(struct recorder *rec, int argc, const char **argv)
{
	int err = check_output(rec);

	if (!err)
		err = events__find_target(rec);
	if (!err && argc)
		err = workload__prepare(&rec->triggers.workload, rec->evlist, &rec->opts, argv,
					output__will_be_pipe(&rec->output));
	if (err)
		return err;
	raise_file_limit(&rec->hook);
	clear_ambient_capabilities();
	rec->keep.evlist = rec->evlist;
	err = init_capture(rec) ?: keep__init(&rec->keep) ?: start_guard(rec);
	if (!err)
		err = init_output(rec);
	if (!err)
		err = open_rings(rec);
	if (!err)
		err = init_readers(rec);
	err = err ?: guard_rings(rec);
	if (!err)
		err = loss_report__init(&rec->report, &rec->channels, rec->evlist);
	if (!err)
		err = init_snapshots(rec);
	if (!err && recorder__has_snapshots(rec))
		err = snapshot_event__init(&rec->snapshot_event, rec->evlist);
	if (err)
		return err;
	init_sideband(rec);
	err = check_keep(rec);
	if (!err && keep__enabled(&rec->keep) && !rec->advice.wanted_ns)
		keep__check_limit(&rec->keep, bpf_ring_bytes(rec));
	return err ?: init_rounds(rec) ?: init_triggers(rec);
}

void recorder__cleanup(struct recorder *rec)
{
	capture__exit(&rec->capture);
	guard__stop(&rec->guard);
	keep__exit(&rec->keep);
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
	bpf_ring__exit(&rec->bpf_ring);
	channels__unmap(&rec->channels);
	evlist__close(rec->evlist);
	task_contexts__release(&rec->contexts);
	output__exit(&rec->output);
	kept_files__exit(&rec->kept);
	pollset__exit(&rec->pollset);
}
