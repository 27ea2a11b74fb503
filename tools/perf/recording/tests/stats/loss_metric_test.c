// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holes and the data loss metric of rings with known times, read in pieces of all sizes.
 * tags: fast parallel
 *
 * Prints KTAP.
 */
#include <stdlib.h>
#include <string.h>
#include <perf/event.h>

#include "recording/stats/loss_metric.h"
#include "recording/stats/timeline.h"
#include "perf/tests/tap.h"

struct evlist;
static struct evlist *const with_times = (void *)-1;

/* The time is the last field of these records. */
int evlist__parse_sample_timestamp(struct evlist *evlist, union perf_event *event, u64 *time)
{
	memcpy(time, (void *)event + event->header.size - sizeof(*time), sizeof(*time));
	return evlist == with_times ? 0 : -1;
}

struct script {
	unsigned char	bytes[4096];
	size_t		len;
	size_t		end[64];	/* offset behind each record */
	unsigned int	nr;
};

static void put(struct script *script, u32 type, u64 lost, u64 time)
{
	struct {
		struct perf_record_lost	lost;
		u64			time;
	} record = {
		.lost.header = { .type = type, .size = sizeof(record) },
		.lost.lost = lost,
		.time = time,
	};

	memcpy(script->bytes + script->len, &record, sizeof(record));
	script->len += sizeof(record);
	script->end[script->nr++] = script->len;
}

#define SAMPLE(time)		put(&script, PERF_RECORD_SAMPLE, 0, time)
#define LOST(nr, time)		put(&script, PERF_RECORD_LOST, nr, time)

/* Two holes: from 1200 to 1500 and from 1600 to 2000. */
static struct script two_holes(void)
{
	struct script script = { .len = 0 };

	SAMPLE(1000);
	SAMPLE(1200);
	LOST(7, 1500);
	SAMPLE(1500);
	SAMPLE(1600);
	LOST(13, 2000);
	SAMPLE(2000);
	SAMPLE(2100);
	return script;
}

static bool has_two_holes(const struct ring_stats *stats)
{
	return stats->samples == 6 && stats->lost_records == 2 && stats->lost == 20 &&
	       stats->holes == 2 && stats->hole_ns == 300 + 400 &&
	       stats->first == 1000 && stats->last == 2100;
}

/* Read a ring in all possible pieces of whole records, with the end of the ring at each offset. */
static bool same_in_all_pieces(const struct script *script)
{
	unsigned int cuts, i;

	for (cuts = 0; cuts < 1u << (script->nr - 1); cuts++) {
		struct ring_stats stats = { .evlist = with_times };
		size_t pos = 0;

		for (i = 0; i < script->nr; i++) {
			size_t len = script->end[i] - pos, first = (cuts * 11 + i * 5) % (len + 1);
			void *piece = (void *)script->bytes + pos;
			struct records run = { .part = { { piece, first },
						       { piece + first, len - first } } };

			if (i + 1 < script->nr && !(cuts & 1u << i))
				continue;
			if (ring_stats__add(&stats, &run, len) != len)
				return false;
			pos += len;
		}
		if (!has_two_holes(&stats))
			return false;
	}
	return true;
}

static void test_holes(void)
{
	struct script script = two_holes();
	struct ring_stats stats = { 0 };
	struct records run = records__of(script.bytes, script.len);

	check(same_in_all_pieces(&script),
	      "a hole is counted from the record before it to LOST, whatever the pieces");

	ring_stats__add(&stats, &run, script.len);
	check(stats.lost == 20 && !stats.holes && !stats.first && !stats.last,
	      "without times lost events are counted, but no holes");

	script = (struct script){ .len = 0 };
	LOST(5, 1000);
	SAMPLE(1000);
	stats = (struct ring_stats){ .evlist = with_times };
	run = records__of(script.bytes, script.len);
	ring_stats__add(&stats, &run, script.len);
	check(stats.lost == 5 && stats.holes == 1 && !stats.hole_ns && stats.first == 1000,
	      "a hole before the first record has no length");

	script = (struct script){ .len = 0 };
	SAMPLE(1001);
	LOST(5, 1000);
	stats = (struct ring_stats){ .evlist = with_times };
	run = records__of(script.bytes, script.len);
	ring_stats__add(&stats, &run, script.len);
	check(stats.holes == 1 && !stats.hole_ns,
	      "a hole has no negative length if times are out of order");
}

/* A ring with a sample at @first, one at @last, and a hole of @hole_ns between them. */
static struct ring_stats ring(u64 first, u64 last, u64 hole_ns, u64 lost)
{
	return (struct ring_stats){ .records = 3, .samples = 2, .lost_records = 1, .lost = lost,
				 .holes = 1, .hole_ns = hole_ns, .first = first, .last = last,
				 .evlist = with_times };
}

