// SPDX-License-Identifier: GPL-2.0-only
/*
 * Report the events that are missing from a perf.data file, and when they were lost: perf loss.
 *
 * Reads the records once, in the order of the file, which is the order in time for each ring.
 * Sorts nothing and keeps nothing, so the file may be larger than memory. Adds each record to the
 * statistics of its ring, as perf record does; recording/stats/loss_metric.h defines the result.
 *
 * The file does not contain the ring of a record. perf loss derives it from
 *
 *	the event's id and PERF_RECORD_ID_INDEX		recordings of several events
 *	the CPU						-a, -C, tracepoints, --sample-cpu
 *	the fact that there was only one ring		--per-thread -t
 *
 * If none of these is known, lost events are counted, but the times of the losses are unknown.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <internal/overwrite.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include <subcmd/parse-options.h>
#include <sys/stat.h>
#include "builtin.h"
#include "recording/stats/loss_metric.h"
#include "recording/stats/loss_svg.h"
#include "recording/lib/compat.h"
#include "recording/lib/evsel.h"
#include "recording/stats/timeline.h"
#include "util/data.h"
#include "util/debug.h"
#include "util/event.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/header.h"
#include "util/sample.h"
#include "util/session.h"
#include "util/tool.h"

#define ABOVE_LIMIT	1	/* exit status; that of errors is 255, as in all perf commands */

/**
 * struct ring_key - identify a ring
 * @kind:	meaning of @nr
 * @nr:		index in PERF_RECORD_ID_INDEX, or CPU below MAX_NR_CPUS
 * @overwrite:	the ring overwrites itself; such rings have numbers of their own
 */
struct ring_key {
	enum { RING_BY_INDEX, RING_BY_CPU, RING_UNKNOWN } kind;
	int	nr;
	bool	overwrite;
};

/**
 * struct loss
 * @tool:	callbacks for each type of record
 * @session:	the file
 * @keys:	keys of the rings found so far
 * @rows:	the same rings; each owns its stats, and these own their timeline
 * @nr:		number of rings
 * @last:	index of the previous record's ring, which usually is the next one's, too
 * @indexed:	the file has a PERF_RECORD_ID_INDEX
 * @only_ring:	index of the only ring in PERF_RECORD_ID_INDEX, or -1
 * @keep_timelines: for draw()
 * @metric:	the result
 */
struct loss {
	struct perf_tool	 tool;
	struct perf_session	*session;
	struct ring_key		*keys;
	struct loss_row		*rows;
	int			 nr;
	int			 last;
	bool			 indexed;
	int			 only_ring;
	bool			 keep_timelines;
	struct loss_metric	 metric;
};

static const char * const loss_usage[] = {
	"perf loss [<options>] [<file>]",
	NULL
};

static bool same_ring(const struct ring_key *a, const struct ring_key *b)
{
	return a->kind == b->kind && a->nr == b->nr && a->overwrite == b->overwrite;
}

static struct ring_key find_key(const struct loss *loss, const struct perf_sample_id *sid,
				const struct perf_sample *sample)
{
	struct ring_key key = { .kind = RING_UNKNOWN };
	const struct perf_evsel *evsel;

	if (evlist__empty(loss->session->evlist))
		return key;
	evsel = sid ? sid->evsel : &evlist__first(loss->session->evlist)->core;
	key.overwrite = perf_overwrite__is_configured(&evsel->attr);
	if (loss->indexed && sid) {
		key.kind = RING_BY_INDEX;
		key.nr = sid->idx;
	} else if (sample->cpu < MAX_NR_CPUS && sample->time) {
		key.kind = RING_BY_CPU;
		key.nr = sample->cpu;
	} else if (loss->indexed && loss->only_ring >= 0) {
		key.kind = RING_BY_INDEX;
		key.nr = loss->only_ring;
	}
	return key;
}

