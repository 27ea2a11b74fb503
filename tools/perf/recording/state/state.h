/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keep the live state: the side-band data (tasks, maps ...) that a sample can still need.
 *
 * Each file begins with the state, so that it can be read alone. The memory that the state takes
 * does not grow with the time of the recording.
 *
 *                                     time
 *   <-------------------------------------------------------------------------------------
 *      newest           final                         horizon of a process
 *        |    pending     |           applied                 |      folded, or forgotten
 *        +----------------+-----------------------------------+
 *        |                  the log (log.h)                   |   BASE (tasks.h), system_wide
 *                         |
 *                        NOW (tasks.h)
 *
 * - Pending: records arrive from the rings of several CPUs, ordered by time within each ring only.
 *   They wait in the log until they are final.
 * - Final: no older record can arrive any more. The record is older by SB_RECORD_DELAY_NS than the
 *   newest one that was known when the last round began, which read all rings. So all older records
 *   were published before that round, and it has read them. If so many records arrive in that time
 *   that they need too much memory, a shorter one is used: see state__shorten_delay().
 * - Applied: when records become final, they are applied to the NOW views, in the order of time.
 * - Horizon: nothing that can still be written to a file refers to an earlier time of the process.
 *   It is the end of the last snapshot, or a later time that a search through the rings found
 *   (task_refs.h).
 * - Folded: records older than the horizon are applied to the BASE views, and leave the log. Tasks
 *   that exited before the horizon are forgotten.
 * - Pass-through records, such as context switches, change no view. They stay in the log until the
 *   horizon, or until there are too many of them.
 *
 * A file gets the BASE views, as synthesized records with the time of the horizon, and then the
 * records of the log, unchanged. EXIT records are applied but not written: a reader would forget
 * the task there, and name the samples ":PID" that are taken while the kernel frees the task's
 * memory. The FORK record of the next task with that tid ends the task for the reader, at the right
 * time.
 *
 * Short-lived processes fill the log. So the older part of it is packed (log_block.h).
 *
 * The state grows with the number of tasks that are alive or that the rings refer to, and with the
 * number of their maps. state__collect() removes everything else; the caller searches the rings for
 * it whenever state__must_collect() says so, which is each time that the size has doubled.
 *
 * Why not util's struct machine: it never frees a dso, so it grows with each executable that ever
 * ran; each fork copies all maps; and it knows the present only, not the state at the horizon.
 *
 * Pure memory: no rings and no files. Not for several threads. Where an allocation fails, something
 * is missing from the files, and counted in struct state_loss.
 */
#ifndef PERF_RECORDING_STATE_H
#define PERF_RECORDING_STATE_H

#include <stdbool.h>
#include <linux/types.h>
#include "recording/lib/records.h"
#include "log.h"
#include "sb_record.h"
#include "stale_maps.h"
#include "system_wide.h"
#include "tasks.h"

struct task_refs;

/* Below this size of the log, and of maps, collecting is not worthwhile [bytes]. */
#define STATE_MIN_COLLECT_BYTES		(16UL << 20)

/* Limit for applied pass-through records after state__collect() [bytes]. */
#define STATE_MAX_PASSTHROUGH_BYTES	(STATE_MIN_COLLECT_BYTES / 4)

/**
 * struct state_loss - what is missing from the files
 * @lost:	side-band records that the kernel lost because a ring was full
 * @malformed:	records that are shorter than their type or their fields say
 * @no_memory:	records and maps for which an allocation failed
 * @passthrough: pass-through records newer than the horizon, dropped because of their size
 * @cgroups:	dropped because there were too many
 */
struct state_loss {
	u64		lost;
	u64		malformed;
	u64		no_memory;
	u64		passthrough;
	u64		cgroups;
};

/**
 * struct state
 * @format:	of the side-band records
 * @tasks:	their BASE and NOW views
 * @system_wide: data that belongs to no task; it has one view, BASE
 * @stale_maps:	maps that are to be dropped
 * @log:	pending and applied records
 * @delay_ns:	SB_RECORD_DELAY_NS, or less [ns]
 * @newest:	time of the newest record [ns]
 * @round_newest: value of @newest when the last round ended [ns]
 * @final_time:	records up to this time are final [ns]
 * @lost_time:	records were lost up to this time [ns]
 * @exists:	of state__mark_exited(), until records up to @mark_time are applied; or NULL
 * @mark_time:	value of @newest when it was called [ns]
 * @has_late:	a pending record is not newer than @final_time
 * @horizon:	nothing older than this is written to a file any more [ns]
 * @system_wide_horizon: of records that are about no task, when state__collect() was called last:
 *		@horizon, or later [ns]
 * @map_bytes:	size that the maps of the BASE views have in a file, as last computed [bytes]
 * @collect_bytes: limit of the log and of tasks at which to collect [bytes]
 * @collect_map_bytes: limit of @map_bytes at which to collect [bytes]
 * @file:	number of the present file
 * @streamed:	the caller writes new side-band records to this file, too: see state__begin_file()
 * @rewritten:	the file was cut: it may have records already that are written to it
 * @loss:	what is missing
 */
