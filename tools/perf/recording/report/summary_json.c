// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/time64.h>
#include "recording/aux/snapshot.h"
#include "recording/keep/keep.h"
#include "recording/output/output.h"
#include "recording/snapshot/overwrite.h"
#include "recording/when/condition.h"
#include "recording/when/when.h"
#include "util/json.h"
#include "advice.h"
#include "loss_report.h"
#include "summary_json.h"

/**
 * struct line - an object that is printed at once
 * @json:	writes to @text
 */
struct line {
	struct json	 json;
	char		*text;
	size_t		 len;
};

/* In seconds. A double has the nanoseconds of a year. */
static void put_time(struct json *json, const char *key, u64 ns)
{
	json__key(json, key);
	fprintf(json->file, "%" PRIu64 ".%09" PRIu64, (u64)(ns / NSEC_PER_SEC),
		(u64)(ns % NSEC_PER_SEC));
}

/* Return: where to add members, or NULL if there is no memory. */
static struct json *begin(struct line *line, const char *type)
{
	*line = (struct line){ .text = NULL };
	line->json.file = open_memstream(&line->text, &line->len);
	if (!line->json.file)
		return NULL;
	json__open(&line->json, NULL, '{');
	json__text(&line->json, "type", type);
	return &line->json;
}

/* Print it in one piece: other threads print, too. */
static void end(struct line *line)
{
	json__close(&line->json, '}');
	putc('\n', line->json.file);
	if (!fclose(line->json.file))
		fwrite(line->text, 1, line->len, stderr);
	free(line->text);
}

static void put_rings(struct json *json, const struct snapshot_stats *stats)
{
	const struct coverage *coverage = &stats->coverage;

	json__open(json, "rings", '{');
	json__number(json, "records", stats->written.records);
	if (coverage->newest) {
		put_time(json, "complete", coverage__ns(coverage));
		put_time(json, "newest", coverage->newest);
	}
	if (coverage->limiting.oldest)
		json__number(json, coverage->limiting.cpu >= 0 ? "limiting_cpu" : "limiting_thread",
			     coverage->limiting.cpu >= 0 ? coverage->limiting.cpu :
			     coverage->limiting.tid);
	json__number(json, "overwritten_bytes", stats->overwritten);
	json__number(json, "requests", stats->requests);
	json__number(json, "paused_rings", stats->taken.paused);
	if (stats->latency_ns)
		put_time(json, "latency", stats->latency_ns);
	if (stats->deferred.samples) {
		json__number(json, "deferred_stacks", stats->deferred.samples);
		json__number(json, "stacks_to_come", stats->deferred.in_kernel);
		json__number(json, "stacks_overwritten", stats->deferred.overwritten);
	}
	json__close(json, '}');
}

/* Cgroups that reach back less far, and how far the others do */
static void put_cuts(struct json *json, const struct keep_stats *stats)
{
	const struct keep_cut *cut;

	put_time(json, "others_complete", stats->end - min(stats->others_begin, stats->end));
	json__open(json, "cgroups", '[');
	for (cut = stats->cuts; cut < stats->cuts + stats->nr_cuts; cut++) {
		json__open(json, NULL, '{');
		json__text(json, "cgroup", cut->path);
		json__number(json, "id", cut->cgroup);
		put_time(json, "complete", stats->end - min(cut->last, stats->end));
		json__number(json, "dropped_samples", cut->records);
		json__close(json, '}');
	}
	json__close(json, ']');
}

static void put_kept(struct json *json, const struct keep_stats *stats)
{
	json__open(json, "kept", '{');
	json__number(json, "records", stats->records);
	json__number(json, "raw_bytes", stats->raw_bytes);
	json__number(json, "compressed_bytes", stats->compressed_bytes);
	json__number(json, "written_bytes", stats->written_bytes);
	if (stats->end > stats->begin) {
		put_time(json, "complete", stats->end - stats->begin);
		put_time(json, "newest", stats->end);
	}
	json__text(json, "limit", keep_limit__name(stats->limit));
	if (stats->nr_cuts)
		put_cuts(json, stats);
	json__close(json, '}');
}

