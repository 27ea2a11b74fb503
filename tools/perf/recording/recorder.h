/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One recording from its options to its last file.
 *
 *   builtin-record.c   options
 *        |
 *   recorder.c         opens the events, waits, and calls, in this order of the data:
 *        |
 *        +-- trigger.c    signals, timers, --control, the workload's end
 *        +-- channel.c    rings: stream, overwrite, tracking
 *        |      +-- stream.c                           ring -> output, all the time
 *        |      +-- snapshot.c                         rings -> copies -> output, when asked
 *        +-- sideband.c   the state before the recording
 *        +-- output.c     perf.data: bytes, errors, files;   features.c  its header
 *        +-- rotation.c   when to go on in a new file
 *        +-- account.c, loss.c, summary.c   what was recorded and what was lost
 *
 * One thread does it all, and everything below is written by it alone; but util's side-band thread
 * adds BPF programs to session->header.env, under its own lock.
 */
#ifndef PERF_RECORDING_RECORDER_H
#define PERF_RECORDING_RECORDER_H

#include <stdbool.h>
#include "util/record.h"
#include "channel.h"
#include "output.h"
#include "rotation.h"
#include "snapshot.h"
#include "summary.h"
#include "trigger.h"

/**
 * struct recorder
 * @opts:	what util needs to know to configure and open events
 * @evlist:	the events, the tracking event last
 * @tracking:	the dummy event that the side-band comes from
 * @sb_evlist:	watches for BPF programs being loaded, in util's own thread, or NULL
 * @sb_wake_fd:	wakes that thread up, so that it ends
 * @channels:	the rings
 * @overwrite:	the kind of those that overwrite themselves
 * @snapshotter: of the overwrite channel
 * @output:	the file
 * @rotation:	--switch-output
 * @triggers:	signals, timers, --control, workload
 * @summary:	what is said at the end
 * @max_size:	stop when all files together have this many bytes of data, 0 for never
 * @timestamp_filename: rename the file at the end, too
 * @build_id_mmap: let the kernel put build-ids into mmap records
 */
struct recorder {
	struct record_opts	 opts;
	struct evlist		*evlist;
	struct evsel		*tracking;
	struct evlist		*sb_evlist;
	int			 sb_wake_fd;
	struct channels		 channels;
	enum perf_overwrite_kind overwrite;
	struct snapshotter	 snapshotter;
	struct output		 output;
	struct rotation		 rotation;
	struct triggers		 triggers;
	struct summary		 summary;
	u64			 max_size;
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
