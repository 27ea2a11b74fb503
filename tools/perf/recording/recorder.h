/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One recording from its options to its last file.
 *
 *   builtin-record.c   options
 *        |
 *   recorder.c         waits, and calls, in this order of the data:
 *        |
 *        +-- events.c     opens the events;   self.c  leaves the recorder itself out of them
 *        +-- capture.c    takes the copies in a thread of its own, whatever the disk does
 *        |      +-- trigger.c, trigger_event.c       what it waits for: signals, timers, --control ...
 *        +-- channel.c    rings: stream, overwrite, tracking, aux
 *        |      +-- readers.c, stream.c                ring -> output, all the time, in threads
 *        |      |      +-- pollset.c                          which of the rings have something
 *        |      |      +-- reader_spec.c, reader_sched.c      how many, where, before whom
 *        |      |      +-- rounds.c                           what the reader of the file may rely on
 *        |      +-- snapshot.c                         rings -> copies -> output, when asked
 *        +-- aux.c        AUX areas -> output, all the time
 *        |      +-- aux_snapshot.c, aux_copy.c        areas -> copies -> output, when asked
 *        |      +-- aux_outputs.c                      which events samples in them are of
 *        +-- off_cpu.c    what a BPF program has summed up -> output, at the end
 *        +-- sideband.c    tasks and maps: what each file knows of them at its begin
 *        |      +-- drain_thread.c                           tracking rings -> memory, in a thread of its own
 *        |      +-- mend.c                             records that the kernel calls longer than they are
 *        |      +-- sideband.c                         from /proc;   bpf_thread.c  BPF programs since
 *        |      +-- state.c, tasks.c, system_wide.c ...    from the tracking rings, in bounded memory
 *        +-- output.c     perf.data: errors, files;   features.c  its header
 *        |      +-- queue.c, unit.c, pool.c            its bytes, in memory, for a thread that calls
 *        |      +-- compressor.c                       compressed, between two spools
 *        |      +-- writer_uring.c, _aio.c, _sync.c    which is a trace writer (writer.h)
 *        +-- rotation.c   when to go on in a new file
 *        +-- account.c, loss.c              what was recorded and what was lost
 *        |      +-- loss_metric.c, timeline.c          how much that is, and when
 *        +-- summary.c, loss_report.c, loss_svg.c   says and shows it
 *
 * Everything below is written by one thread, the recorder's, but for what capture.h, snapshot.h,
 * queue.h, readers.h and drain_thread.h say of theirs. util's side-band thread adds BPF programs to
 * session->header.env, under its own lock.
 */
#ifndef PERF_RECORDING_RECORDER_H
#define PERF_RECORDING_RECORDER_H

#include <stdbool.h>
#include "util/record.h"
#include "recording/aux/aux.h"
#include "recording/aux/snapshot.h"
#include "recording/sideband/bpf_thread.h"
#include "recording/snapshot/capture.h"
#include "recording/ring/channel.h"
#include "recording/sideband/drain_thread.h"
#include "recording/ring/lost_counters.h"
#include "recording/report/loss_report.h"
#include "off_cpu.h"
#include "recording/output/output.h"
#include "recording/lib/pollset.h"
#include "recording/ring/readers.h"
#include "recording/output/rotation.h"
#include "recording/ring/rounds.h"
#include "recording/snapshot/overwrite.h"
#include "recording/report/summary.h"
#include "recording/sideband/sideband.h"
#include "recording/snapshot/trigger.h"

/**
 * struct recorder
 * @opts:	what util needs to know to configure and open events
 * @evlist:	the events, the tracking event last
 * @tracking:	the dummy event that the side-band comes from
 * @bpf_thread:	for BPF programs being loaded
 * @channels:	the rings
 * @readers:	of the stream channel
 * @rounds:	of the file; without visitors where snapshots finish them
 * @overwrite:	the kind of those that overwrite themselves
 * @snapshotter: of the overwrite channel
 * @aux:	AUX areas
 * @aux_snapshotter: of those
 * @drain_thread:	of the tracking channel's rings
 * @sideband:	of the tracking channel
 * @off_cpu:	--off-cpu
 * @output:	the file
 * @rotation:	--switch-output
 * @triggers:	signals, timers, --control, workload, events
 * @capture:	the thread that waits for them
 * @pollset:	what this thread waits for: the rings that it drains, @readers, @drain_thread, @capture and @output
 * @lost:	what the overwrite rings lost, from @capture
 * @report:	what the rings' accounts come to
 * @summary:	what is said at the end
 * @max_size:	stop when all files together have this many bytes of data, 0 for never
 * @include_self: record what the recorder does, too (--no-exclude-perf)
 * @timestamp_filename: rename the file at the end, too
 * @build_id_mmap: let the kernel put build-ids into mmap records
 */
struct recorder {
	struct record_opts	 opts;
	struct evlist		*evlist;
	struct evsel		*tracking;
	struct bpf_thread	 bpf_thread;
	struct channels		 channels;
	struct readers		 readers;
	struct rounds		 rounds;
	enum perf_overwrite_kind overwrite;
	struct snapshotter	 snapshotter;
	struct aux		 aux;
	struct aux_snapshotter	 aux_snapshotter;
	struct drain_thread		 drain_thread;
	struct sideband		 sideband;
	struct off_cpu		 off_cpu;
	struct output		 output;
	struct rotation		 rotation;
	struct triggers		 triggers;
	struct capture		 capture;
	struct pollset		 pollset;
	struct lost_counters		 lost;
	struct loss_report	 report;
	struct summary		 summary;
	u64			 max_size;
	bool			 include_self;
	bool			 timestamp_filename;
	bool			 build_id_mmap;
};

/**
 * recorder__run - record until something says stop
 * @recorder:	options and events filled in
 * @argc:	number of words of the command, 0 for none
 * @argv:	the command
 *
 * Whatever happens, no process is left behind and what was recorded is readable.
 *
 * Return: exit status for the shell: the command's own, 127 or 126 if it could not be executed,
 * 128 + N if signal N ended it, 255 if the recording failed. Does not return if a signal ended the
 * recording: it is raised again, so that the shell sees it.
 */
int recorder__run(struct recorder *recorder, int argc, const char **argv);

#endif
