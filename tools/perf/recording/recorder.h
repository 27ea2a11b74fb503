/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Run one recording, from its options to its last file.
 *
 *   builtin-record.c		options; options.c parses them, and the configuration
 *        |
 *   run.c			main loop; internal.h has its parts: take.c, files.c, setup.c,
 *        |			events.c
 *        |			beside them: exclude_self.c, own_tids.c, off_cpu.c, task_contexts.c
 *        |
 *        |   The folders, along the way of the data, and the headers that explain them:
 *        |
 *        +-- ring/		kernel ring -> memory, all the time
 *        |      channel.h		which event's records go to which ring
 *        |      readers.h		threads that drain streamed rings, into a sink (drain.h)
 *        |      rounds.h		in which order a reader of the file may rely on records
 *        |      bpf_ring.h		events that BPF programs write, not perf
 *        +-- keep/		streamed records kept in memory, compressed, until asked for
 *        |			(--keep)
 *        |      keep.h			append, hand over; keep_data.h lists the parts
 *        |      box.h, guard.h		what outlives a killed recorder (--keep-file)
 *        +-- when/		durations that are too long, judged by BPF programs
 *        |			(--switch-output-when)
 *        |      when.h, condition.h
 *        +-- snapshot/		overwritten rings -> copies -> file, when asked
 *        |      trigger.h		what asks: signals, timers, events, durations, commands of
 *        |			--control
 *        |      capture.h		takes the copies in a thread of its own, whatever the disk
 *        |			does
 *        |      overwrite.h		the copies; coverage.h: the time that they cover
 *        |      cause.h			why a snapshot was taken
 *        +-- aux/		AUX areas: drained all the time, or copied when asked
 *        |      aux.h, copy.h
 *        +-- sideband/		what happens to tasks: tracking rings -> live state -> file
 *        |      drain_thread.h		rings -> backlog, or file
 *        |      sideband.h		backlog -> live state; begins files
 *        +-- state/		the live state: tasks and maps, in bounded memory; no rings, no
 *        |			files
 *        |      state.h
 *        +-- output/		perf.data: header, features, switching files, deleting old ones
 *        |      output.h
 *        +-- write/		memory -> disk: queue, compression, io_uring, POSIX AIO or write(2)
 *        |      pipeline.h, queue.h
 *        +-- report/		what the user is told at the end
 *        +-- recover/		perf inject --recover-keep: a file of what a killed recorder kept
 *        |
 *        +-- stats/		records and losses of a ring, and when; shared with perf loss
 *        +-- lib/		helpers that know nothing of recording
 *
 * A folder includes only headers of folders below it:
 *
 *	report, sideband, recover > snapshot > keep, aux > state, output > write > ring > stats,
 *	when > lib
 *
 * The main thread writes all structures, except for what capture.h, overwrite.h, keep.h, queue.h,
 * readers.h, aux/drain.h and drain_thread.h assign to their threads. util's side-band thread adds
 * BPF programs to session->header.env, under its own lock.
 */
#ifndef PERF_RECORDING_RECORDER_H
#define PERF_RECORDING_RECORDER_H

#include <stdbool.h>
#include "util/record.h"
#include "recording/aux/aux.h"
#include "recording/aux/snapshot.h"
#include "recording/keep/guard.h"
#include "recording/keep/keep.h"
#include "recording/lib/pollset.h"
#include "recording/output/kept_files.h"
#include "recording/output/output.h"
#include "recording/output/rotation.h"
#include "recording/report/advice.h"
#include "recording/report/loss_report.h"
#include "recording/report/summary.h"
#include "recording/ring/bpf_ring.h"
#include "recording/ring/channel.h"
#include "recording/ring/lost_counters.h"
#include "recording/ring/readers.h"
#include "recording/ring/rounds.h"
#include "recording/sideband/bpf_thread.h"
#include "recording/sideband/drain_thread.h"
#include "recording/sideband/sideband.h"
#include "recording/snapshot/capture.h"
#include "recording/snapshot/hook.h"
#include "recording/snapshot/overwrite.h"
#include "recording/snapshot/snapshot_event.h"
#include "recording/snapshot/trigger.h"
#include "off_cpu.h"
#include "task_contexts.h"

