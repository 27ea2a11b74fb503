// SPDX-License-Identifier: GPL-2.0-only
#include "util/evlist.h"
#include "util/evsel.h"
#include "recording/lib/records.h"
#include "recording/ring/sink.h"
#include "sb_record.h"
#include "fixup.h"

static bool may_be_oversized(u32 type)
{
	return type == PERF_RECORD_KSYMBOL || type == PERF_RECORD_BPF_EVENT ||
	       type == PERF_RECORD_TEXT_POKE;
}

static bool wants_build_ids(struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel->core.attr.build_id)
			return true;
	}
	return false;
}

static bool claims_build_id(const struct perf_event_header *header)
{
	return header->type == PERF_RECORD_MMAP2 && header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID;
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
		if (!evsel->core.attr.sample_id_all ||
		    !event_wants(&evsel->core.attr, event->header.type))
			continue;
		end = body + evsel__id_hdr_size(evsel);
		if (end < size && has_id_of(evlist, evsel, (const void *)event + end))
			return end;
	}
	return size;
}

/* Most records need no more than a look at the header. */
static bool may_be_wrong(struct evlist *evlist, const struct perf_event_header *header)
{
	return may_be_oversized(header->type) ||
	       (claims_build_id(header) && !wants_build_ids(evlist));
}

/* Correct the header. Return: whether it was wrong. */
static bool fix_header(struct evlist *evlist, union perf_event *event)
{
	const struct perf_event_header before = event->header;

	if (claims_build_id(&before))
		event->header.misc &= ~PERF_RECORD_MISC_MMAP_BUILD_ID;
	else
		event->header.size = written_size(evlist, event);
	return event->header.size != before.size || event->header.misc != before.misc;
}

/* All these records begin with the pid of the task. No such record is about the idle task. */
static bool is_of_outsider(const struct records *records, const struct record_iter *iter)
{
	u32 pid;

	switch (iter->header.type) {
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_NAMESPACES:
		break;
	default:
		return false;
	}
	if (iter->size < sizeof(iter->header) + sizeof(pid))
		return false;
	records__copy(records, iter->pos + sizeof(iter->header), &pid, sizeof(pid));
	return !pid;
}

int fixup__pass(struct evlist *evlist, const struct records *records, union fixup_copy *copy,
		struct record_sink *sink, struct ring *ring)
{
	size_t begin = 0;
	struct record_iter iter;
	struct records piece;
	bool drop;
	int err;

	records__for_each(records, iter) {
		drop = is_of_outsider(records, &iter);
		if (!drop && !may_be_wrong(evlist, &iter.header))
			continue;
		if (!drop)
			records__copy(records, iter.pos, copy, iter.size);
		if (!drop && !fix_header(evlist, &copy->event))
			continue;
		piece = records__part(records, begin, iter.pos - begin);
		err = iter.pos > begin ? sink->write(sink, &piece, ring) : 0;
		if (err < 0)
			return err;
		begin = iter.pos + iter.size;
		if (drop)
			continue;
		piece = records__of(copy, copy->event.header.size);
		err = sink->write(sink, &piece, ring);
		if (err < 0)
			return err;
	}
	piece = records__part(records, begin, records__len(records) - begin);
	err = records__len(&piece) ? sink->write(sink, &piece, ring) : 0;
	return err < 0 ? err : 0;
}
