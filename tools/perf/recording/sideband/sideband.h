/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Route side-band records to the live state, the file, or both; begin each file with what it must
 * know of tasks and maps.
 *
 *	recorded events			route		a file begins with
 *
 *	overwrite events, AUX		TO_STATE	nothing; each snapshot with what is new in the
 *	snapshots					live state
 *	streamed ones as well, with	TO_BOTH		the live state
 *	--switch-output
 *	streamed ones as well, in	TO_FILE		what /proc says
 *	one file
 *	events without time,		TO_FILE		what /proc says
 *	--tail-synthesize
 *
 * The live state (state.h) reads once from /proc what was there before the recording. After the
 * kernel has lost tracking records, /proc is read again before the state is written next.
 *
 *	tracking rings --> drain_thread --> live state --> file
 *	AUX data rings --> aux/sideband --> live state --> file		not if AUX areas are streamed
 *
 * Everything here runs in the main thread; drain_thread.h says what runs elsewhere.
 */
#ifndef PERF_RECORDING_SIDEBAND_H
#define PERF_RECORDING_SIDEBAND_H

#include <pthread.h>
#include <stdbool.h>
#include <linux/types.h>
#include <sys/types.h>
#include "recording/ring/drain.h"
#include "recording/state/state.h"
#include "bpf_progs.h"

struct aux;
struct aux_snapshotter;
struct channel;
struct drain_thread;
struct evlist;
struct evsel;
struct keep;
struct output;
struct record_opts;
struct snapshotter;

enum sideband_route {
	SIDEBAND_TO_FILE,
	SIDEBAND_TO_STATE,
	SIDEBAND_TO_BOTH,
};

/**
 * struct sideband
 * @evlist:	the recorded events
 * @opts:	what is synthesized
 * @data_maps:	synthesize maps of data, too
 * @output:	the file
 * @drain_thread: drains the tracking rings
 * @aux:	the AUX areas, and the lock under which events are enabled
 * @aux_rings:	the channel of their data rings
 * @aux_snapshotter: makes the kernel write records of what was traced so far
 * @snapshotter: knows what the overwrite rings refer to
 * @keep:	the kept streams, which refer to tasks as well
 * @has_overwrite: there are overwrite rings
 * @route:	see above
 * @state:	the live state; not with SIDEBAND_TO_FILE
 * @to_state:	puts records into @state
 * @bpf_progs:	descriptions of BPF programs, for the end of each file
 * @reading:	lock of @state while several threads read /proc (--num-thread-synthesize)
 * @began:	the first file has begun
 * @has_snapshots: the present file has a snapshot, or a part of one
 * @file_horizon: all records of the present file are newer than this [ns]
 * @lost:	tracking records that the kernel had lost when /proc was read last, by LOST records
 *		[records]
 * @counted:	the same by the kernel's counters, where it has them [records]
 * @init_finished: the file has a PERF_RECORD_FINISHED_INIT
 * @log_next:	see state__write_until()
 * @collect_at:	when to collect again to save memory for @keep [ns of CLOCK_MONOTONIC]
 * @begin_bytes: memory of @state before the recording [bytes]
 * @reduce_bytes: memory of @state at which to reduce it; 0: before sideband__tidy() [bytes]
 */
struct sideband {
	struct evlist		*evlist;
	struct record_opts	*opts;
	bool			 data_maps;
	struct output		*output;
	struct drain_thread	*drain_thread;
	struct aux		*aux;
	struct channel		*aux_rings;
	struct aux_snapshotter	*aux_snapshotter;
	struct snapshotter	*snapshotter;
	struct keep		*keep;
	bool			 has_overwrite;
	enum sideband_route	 route;
	struct state		 state;
	struct record_sink	 to_state;
	struct bpf_progs	 bpf_progs;
	pthread_mutex_t		 reading;
	u64			 lost;
	u64			 counted;
	u64			 file_horizon;
	bool			 began;
	bool			 has_snapshots;
	bool			 init_finished;
	size_t			 log_next;
	u64			 collect_at;
	size_t			 begin_bytes;
	size_t			 reduce_bytes;
};

/**
 * sideband__init - choose the route; the events are open, their rings mapped
 * @sideband:	zeroed, but for @evlist to @has_overwrite
 * @tracking:	the tracking event
 * @has_streams: something is streamed: events, or AUX areas
 * @switches_files: there is to be more than one file
 */
void sideband__init(struct sideband *sideband, const struct evsel *tracking, bool has_streams,
		    bool switches_files);

/** sideband__exit - free the state, warn about what the files lack */
void sideband__exit(struct sideband *sideband);

/**
 * sideband__begin - learn what was there before the recording; before the first file begins
 *
 * Return: 0, or a negative errno after an error message.
 */
int sideband__begin(struct sideband *sideband);

/** sideband__rewrite_file - after output__cut(): the next snapshot writes what was cut off */
void sideband__rewrite_file(struct sideband *sideband);

/**
 * sideband__dump - write the live state, as far as there is one, to the file @sideband, @fd
 *
 * Return: 0, or a negative errno.
 */
int sideband__dump(void *sideband, int fd);

/**
 * sideband__begin_file - begin a new file, whose events are described
 *
 * Return: 0, or a negative errno after an error message.
 */
int sideband__begin_file(struct sideband *sideband);

/**
 * sideband__end_file - before the file is closed. Return: 0, or a negative errno after an error
 * message
 */
int sideband__end_file(struct sideband *sideband);

/**
 * sideband__drain - drain the tracking rings and those of AUX areas into state and file
 *
 * The rings of AUX areas that are streamed are drained by the readers (aux/drain.h).
 *
 * Return: length of the records [bytes], or a negative errno.
 */
ssize_t sideband__drain(struct sideband *sideband);

/**
 * sideband__rescue - drain the tracking rings for the end of a file that cannot be written any more
 *
 * All other threads that drain or append have ended.
 */
void sideband__rescue(struct sideband *sideband);

/** sideband__must_reduce - does the live state take more memory than --keep leaves to it? */
bool sideband__must_reduce(const struct sideband *sideband);

/**
 * sideband__tidy - if the live state has become large, drop what nothing refers to, and maps that
 * are gone; the same for BPF programs
 *
 * Call after a drain.
 *
 * Return: 0, or a negative errno.
 */
int sideband__tidy(struct sideband *sideband);

/**
 * sideband__begin_snapshot - write what the next snapshot needs; the copies are handed over
 *
 * Return: 0, or a negative errno.
 */
int sideband__begin_snapshot(struct sideband *sideband);

/**
 * sideband__write_until - write side-band records up to @time [ns]
 * @complete:	set if no older ones will be written
 *
 * Return: 0, or a negative errno.
 */
int sideband__write_until(struct sideband *sideband, u64 time, bool *complete);

/** sideband__finish_snapshot - write the rest. Return: 0, or a negative errno */
int sideband__finish_snapshot(struct sideband *sideband);

/**
 * sideband__end_snapshot - the snapshot was written: fold what no later one refers to
 * @horizon:	of the snapshot (overwrite.h) [ns]
 */
void sideband__end_snapshot(struct sideband *sideband, u64 horizon);

#endif
