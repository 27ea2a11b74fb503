// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <internal/xyarray.h>
#include <linux/perf_event.h>
#include <linux/zalloc.h>
#include <perf/event.h>
#include <perf/evsel.h>
#include "util/bpf-filter.h"
#include "util/counts.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/sample.h"
#include "util/synthetic-events.h"
#include "bpf_ring.h"
#include "channel.h"
#include "lost_counters.h"
#include "recording/lib/evsel.h"

static int add_record(struct lost_counters *counters, struct evsel *evsel,
		      const struct perf_sample_id *sid, u64 lost, u16 misc)
{
	struct {
		struct perf_record_lost_samples record;
		__u64 id_sample[8];
	} event = {
		.record.header.type = PERF_RECORD_LOST_SAMPLES,
		.record.header.misc = misc,
		.record.lost = lost,
	};
	struct perf_sample sample = { .id = sid ? sid->id : 0, .stream_id = sid ? sid->id : 0 };
	int id_bytes = 0;
	void *records;

	if (sid)
		sample.cpu = sid->cpu.cpu;
	if (evsel->core.attr.sample_id_all)
		id_bytes = perf_event__synthesize_id_sample(event.id_sample,
							    evsel->core.attr.sample_type, &sample);
	event.record.header.size = sizeof(event.record) + id_bytes;

	records = realloc(counters->records, counters->bytes + event.record.header.size);
	if (!records)
		return -ENOMEM;
	memcpy(records + counters->bytes, &event, event.record.header.size);
	counters->records = records;
	counters->bytes += event.record.header.size;
	return 0;
}

/* Kernels before 6.0 have no counters of perf's own events. */
static bool has_counter(const struct evsel *evsel)
{
	return evsel__is_bpf_written(evsel) ||
	       evsel->core.attr.read_format & PERF_FORMAT_LOST;
}

static int count_fd(struct lost_counters *counters, struct ring *ring, struct evsel *evsel,
		    int cpu_idx, int thread)
{
	struct perf_counts_values *before = perf_counts(evsel->counts, cpu_idx, thread);
	struct perf_counts_values now = { 0 };
	struct perf_sample_id *sid = NULL;
	u64 lost;

	if (evsel__is_bpf_written(evsel))
		now.lost = thread ? 0 : bpf_ring__lost(evsel, cpu_idx);
	else if (perf_evsel__read(&evsel->core, cpu_idx, thread, &now) < 0)
		return 0;
	if (now.lost == before->lost)
		return 0;
	lost = now.lost - before->lost;
	*before = now;
	if (evsel->core.sample_id)
		sid = xyarray__entry(evsel->core.sample_id, cpu_idx, thread);
	ring->stats.counter_lost += lost;
	return add_record(counters, evsel, sid, lost, 0);
}

int lost_counters__read(struct lost_counters *counters, struct channels *channels,
			struct evlist *evlist, bool overwrite)
{
	enum channel_kind kind;
	struct evsel *evsel;
	struct ring *ring;
	int cpu_idx, thread, fd, err;

	evlist__for_each_entry(evlist, evsel) {
		kind = evsel__channel(evsel);
		if (!has_counter(evsel) || !evsel->core.fd ||
		    channel__overwrites(&channels->channel[kind]) != overwrite)
			continue;
		if (!evsel->counts && evsel__alloc_counts(evsel))
			return -ENOMEM;
		evsel__for_each_fd(evsel, cpu_idx, thread, fd) {
			ring = channels__ring(channels, evlist, evsel, cpu_idx, thread);
			err = count_fd(counters, ring, evsel, cpu_idx, thread);
			if (err)
				return err;
		}
	}
	return 0;
}

int lost_counters__read_filtered(struct lost_counters *counters, struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		u64 filtered = perf_bpf_filter__lost_count(evsel);
		struct perf_sample_id *sid = NULL;
		int err = 0;

		if (evsel->core.sample_id)
			sid = xyarray__entry(evsel->core.sample_id, 0, 0);
		if (filtered)
			err = add_record(counters, evsel, sid, filtered,
					 PERF_RECORD_MISC_LOST_SAMPLES_BPF);
		if (err)
			return err;
	}
	return 0;
}

void lost_counters__clear(struct lost_counters *counters)
{
	zfree(&counters->records);
	counters->bytes = 0;
}