struct state {
	struct id_format	format;
	struct tasks		tasks;
	struct system_wide	system_wide;
	struct stale_maps	stale_maps;
	struct state_log	log;
	u64			delay_ns;
	u64			newest;
	u64			round_newest;
	u64			final_time;
	u64			lost_time;
	bool			(*exists)(u32 tid);
	u64			mark_time;
	bool			has_late;
	u64			horizon;
	u64			system_wide_horizon;
	size_t			map_bytes;
	size_t			collect_bytes;
	size_t			collect_map_bytes;
	u32			file;
	bool			streamed;
	bool			rewritten;
	struct state_loss	loss;
};

/** state__init - initialise an empty state; @format is copied. To be freed with state__exit(). */
void state__init(struct state *state, const struct id_format *format);

void state__exit(struct state *state);

/**
 * state__add - add side-band records
 * @records:	whole records of one ring, in the order in which they lie there
 */
void state__add(struct state *state, const struct records *records);

/**
 * state__add_synthesized - add a record that util synthesized from /proc
 * @id_size:	size of the space for a sample id at the end of @event [bytes]
 *
 * The record holds as of @state->final_time: before the first round, since ever. If records were
 * lost after that, it holds once more as of the loss: what was published before the loss, such as
 * the FORK record of the task, is still pending, and would hide it.
 */
void state__add_synthesized(struct state *state, const union perf_event *event, size_t id_size);

/** state__lose - records were lost after the newest one, and no LOST record may ever tell of it */
void state__lose(struct state *state);

/** state__end_round - all rings were read since the last call: apply records that are final now */
void state__end_round(struct state *state);

/**
 * state__find_stale_maps - read the maps of processes that have too many, if there are any
 * @read:	usually proc_maps__read()
 *
 * To be called after a round.
 */
void state__find_stale_maps(struct state *state, proc_maps_read_t read);

/**
 * state__forget - nothing older than @time will be written any more: move the horizon, and collect
 * @time:	no more than @state->final_time was when the last snapshot began [ns]
 */
void state__forget(struct state *state, u64 time);

/**
 * state__move_back - records as old as @time may still be written: the clock was set back
 *
 * Moves the horizon back if it is newer [ns]. The BASE views stay what they are at that time.
 */
void state__move_back(struct state *state, u64 time);

/**
 * state__shorten_delay - use an eighth of SB_RECORD_DELAY_NS while pending records take more memory
 * @max_bytes:	than this [bytes]
 *
 * A record that is published later than that is applied late: after newer ones.
 */
void state__shorten_delay(struct state *state, size_t max_bytes);

/** state__pending_bytes - return the memory of pending records: they cannot be forgotten [bytes] */
size_t state__pending_bytes(const struct state *state);

/** state__bytes - return the memory that the state takes [bytes] */
size_t state__bytes(const struct state *state);

/** state__must_collect - has the state doubled? Then search the rings and call state__collect(). */
bool state__must_collect(const struct state *state);

/**
 * state__collect - fold records, and forget tasks, that nothing refers to
 * @refs:	references of all rings, and of copies of rings that are not written yet; collected
 *		after the last state__end_round()
 */
void state__collect(struct state *state, const struct task_refs *refs);

typedef void (*state_switch_t)(void *arg, const struct sb_origin *who, u64 time);

/**
 * state__visit_switches - call @visit for each context switch in the log, with the task switched to
 */
void state__visit_switches(const struct state *state, state_switch_t visit, void *arg);

/**
 * state__mark_exited - after a loss: mark tasks as exited whose EXIT record may be lost
 * @exists:	does a task with this tid exist now? Called once more when records are applied that
 *		are pending now.
 */
void state__mark_exited(struct state *state, bool (*exists)(u32 tid));

/**
 * state__begin_file - begin a new file, which has no records yet
 * @streamed:	the caller writes all records that arrive from now on to the file as well
 */
void state__begin_file(struct state *state, bool streamed);

/**
 * state__rewrite_file - the present file was cut: write all that it must have once more
 *
 * To be called before the state__forget() of the snapshot that was cut off. Records that are
 * repeated get the time of the horizon, so that they are newer than those that the file has.
 */
void state__rewrite_file(struct state *state);

typedef int (*state_write_t)(void *arg, const void *records, size_t len);

/**
 * state__write - write what the file does not have yet
 * @write:	is called with whole records; an error ends the call
 *
 * Return: 0, or the error of @write.
 */
int state__write(struct state *state, state_write_t write, void *arg);

/**
 * state__write_until - write what the file does not have yet, as far as it has a time up to @time
 * [ns]
 * @next:	0 at first; where the next call continues
 * @complete:	set if all records up to @time are written, and no older one can arrive
 *
 * To be followed by state__write() at last. Takes as long as a visit to all tasks.
 *
 * Return: as state__write().
 */
int state__write_until(struct state *state, u64 time, size_t *next, bool *complete,
		       state_write_t write, void *arg);

/**
 * state__dump - write what a file would have to begin with now, whatever the present file has
 *
 * Changes nothing. Return: as state__write().
 */
int state__dump(struct state *state, state_write_t write, void *arg);

/** state__loss - get what is missing so far */
struct state_loss state__loss(const struct state *state);

#endif
