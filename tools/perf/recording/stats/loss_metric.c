// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <linux/kernel.h>
#include "loss_metric.h"

bool loss_row__counts(const struct loss_row *row)
{
	const struct ring_stats *stats = row->stats;

	return !row->overwrite && (stats->samples || stats->lost || stats->counted);
}

u64 loss_row__events(const struct loss_row *row)
{
	const struct ring_stats *stats = row->stats;

	return stats->records - stats->lost_records + stats->lost;
}

const char *loss_row__name(const struct loss_row *row, char *name, size_t size)
{
	const char *what = row->overwrite ? ", overwritten" :
			   row->stats->samples ? "" : ", side-band";

	if (row->cpu >= 0)
		snprintf(name, size, "CPU %d%s", row->cpu, what);
	else if (row->tid >= 0)
		snprintf(name, size, "thread %d%s", row->tid, what);
	else
		snprintf(name, size, "all rings");
	return name;
}

static double share_of_time(const struct loss_metric *metric, u64 ns, unsigned int rings)
{
	return percent(ns, (metric->end - metric->begin) * rings);
}

double loss_metric__of(const struct loss_metric *metric, const struct loss_row *row)
{
	return share_of_time(metric, row->stats->hole_ns, 1);
}

double loss_metric__percent(const struct loss_metric *metric)
{
	return share_of_time(metric, metric->hole_ns, metric->rings);
}

static void note_times(struct loss_metric *metric, const struct loss_row *row)
{
	const struct ring_stats *stats = row->stats;

	if (!stats->last || row->overwrite)
		return;
	if (loss_row__counts(row) && (!metric->begin || stats->first < metric->begin))
		metric->begin = stats->first;
	metric->end = max(metric->end, stats->last);
}

/* What the counters know of and no LOST record told was lost after the last one. */
static void close_last_hole(const struct loss_metric *metric, struct loss_row *row)
{
	struct ring_stats *stats = row->stats;

	if (stats->last && stats->counted > stats->lost)
		ring_stats__lose(stats, stats->counted - stats->lost, stats->last,
			      max(metric->end, stats->last));
}

static void add_row(struct loss_metric *metric, const struct loss_row *row)
{
	const struct ring_stats *stats = row->stats;

	metric->samples += stats->samples;
	metric->records += stats->lost_records;
	if (row->overwrite || loss_row__counts(row))
		metric->events += loss_row__events(row);
	if (!loss_row__counts(row))
		return;
	metric->rings++;
	metric->holes += stats->holes;
	metric->hole_ns += stats->hole_ns;
	if (stats->hole_ns > (metric->worst ? metric->worst->stats->hole_ns : 0))
		metric->worst = row;
}

void loss_metric__compute(struct loss_metric *metric, struct loss_row *rows, int nr)
{
	u64 lost = 0, counted = 0, lost_in_hw = 0;
	struct loss_row *row;

	*metric = (struct loss_metric){ 0 };
	for (row = rows; row < rows + nr; row++)
		note_times(metric, row);
	if (!metric->begin)
		metric->begin = metric->end;
	for (row = rows; row < rows + nr; row++) {
		close_last_hole(metric, row);
		add_row(metric, row);
		lost += row->stats->lost;
		counted += row->stats->counted;
		lost_in_hw += row->stats->lost_samples;
	}
	/* Counters that are of no ring known to us have not become part of what was lost. */
	metric->lost = max(lost, counted) + lost_in_hw;
	metric->events += metric->lost - lost;
}