/* Append a ring. Return: its index, or -ENOMEM after an error message. */
static int add_ring(struct loss *loss, const struct ring_key *key, const struct perf_sample_id *sid)
{
	struct loss_row row = { .cpu = -1, .tid = -1, .overwrite = key->overwrite };
	struct ring_key *keys;
	struct loss_row *rows;

	keys = realloc(loss->keys, (loss->nr + 1) * sizeof(*keys));
	loss->keys = keys ?: loss->keys;
	rows = realloc(loss->rows, (loss->nr + 1) * sizeof(*rows));
	loss->rows = rows ?: loss->rows;
	row.stats = zalloc(sizeof(*row.stats));
	if (!keys || !rows || !row.stats)
		goto nomem;

	if (key->kind == RING_BY_CPU) {
		row.cpu = key->nr;
	} else if (sid) {
		row.cpu = sid->cpu.cpu;
		row.tid = sid->tid;
	}
	if (key->kind != RING_UNKNOWN && !key->overwrite)
		row.stats->evlist = loss->session->evlist;
	if (loss->keep_timelines) {
		row.stats->timeline = zalloc(sizeof(*row.stats->timeline));
		if (!row.stats->timeline)
			goto nomem;
	}
	keys[loss->nr] = *key;
	rows[loss->nr] = row;
	return loss->nr++;
nomem:
	free(row.stats);
	pr_err("Cannot allocate the statistics of ring %d: out of memory\n", loss->nr + 1);
	return -ENOMEM;
}

/* Return the statistics of the ring that a record came from, or NULL if memory is short. */
static struct ring_stats *find_stats(struct loss *loss, const struct perf_sample *sample)
{
	const struct perf_sample_id *sid = evlist__id2sid(loss->session->evlist, sample->id);
	struct ring_key key = find_key(loss, sid, sample);
	int i;

	if (loss->nr && same_ring(&loss->keys[loss->last], &key))
		return loss->rows[loss->last].stats;
	for (i = 0; i < loss->nr && !same_ring(&loss->keys[i], &key); i++)
		;
	if (i == loss->nr)
		i = add_ring(loss, &key, sid);
	if (i < 0)
		return NULL;
	loss->last = i;
	return loss->rows[i].stats;
}

static void free_rings(struct loss *loss)
{
	while (loss->nr--) {
		free(loss->rows[loss->nr].stats->timeline);
		free(loss->rows[loss->nr].stats);
	}
	free(loss->rows);
	free(loss->keys);
}

/*
 * Add a record to the statistics of its ring. Synthesized records, which have a time of 0, were
 * never in a ring and are ignored, except the kernel's lost counters at the end of the file. These
 * are LOST_SAMPLES records, a type that also reports samples lost by the hardware. Samples that a
 * BPF filter dropped are not lost.
 */
static int count_record(const struct perf_tool *tool, union perf_event *event,
			struct perf_sample *sample, struct machine *machine __maybe_unused)
{
	struct loss *loss = container_of(tool, struct loss, tool);
	bool counter = event->header.type == PERF_RECORD_LOST_SAMPLES &&
		       (!sample->time || sample->time == -1ULL);
	struct records records = records__of(event, event->header.size);
	struct ring_stats *stats;

	if (!sample->time && !counter)
		return 0;
	if (counter && event->header.size < sizeof(event->lost_samples))
		return -EINVAL;
	if (counter && event->header.misc & PERF_RECORD_MISC_LOST_SAMPLES_BPF)
		return 0;
	stats = find_stats(loss, sample);
	if (!stats)
		return -ENOMEM;
	if (counter)
		stats->counter_lost += event->lost_samples.lost;
	else
		ring_stats__add(stats, &records, event->header.size);
	return 0;
}

/* Count a sum that was written at the end of the recording: its time is not that of a record. */
static int count_sum(const struct perf_tool *tool, union perf_event *event,
		     struct perf_sample *sample)
{
	struct loss *loss = container_of(tool, struct loss, tool);
	struct records records = records__of(event, event->header.size);
	struct ring_stats *stats = find_stats(loss, sample), sum = { 0 };

	if (!stats)
		return -ENOMEM;
	ring_stats__add(&sum, &records, event->header.size);
	ring_stats__merge(stats, &sum);
	return 0;
}

