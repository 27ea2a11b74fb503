// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "recording/aux/snapshot.h"
#include "recording/keep/keep.h"
#include "util/utf8.h"
#include "recording/output/output.h"
#include "recording/snapshot/overwrite.h"
#include "advice.h"
#include "loss_report.h"
#include "summary_json.h"

/**
 * struct json - a line with an object, which is printed at once
 * @separator:	before the next member
 */
struct json {
	FILE		*file;
	char		*text;
	size_t		 len;
	const char	*separator;
};

static void put_string(FILE *file, const char *text)
{
	size_t len;

	fputc('"', file);
	for (; *text; text += len ?: 1) {
		len = utf8__len(text, strlen(text));
		if (!len)
			fputs("\\ufffd", file);
		else if ((unsigned char)*text < ' ' || *text == '\x7f')
			fprintf(file, "\\u%04x", *text);
		else if (*text == '"' || *text == '\\')
			fprintf(file, "\\%c", *text);
		else
			fwrite(text, 1, len, file);
	}
	fputc('"', file);
}

static void put_key(struct json *json, const char *key)
{
	fprintf(json->file, "%s\"%s\":", json->separator, key);
	json->separator = ",";
}

static void put(struct json *json, const char *key, u64 number)
{
	put_key(json, key);
	fprintf(json->file, "%" PRIu64, number);
}

/* In seconds. A double has the nanoseconds of a year. */
static void put_time(struct json *json, const char *key, u64 ns)
{
	put_key(json, key);
	fprintf(json->file, "%" PRIu64 ".%09" PRIu64, (u64)(ns / NSEC_PER_SEC),
		(u64)(ns % NSEC_PER_SEC));
}

static void put_text(struct json *json, const char *key, const char *text)
{
	put_key(json, key);
	put_string(json->file, text);
}

static void open_object(struct json *json, const char *key)
{
	put_key(json, key);
	fputc('{', json->file);
	json->separator = "";
}

static void close_object(struct json *json)
{
	fputc('}', json->file);
	json->separator = ",";
}

/* Return: false if there is no memory. */
static bool begin(struct json *json, const char *type)
{
	*json = (struct json){ .separator = "" };
	json->file = open_memstream(&json->text, &json->len);
	if (!json->file)
		return false;
	fputc('{', json->file);
	put_text(json, "type", type);
	return true;
}

/* Print it in one piece: other threads print, too. */
static void end(struct json *json)
{
	fputs("}\n", json->file);
	if (!fclose(json->file))
		fwrite(json->text, 1, json->len, stderr);
	free(json->text);
}

static void put_rings(struct json *json, const struct snapshot_stats *stats)
{
	const struct coverage *coverage = &stats->coverage;

	open_object(json, "rings");
	put(json, "records", stats->written.records);
	if (coverage->newest) {
		put_time(json, "complete", coverage__ns(coverage));
		put_time(json, "newest", coverage->newest);
	}
	if (coverage->limiting.oldest)
		put(json, coverage->limiting.cpu >= 0 ? "limiting_cpu" : "limiting_thread",
		    coverage->limiting.cpu >= 0 ? coverage->limiting.cpu : coverage->limiting.tid);
	put(json, "overwritten_bytes", stats->overwritten);
	put(json, "requests", stats->requests);
	put(json, "paused_rings", stats->taken.paused);
	if (stats->latency_ns)
		put_time(json, "latency", stats->latency_ns);
	if (stats->deferred.samples) {
		put(json, "deferred_stacks", stats->deferred.samples);
		put(json, "stacks_to_come", stats->deferred.in_kernel);
		put(json, "stacks_overwritten", stats->deferred.overwritten);
	}
	close_object(json);
}

static void put_kept(struct json *json, const struct keep_stats *stats)
{
	open_object(json, "kept");
	put(json, "records", stats->records);
	if (stats->end > stats->begin) {
		put_time(json, "complete", stats->end - stats->begin);
		put_time(json, "newest", stats->end);
	}
	put_text(json, "limit", keep_limit__name(stats->limit));
	close_object(json);
}

