// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write a snapshot: to this file, or as the end of it; drop one that cannot be written.
 */
#include <inttypes.h>
#include <linux/kernel.h>
#include "util/debug.h"
#include "util/evlist.h"
#include "util/session.h"
#include "recording/aux/write.h"
#include "recording/lib/clock_pair.h"
#include "recording/lib/kernel_clock.h"
#include "recording/report/progress.h"
#include "recording/ring/reader_sched.h"
#include "internal.h"
#include "recorder.h"

/**
 * struct snapshot
 * @rings:	copies of overwrite rings, and what asked for them
 * @aux:	copies of AUX areas
 * @kept:	kept streams
 * @saved:	it is written
 * @drain_err:	error of draining streams, or 0: the last snapshot is written all the same
 */
struct snapshot {
	struct snapshot_stats	  rings;
	struct aux_snapshot_stats aux;
	struct keep_stats	  kept;
	bool			  saved;
	int			  drain_err;
};

/*
 * Where copies are written as well, hold the readers to keep the order (see append_snapshot()).
 * Where records have no time, hold them so that what begins a file is written first. Where AUX
 * areas are streamed, hold them so that trace, index and PERF_RECORD_AUX end at the same place.
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

/**
 * struct kept_writing - kept records that are being written
 * @rec:	the recorder
 * @progress:	how far it is
 * @begin:	time of the oldest record in the first block of this file [ns], or 0
 * @nr_missing: of @rec, before the first of its files
 */
struct kept_writing {
	struct recorder	*rec;
	struct progress	 progress;
	u64		 begin;
	unsigned int	 nr_missing;
};

/*
 * Complete this file, and continue the snapshot in another one, which begins with the live state.
 * If this one could be cut (recorder__take_last()), so can the next. From a file on that cannot be
 * completed, all kept records stay.
 */
static int continue_in_next_file(struct kept_writing *writing)
{
	struct recorder *rec = writing->rec;
	int err = sideband__finish_snapshot(&rec->sideband) ?: recorder__end_data(rec);
	bool has_whole = rec->output.has_whole;

	err = err ?: output__flush(&rec->output);
	if (err)
		return err;
	err = recorder__next_file(rec);
	if (rec->nr_missing == writing->nr_missing)
		keep__save_part(&rec->keep);
	if (!err && has_whole)
		output__set_whole(&rec->output);
	return err ?: sideband__begin_snapshot(&rec->sideband);
}

static int split(struct kept_writing *writing, u64 first)
{
	const u64 ns = writing->rec->keep.split_ns;
	int err = 0;

	if (ns && writing->begin && first >= writing->begin + ns) {
		err = continue_in_next_file(writing);
		writing->begin = 0;
	}
	writing->begin = writing->begin ?: first;
	return err;
}

/* Writing the kept records may take long. */
static int before_block(void *arg, u64 first)
{
	struct recorder *rec = ((struct kept_writing *)arg)->rec;
	ssize_t bytes = sideband__drain(&rec->sideband);

	measure_kept(rec);
	return bytes < 0 ? bytes : split(arg, first);
}

static int before_mark(void *arg, u64 time, bool *complete)
{
	struct recorder *rec = ((struct kept_writing *)arg)->rec;

	return snapshot_event__write_until(&rec->snapshot_event, &rec->output, time) ?:
	       sideband__write_until(&rec->sideband, time, complete);
}

static void after_block(void *arg, u64 records, u64 all)
{
	struct kept_writing *writing = arg;

	progress__report(&writing->progress, &writing->rec->summary, records, all);
}

