// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <linux/zalloc.h>
#include "util/debug.h"
#include "recording/ring/channel.h"
#include "loss_report.h"
#include "recording/stats/loss_svg.h"
#include "recording/stats/timeline.h"

static int add_channel(struct loss_report *report, struct channel *channel, struct evlist *evlist)
{
	struct ring *ring;

	channel__for_each_ring(channel, ring) {
		struct loss_row *row = &report->rows[report->nr++];

		row->stats = &ring->stats;
		row->cpu = ring->map.cpu.cpu;
		row->tid = channel__ring_tid(channel, evlist, ring);
		row->overwrite = channel__overwrites(channel);
		if (!report->path || channel__overwrites(channel))
			continue;
		ring->stats.timeline = zalloc(sizeof(*ring->stats.timeline));
		if (!ring->stats.timeline)
			return -ENOMEM;
	}
	return 0;
}

/* Fail before the recording, not after it. The file is written at the end. */
static int check_path(const char *path)
{
	char *copy = strdup(path);
	struct stat st;
	int err = 0;

	if (!copy)
		return -ENOMEM;
	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		err = -EISDIR;
	else if (eaccess(path, W_OK) && (errno != ENOENT || eaccess(dirname(copy), W_OK | X_OK)))
		err = -errno;
	free(copy);
	return err;
}

int loss_report__init(struct loss_report *report, struct channels *channels, struct evlist *evlist)
{
	int kind, nr = 0, err = 0;

	if (report->path)
		err = check_path(report->path);
	if (err) {
		pr_err("Cannot write %s for --loss-report: %s\n", report->path, strerror(-err));
		return err;
	}
	for (kind = 0; kind < NR_CHANNELS; kind++)
		nr += channels->channel[kind].nr_mapped;
	report->rows = calloc(nr, sizeof(*report->rows));
	if (!report->rows)
		err = -ENOMEM;
	for (kind = 0; kind < NR_CHANNELS && !err; kind++)
		err = add_channel(report, &channels->channel[kind], evlist);
	if (err)
		pr_err("Cannot allocate memory for the statistics of %d rings.\n", nr);
	return err;
}

void loss_report__finish(struct loss_report *report, const char *title)
{
	int err;

	loss_metric__compute(&report->metric, report->rows, report->nr);
	if (!report->path)
		return;
	err = loss_svg__save(report->path, title, &report->metric, report->rows, report->nr);
	if (err)
		pr_err("Cannot write %s for --loss-report: %s\n", report->path,
		       err == -EMEDIUMTYPE ? "it is a recording" : strerror(-err));
}

void loss_report__exit(struct loss_report *report)
{
	struct loss_row *row;

	for (row = report->rows; row < report->rows + report->nr; row++)
		zfree(&row->stats->timeline);
	zfree(&report->rows);
	report->nr = 0;
}