static void put_aux(struct json *json, const struct aux_snapshot_stats *stats)
{
	open_object(json, "aux");
	put(json, "bytes", stats->bytes);
	put(json, "areas", stats->areas);
	if (stats->counted)
		put(json, "overwritten_bytes", stats->overwritten);
	put_time(json, "stopped", stats->stopped_ns);
	close_object(json);
}

static void put_cause(struct json *json, const struct snapshot_cause *cause)
{
	put_text(json, "reason", cause->reason);
	if (!snapshot_cause__is_other(cause))
		return;
	put(json, "pid", cause->pid);
	put(json, "tid", cause->tid);
	if (cause->comm[0])
		put_text(json, "comm", cause->comm);
}

void summary_json__snapshot(u64 number, const struct snapshot_stats *stats,
			    const struct aux_snapshot_stats *aux, const struct keep_stats *kept,
			    const struct snapshot_cause *cause)
{
	struct json json;

	if ((!stats && !aux && !kept) || !begin(&json, "snapshot"))
		return;
	put(&json, "number", number);
	put_cause(&json, cause);
	if (stats)
		put_rings(&json, stats);
	if (kept)
		put_kept(&json, kept);
	if (aux)
		put_aux(&json, aux);
	end(&json);
}

void summary_json__dropped(const struct keep_stats *kept, const struct snapshot_cause *cause)
{
	struct json json;

	if (!begin(&json, "dropped"))
		return;
	put_cause(&json, cause);
	put(&json, "kept_records", kept->records);
	end(&json);
}

void summary_json__file(const char *name)
{
	struct json json;

	if (!begin(&json, "file"))
		return;
	put_text(&json, "name", name);
	end(&json);
}

void summary_json__advice(const struct advice *advice, const struct loss_metric *metric)
{
	const struct coverage_ring *ring = &advice->ring;
	struct json json;

	if (!begin(&json, "advice"))
		return;
	put_time(&json, "time", advice->wanted_ns);
	put_time(&json, "measured", advice->end_ns - advice->begin_ns);
	put(&json, "events", metric->events);
	put(&json, "lost", metric->lost);
	put(&json, "keep_bytes", advice->keep_bytes);
	if (ring->size)
		put(&json, "ring_bytes", ring->size);
	put(&json, "rings", advice->nr_rings);
	put(&json, ring->cpu >= 0 ? "busiest_cpu" : "busiest_thread",
	    ring->cpu >= 0 ? ring->cpu : ring->tid);
	put(&json, "busiest_bytes_per_second", advice->rate);
	end(&json);
}

void summary_json__end(const struct summary_totals *totals, const struct loss_report *report,
		       const struct output *output, const struct keep *keep)
{
	const struct loss_metric *metric = &report->metric;
	struct ring_stats all = { 0 };
	const struct loss_row *row;
	struct json json;

	if (!begin(&json, "end"))
		return;
	for (row = report->rows; row < report->rows + report->nr; row++)
		ring_stats__merge(&all, row->stats);
	put(&json, "files", totals->files);
	put(&json, "snapshots", totals->snapshots);
	put(&json, "dropped_snapshots", totals->dropped);
	put(&json, "bytes", output__total(output));
	put(&json, "samples", totals->samples);
	put(&json, "dropped_samples", keep->dropped.samples);
	put(&json, "unwritten_records", totals->unwritten);
	put(&json, "events", metric->events);
	put(&json, "lost", metric->lost);
	put_time(&json, "lost_time", metric->hole_ns);
	put_key(&json, "data_loss_percent");
	fprintf(json.file, "%.4f", metric->end > metric->begin ? loss_metric__percent(metric) : 0);
	put(&json, "throttled", all.throttles);
	put(&json, "aux_truncated", all.aux_truncated);
	put(&json, "aux_partial", all.aux_partial);
	put(&json, "aux_collided", all.aux_collided);
	end(&json);
}
