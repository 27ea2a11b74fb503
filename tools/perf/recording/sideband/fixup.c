// SPDX-License-Identifier: GPL-2.0-only
#include <perf/event.h>
#include "util/event.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "recording/lib/records.h"
#include "recording/ring/drain.h"
#include "recording/state/sb_record.h"
#include "fixup.h"

/* Nearly all records have other types: of those, read only the header. */
static bool may_be_oversized(u32 type)
{
	return type == PERF_RECORD_KSYMBOL || type == PERF_RECORD_BPF_EVENT ||
	       type == PERF_RECORD_TEXT_POKE;
}

static bool event_wants(const struct perf_event_attr *attr, u32 type)
{
	switch (type) {
	case PERF_RECORD_KSYMBOL:
		return attr->ksymbol;
	case PERF_RECORD_BPF_EVENT:
		return attr->bpf_event;
	default:
		return attr->text_poke;
	}
}

/* Does a sample id of @evsel end at @end? */
static bool has_id_of(struct evlist *evlist, const struct evsel *evsel, const void *end)
{
	const struct perf_sample_id *sid =
		evlist__id2sid(evlist, ((const u64 *)end)[-evlist->is_pos]);

	return sid && sid->evsel == &evsel->core;
}

/* Return: bytes that the kernel wrote; header.size unless it is known to be wrong. */
static size_t written_size(struct evlist *evlist, const union perf_event *event)
{
	size_t size = event->header.size, body = sb_record__body_size(event, size), end;
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (!evsel->core.attr.sample_id_all || !event_wants(&evsel->core.attr, event->header.type))
			continue;
		end = body + evsel__id_hdr_size(evsel);
		if (end < size && has_id_of(evlist, evsel, (const void *)event + end))
			return end;
	}
	return size;
}

int fixup__pass(struct evlist *evlist, const struct records *records, struct record_sink *sink,
		     struct ring *ring)
{
	union {
		union perf_event event;
		char bytes[PERF_SAMPLE_MAX_SIZE];
	} copy;
	size_t begin = 0, written;
	struct record_iter iter;
	struct records piece;
	int err;

	records__for_each(records, iter) {
		if (!may_be_oversized(iter.header.type))
			continue;
		records__copy(records, iter.pos, &copy, iter.size);
		written = written_size(evlist, &copy.event);
		if (written == iter.size)
			continue;
		copy.event.header.size = written;
		piece = records__part(records, begin, iter.pos - begin);
		err = iter.pos > begin ? sink->write(sink, &piece, ring) : 0;
		if (err < 0)
			return err;
		piece = records__of(&copy, written);
		err = sink->write(sink, &piece, ring);
		if (err < 0)
			return err;
		begin = iter.pos + iter.size;
	}
	piece = records__part(records, begin, records__len(records) - begin);
	err = records__len(&piece) ? sink->write(sink, &piece, ring) : 0;
	return err < 0 ? err : 0;
}
