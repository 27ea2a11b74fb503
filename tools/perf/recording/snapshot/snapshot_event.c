// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "util/debug.h"
#include "util/event.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/sample.h"
#include "recording/aux/snapshot.h"
#include "recording/keep/keep.h"
#include "recording/lib/compat.h"
#include "recording/lib/printable.h"
#include "recording/output/output.h"
#include "recording/stats/ring_stats.h"
#include "cause.h"
#include "overwrite.h"
#include "snapshot_event.h"

/* The kernel counts ids from 1. */
#define SNAPSHOT_EVENT_ID	(1ULL << 62)

/*
 * Fields of other events that the sample need not have. All others it must have: "perf script -F"
 * takes only fields that all events of a type have.
 */
#define LEFT_OUT	(PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK |	\
			 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_INTR | \
			 PERF_SAMPLE_AUX)

static struct evsel *new_evsel(struct evlist *evlist)
{
	const struct perf_event_attr *first = &evlist__first(evlist)->core.attr;
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_SOFTWARE,
		.size		= sizeof(attr),
		.config		= PERF_COUNT_SW_BPF_OUTPUT,
		.sample_type	= (__evlist__combined_sample_type(evlist) & ~LEFT_OUT) |
				  PERF_SAMPLE_RAW,
		.sample_period	= 1,
		.read_format	= first->read_format,
		.sample_id_all	= first->sample_id_all,
		.use_clockid	= first->use_clockid,
		.clockid	= first->clockid,
	};
	struct evsel *evsel = evsel__new(&attr);

	if (!evsel)
		return NULL;
	evsel->name = strdup("snapshot");
	if (evsel->name && !perf_evsel__alloc_id(&evsel->core, 1, 1))
		return evsel;
	evsel__put(evsel);
	return NULL;
}

int snapshot_event__init(struct snapshot_event *event, struct evlist *evlist)
{
	struct evsel *evsel = new_evsel(evlist);
	struct perf_sample_id *sid;

	if (!evsel) {
		pr_err("Not enough memory to describe snapshots.\n");
		return -ENOMEM;
	}
	evlist__add(evlist, evsel);
	evsel->tracking = false;
	perf_evlist__id_add(&evlist->core, &evsel->core, 0, 0, SNAPSHOT_EVENT_ID);
	sid = evlist__id2sid(evlist, SNAPSHOT_EVENT_ID);
	sid->cpu.cpu = -1;
	sid->tid = -1;
	evlist__set_id_pos(evlist);
	event->evsel = evsel;
	return 0;
}

static double seconds(u64 ns)
{
	return (double)ns / NSEC_PER_SEC;
}

static void add_kept(const struct keep_stats *kept, char *text, size_t size)
{
	static const char * const limits[] = {
		[KEEP_NO_LIMIT]	    = "nothing dropped",
		[KEEP_LIMIT_TIME]   = "limited by time",
		[KEEP_LIMIT_MEMORY] = "limited by memory",
		[KEEP_LIMIT_CPU]    = "limited by CPU time",
		[KEEP_LIMIT_LOST]   = "limited by a loss",
		[KEEP_LIMIT_SPACE]  = "limited by disk space",
	};
	size_t len = strlen(text);

	scnprintf(text + len, size - len, "; kept %.6f s, %s",
		  kept->end > kept->begin ? seconds(kept->end - kept->begin) : 0,
		  limits[kept->limit]);
}

/* How far back cgroups reach, as far as there is space: the summary has all. */
static void add_cuts(const struct keep_stats *kept, char *text, size_t size)
{
	char path[sizeof(kept->cuts->path)];
	size_t len = strlen(text);
	unsigned int i;

	if (!kept->nr_cuts)
		return;
	len += scnprintf(text + len, size - len, "; cgroups: others %.6f s",
			 seconds(kept->end - min(kept->others_begin, kept->end)));
	for (i = 0; i < kept->nr_cuts && size - len > 128; i++) {
		copy_printable(path, kept->cuts[i].path, sizeof(path));
		len += scnprintf(text + len, size - len, ", %s %.6f s", path,
				 seconds(kept->end - min(kept->cuts[i].last, kept->end)));
	}
}

static void add_rings(const struct coverage *coverage, char *text, size_t size)
{
	size_t len = strlen(text);

	len += scnprintf(text + len, size - len, "; rings %.6f s", seconds(coverage__ns(coverage)));
	if (!coverage->limiting.oldest)
		len += scnprintf(text + len, size - len, ", nothing overwritten");
	else if (coverage->limiting.cpu >= 0)
		len += scnprintf(text + len, size - len, ", limited by CPU %d",
				 coverage->limiting.cpu);
	else
		len += scnprintf(text + len, size - len, ", limited by thread %d",
				 coverage->limiting.tid);
	if (coverage->limiting.lost)
		scnprintf(text + len, size - len, ", which lost events");
}

static void add_aux(const struct aux_snapshot_stats *aux, char *text, size_t size)
{
	size_t len = strlen(text);

	scnprintf(text + len, size - len, "; AUX %.3f MB", aux->bytes / 1024.0 / 1024.0);
}

void snapshot_event__set(struct snapshot_event *event, const struct snapshot_cause *cause, u64 time,
			 const struct snapshot_stats *rings, const struct aux_snapshot_stats *aux,
			 const struct keep_stats *kept)
{
	union perf_event *record = (union perf_event *)event->record;
	u64 type = event->evsel->core.attr.sample_type;
	char text[CAUSE_TEXT + 384] = "";
	struct perf_sample sample = {
		.id = SNAPSHOT_EVENT_ID, .pid = cause->pid, .tid = cause->tid, .cpu = cause->cpu,
		.time = time, .period = 1, .raw_data = text,
	};

	snapshot_cause__print(cause, text, CAUSE_TEXT);
	if (kept)
		add_kept(kept, text, sizeof(text));
	if (kept)
		add_cuts(kept, text, sizeof(text));
	if (rings && rings->coverage.newest)
		add_rings(&rings->coverage, text, sizeof(text));
	if (aux)
		add_aux(aux, text, sizeof(text));
	/* A final zero, and the length field before the text makes both a multiple of 8. */
	sample.raw_size = round_up(sizeof(u32) + strlen(text) + 1, sizeof(u64)) - sizeof(u32);

	record->header = (struct perf_event_header){
		.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER,
		.size = sample_event_size(&sample, type),
	};
	synthesize_sample(record, type, &sample);
	event->time = time;
	event->pending = true;
}

int snapshot_event__write_until(struct snapshot_event *event, struct output *output, u64 time)
{
	const union perf_event *record = (const union perf_event *)event->record;
	struct records records = records__of(record, record->header.size);
	struct ring_stats stats = { .evlist = event->evsel ? event->evsel->evlist : NULL };

	if (!event->pending || event->time > time)
		return 0;
	event->pending = false;
	/* The statistics find the time, for the span of the file. */
	return output__write(output, &records, &stats);
}
