// SPDX-License-Identifier: GPL-2.0-only
#include <stdint.h>
#include <linux/kernel.h>
#include <perf/event.h>
#include "util/event.h"
#include "util/evlist.h"
#include "ring_stats.h"
#include "timeline.h"

/* Return: the u64 at @offset of the record at @pos, or 0 if the record is too short. */
static u64 field(const struct records *records, size_t pos, const struct perf_event_header *header,
		 size_t offset)
{
	u64 value = 0;

	if (header->size >= offset + sizeof(value))
		records__copy(records, pos + offset, &value, sizeof(value));
	return value;
}

u64 evlist__record_time(struct evlist *evlist, union perf_event *event)
{
	u64 time;

	return evlist__parse_sample_timestamp(evlist, event, &time) || time == -1ULL ? 0 : time;
}

/* Return: the time of the record at @pos [ns], or 0 if it has none or if times are not counted. */
static u64 time_at(const struct ring_stats *stats, const struct records *records, size_t pos)
{
	struct perf_event_header header;
	union {
		union perf_event event;
		char bytes[PERF_SAMPLE_MAX_SIZE];
	} copy;

	if (!stats->evlist)
		return 0;
	return evlist__record_time(stats->evlist, records__at(records, pos,
				   records__header(records, pos, &header), &copy));
}

/*
 * Count the times of records from @start to @last, which ends at @end: no loss lies between them.
 */
static void count_times(struct ring_stats *stats, const struct records *records, size_t start,
			size_t last, size_t end)
{
	u64 from, to = time_at(stats, records, last);

	if (!to)
		return;
	stats->last = stats->run_last = to;
	if (stats->run_first && !stats->timeline)
		return;
	from = start < last ? time_at(stats, records, start) ?: to : to;
	stats->first = stats->first ?: from;
	stats->run_first = stats->run_first ?: from;
	if (stats->timeline)
		timeline__add(stats->timeline, from, to, end - start);
}

static void count_aux(struct ring_stats *stats, u64 flags)
{
	stats->aux_truncated += !!(flags & PERF_AUX_FLAG_TRUNCATED);
	stats->aux_partial += !!(flags & PERF_AUX_FLAG_PARTIAL);
	stats->aux_collided += !!(flags & PERF_AUX_FLAG_COLLISION);
}

size_t ring_stats__add(struct ring_stats *stats, const struct records *records, size_t len)
{
	size_t last = 0, start = 0;
	struct record_iter iter;

	stats->run_first = stats->run_last = 0;
	records__for_each(records, iter) {
		if (iter.pos + iter.size > len)
			break;
		stats->records++;
		stats->max_size = max_t(u32, stats->max_size, iter.size);
		switch (iter.header.type) {
		case PERF_RECORD_SAMPLE:
			stats->samples++;
			break;
		case PERF_RECORD_LOST:
			if (start < iter.pos)
				count_times(stats, records, start, last, iter.pos);
			start = iter.pos;
			stats->lost_records++;
			ring_stats__lose(stats,
					 field(records, iter.pos, &iter.header,
					       offsetof(struct perf_record_lost, lost)),
					 stats->last, time_at(stats, records, iter.pos));
			break;
		case PERF_RECORD_LOST_SAMPLES:
			stats->lost_samples += field(records, iter.pos, &iter.header,
					offsetof(struct perf_record_lost_samples, lost));
			stats->lost_at = time_at(stats, records, iter.pos) ?: stats->lost_at;
			break;
		case PERF_RECORD_THROTTLE:
			stats->throttles++;
			break;
		case PERF_RECORD_AUX:
			count_aux(stats, field(records, iter.pos, &iter.header,
					       offsetof(struct perf_record_aux, flags)));
			break;
		default:
			break;
		}
		last = iter.pos;
	}
	if (start < iter.pos)
		count_times(stats, records, start, last, iter.pos);
	stats->bytes += iter.pos;
	return iter.pos;
}

void ring_stats__lose(struct ring_stats *stats, u64 lost, u64 before, u64 at)
{
	stats->lost += lost;
	if (!at)
		return;
	if (stats->lost > stats->lost_noted)
		stats->lost_at = at;
	if (!before || before > at)
		before = at;
	stats->holes++;
	stats->hole_ns += at - before;
	if (stats->timeline)
		timeline__lose(stats->timeline, before, at, lost);
}

u64 ring_stats__lost_since(struct ring_stats *stats)
{
	if (stats->counter_lost <= max(stats->lost, stats->lost_noted))
		return stats->lost_at;
	stats->lost_noted = stats->counter_lost;
	return UINT64_MAX;
}

void ring_stats__merge(struct ring_stats *stats, const struct ring_stats *from)
{
	stats->records += from->records;
	stats->samples += from->samples;
	stats->lost_records += from->lost_records;
	stats->lost += from->lost;
	stats->counter_lost += from->counter_lost;
	stats->lost_samples += from->lost_samples;
	stats->throttles += from->throttles;
	stats->aux_truncated += from->aux_truncated;
	stats->aux_partial += from->aux_partial;
	stats->aux_collided += from->aux_collided;
	stats->bytes += from->bytes;
}
