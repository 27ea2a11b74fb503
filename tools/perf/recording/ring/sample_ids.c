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

/*
 * Describe the sample with another id: what is before the id, the new one, and what is behind. A
 * ring wraps once, so one of both may have a second part.
 */
static struct records with_id(const struct records *records, const struct record_iter *iter,
			      size_t offset, u64 *id)
{
	size_t behind = offset + sizeof(*id);
	struct records before = records__part(records, iter->pos, offset);
	struct records after = records__part(records, iter->pos + behind, iter->size - behind);
	int nr = before.part[1].iov_len ? 2 : 1;

	before.part[nr] = (struct iovec){ id, sizeof(*id) };
	before.part[nr + 1] = after.part[0];
	if (nr == 1)
		before.part[3] = after.part[1];
	return before;
}

static int pass_restored(const struct records *records, const struct record_iter *iter,
			 struct record_sink *sink, struct ring *ring, int answer)
{
	struct records restored;

	if (!ring->sw_id) {
		ring_stats__lose(&ring->stats, 1, 0, 0);
		return answer;
	}
	restored = with_id(records, iter, id_offset(ring->owner->evlist, iter), &ring->sw_id);
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
