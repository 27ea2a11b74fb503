// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <internal/xyarray.h>
#include <linux/perf_event.h>
#include <perf/event.h>
#include <perf/evsel.h>
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/sample.h"
#include "util/synthetic-events.h"
#include "channel.h"
#include "loss.h"
#include "output.h"

static int write_lost(struct evsel *evsel, struct perf_sample_id *sid, u64 lost,
		      struct output *output)
{
	struct {
		struct perf_record_lost_samples record;
		__u64 id_sample[8];
	} event = {
		.record.header.type = PERF_RECORD_LOST_SAMPLES,
		.record.lost = lost,
	};
	struct perf_sample sample = { .id = sid ? sid->id : 0, .stream_id = sid ? sid->id : 0 };
	struct span span;
	int id_bytes = 0;

	if (sid)
		sample.cpu = sid->cpu.cpu;
	if (evsel->core.attr.sample_id_all)
		id_bytes = perf_event__synthesize_id_sample(event.id_sample,
							    evsel->core.attr.sample_type, &sample);
	event.record.header.size = sizeof(event.record) + id_bytes;
	span = span__of(&event, event.record.header.size);
	return output__write(output, &span, NULL);
}

static int note_fd(struct evsel *evsel, int cpu_idx, int thread, struct output *output, u64 *lost)
{
	struct perf_counts_values count;
	struct perf_sample_id *sid = NULL;

	if (perf_evsel__read(&evsel->core, cpu_idx, thread, &count) < 0 || !count.lost)
		return 0;
	if (evsel->core.sample_id)
		sid = xyarray__entry(evsel->core.sample_id, cpu_idx, thread);
	*lost += count.lost;
	return write_lost(evsel, sid, count.lost, output);
}

int loss__note(struct evlist *evlist, bool overwrite, struct output *output, u64 *lost)
{
	struct evsel *evsel;
	int cpu_idx, thread;
	int err;

	evlist__for_each_entry(evlist, evsel) {
		if (!(evsel->core.attr.read_format & PERF_FORMAT_LOST) || !evsel->core.fd ||
		    (evsel__channel(evsel) == CHANNEL_OVERWRITE) != overwrite)
			continue;
		evsel__for_each_fd(evsel, cpu_idx, thread) {
			err = note_fd(evsel, cpu_idx, thread, output, lost);
			if (err)
				return err;
		}
	}
	return 0;
}
