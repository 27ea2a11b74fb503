// SPDX-License-Identifier: GPL-2.0-only
#include <perf/event.h>
#include "util/event.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "recording/lib/records.h"
#include "channel.h"
#include "sample_ids.h"
#include "sink.h"

/* Find the sample's id. Return: its offset in the record; 0 if the record has none. */
static size_t id_offset(const struct evlist *evlist, const struct record_iter *iter)
{
	size_t offset = sizeof(iter->header) + evlist->id_pos * sizeof(u64);

	if (iter->header.type != PERF_RECORD_SAMPLE || offset + sizeof(u64) > iter->size)
		return 0;
	return offset;
}

static bool is_foreign(struct evlist *evlist, const struct records *records,
		       const struct record_iter *iter)
{
	size_t offset = id_offset(evlist, iter);
	u64 id;

	if (!offset)
		return false;
	records__copy(records, iter->pos + offset, &id, sizeof(id));
	return !evlist__id2sid(evlist, id);
}

/* Return: the answer of the sink, or @answer if it is 0. */
static int pass(const struct records *records, struct record_sink *sink, struct ring *ring,
		int answer)
{
	int ret = records__len(records) ? sink->write(sink, records, ring) : 0;

	return ret ?: answer;
}

static int pass_restored(const struct records *records, const struct record_iter *iter,
			 struct record_sink *sink, struct ring *ring, int answer)
{
	char copy[PERF_SAMPLE_MAX_SIZE] __aligned(sizeof(u64));
	struct records restored = records__of(copy, iter->size);

	if (!ring->sw_id) {
		ring_stats__lose(&ring->stats, 1, 0, 0);
		return answer;
	}
	records__copy(records, iter->pos, copy, iter->size);
	memcpy(copy + id_offset(ring->owner->evlist, iter), &ring->sw_id, sizeof(ring->sw_id));
	return pass(&restored, sink, ring, answer);
}

int sample_ids__pass(const struct records *records, struct record_sink *sink, struct ring *ring)
{
	struct record_iter iter;
	struct records piece;
	size_t begin = 0;
	int ret = 0;

	if (!ring->sw_event)
		return sink->write(sink, records, ring);
	records__for_each(records, iter) {
		if (!is_foreign(ring->owner->evlist, records, &iter))
			continue;
		piece = records__part(records, begin, iter.pos - begin);
		ret = pass(&piece, sink, ring, ret);
		if (ret >= 0)
			ret = pass_restored(records, &iter, sink, ring, ret);
		if (ret < 0)
			return ret;
		begin = iter.pos + iter.size;
	}
	piece = records__part(records, begin, records__len(records) - begin);
	return pass(&piece, sink, ring, ret);
}