static int write_kept(struct recorder *rec, struct keep_stats *stats)
{
	struct kept_writing writing = {
		.rec = rec, .progress = progress__begin(), .nr_missing = rec->nr_missing,
	};
	const struct keep_writer writer = {
		.before_block = before_block, .before_mark = before_mark,
		.after_block = after_block, .arg = &writing,
	};

	if (!keep__enabled(&rec->keep))
		return 0;
	return keep__write(&rec->keep, &rec->output, &writer, stats) ?:
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
		   kernel_clock() : snapshot->rings.cause.time;

	if (clock_pair__from_monotonic(rec->output.session->header.env.clock.clockid, &time))
		return snapshot->kept.end ?: snapshot->rings.coverage.newest;
	return keep__enabled(&rec->keep) ? time : max(time, snapshot->rings.coverage.newest);
}

static void convert_duration(clockid_t clock, struct when_report *report)
{
	if (!report->condition)
		return;
	/* Two readings of the clocks would differ, and the length with them. */
	if (clock_pair__from_monotonic(clock, &report->end))
		report->begin = report->end = 0;
	else
		report->begin = report->end - report->ns;
}

/* Convert the times of durations to the clock of the events; 0 if that cannot be done. */
static void convert_durations(const struct recorder *rec, struct snapshot_cause *cause)
{
	clockid_t clock = rec->output.session->header.env.clock.clockid;
	struct merged_cause *merged;

	convert_duration(clock, &cause->report);
	convert_duration(clock, &cause->pending);
	for (merged = cause->merged; merged < cause->merged + cause->nr_merged; merged++) {
		if (clock_pair__from_monotonic(clock, &merged->time))
			merged->time = 0;
	}
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
static void note_losses_of(struct recorder *rec, struct snapshot *snapshot, struct channel *channel)
{
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

static void note_losses(struct recorder *rec, struct snapshot *snapshot)
{
	struct channel *channel;

	channels__for_each_stream(&rec->channels, channel)
		note_losses_of(rec, snapshot, channel);
}

/* Find the names of the cgroups that reach back less far than others. */
static void name_cuts(const struct recorder *rec, struct keep_stats *stats)
{
	struct keep_cut *cut;
	const char *path;

	for (cut = stats->cuts; cut < stats->cuts + stats->nr_cuts; cut++) {
		path = system_wide__cgroup(&rec->sideband.state.system_wide, cut->cgroup);
		if (path)
			scnprintf(cut->path, sizeof(cut->path), "%s", path);
		else
			scnprintf(cut->path, sizeof(cut->path), "%" PRIu64, cut->cgroup);
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

	name_cuts(rec, &snapshot->kept);
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
 * The copies are used up after an error, too. If the snapshot can be dropped, the caller ends it
 * when it is known to be saved, or dropped. At the end of the recording, what is in memory is
 * written even if the rings cannot be drained.
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
	convert_durations(rec, &snapshot->rings.cause);
	hook__set_reason(&rec->hook, &snapshot->rings.cause);
	if (!err)
		describe_snapshot(rec, snapshot);
	if (!err)
		err = write_kept(rec, &snapshot->kept) ?:
		      snapshot_event__write_until(&rec->snapshot_event, &rec->output, UINT64_MAX);
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
static int write_last_snapshot(struct recorder *rec, struct snapshot *snapshot)
{
	int err = append_snapshot(rec, snapshot, NULL);

	snapshot->rings.taken.paused = 0;
	if (!err && rec->output.droppable)
		err = recorder__write_end(rec) ?: output__flush(&rec->output);
	return err ?: report_snapshot(rec, snapshot);
}

/*
 * If there is no space for the last snapshot, it can be cut off the file and written once more with
 * fewer records: kept blocks stay, but copies of overwrite rings and AUX areas are used up. With
 * --keep-file, all of them stay in that file instead.
 */
static bool can_shrink(struct recorder *rec)
{
	return keep__enabled(&rec->keep) && !rec->keep.box &&
	       rec->sideband.route == SIDEBAND_TO_STATE && !recorder__has_overwrite(rec) &&
	       !aux__takes_snapshots(&rec->aux) && rec->output.open && rec->output.regular &&
	       !output__flush(&rec->output);
}

/*
 * Cut the incomplete snapshot off, and drop the oldest records until the others have no more than
 * @max_bytes in the file. Return: 0, -ENOSPC if nothing is left, or another negative errno.
 */
static int shrink_snapshot(struct recorder *rec, u64 max_bytes)
{
	int err;

	keep__end_snapshot(&rec->keep, false);
	err = output__cut(&rec->output);
	if (err)
		return err;
	sideband__rewrite_file(&rec->sideband);
	if (!keep__limit_size(&rec->keep, max_bytes))
		return -ENOSPC;
	sideband__end_snapshot(&rec->sideband, UINT64_MAX);	/* forget what only they needed */
	return 0;
}

/*
 * The last moments are what a snapshot is for. If the disk has no space for all of it, write the
 * newest records, and fewer of them as long as these do not fit beside the live state.
 */
int recorder__take_last(struct recorder *rec)
{
	bool shrinks = can_shrink(rec);
	struct snapshot snapshot;
	u64 max_bytes = 0;
	int err, first_err;

	if (shrinks) {
		output__set_whole(&rec->output);
		rec->output.droppable = true;
	}
	err = first_err = write_last_snapshot(rec, &snapshot);
	while (err && shrinks && output__no_space(&rec->output)) {
		u64 written = output__bytes(&rec->output) - rec->output.whole_bytes;

		max_bytes = max_bytes ? max_bytes / 4 * 3 : written - written / 8;
		pr_debug("Writing %" PRIu64 " bytes of the kept records instead, after %" PRIu64
			 " were written.\n", max_bytes, written);
		if (shrink_snapshot(rec, max_bytes))
			break;
		err = write_last_snapshot(rec, &snapshot);
	}
	if (first_err && !err)
		pr_err("The newest records of the last snapshot are saved.\n");
	rec->output.droppable = false;
	if (!rec->keep.box)
		keep__end_snapshot(&rec->keep, true);
	return first_err ?: snapshot.drain_err;
}

int recorder__drop_snapshot(struct recorder *rec)
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

const char *recorder__snapshot_file(const struct recorder *rec)
{
	if (output__is_pipe(&rec->output))
		return NULL;
	return rec->summary.last_file[0] && rec->rotation.enabled ? rec->summary.last_file :
								     rec->output.data.path;
}

void recorder__sync_snapshot(struct recorder *rec)
{
	const char *file = recorder__snapshot_file(rec);

	if (rec->fsync && file && output__sync(&rec->output, file))
		rec->nr_missing++;
}

/*
 * Leave kept records to the next snapshot if the file of this one cannot be completed or synced:
 * rather twice than in no file. A file that goes on has them, whatever fsync() says.
 */
int recorder__take_snapshot(struct recorder *rec, bool to_next_file, bool sync)
{
	struct snapshot snapshot = { .rings.cause = snapshot_cause__now("request") };
	const unsigned int nr_missing = rec->nr_missing;
	struct reader_sched usual;
	bool saved;
	int err;

	/* The previous snapshot, which was being written, has answered this request as well. */
	if (!snapshotter__pending(&rec->snapshotter)) {
		if (sync)
			recorder__sync_snapshot(rec);
		return 0;
	}
	err = raise_main_thread(rec, &usual);
	if (!err)
		err = to_next_file ? switch_files(rec, &snapshot, &usual) :
				     snapshot_to_this_file(rec, &snapshot, &usual);
	if (sync && !err && rec->nr_missing == nr_missing)
		recorder__sync_snapshot(rec);
	saved = snapshot.saved && !(to_next_file && rec->nr_missing > nr_missing);
	if (err && rec->output.droppable) {
		if (!snapshot.saved)
			summary__dropped(&rec->summary, &snapshot.rings, &snapshot.kept,
					 &snapshot.rings.cause);
		err = recorder__drop_snapshot(rec);
	}
	keep__end_snapshot(&rec->keep, saved || !rec->output.droppable);
	if (rec->output.droppable)
		sideband__end_snapshot(&rec->sideband, snapshot.rings.horizon);
	return err;
}
