// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <linux/kernel.h>
#include "loss_metric.h"

bool loss_row__counts(const struct loss_row *row)
{
	const struct ring_stats *stats = row->stats;

	return !row->overwrite && (stats->samples || stats->lost || stats->counter_lost);
}

bool loss_row__is_sideband(const struct loss_row *row)
{
	return !row->overwrite && !row->stats->samples;
}

u64 loss_row__events(const struct loss_row *row)
{
	const struct ring_stats *stats = row->stats;

	return stats->records - stats->lost_records + stats->lost;
}

const char *loss_row__name(const struct loss_row *row, char *name, size_t size)
{
	const char *what = row->overwrite ? ", overwritten" :
			   loss_row__is_sideband(row) ? ", side-band" : "";

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
	return percent(ns, metric->end - metric->begin) / max(rings, 1u);
}

double loss_row__percent(const struct loss_row *row, const struct loss_metric *metric)
{
	return share_of_time(metric, row->stats->hole_ns, 1);
}

double loss_metric__percent(const struct loss_metric *metric)
{
	return share_of_time(metric, metric->hole_ns, metric->rings);
}

static void add_times(struct loss_metric *metric, const struct loss_row *row)
{
	const struct ring_stats *stats = row->stats;

	if (!stats->last || row->overwrite)
		return;
	if (loss_row__counts(row) && (!metric->begin || stats->first < metric->begin))
		metric->begin = stats->first;
	metric->end = max(metric->end, stats->last);
}

/* Events that the counters have and no LOST record has were lost after the last record. */
static void close_last_hole(const struct loss_metric *metric, struct loss_row *row)
{
	struct ring_stats *stats = row->stats;

	if (stats->last && stats->counter_lost > stats->lost)
		ring_stats__lose(stats, stats->counter_lost - stats->lost, stats->last,
				 max(metric->end, stats->last));
}

static void add_row(struct loss_metric *metric, const struct loss_row *row)
{
	const struct ring_stats *stats = row->stats;

	metric->samples += stats->samples;
	metric->lost_records += stats->lost_records;
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
	u64 lost = 0, counter_lost = 0, lost_in_hw = 0;
	struct loss_row *row;

	*metric = (struct loss_metric){ 0 };
	for (row = rows; row < rows + nr; row++)
		add_times(metric, row);
	if (!metric->begin || metric->begin > metric->end)
		metric->begin = metric->end;
	for (row = rows; row < rows + nr; row++) {
		close_last_hole(metric, row);
		add_row(metric, row);
		lost += row->stats->lost;
		counter_lost += row->stats->counter_lost;
		lost_in_hw += row->stats->lost_samples;
	}
	/* Counters of events whose ring is unknown are not in @lost of any row. */
	metric->lost = max(lost, counter_lost) + lost_in_hw;
	metric->events += metric->lost - lost;
}
