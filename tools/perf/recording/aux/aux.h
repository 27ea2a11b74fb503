/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * AUX areas: raw traces, such as Intel PT, on their way to the file.
 *
 *   data ring		PERF_RECORD_AUX and the like, as of any channel
 *   AUX area		the trace itself, mapped behind the ring, see copy.h
 *
 *	full trace	drained all the time; aux_tail gives the room back
 *	snapshots (-S)	the area overwrites itself, and is copied when asked for (aux/snapshot.h)
 *	samples		(--aux-sample) the kernel copies from it into samples; it is not read
 *
 * How a PMU is configured, what its decoder has to know, and where it may be in an area that nobody
 * counts, is util's (util/auxtrace.h and arch/.../util/).
 *
 * In the file the trace follows an AUXTRACE record that describes it; the header has an index of these
 * records. The kernel turns an event off that has no room left, or was truncated. It is turned on
 * again when there is room, unless it was disabled on purpose: @enabling decides which came first.
 */
#ifndef PERF_RECORDING_AUX_H
#define PERF_RECORDING_AUX_H

#include <pthread.h>
#include <stdbool.h>
#include <linux/perf_event.h>
#include "util/auxtrace.h"
#include "util/record.h"
#include "task_history.h"
#include "copy.h"
#include "hw_ids.h"

struct channel;
struct evlist;
struct evsel;
struct output;
struct ring;

/**
 * struct aux_area - the AUX area of a ring
 * @mm:		util's description: base, len, idx, cpu, tid
 * @ring:	the ring
 * @cursor:	how far it was read
 * @history:	whose trace is in it; of snapshots
 * @outputs:	which events samples in it are of
 * @truncated:	of @ring's account, when the event was last turned on
 */
struct aux_area {
	struct auxtrace_mmap	 mm;
	struct ring		*ring;
	struct aux_cursor	 cursor;
	struct task_history	 history;
	struct hw_ids	 outputs;
	u64			 truncated;
};

/**
 * struct aux
 * @itr:	util's part for this PMU; NULL if there is no AUX event
 * @evlist:	the events
 * @opts:	what util was told, and made of it
 * @evsel:	the AUX event
 * @enabling:	held by whoever enables or disables events; capture.h
 * @areas:	@nr areas
 * @has_samples: samples of other events are in the traces (aux_output)
 * @overrun:	bytes of a full trace that were overwritten before they were read: not by a kernel that
 *		heeds aux_tail
 */
struct aux {
	struct auxtrace_record	*itr;
	struct evlist		*evlist;
	struct record_opts	*opts;
	struct evsel		*evsel;
	pthread_mutex_t		*enabling;
	struct aux_area		*areas;
	int			 nr;
	bool			 has_samples;
	u64			 overrun;
};

#ifdef HAVE_AUXTRACE_SUPPORT

/**
 * aux__init - when the options are parsed: is there an AUX event, and what is asked of it?
 *
 * Return: 0, also if there is none, or a negative errno after an error message.
 */
int aux__init(struct aux *aux, struct evlist *evlist, struct record_opts *opts);

/** aux__exit - unmap and free all; harmless if there is nothing */
void aux__exit(struct aux *aux);

/**
 * aux__configure - let util adapt options and events, and add its own; the target is known
 *
 * The size of areas is rounded up to a power of two of pages, unless the driver takes any
 * (caps/aux_any_size).
 *
 * Return: 0, or a negative errno after an error message.
 */
int aux__configure(struct aux *aux);

/**
 * aux__map - map the areas of the rings of @channel
 *
 * Return: 0, or a negative errno after an error message.
 */
int aux__map(struct aux *aux, struct channel *channel);

/**
 * aux__describe - a new file is there: tell it what a decoder has to know
 * @page:	any control page
 *
 * Return: 0, or a negative errno after an error message.
 */
int aux__describe(struct aux *aux, struct output *output, const struct perf_event_mmap_page *page);

