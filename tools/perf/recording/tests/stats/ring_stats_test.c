// SPDX-License-Identifier: GPL-2.0-only
/*
 * ring_stats__add() with runs in two pieces, divided at each offset.
 * tags: fast parallel
 *
 * Prints KTAP.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <perf/event.h>

#include "recording/stats/ring_stats.h"
#include "recording/stats/timeline.h"
#include "perf/tests/tap.h"

struct evlist;

/* loss_metric_test.c tests times. */
int evlist__parse_sample_timestamp(struct evlist *evlist, union perf_event *event, u64 *time)
{
	(void)evlist, (void)event, (void)time;
	return -1;
}

#define SAMPLES 13
#define LOST 101
#define LOST_SAMPLES 1009

static size_t build(unsigned char *dst)
{
	struct perf_event_header sample = { .type = PERF_RECORD_SAMPLE, .size = 24 };
	struct perf_event_header throttle = { .type = PERF_RECORD_THROTTLE, .size = 8 };
	struct perf_record_lost lost = {
		.header = { .type = PERF_RECORD_LOST, .size = sizeof(lost) }, .lost = LOST,
	};
	struct perf_record_lost_samples lost_samples = {
		.header = { .type = PERF_RECORD_LOST_SAMPLES, .size = sizeof(lost_samples) },
		.lost = LOST_SAMPLES,
	};
	size_t pos = 0;
	int i;

	for (i = 0; i < SAMPLES; i++, pos += sample.size)
		memcpy(dst + pos, &sample, sizeof(sample));
	memcpy(dst + pos, &lost, sizeof(lost));
	pos += sizeof(lost);
	memcpy(dst + pos, &throttle, sizeof(throttle));
	pos += sizeof(throttle);
	memcpy(dst + pos, &lost_samples, sizeof(lost_samples));
	return pos + sizeof(lost_samples);
}

/* Use the heap, where the sanitizer sees each read behind the end. */
static bool counts_cut_at(const unsigned char *records, size_t len, size_t cut)
{
	unsigned char *first = malloc(cut ?: 1), *second = malloc(len - cut ?: 1);
	struct records run = { .part = { { first, cut }, { second, len - cut } } };
	struct ring_stats stats = { 0 };
	bool ok;

	memcpy(first, records, cut);
	memcpy(second, records + cut, len - cut);
	ok = ring_stats__add(&stats, &run, len) == len && stats.samples == SAMPLES &&
	     stats.records == SAMPLES + 3 && stats.lost == LOST &&
	     stats.lost_samples == LOST_SAMPLES &&
	     stats.throttles == 1 && stats.bytes == len;
	free(first);
	free(second);
	return ok;
}

/* The record of a nested event has the later time, and precedes the one it interrupted. */
static bool adds_out_of_order(void)
{
	struct {
		struct timeline		timeline;
		struct timeline_bucket	behind;
	} memory = { .behind.bytes = 4711 };
	u64 end, bytes = 0;
	int i;

	timeline__add(&memory.timeline, 1000, 2000, 8);
	end = timeline__start(&memory.timeline, TIMELINE_BUCKETS);
	timeline__add(&memory.timeline, end + 5, end - 5, 24);
	for (i = 0; i < TIMELINE_BUCKETS; i++)
		bytes += memory.timeline.bucket[i].bytes;
	return bytes == 32 && memory.behind.bytes == 4711;
}

int main(void)
{
	unsigned char records[1024] = { 0 };
	size_t len = build(records), cut;
	struct ring_stats stats = { 0 }, sum = { 0 };
	struct perf_event_header bad = { .size = 4 };
	struct records run;
	bool ok = true;

	for (cut = 0; cut <= len; cut++)
		ok = ok && counts_cut_at(records, len, cut);
	check(ok, "records are counted, wherever the ring ends");

	run = records__of(records, len - 1);
	check(ring_stats__add(&stats, &run, len - 1) ==
	      len - sizeof(struct perf_record_lost_samples) &&
	      stats.records == SAMPLES + 2, "a truncated record is not counted");

	run = records__of(records, len);
	stats = (struct ring_stats){ 0 };
	check(ring_stats__add(&stats, &run, 25) == 24 && stats.records == 1,
	      "records behind the length are not counted");

	memcpy(records + 24, &bad, sizeof(bad));
	run = records__of(records, len);
	stats = (struct ring_stats){ 0 };
	check(ring_stats__add(&stats, &run, len) == 24 && stats.records == 1,
	      "a size smaller than a header ends the count");

	ring_stats__merge(&sum, &stats);
	ring_stats__merge(&sum, &stats);
	check(sum.records == 2 && sum.bytes == 48, "merged statistics add up");

	stats = (struct ring_stats){ 0 };
	ring_stats__lose(&stats, 10, 90, 100);
	stats.counter_lost = 10;
	check(ring_stats__lost_since(&stats) == 100, "a loss ends with the record after it");
	stats.counter_lost = 15;
	check(ring_stats__lost_since(&stats) == UINT64_MAX && ring_stats__lost_since(&stats) == 100,
	      "one that has no record yet lasts, and is reported once");
	ring_stats__lose(&stats, 5, 100, 200);
	check(ring_stats__lost_since(&stats) == 100, "its record, when it comes, is no other loss");
	stats.counter_lost = 16;
	ring_stats__lose(&stats, 1, 200, 300);
	check(ring_stats__lost_since(&stats) == 300, "a later one is");

	run = records__of_ring(records, 1024, 1000, 1048);
	check(run.part[0].iov_len == 24 && run.part[1].iov_len == 24 && records__len(&run) == 48,
	      "a run across the end of the ring has two pieces");

	check(adds_out_of_order(), "times out of order stay within the timeline");

	return tap_end();
}