static void put_aux(struct json *json, const struct aux_snapshot_stats *stats)
{
	json__open(json, "aux", '{');
	json__number(json, "bytes", stats->bytes);
	json__number(json, "areas", stats->areas);
	if (stats->counted)
		json__number(json, "overwritten_bytes", stats->overwritten);
	put_time(json, "stopped", stats->stopped_ns);
	json__close(json, '}');
}

static void put_duration(struct json *json, const struct when_report *report)
{
	json__open(json, "duration", '{');
	put_time(json, "time", report->ns);
	if (report->end) {
		put_time(json, "begin", report->begin);
		put_time(json, "end", report->end);
	}
	json__key(json, "open");
	fputs(report->open ? "true" : "false", json->file);
	json__number(json, "cpu", report->cpu);
	if (report->cgroup[0])
		json__text(json, "cgroup", report->cgroup);
	if (report->what[0])
		json__text(json, "what", report->what);
	if (report->holder_comm[0]) {
		json__open(json, "holder", '{');
		json__text(json, "comm", report->holder_comm);
		json__number(json, "tid", report->holder_tid);
		json__number(json, "cpu", report->holder_cpu);
		put_time(json, "time", report->holder_ns);
		json__close(json, '}');
	}
	json__close(json, '}');
}

static void put_merged(struct json *json, const struct snapshot_cause *cause)
{
	unsigned int i;

	json__number(json, "merged_requests", cause->nr_merged + cause->nr_unlisted);
	json__open(json, "merged", '[');
	for (i = 0; i < cause->nr_merged; i++) {
		const struct merged_cause *merged = &cause->merged[i];

		json__open(json, NULL, '{');
		json__text(json, "reason", merged->reason);
		json__number(json, "tid", merged->tid);
		if (merged->comm[0])
			json__text(json, "comm", merged->comm);
		if (merged->duration_ns)
			put_time(json, "time", merged->duration_ns);
		if (merged->duration_ns && merged->time) {
			put_time(json, "begin", merged->time - merged->duration_ns);
			put_time(json, "end", merged->time);
		}
		json__close(json, '}');
	}
	json__close(json, ']');
}

static void put_cause(struct json *json, const struct snapshot_cause *cause)
{
	json__text(json, "reason", cause->reason);
	if (snapshot_cause__is_other(cause)) {
		json__number(json, "pid", cause->pid);
		json__number(json, "tid", cause->tid);
		if (cause->comm[0])
			json__text(json, "comm", cause->comm);
	}
	if (cause->report.condition)
		put_duration(json, &cause->report);
	if (cause->nr_merged || cause->nr_unlisted)
		put_merged(json, cause);
}

void summary_json__snapshot(u64 number, const struct snapshot_stats *stats,
			    const struct aux_snapshot_stats *aux, const struct keep_stats *kept,
			    const struct snapshot_cause *cause)
{
	struct line line;
	struct json *json = stats || aux || kept ? begin(&line, "snapshot") : NULL;

	if (!json)
		return;
	json__number(json, "number", number);
	put_cause(json, cause);
	if (stats)
		put_rings(json, stats);
	if (kept)
		put_kept(json, kept);
	if (aux)
		put_aux(json, aux);
	end(&line);
}

void summary_json__progress(u64 number, u64 records, u64 all, u64 ns)
{
	struct line line;
	struct json *json = begin(&line, "progress");

	if (!json)
		return;
	json__number(json, "number", number);
	json__number(json, "records", records);
	json__number(json, "of", all);
	put_time(json, "elapsed", ns);
	end(&line);
}

void summary_json__dropped(const struct keep_stats *kept, const struct snapshot_cause *cause)
{
	struct line line;
	struct json *json = begin(&line, "dropped");

	if (!json)
		return;
	put_cause(json, cause);
	json__number(json, "kept_records", kept->records);
	end(&line);
}