static bool is(double value, double expected)
{
	return value > expected - 1e-9 && value < expected + 1e-9;
}

static void test_one_ring(void)
{
	struct ring_stats stats = ring(1000, 2000, 300, 10);
	struct loss_row row = { .stats = &stats, .cpu = 3, .tid = -1 };
	struct loss_metric metric;
	char name[32];

	loss_metric__compute(&metric, &row, 1);
	check(is(loss_metric__percent(&metric), 30) && metric.lost == 10 && metric.events == 12 &&
	      metric.samples == 2 && metric.holes == 1 && metric.worst == &row,
	      "the metric of one ring is lost time / elapsed time");
	check(!strcmp(loss_row__name(&row, name, sizeof(name)), "CPU 3"),
	      "a ring is named after its CPU");

	stats = ring(1000, 2000, 300, 10);
	stats.evlist = NULL;
	stats.first = stats.last = 0;
	loss_metric__compute(&metric, &row, 1);
	check(metric.lost == 10 && metric.begin == metric.end && loss_metric__percent(&metric) == 0,
	      "without times lost events are counted, and the metric is 0");
}

static void test_tail(void)
{
	struct ring_stats busy = ring(1000, 5000, 0, 0), full = ring(1000, 4000, 500, 10);
	struct loss_row rows[] = {
		{ .stats = &busy, .cpu = 0, .tid = -1 },
		{ .stats = &full, .cpu = 1, .tid = -1 },
	};
	struct loss_metric metric;

	full.counter_lost = 17;
	loss_metric__compute(&metric, rows, 2);
	check(full.lost == 17 && full.holes == 2 && full.hole_ns == 500 + 1000,
	      "events that only the counters have make a hole from the last record to the end");
	check(metric.lost == 17 && is(loss_metric__percent(&metric), 100.0 * 1500 / (2 * 4000)),
	      "the last hole counts in the metric");
	loss_metric__compute(&metric, rows, 2);
	check(full.hole_ns == 1500 && metric.lost == 17,
	      "computing again does not add the last hole again");

	busy.counter_lost = 0;
	full.counter_lost = 5;
	loss_metric__compute(&metric, rows, 2);
	check(metric.lost == 17, "LOST records count if the counters have less");
}

static void test_which_count(void)
{
	struct ring_stats stream = ring(2000, 3000, 400, 4), overwritten = ring(500, 9000, 0, 0);
	struct ring_stats idle = { .records = 9, .first = 1000, .last = 4000 };
	struct ring_stats elsewhere = { .counter_lost = 11 };
	struct loss_row rows[] = {
		{ .stats = &idle, .cpu = 0, .tid = -1 },
		{ .stats = &overwritten, .cpu = 0, .tid = -1, .overwrite = true },
		{ .stats = &stream, .cpu = 0, .tid = -1 },
		{ .stats = &elsewhere, .cpu = -1, .tid = -1 },
	};
	struct loss_metric metric;
	char name[32];

	overwritten.lost_records = 0;
	loss_metric__compute(&metric, rows, 3);
	check(metric.rings == 1 && metric.begin == 2000 && metric.end == 4000 &&
	      is(loss_metric__percent(&metric), 20),
	      "rings with side-band only and overwrite rings do not count");
	check(metric.samples == 4 && metric.events == 2 + 4 + 3,
	      "events of overwrite rings are counted");
	check(!strcmp(loss_row__name(&rows[0], name, sizeof(name)), "CPU 0, side-band") &&
	      !strcmp(loss_row__name(&rows[1], name, sizeof(name)), "CPU 0, overwritten"),
	      "names tell side-band and overwrite rings");

	loss_metric__compute(&metric, rows, 4);
	check(metric.lost == 11 && metric.events == 9 + 7,
	      "counters of an unknown ring are not added to the loss of other rings");

	idle.lost = 1;
	loss_metric__compute(&metric, rows, 3);
	check(metric.rings == 2 && metric.begin == 1000,
	      "a ring with side-band only counts if it lost events");
}

