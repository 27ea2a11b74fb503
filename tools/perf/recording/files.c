// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <sys/mman.h>
#include "util/debug.h"
#include "util/evlist.h"
#include "util/time-utils.h"
#include "recording/aux/write.h"
#include "recording/output/template.h"
#include "recording/sideband/synthesize.h"
#include "internal.h"
#include "recorder.h"

/* Hardware ids are old, and must precede the marks of rounds. With snapshots, they follow those. */
static int describe(struct recorder *rec)
{
	const struct perf_event_mmap_page *page = channels__any_page(&rec->channels);
	int err = synthesize__describe(&rec->output, page) ?:
		  aux__describe(&rec->aux, &rec->output, page);

	if (!err && rec->sideband.route != SIDEBAND_TO_STATE)
		err = aux__write_all_hw_ids(&rec->aux, &rec->output);
	return err;
}

/*
 * Where the names and maps of the existing tasks alone have the size of a file, each file would be
 * complete at once, without events. Let at least half of a file be what is recorded.
 */
static void limit_file(struct recorder *rec)
{
	if (rec->rotation.size)
		__atomic_store_n(&rec->output.max_file_bytes,
				 max(rec->rotation.size, 2 * output__bytes(&rec->output)),
				 __ATOMIC_RELAXED);
}

int recorder__begin_file(struct recorder *rec)
{
	int err = describe(rec) ?: sideband__begin_file(&rec->sideband);

	limit_file(rec);
	return err;
}

/* Beside the events, perf record --unpin needs the tasks and maps that are known now. */
static int store_pinned_session(struct recorder *rec, int fd)
{
	if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET))
		return -errno;
	return output__write_template(&rec->output, fd, sideband__dump, &rec->sideband) ?:
	       bpf_ring__commit(&rec->bpf_ring, fd);
}

int recorder__store_session(struct recorder *rec)
{
	const bool pinned = bpf_ring__pinned(&rec->bpf_ring);
	int fd, err = 0;

	if (!rec->keep.box && !pinned)
		return 0;
	fd = memfd_create("session", MFD_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		pr_err("Cannot create a file in memory: %s\n", strerror(-err));
		return err;
	}
	if (rec->keep.box)
		err = output__write_template(&rec->output, fd, NULL, NULL) ?:
		      keep__store_session(&rec->keep, fd);
	if (!err && pinned)
		err = store_pinned_session(rec, fd);
	close(fd);
	return err;
}

/* A file that was moved has what it should have, and a name that somebody gave it. */
static int explain_fate(const struct output *output)
{
	if (output->fate == FILE_MOVED)
		pr_warning("%s was moved while perf wrote to it: the file keeps its new name.\n",
			   output->data.path);
	if (output->fate != FILE_DELETED)
		return 0;
	pr_err("%s was deleted while perf wrote to it: %.3f MB are lost.\n", output->data.path,
	       output->deleted / 1024.0 / 1024.0);
	return -ENOENT;
}

int recorder__close_file(struct recorder *rec, bool rename)
{
	char timestamp[] = "InvalidTimestamp";
	const u64 closed = rec->output.closed;
	char *name = NULL;
	u64 deleted;
	int err;

	if (!rec->output.open)
		return rec->output.err;
	if (rename && !output__is_pipe(&rec->output)) {
		fetch_current_timestamp(timestamp, sizeof(timestamp));
		err = output__close_as(&rec->output, timestamp, &name);
	} else {
		err = output__close(&rec->output);
	}
	if (name) {
		summary__file(&rec->summary, name);
		deleted = kept_files__add(&rec->kept, rec->output.data.path, name,
					  rec->output.closed - closed);
		output__add_removed(&rec->output, deleted);
		free(name);
	}
	if (!err && !output__is_pipe(&rec->output) && rec->output.fate == FILE_KEPT)
		hook__run(&rec->hook, name ? rec->summary.last_file : rec->output.data.path);
	return err ?: explain_fate(&rec->output);
}

int recorder__write_lost(struct recorder *rec, struct lost_counters *counters)
{
	int err = output__write_data(&rec->output, counters->records, counters->bytes);

	lost_counters__clear(counters);
	return err;
}

int recorder__read_lost(struct recorder *rec)
{
	struct lost_counters lost = { 0 };
	int err = lost_counters__read(&lost, &rec->channels, rec->evlist, false);

	return recorder__write_lost(rec, &lost) ?: err;
}

int recorder__write_end(struct recorder *rec)
{
	int err = recorder__read_lost(rec);

	return sideband__end_file(&rec->sideband) ?: err;
}

/* With -z, units that are appended before the next file is open belong to the file before. */
bool recorder__reads_on(const struct recorder *rec)
{
	return rec->sideband.route != SIDEBAND_TO_FILE &&
	       !(aux__streams(&rec->aux) && rec->output.pipeline.level);
}

static bool describes_early(const struct recorder *rec)
{
	return aux__streams(&rec->aux) && recorder__reads_on(rec);
}

/*
 * The readers go on, for the next file:
 *
 *  - Everything that was published before the readers got their order is in this file, and so are
 *    the losses of the rings before it.
 *  - Whatever a sample in this file refers to was published before the sample was drained: it is in
 *    a tracking ring, or drained. Nobody else writes while those rings are drained for the last
 *    time.
 *  - AUX areas that are streamed end at the position where their readers are held. The next file
 *    begins with what a decoder must know: the readers append traces before it is open.
 *  - Samples of the next file may lie before what they refer to, which recorder__begin_file()
 *    writes. A reader of the file sorts records, and takes none out before the second mark of a
 *    round (rounds.h). For that mark the main thread must make a visit, and it does so only after
 *    it has begun the file.
 */
int recorder__end_data(struct recorder *rec)
{
	int err = recorder__write_end(rec);
	long bytes;

	if (err)
		return err;
	drain_thread__hold(&rec->drain_thread);
	output__hold(&rec->output);
	bytes = sideband__drain(&rec->sideband);
	err = min(bytes, 0L);
	if (!err) {
		output__next(&rec->output);
		aux__end_file(&rec->aux, &rec->output);
		if (describes_early(rec))
			err = describe(rec);
	}
	output__release(&rec->output);
	drain_thread__release(&rec->drain_thread);
	return err;
}

/*
 * Records that arrive meanwhile wait in the queue for the next file. A file that is complete, but
 * has no name, does not end the recording.
 */
int recorder__next_file(struct recorder *rec)
{
	if (recorder__close_file(rec, true))
		rec->nr_missing++;
	else
		snapshotter__note_saved(&rec->snapshotter);
	if (!describes_early(rec))
		return recorder__resume_file(rec);
	return output__reopen(&rec->output) ?: sideband__begin_file(&rec->sideband);
}

int recorder__resume_file(struct recorder *rec)
{
	return output__reopen(&rec->output) ?: recorder__begin_file(rec);
}