static int count_sample(const struct perf_tool *tool, union perf_event *event,
			struct perf_sample *sample, struct evsel *evsel, struct machine *machine)
{
	if (evsel__is_off_cpu(evsel))
		return count_sum(tool, event, sample);
	return count_record(tool, event, sample, machine);
}
DEFINE_SAMPLE_CALLBACK(count_sample_or_sum, count_sample)

static int read_index(struct perf_session *session, union perf_event *event)
{
	struct loss *loss = container_of(session->tool, struct loss, tool);
	const struct perf_record_id_index *index = &event->id_index;
	int err = process_id_index(session, event);
	u64 i;

	if (err)
		return err;
	for (i = 0; i < index->nr; i++) {
		if (!loss->indexed)
			loss->only_ring = index->entries[i].idx;
		else if (index->entries[i].idx != (u64)loss->only_ring)
			loss->only_ring = -1;
		loss->indexed = true;
	}
	return 0;
}
DEFINE_SESSION_CALLBACK(read_id_index, read_index)

static void init_tool(struct perf_tool *tool)
{
	event_op *const ops[] = {
		&tool->mmap, &tool->mmap2, &tool->comm, &tool->namespaces, &tool->cgroup,
		&tool->fork, &tool->exit, &tool->lost, &tool->lost_samples, &tool->aux,
		&tool->itrace_start, &tool->aux_output_hw_id, &tool->context_switch,
		&tool->throttle, &tool->unthrottle, &tool->ksymbol, &tool->bpf, &tool->text_poke,
	};
	size_t i;

	perf_tool__init(tool, /*ordered_events=*/false);
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		*ops[i] = count_record;
	tool->sample = count_sample_or_sum;
	tool->read = count_sample_or_sum;
	tool->id_index = read_id_index;
	tool->attr = perf_event__process_attr;
#ifdef HAVE_LIBTRACEEVENT
	tool->tracing_data = perf_event__process_tracing_data;
#endif
	tool->dont_split_sample_group = true;
	tool->no_warn = true;
}

static int compare_rows(const void *a, const void *b)
{
	const struct loss_row *one = a, *two = b;

	if (one->cpu != two->cpu)
		return one->cpu < two->cpu ? -1 : 1;
	if (one->tid != two->tid)
		return one->tid < two->tid ? -1 : 1;
	return !one->stats->samples - !two->stats->samples;
}

/*
 * Read the file and compute the metric. On an error, count what could be read.
 * Return: 0, or a negative errno after an error message.
 */
static int count_file(struct loss *loss)
{
	int err = perf_session__process_events(loss->session);
	u64 samples = 0, unknown;

	if (loss->nr)
		qsort(loss->rows, loss->nr, sizeof(*loss->rows), compare_rows);
	loss_metric__compute(&loss->metric, loss->rows, loss->nr);

	/* The callbacks do not get samples of unknown events; the session counts them. */
	if (loss->session->evlist)
		samples = loss->session->evlist->stats.nr_events[PERF_RECORD_SAMPLE];
	unknown = samples - min(samples, loss->metric.samples);
	loss->metric.samples += unknown;
	loss->metric.events += unknown;
	if (err || loss->session->header.truncated)
		pr_err("%s is %s: counted only the %" PRIu64 " samples before the damage.\n",
		       loss->session->data->path, err ? "damaged" : "truncated",
		       loss->metric.samples);
	return err ?: loss->session->header.truncated ? -EIO : 0;
}

static bool has_times(const struct loss *loss)
{
	return loss->metric.end > loss->metric.begin;
}

/* Return the reason why the metric cannot be computed. */
static const char *no_metric_reason(const struct loss_metric *metric)
{
	return metric->rings ? "the file does not contain the time or the ring of its records" :
			       "no event came from a ring that can be full";
}

static struct ring_stats sum_of(const struct loss *loss)
{
	struct ring_stats sum = { 0 };
	int i;

