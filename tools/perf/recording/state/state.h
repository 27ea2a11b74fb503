/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The live state: what the tracking channel told, as long as a sample can still need it, in memory
 * that does not grow with the time of the recording. Each file begins with it and stands alone.
 *
 *                                     time
 *   <-------------------------------------------------------------------------------------
 *      newest          settled                        horizon of a process
 *        |    pending     |           applied                 |      folded, or forgotten
 *        +----------------+-----------------------------------+
 *        |                     the log                        |   BASE (tasks.h), system_wide
 *                         |
 *                        NOW (tasks.h)
 *
 * - Pending: records come from the rings of several CPUs, in order from each, but not altogether.
 *   They wait until nothing older can come: until all rings have been read once more (a round),
 *   and for SB_RECORD_DELAY_NS, by which time a record has long been published.
 * - Applied: those records are, in the order of time, applied to the NOW views.
 * - The horizon is the time before which nothing that can still be written refers to a process:
 *   where the last snapshot ended, or later where the rings were looked through (task_refs.h). Records
 *   older than that are folded into the BASE views, and tasks that have exited are forgotten.
 *
 * A file gets the BASE views, as synthesized records of the time of the horizon, and then the log's
 * records as they came. EXIT records are applied and not written: a reader forgets the task there,
 * and calls :PID what is sampled while it takes down its memory. The FORK record of the next task
 * with that tid does the same, in time.
 *
 * It grows with the tasks that live and those that the rings refer to, and with their maps. What exceeds that goes when
 * state__is_large() sends the caller to look through the rings, each time that it has doubled.
 *
 * Not util's struct machine: its dsos are never freed, so that it grows with each executable
 * that ever ran, each fork copies all maps, and it knows the present only, not the horizon.
 *
 * Pure memory: knows no rings and no files. Not for several threads. Where memory is short
 * something is missing from the files, and counted.
 */
#ifndef PERF_RECORDING_STATE_H
#define PERF_RECORDING_STATE_H

#include <stdbool.h>
#include <linux/types.h>
#include "system_wide.h"
#include "recording/lib/records.h"
#include "tasks.h"
#include "sb_record.h"
#include "stale_maps.h"

struct task_refs;

/* The least size that is called large, of the log and of maps, and how much may be no task's [bytes]. */
#define STATE_LARGE	(16UL << 20)
#define STATE_TIMELINE	(STATE_LARGE / 4)

/**
 * struct entry - a record in the log
 * @record:	a reference
 * @task:	the task that it is about; NULL while it is pending, and for the others
 * @arrival:	counts up
 * @file:	number of the file that has it, 0 for none
 */
struct entry {
	struct sb_record	*record;
	struct task	*task;
	u64		 arrival;
	u32		 file;
};

/**
 * struct state_loss - what is missing from the files
 * @lost:	tracking records that the kernel had no room for
 * @malformed:	records shorter than what they say
 * @no_memory:	records and maps that there was no memory for
 * @timeline:	records of no task (context switches and the like), given up for size
 * @cgroups:	given up for number
 */
struct state_loss {
	u64		lost;
	u64		malformed;
	u64		no_memory;
	u64		timeline;
	u64		cgroups;
};

/**
 * struct state
 * @format:	of the tracking event's records
 * @tasks:	BASE and NOW
 * @system_wide:	the same of what is no task's; there is one view, as of BASE
 * @stale_maps:	maps that are to be dropped
 * @log:	@nr entries, of which the first @applied are applied, in that order; @room for more
 * @arrivals:	entries so far
 * @newest:	time of the newest record [ns]
 * @round:	the same when the last round ended [ns]
 * @settled:	nothing older than this comes any more [ns]
 * @horizon:	nothing older than this is written any more [ns]
 * @bytes:	size of the log [bytes]
 * @timeline:	of that, entries of no task [bytes]
 * @maps:	of BASE, when it settled last: what they would be in a file [bytes]
 * @large:	from which size on it is large [bytes]
 * @large_maps:	the same of @maps [bytes]
 * @file:	number of the present file
 * @streamed:	the file gets the tracking records by another way, too: see state__begin_file()
 * @loss:	what is missing
 */
struct state {
	struct id_format  format;
	struct tasks	  tasks;
	struct system_wide	  system_wide;
	struct stale_maps stale_maps;
	struct entry	 *log;
	size_t		  nr;
	size_t		  applied;
	size_t		  room;
	u64		  arrivals;
	u64		  newest;
	u64		  round;
	u64		  settled;
	u64		  horizon;
	size_t		  bytes;
	size_t		  timeline;
	size_t		  maps;
	size_t		  large;
	size_t		  large_maps;
	u32		  file;
	bool		  streamed;
	struct state_loss loss;
};

/** state__init - nothing known; @format is copied. To be freed with state__exit(). */
void state__init(struct state *state, const struct id_format *format);

void state__exit(struct state *state);

/**
 * state__add - take note of records of the tracking channel
 * @records:	whole records of one ring, as they lie there
 */
void state__add(struct state *state, const struct records *records);

/**
 * state__add_synthesized - take note of a record that util made from /proc
 * @id_size:	how much room for a sample id it ends with [bytes]
 *
 * It holds as of @state->settled: before the first round, since ever.
 */
void state__add_synthesized(struct state *state, const union perf_event *event, size_t id_size);

/** state__end_round - all rings have been read since the last call */
void state__end_round(struct state *state);

/**
 * state__find_stale_maps - read the maps of processes that have too many, if there are any
 * @read:	usually proc_maps__read()
 *
 * To be called after a round.
 */
void state__find_stale_maps(struct state *state, proc_maps_read_t read);

/**
 * state__forget - nothing older than this is written any more
 * @time:	no more than @state->settled was when the last snapshot began [ns]
 */
void state__forget(struct state *state, u64 time);

/** state__is_large - should the caller look through the rings, and collect? */
bool state__is_large(const struct state *state);

typedef void (*state_switch_t)(void *arg, const struct sb_origin *who, u64 time);

/** state__visit_switches - who was switched to, of all that is kept of context switches */
void state__visit_switches(const struct state *state, state_switch_t visit, void *arg);

/**
 * state__collect - forget what nobody refers to
 * @refs:	all that rings, and copies of them that are still to be written, refer to; collected
 *		after the last state__end_round()
 */
void state__collect(struct state *state, const struct task_refs *refs);

/**
 * state__retire_gone - after a loss: tasks of which the EXIT may be missing
 * @exists:	is there such a task now?
 */
void state__retire_gone(struct state *state, bool (*exists)(u32 tid));

/**
 * state__begin_file - what comes now goes into a new file, which knows nothing yet
 * @streamed:	all records that come from now on are written to it by the caller as well
 */
void state__begin_file(struct state *state, bool streamed);

typedef int (*state_write_t)(void *arg, const void *records, size_t len);

/**
 * state__write - write what the file does not have yet
 * @write:	gets whole records; an error ends the call
 *
 * Return: 0, or the error.
 */
int state__write(struct state *state, state_write_t write, void *arg);

/** state__loss - what is missing so far */
struct state_loss state__loss(const struct state *state);

#endif