static void test_timeline(void)
{
	struct timeline *timeline = calloc(1, sizeof(*timeline));
	u64 bytes = 0, lost = 0, hole_ns = 0, time = 123456789, largest = 0;
	unsigned int i, used = 0;

	for (i = 0; i < 100000; i++) {
		timeline__add(timeline, time, time + i % 7 * 1000, 100 + i % 13);
		bytes += 100 + i % 13;
		timeline__lose(timeline, time, time + i * 3, i);
		lost += i;
		hole_ns += i * 3;
		time += i * 10;
	}
	for (i = 0; i < TIMELINE_BUCKETS; i++) {
		struct timeline_bucket *bucket = &timeline->bucket[i];

		bytes -= bucket->bytes;
		lost -= bucket->lost;
		hole_ns -= bucket->hole_ns;
		used += bucket->bytes != 0;
		if (bucket->hole_ns > largest)
			largest = bucket->hole_ns;
	}
	check(!bytes && !lost && !hole_ns, "a timeline keeps exact sums when buckets are doubled");
	check(used >= TIMELINE_BUCKETS / 2,
	      "at least half of the buckets are in use after doubling");
	check(largest <= 1ull << timeline->shift, "no bucket has more holes than time");
	check(timeline__start(timeline, 0) <= 123456789 &&
	      timeline__start(timeline, TIMELINE_BUCKETS) > time - 1000000,
	      "the buckets cover all times");

	memset(timeline, 0, sizeof(*timeline));
	timeline__add(timeline, 3ull << 14, 3ull << 14, 1);
	timeline__add(timeline, 4ull << 14, 4ull << 14, 10);
	timeline__add(timeline, 5ull << 14, 5ull << 14, 100);
	timeline__coarsen(timeline, 15);
	check(timeline->first == 1 && timeline->bucket[0].bytes == 1 &&
	      timeline->bucket[1].bytes == 110,
	      "buckets are merged on a grid that begins at time 0");

	timeline__add(timeline, 5, 5, 1000);
	timeline__add(timeline, 5, 4ull << 14, 10000);
	check(timeline->bucket[0].bytes + timeline->bucket[1].bytes == 11111,
	      "a time before the first bucket is counted in it");

	timeline__fill(timeline, 4ull << 14, 3000, 4096);
	timeline__fill(timeline, 4ull << 14, 1000, 4096);
	check(timeline->bucket[1].fill == 3000 * TIMELINE_FULL / 4096,
	      "a bucket keeps the highest fill level");

	timeline__lose(timeline, 4ull << 14, ~0ull >> 1, 5);
	check(timeline->shift > 50, "a timeline of three hundred years has the same size");
	free(timeline);
}

/* Sums of all buckets */
static struct timeline_bucket sum(const struct timeline *timeline)
{
	struct timeline_bucket sum = { 0 };
	unsigned int i;

	for (i = 0; i < TIMELINE_BUCKETS; i++)
		timeline_bucket__add(&sum, &timeline->bucket[i]);
	return sum;
}

/* Times and counts of a damaged file can have any value. */
static void test_extreme_times(void)
{
	struct timeline *timeline = calloc(1, sizeof(*timeline));
	const u64 last = ~0ull - 1, first = 1ull << 56;

	timeline__add(timeline, first, first, 1);
	timeline__add(timeline, first, last, 1000);
	timeline__add(timeline, last, last, 100);
	timeline__lose(timeline, last - 10, last, 5);
	check(timeline__start(timeline, TIMELINE_BUCKETS) > last &&
	      sum(timeline).bytes == 1101 && sum(timeline).hole_ns == 10 && sum(timeline).lost == 5,
	      "a timeline reaches to the end of time");
	check(timeline->bucket[(last >> timeline->shift) - timeline->first].bytes >= 100,
	      "the last time has a bucket");

	memset(timeline, 0, sizeof(*timeline));
	timeline__lose(timeline, 0, ~0ull, ~0ull);
	check(sum(timeline).hole_ns == ~0ull && sum(timeline).lost == ~0ull,
	      "a timeline spreads the largest numbers");
	free(timeline);
}

static void test_times_out_of_order(void)
{
	struct ring_stats stats = ring(2000, 1000, 300, 10);
	struct loss_row row = { .stats = &stats, .cpu = 0, .tid = -1 };
	struct loss_metric metric;

	loss_metric__compute(&metric, &row, 1);
	check(metric.begin == metric.end && loss_metric__percent(&metric) == 0 &&
	      loss_row__percent(&row, &metric) == 0,
	      "the elapsed time is not negative if the last record has an earlier time");
}

static void test_long_time(void)
{
	struct ring_stats stats[4];
	struct loss_row rows[4];
	struct loss_metric metric;
	int i;

	for (i = 0; i < 4; i++) {
		stats[i] = ring(1, (1ull << 62) + 1, 1ull << 60, 1);
		rows[i] = (struct loss_row){ .stats = &stats[i], .cpu = i, .tid = -1 };
	}
	loss_metric__compute(&metric, rows, 4);
	check(is(loss_metric__percent(&metric), 25), "the time of all rings may exceed 64 bits");
}

int main(void)
{
	test_holes();
	test_one_ring();
	test_tail();
	test_which_count();
	test_timeline();
	test_extreme_times();
	test_times_out_of_order();
	test_long_time();
	return tap_end();
}