/**
 * struct recorder
 * @opts:	what util needs to configure and open events
 * @evlist:	the events, the tracking event after the recorded ones
 * @tracking:	the dummy event that side-band records come from
 * @bpf_thread:	follows BPF programs that are loaded
 * @channels:	the rings
 * @bpf_ring:	lets BPF programs write frequent events
 * @readers:	drain the stream channel
 * @rounds:	of the file; without visitors where snapshots finish them
 * @keep:	keeps the stream channel in memory (--keep)
 * @guard:	saves the rings if the recorder is killed, with --keep-file
 * @overwrite:	kind of the overwrite rings
 * @snapshotter: takes snapshots of the overwrite channel
 * @snapshot_event: says in the file why each snapshot was taken
 * @aux:	AUX areas
 * @aux_snapshotter: takes snapshots of @aux
 * @drain_thread: drains the tracking channel
 * @sideband:	routes the tracking channel's records
 * @off_cpu:	--off-cpu
 * @contexts:	keeps probes in tasks that inherit them
 * @output:	the file
 * @rotation:	--switch-output
 * @kept:	which completed files are deleted
 * @triggers:	signals, timers, --control, workload, events
 * @capture:	the thread that waits for @triggers
 * @pollset:	what the main thread waits for: the rings that it drains, @readers, @drain_thread,
 *		@capture, @output
 * @lost:	events that the overwrite rings lost, from @capture
 * @report:	statistics of all rings, and a picture of them
 * @summary:	printed at the end
 * @advice:	printed instead, with --advise: then nothing is written
 * @flushed_ns:	when all streamed rings were drained last, full or not [ns of CLOCK_MONOTONIC]
 * @nr_missing:	files and snapshots that are missing, as was reported: the recording has failed,
 *		although it went on
 * @include_self: record the recorder as well (--no-exclude-perf)
 * @self_excluded: rings that are drained all the time have no events that the recorder causes
 * @hook:	--exec-snapshot
 * @fsync:	wait for the disk before a snapshot is acknowledged
 * @timestamp_filename: append a timestamp to the name of the last file as well
 * @build_id_mmap: let the kernel put build-ids into mmap records
 * @mem_info:	sample the data source
 * @data_mmap:	record maps of data
 */
struct recorder {
	struct record_opts	 opts;
	struct evlist		*evlist;
	struct evsel		*tracking;
	struct bpf_thread	 bpf_thread;
	struct channels		 channels;
	struct bpf_ring		 bpf_ring;
	struct readers		 readers;
	struct rounds		 rounds;
	struct keep		 keep;
	struct guard		 guard;
	enum perf_overwrite_kind overwrite;
	struct snapshotter	 snapshotter;
	struct snapshot_event	 snapshot_event;
	struct aux		 aux;
	struct aux_snapshotter	 aux_snapshotter;
	struct drain_thread	 drain_thread;
	struct sideband		 sideband;
	struct off_cpu		 off_cpu;
	struct task_contexts	 contexts;
	struct output		 output;
	struct rotation		 rotation;
	struct kept_files	 kept;
	struct triggers		 triggers;
	struct capture		 capture;
	struct pollset		 pollset;
	struct lost_counters	 lost;
	struct loss_report	 report;
	struct summary		 summary;
	struct advice		 advice;
	u64			 flushed_ns;
	unsigned int		 nr_missing;
	bool			 include_self;
	bool			 self_excluded;
	struct hook		 hook;
	bool			 fsync;
	bool			 timestamp_filename;
	bool			 build_id_mmap;
	bool			 mem_info;
	bool			 data_mmap;
};

/**
 * recorder__run - record until a trigger, the end of the target, or an error stops it
 * @recorder:	options and events filled in
 * @argc:	number of words of the command, 0 for none
 * @argv:	the command
 *
 * In every case no process stays behind, and what was recorded is readable.
 *
 * Return: exit status for the shell: the command's own, 127 or 126 if it could not be executed,
 * 128 + N if signal N ended it, 254 if there was no space for the output, 255 if the recording
 * failed otherwise. Does not return if a signal ended the recording: the signal is raised again, so
 * that the shell sees it.
 */
int recorder__run(struct recorder *recorder, int argc, const char **argv);

#endif