	for (i = 0; i < loss->nr; i++)
		ring_stats__merge(&sum, loss->rows[i].stats);
	return sum;
}

/* The kernel reports how often data of an AUX area are missing, but not how much. */
static void print_aux(const struct ring_stats *sum)
{
	if (sum->aux_truncated)
		printf("%-18s %14" PRIu64 "   AUX area was full\n", "AUX data lost",
		       sum->aux_truncated);
	if (sum->aux_partial)
		printf("%-18s %14" PRIu64 "\n", "AUX data with gaps", sum->aux_partial);
	if (sum->aux_collided)
		printf("%-18s %14" PRIu64 "   with another trace\n", "AUX data mixed",
		       sum->aux_collided);
}

static void print_text(const struct loss *loss)
{
	const struct loss_metric *metric = &loss->metric;
	const struct ring_stats sum = sum_of(loss);
	char name[64];

	if (has_times(loss))
		printf("%-18s %14.6f s\n", "Recorded", (metric->end - metric->begin) / 1e9);
	printf("%-18s %14" PRIu64 "\n", "Samples", metric->samples);
	printf("%-18s %14" PRIu64 "   %.2f %% of %" PRIu64 "\n", "Events lost", metric->lost,
	       percent(metric->lost, metric->events), metric->events);
	printf("%-18s %14" PRIu64 "\n", "LOST records", metric->lost_records);
	print_aux(&sum);
	if (!has_times(loss)) {
		printf("%-18s %14s   %s\n", "Data loss metric", "none", no_metric_reason(metric));
		return;
	}
	printf("%-18s %14" PRIu64 "   in %u ring%s\n", "Holes", metric->holes, metric->rings,
	       metric->rings == 1 ? "" : "s");
	printf("%-18s %14.2f %%\n", "Data loss metric", loss_metric__percent(metric));
	if (metric->worst)
		printf("%-18s %14.2f %% %s\n", "Worst ring",
		       loss_row__percent(metric->worst, metric),
		       loss_row__name(metric->worst, name, sizeof(name)));
}

/* Skip the row of counters whose ring is unknown: it has no records. */
#define for_each_ring(loss, row)							\
	for ((row) = (loss)->rows; (row) < (loss)->rows + (loss)->nr; (row)++)		\
		if ((row)->stats->records)

static void print_table(const struct loss *loss)
{
	const struct loss_row *row;
	char name[64];

	printf("\n%-20s %12s %12s %12s %9s %9s %9s\n", "Ring", "samples", "MB", "lost", "share",
	       "holes", "in holes");
	for_each_ring(loss, row) {
		const struct ring_stats *stats = row->stats;

		printf("%-20s %12" PRIu64 " %12.3f %12" PRIu64 " %7.2f %% %9" PRIu64 " %7.2f %%\n",
		       loss_row__name(row, name, sizeof(name)), stats->samples,
		       stats->bytes / 1024.0 / 1024.0, stats->lost,
		       percent(stats->lost, loss_row__events(row)), stats->holes,
		       loss_row__percent(row, &loss->metric));
	}
}

static void print_number(const char *name, u64 number)
{
	printf("\"%s\": %" PRIu64 ", ", name, number);
}

static void print_json_ring(const struct loss_row *row)
{
	const struct ring_stats *stats = row->stats;

	printf("\t\t{ \"cpu\": %d, \"tid\": %d, ", row->cpu, row->tid);
	print_number("samples", stats->samples);
	print_number("bytes", stats->bytes);
	print_number("events", loss_row__events(row));
	print_number("lost", stats->lost);
	print_number("holes", stats->holes);
	print_number("hole_ns", stats->hole_ns);
	printf("\"overwrite\": %s, \"sideband\": %s }", row->overwrite ? "true" : "false",
	       loss_row__is_sideband(row) ? "true" : "false");
}

