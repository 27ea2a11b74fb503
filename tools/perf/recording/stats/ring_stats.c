// SPDX-License-Identifier: GPL-2.0-only
#include <perf/event.h>
#include "util/event.h"
#include "util/evlist.h"
#include "ring_stats.h"
#include "timeline.h"

/* The u64 at @offset of the record at @pos, or 0 if the record is too short for it. */
static u64 field(const struct span *span, size_t pos, const struct perf_event_header *header,
		 size_t offset)
{
	u64 value = 0;

	if (header->size >= offset + sizeof(value))
		span__copy(span, pos + offset, &value, sizeof(value));
	return value;
}

/* The time of the record at @pos [ns], or 0 if it has none, or it does not matter. */
static u64 time_at(const struct account *account, const struct span *span, size_t pos)
{
	struct perf_event_header header;
	union {
		union perf_event event;
		char room[PERF_SAMPLE_MAX_SIZE];
	} copy;
	union perf_event *event;
	u64 time;

	if (!account->evlist)
		return 0;
	event = span__at(span, pos, span__header(span, pos, &header), &copy);
	if (evlist__parse_sample_timestamp(account->evlist, event, &time) || time == -1ULL)
		return 0;
	return time;
}

/* No loss lies between the record at @start and the one at @last, which ends at @end. */
static void note_times(struct account *account, const struct span *span, size_t start, size_t last,
		       size_t end)
{
	u64 from, to = time_at(account, span, last);

	if (!to)
		return;
	account->last = to;
	if (account->first && !account->timeline)
		return;
	from = time_at(account, span, start) ?: to;
	if (!account->first)
		account->first = from;
	if (account->timeline)
		timeline__add(account->timeline, from, to, end - start);
}

static void note_aux(struct account *account, u64 flags)
{
	account->aux_truncated += !!(flags & PERF_AUX_FLAG_TRUNCATED);
	account->aux_partial += !!(flags & PERF_AUX_FLAG_PARTIAL);
	account->aux_collided += !!(flags & PERF_AUX_FLAG_COLLISION);
}

size_t account__add(struct account *account, const struct span *span, size_t len)
{
	size_t pos = 0, last = 0, start = 0, size;
	struct perf_event_header header;

	while ((size = span__header(span, pos, &header)) && pos + size <= len) {
		account->records++;
		switch (header.type) {
		case PERF_RECORD_SAMPLE:
			account->samples++;
			break;
		case PERF_RECORD_LOST:
			if (start < pos)
				note_times(account, span, start, last, pos);
			start = pos;
			account->lost_records++;
			account__lose(account,
				      field(span, pos, &header,
					    offsetof(struct perf_record_lost, lost)),
				      account->last, time_at(account, span, pos));
			break;
		case PERF_RECORD_LOST_SAMPLES:
			account->lost_samples += field(span, pos, &header,
					offsetof(struct perf_record_lost_samples, lost));
			break;
		case PERF_RECORD_THROTTLE:
			account->throttles++;
			break;
		case PERF_RECORD_AUX:
			note_aux(account, field(span, pos, &header,
						offsetof(struct perf_record_aux, flags)));
			break;
		default:
			break;
		}
		last = pos;
		pos += size;
	}
	if (start < pos)
		note_times(account, span, start, last, pos);
	account->bytes += pos;
	return pos;
}

void account__lose(struct account *account, u64 lost, u64 before, u64 at)
{
	account->lost += lost;
	if (!at)
		return;
	if (!before || before > at)
		before = at;
	account->holes++;
	account->hole_ns += at - before;
	if (account->timeline)
		timeline__lose(account->timeline, before, at, lost);
}

void account__merge(struct account *account, const struct account *from)
{
	account->records += from->records;
	account->samples += from->samples;
	account->lost_records += from->lost_records;
	account->lost += from->lost;
	account->counted += from->counted;
	account->lost_samples += from->lost_samples;
	account->throttles += from->throttles;
	account->aux_truncated += from->aux_truncated;
	account->aux_partial += from->aux_partial;
	account->aux_collided += from->aux_collided;
	account->bytes += from->bytes;
}
