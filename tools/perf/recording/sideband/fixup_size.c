// SPDX-License-Identifier: GPL-2.0-only
#include <perf/event.h>
#include "util/event.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "fixup_size.h"
#include "recording/state/sb_record.h"

/* Nearly all records are of other types, and of those nothing but the header is looked at. */
static bool may_be_too_long(u32 type)
{
	return type == PERF_RECORD_KSYMBOL || type == PERF_RECORD_BPF_EVENT ||
	       type == PERF_RECORD_TEXT_POKE;
}

static bool is_wanted(const struct perf_event_attr *attr, u32 type)
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

/* Does a record that ends at @end have a sample id of @evsel? */
static bool has_id_of(struct evlist *evlist, const struct evsel *evsel, const void *end)
{
	const struct perf_sample_id *sid =
		evlist__id2sid(evlist, ((const u64 *)end)[-evlist->is_pos]);

	return sid && sid->evsel == &evsel->core;
}

/* Return: how long what was written is [bytes]; header.size if that is not known to be wrong. */
static size_t true_size(struct evlist *evlist, const union perf_event *event)
{
	size_t size = event->header.size, body = sb_record__body_size(event, size), end;
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (!evsel->core.attr.sample_id_all || !is_wanted(&evsel->core.attr, event->header.type))
			continue;
		end = body + evsel__id_hdr_size(evsel);
		if (end < size && has_id_of(evlist, evsel, (const void *)event + end))
			return end;
	}
	return size;
}

int fixup_size__drain(struct evlist *evlist, const struct records *records, drain_fn_t drain, void *arg,
		  struct ring_stats *stats)
{
	union {
		union perf_event event;
		char room[PERF_SAMPLE_MAX_SIZE];
	} copy;
	struct record_iter iter;
	struct records piece;
	size_t begin = 0, end;
	int err;

	records__for_each(records, iter) {
		if (!may_be_too_long(iter.header.type))
			continue;
		records__copy(records, iter.pos, &copy, iter.size);
		end = true_size(evlist, &copy.event);
		if (end == iter.size)
			continue;
		copy.event.header.size = end;
		piece = records__part(records, begin, iter.pos - begin);
		err = iter.pos > begin ? drain(arg, &piece, stats) : 0;
		piece = records__of(&copy, end);
		err = err ?: drain(arg, &piece, stats);
		if (err)
			return err;
		begin = iter.pos + iter.size;
	}
	piece = records__part(records, begin, records__len(records) - begin);
	return records__len(&piece) ? drain(arg, &piece, stats) : 0;
}