static void print_json(const struct loss *loss)
{
	const struct loss_metric *metric = &loss->metric;
	const struct ring_stats sum = sum_of(loss);
	const struct loss_row *row;
	const char *separator = "";

	printf("{\n\t");
	print_number("elapsed_ns", metric->end - metric->begin);
	print_number("samples", metric->samples);
	print_number("events", metric->events);
	print_number("lost", metric->lost);
	print_number("lost_records", metric->lost_records);
	print_number("holes", metric->holes);
	print_number("hole_ns", metric->hole_ns);
	print_number("aux_truncated", sum.aux_truncated);
	print_number("aux_partial", sum.aux_partial);
	print_number("aux_collided", sum.aux_collided);
	if (has_times(loss))
		printf("\"metric_percent\": %.6f,\n", loss_metric__percent(metric));
	else
		printf("\"metric_percent\": null,\n");
	printf("\t\"rings\": [");
	for_each_ring(loss, row) {
		printf("%s\n", separator);
		print_json_ring(row);
		separator = ",";
	}
	printf("\n\t]\n}\n");
}

static int draw(struct loss *loss, const char *path)
{
	int err = loss_svg__save(path, loss->session->data->path, &loss->metric, loss->rows,
				 loss->nr);

	if (err)
		pr_err("Cannot write %s: %s\n", path,
		       err == -EMEDIUMTYPE ? "it is a recording" : strerror(-err));
	return err;
}

static int parse_percent(const struct option *opt, const char *arg, int unset __maybe_unused)
{
	double *limit = opt->value;
	char *end;

	*limit = strtod(arg, &end);
	if (end != arg && (!*end || !strcmp(end, "%")) && *limit >= 0 && *limit <= 100)
		return 0;
	pr_err("Cannot parse --fail-above=%s: use a percentage such as --fail-above=0.1\n", arg);
	return -1;
}

/* Return the input file that all perf commands use by default. */
static const char *default_input(void)
{
	struct stat st;

	return !fstat(STDIN_FILENO, &st) && S_ISFIFO(st.st_mode) ? "-" : "perf.data";
}

int cmd_loss(int argc, const char **argv)
{
	struct perf_data data = { .mode = PERF_DATA_MODE_READ };
	struct loss loss = { .only_ring = -1 };
	bool per_ring = false, json = false;
	const char *svg = NULL;
	double limit = 100;
	const struct option options[] = {
		OPT_STRING('i', "input", &data.path, "file",
			   "input file (default: perf.data, or standard input if it is a pipe)"),
		OPT_BOOLEAN('f', "force", &data.force,
			    "read the file even if another user owns it"),
		OPT_BOOLEAN(0, "per-cpu", &per_ring, "print one line per ring"),
		OPT_BOOLEAN(0, "json", &json, "print the numbers of all rings as JSON"),
		OPT_STRING_OPTARG(0, "svg", &svg, "file.svg",
				  "draw the losses over time (default: loss.svg)", "loss.svg"),
		OPT_CALLBACK(0, "fail-above", &limit, "percent",
			     "exit with status 1 if more than this share of the events was lost",
			     parse_percent),
		OPT_INCR('v', "verbose", &verbose, "print more messages"),
		OPT_END()
	};
	int err;

	argc = parse_options(argc, argv, options, loss_usage, 0);
	if (argc > 1 || (argc && data.path))
		usage_with_options_msg(loss_usage, options, "Cannot read more than one file.\n");
	if (argc)
		data.path = argv[0];
	if (!data.path)
		data.path = default_input();

	loss.keep_timelines = svg != NULL;
	init_tool(&loss.tool);
	loss.session = perf_session__new(&data, &loss.tool);
	if (IS_ERR(loss.session)) {
		pr_err("Cannot read %s as a perf.data file\n", data.path);
		return -1;
	}

	err = count_file(&loss);
	if (json) {
		print_json(&loss);
	} else {
		print_text(&loss);
		if (per_ring)
			print_table(&loss);
	}
	if (svg)
		err = draw(&loss, svg) ?: err;
	if (!err && percent(loss.metric.lost, loss.metric.events) > limit)
		err = ABOVE_LIMIT;
	free_rings(&loss);
	perf_session__delete(loss.session);
	return err < 0 ? -1 : err;
}
