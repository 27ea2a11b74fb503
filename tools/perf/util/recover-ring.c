// SPDX-License-Identifier: GPL-2.0-only
/* Recover overwrite events from an image of memory, for perf inject. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <linux/compiler.h>
#include <linux/types.h>
#include <perf/recover.h>
#include "util/debug.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/recover-image.h"
#include "util/recover-ring.h"
#include "util/session.h"
#include "util/tool.h"

static int drop_sample(const struct perf_tool *tool __maybe_unused,
		       union perf_event *event __maybe_unused,
		       struct perf_sample *sample __maybe_unused,
		       struct evsel *evsel __maybe_unused,
		       struct machine *machine __maybe_unused)
{
	return 0;
}

static int drop_round(const struct perf_tool *tool __maybe_unused,
		      union perf_event *event __maybe_unused,
		      struct ordered_events *oe __maybe_unused)
{
	return 0;
}

int recover_ring__prepare(struct evlist *evlist, struct perf_tool *tool)
{
	struct evsel *evsel;
	bool any = false;

	/* Files describe events from rings with trailers as write_backward, too. */
	evlist__for_each_entry(evlist, evsel) {
		if (!evsel->core.attr.write_backward)
			continue;
		if (!evsel->core.ids || evsel->id_pos < 0 || evsel->is_pos < 0) {
			pr_err("Cannot recover %s: the file has no ids of its records.\n",
			       evsel__name(evsel));
			return -EINVAL;
		}
		evsel->handler = drop_sample;
		any = true;
	}
	if (!any) {
		pr_err("Cannot recover events: the input has no overwritten events (perf record\n"
		       "-e EVENT/overwrite/). Use -i with a file of the same recording.\n");
		return -EINVAL;
	}
	tool->finished_round = drop_round;
	return 0;
}

int recover_ring__process_file(struct perf_session *session)
{
	return session->header.data_size ? perf_session__process_events(session) : 0;
}

/* All events of a session have the id at the same position, or perf could not read its files. */
static int collect_ids(struct evlist *evlist, struct perf_recovery_ids *ids)
{
	struct evsel *evsel;
	__u64 *all;
	u32 i;

	*ids = (struct perf_recovery_ids){ 0 };
	evlist__for_each_entry(evlist, evsel)
		ids->nr += evsel->core.ids;
	ids->ids = all = calloc(ids->nr, sizeof(*all));
	if (!all)
		return -ENOMEM;
	ids->nr = 0;
	evlist__for_each_entry(evlist, evsel) {
		if (!evsel->core.attr.write_backward)
			continue;
		for (i = 0; i < evsel->core.ids; i++)
			all[ids->nr++] = evsel->core.id[i];
		ids->id_pos = evsel->id_pos;
		ids->is_pos = evsel->is_pos;
	}
	return 0;
}

static int report(const struct perf_recovery_stats *stats, const char *path)
{
	if (!stats->records) {
		pr_err("No record of these events is in %s. perf can recover rings only if the\n"
		       "kernel has PERF_SAMPLE_SIZE_AT_END (see perf record -v), and needs a file of\n"
		       "the same recording.\n", path);
		return -ENOENT;
	}
	fprintf(stderr, "[ perf inject: Recovered %" PRIu64 " records from %" PRIu64 " rings with %"
		PRIu64 " gaps; dropped %" PRIu64 " copies and %" PRIu64 " doubtful records ]\n",
		(u64)stats->records, (u64)stats->rings, (u64)stats->gaps, (u64)stats->copies,
		(u64)stats->doubtful);
	return 0;
}

static int process_image(const struct recover_image *image, const struct perf_recovery_ids *ids,
			 const char *path, const struct perf_tool *tool,
			 int (*process)(const struct perf_tool *tool, union perf_event *event),
			 struct perf_recovery_stats *stats)
{
	struct perf_recovery *recovery = perf_recovery__new(image->data, image->size, ids);
	union perf_event *event;
	int err = 0;

	if (!recovery) {
		err = -errno;
		pr_err("Cannot search %s: %s\n", path, strerror(-err));
		return err;
	}
	while (!err && (event = perf_recovery__read_event(recovery)))
		err = process(tool, event);
	if (err)
		pr_err("Cannot write what is recovered from %s: %s\n", path, strerror(-err));
	perf_recovery__stats(recovery, stats);
	perf_recovery__delete(recovery);
	return err;
}

int recover_ring__process(struct evlist *evlist, const char *path, const struct perf_tool *tool,
			  int (*process)(const struct perf_tool *tool, union perf_event *event))
{
	struct perf_recovery_stats stats = { 0 };
	struct perf_recovery_ids ids;
	struct recover_image image;
	int err = recover_image__map(&image, path);

	if (err)
		return err;
	err = collect_ids(evlist, &ids);
	err = err ?: process_image(&image, &ids, path, tool, process, &stats);
	err = err ?: report(&stats, path);
	free((void *)ids.ids);
	recover_image__unmap(&image);
	return err;
}