static void put_quantiles(struct json *json, const struct when_quantiles *quantiles)
{
	json__number(json, "durations", quantiles->nr_too_long);
	json__number(json, "measured", quantiles->nr);
	put_time(json, "median", quantiles->median_ns);
	put_time(json, "p99", quantiles->p99_ns);
	put_time(json, "p999", quantiles->p999_ns);
	put_time(json, "longest", quantiles->max_ns);
	if (quantiles->hourly_ns)
		put_time(json, "hourly", quantiles->hourly_ns);
}

void summary_json__triggers(const struct when *when, u64 nr_stopped)
{
	struct line line;
	struct json *json = when->nr ? begin(&line, "triggers") : NULL;
	struct when_quantiles quantiles;
	unsigned int i;

	if (!json)
		return;
	json__open(json, "conditions", '[');
	for (i = 0; i < when->nr; i++) {
		json__open(json, NULL, '{');
		json__text(json, "condition", when->conditions[i].text);
		if (when->measures && !when__measure(when, i, &quantiles))
			put_quantiles(json, &quantiles);
		else
			json__number(json, "durations", when__too_long(when, i, NULL));
		json__close(json, '}');
	}
	json__close(json, ']');
	json__number(json, "without_snapshot", nr_stopped);
	end(&line);
}

void summary_json__file(const char *name)
{
	struct line line;
	struct json *json = begin(&line, "file");

	if (!json)
		return;
	json__text(json, "name", name);
	end(&line);
}

void summary_json__advice(const struct advice *advice, const struct loss_metric *metric)
{
	const struct coverage_ring *ring = &advice->ring;
	struct line line;
	struct json *json = begin(&line, "advice");

	if (!json)
		return;
	put_time(json, "time", advice->wanted_ns);
	put_time(json, "measured", advice->end_ns - advice->begin_ns);
	json__number(json, "events", metric->events);
	json__number(json, "lost", metric->lost);
	json__number(json, "keep_bytes", advice->keep_bytes);
	if (ring->size)
		json__number(json, "ring_bytes", ring->size);
	json__number(json, "rings", advice->nr_rings);
	json__number(json, ring->cpu >= 0 ? "busiest_cpu" : "busiest_thread",
		     ring->cpu >= 0 ? ring->cpu : ring->tid);
	json__number(json, "busiest_bytes_per_second", advice->rate);
	end(&line);
}

/* Of the time in which no ring was full, the same share is missing as of the samples. */
static double total_loss_percent(const struct summary_totals *totals,
				 const struct loss_metric *metric)
{
	double rings = metric->end > metric->begin ? loss_metric__percent(metric) : 0;
	double unwritten = percent(totals->unwritten_samples,
				   totals->samples + totals->unwritten_samples);

	return rings + (100 - rings) * unwritten / 100;
}

void summary_json__end(const struct summary_totals *totals, const struct loss_report *report,
		       const struct output *output, const struct keep *keep)
{
	const struct loss_metric *metric = &report->metric;
	struct ring_stats all = { 0 };
	const struct loss_row *row;
	struct line line;
	struct json *json = begin(&line, "end");

	if (!json)
		return;
	for (row = report->rows; row < report->rows + report->nr; row++)
		ring_stats__merge(&all, row->stats);
	json__number(json, "files", totals->files);
	json__number(json, "snapshots", totals->snapshots);
	json__number(json, "dropped_snapshots", totals->dropped);
	json__number(json, "bytes", output__total(output));
	json__number(json, "samples", totals->samples);
	json__number(json, "dropped_samples", keep->dropped.samples);
	if (keep->peak_bytes)
		json__number(json, "memory_bytes", keep->peak_bytes);
	json__number(json, "unwritten_records", totals->unwritten);
	json__number(json, "events", metric->events);
	json__number(json, "lost", metric->lost);
	put_time(json, "lost_time", metric->hole_ns);
	json__key(json, "data_loss_percent");
	fprintf(json->file, "%.4f", total_loss_percent(totals, metric));
	json__number(json, "throttled", all.throttles);
	json__number(json, "aux_truncated", all.aux_truncated);
	json__number(json, "aux_partial", all.aux_partial);
	json__number(json, "aux_collided", all.aux_collided);
	end(&line);
}
