/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Record AUX areas: raw traces, such as Intel PT.
 *
 *   data ring		PERF_RECORD_AUX and the like, as in any channel (sideband.h)
 *   AUX area		the trace itself, mapped behind the ring (copy.h)
 *
 *	full trace	drained all the time (drain.h); aux_tail gives the space back
 *	snapshots (-S)	the area overwrites itself and is copied when requested (snapshot.h)
 *	samples		(--aux-sample) the kernel copies from the area into samples; it is not read
 *
 * util configures a PMU, knows what its decoder needs, and finds the position in an area without a
 * byte count (util/auxtrace.h and arch/.../util/).
 *
 * In the file, each piece of a trace follows an AUXTRACE record that describes it; the header has
 * an index of these records. Each area collects its part of the index until the file ends. The
 * kernel disables an event whose area is full, or whose trace was truncated. It is enabled again
 * when there is space, unless it was disabled on purpose: @enabling serializes the two.
 */
#ifndef PERF_RECORDING_AUX_H
#define PERF_RECORDING_AUX_H

#include <pthread.h>
#include <stdbool.h>
#include <linux/perf_event.h>
#include "util/auxtrace.h"
#include "util/record.h"
#include "recording/ring/drain.h"
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
 * @aux:	all areas
 * @drainer:	drains @ring and the area, if the area is streamed
 * @mm:		util's description: base, len, idx, cpu, tid
 * @ring:	the data ring
 * @cursor:	position of the last read
 * @history:	with snapshots: tasks whose trace is in the area
 * @hw_ids:	events that samples in the area belong to
 * @index:	of the pieces of the trace in the present file
 * @truncated:	aux_truncated of @ring's statistics when the event was last enabled
 */
struct aux_area {
	struct aux		*aux;
	struct ring_drainer	 drainer;
	struct auxtrace_mmap	 mm;
	struct ring		*ring;
	struct aux_cursor	 cursor;
	struct task_history	 history;
	struct hw_ids		 hw_ids;
	struct list_head	 index;
	u64			 truncated;
};

/**
 * struct aux
 * @itr:	util's code for this PMU; NULL without an AUX event
 * @evlist:	the events
 * @opts:	options, adapted by util
 * @evsel:	the AUX event
 * @enabling:	held while events are enabled or disabled; capture.h
 * @areas:	@nr areas
 * @has_samples: the traces have samples of other events (aux_output)
 * @output:	what areas that are streamed are drained to
 * @is_64_bit:	the kernel is; known when a file was described
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
	struct output		*output;
	bool			 is_64_bit;
};

#ifdef HAVE_AUXTRACE_SUPPORT

/**
 * aux__init - find the AUX event and check its options
 *
 * Return: 0, also without an AUX event; or a negative errno after an error message.
 */
int aux__init(struct aux *aux, struct evlist *evlist, struct record_opts *opts);

/** aux__exit - unmap and free everything; harmless without AUX areas */
void aux__exit(struct aux *aux);

/**
 * aux__configure - let util adapt options and events, and add events; the target is known
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
 * aux__describe - write what a decoder must know to a new file
 * @page:	any control page
 *
 * Return: 0, or a negative errno after an error message.
 */
int aux__describe(struct aux *aux, struct output *output, const struct perf_event_mmap_page *page);

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

#endif

/** aux_area__counts - does the kernel count the bytes written (cap_aux_written)? */
static inline bool aux_area__counts(const struct aux_area *area)
{
	const struct perf_event_mmap_page *page = area->mm.userpg;

	return page->cap_aux_written;
}

/** aux__takes_snapshots - do the areas overwrite themselves, to be copied when requested (-S)? */
static inline bool aux__takes_snapshots(const struct aux *aux)
{
	return aux->itr && aux->opts->auxtrace_snapshot_mode;
}

/** aux__streams - are the areas drained all the time? */
static inline bool aux__streams(const struct aux *aux)
{
	return aux->itr && aux->opts->full_auxtrace && !aux->opts->auxtrace_snapshot_mode &&
	       !aux->opts->auxtrace_sample_mode;
}

/** aux__writes_areas - is the trace written by aux__write()? */
static inline bool aux__writes_areas(const struct aux *aux)
{
	return aux__takes_snapshots(aux) || aux__streams(aux);
}

#define aux__for_each_area(aux, area)						\
	for ((area) = (aux)->areas; (area) < (aux)->areas + (aux)->nr; (area)++)

#endif