/**
 * aux__drain - write what is new in the areas of a full trace, and give the room back
 *
 * After the data rings were read: what they told of truncation is known then.
 *
 * Return: 1 if there was something, 0 if not, or a negative errno.
 */
int aux__drain(struct aux *aux, struct output *output);

/** aux__add_hw_id - note a PERF_RECORD_AUX_OUTPUT_HW_ID; the file gets it with the next aux__write() */
void aux__add_hw_id(struct aux *aux, struct aux_area *area, union perf_event *event);

/**
 * aux__write_hw_ids - write at once those that the file lacks
 *
 * Return: 0, or the errno of the output.
 */
int aux__write_hw_ids(struct aux *aux, struct aux_area *area, struct output *output);

/**
 * aux__write_all_hw_ids - write at once those of all areas that a new file lacks
 *
 * Return: 0, or the errno of the output.
 */
int aux__write_all_hw_ids(struct aux *aux, struct output *output);

/**
 * aux__write - write a piece of a trace
 * @data:	it, oldest byte first
 * @position:	of that byte
 * @reference:	from auxtrace_record__reference()
 *
 * Return: 0, or the errno of the output.
 */
int aux__write(struct aux *aux, struct aux_area *area, const struct records *data, u64 position,
	       u64 reference, struct output *output);

#else

static inline int aux__init(struct aux *aux __maybe_unused, struct evlist *evlist __maybe_unused,
			    struct record_opts *opts)
{
	int err = auxtrace_parse_snapshot_options(NULL, opts, opts->auxtrace_snapshot_opts);

	return err ?: auxtrace_parse_sample_options(NULL, evlist, opts, opts->auxtrace_sample_opts);
}

static inline void aux__exit(struct aux *aux __maybe_unused)
{
}

static inline int aux__configure(struct aux *aux __maybe_unused)
{
	return 0;
}

static inline int aux__map(struct aux *aux __maybe_unused, struct channel *channel __maybe_unused)
{
	return 0;
}

static inline int aux__describe(struct aux *aux __maybe_unused,
				struct output *output __maybe_unused,
				const struct perf_event_mmap_page *page __maybe_unused)
{
	return 0;
}

static inline int aux__drain(struct aux *aux __maybe_unused, struct output *output __maybe_unused)
{
	return 0;
}

static inline void aux__add_hw_id(struct aux *aux __maybe_unused,
				   struct aux_area *area __maybe_unused,
				   union perf_event *event __maybe_unused)
{
}

static inline int aux__write_all_hw_ids(struct aux *aux __maybe_unused,
					struct output *output __maybe_unused)
{
	return 0;
}

static inline int aux__write_hw_ids(struct aux *aux __maybe_unused,
				     struct aux_area *area __maybe_unused,
				     struct output *output __maybe_unused)
{
	return 0;
}

#endif

/** aux_area__counts - does the kernel say how much was written? */
static inline bool aux_area__counts(const struct aux_area *area)
{
	const struct perf_event_mmap_page *page = area->mm.userpg;

	return page->cap_aux_written;
}

/** aux__takes_snapshots - the areas overwrite themselves, and are copied when asked for (-S) */
static inline bool aux__takes_snapshots(const struct aux *aux)
{
	return aux->itr && aux->opts->auxtrace_snapshot_mode;
}

/** aux__streams - the areas are drained all the time */
static inline bool aux__streams(const struct aux *aux)
{
	return aux->itr && aux->opts->full_auxtrace && !aux->opts->auxtrace_snapshot_mode &&
	       !aux->opts->auxtrace_sample_mode;
}

/** aux__writes_areas - what is in the areas gets to the file by aux__write() */
static inline bool aux__writes_areas(const struct aux *aux)
{
	return aux__takes_snapshots(aux) || aux__streams(aux);
}

#define aux__for_each_area(aux, area)						\
	for ((area) = (aux)->areas; (area) < (aux)->areas + (aux)->nr; (area)++)

#endif
