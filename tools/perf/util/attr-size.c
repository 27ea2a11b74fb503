// SPDX-License-Identifier: GPL-2.0-only
/*
 * Choose the size of the attributes in a perf.data file, and read attributes of
 * any size. attr-size.h explains how the size is chosen; here are the functions
 * that depend on evlists and records.
 */
#include "attr-size.h"
#include "evlist.h"
#include "evsel.h"

/**
 * evlist__attr_size - find the attribute size of a file
 * @evlist: the events of the file; may be empty.
 *
 * The file header has a single size for all attributes, so the event with the
 * largest attribute determines it.
 *
 * Return: one of PERF_ATTR_SIZE_VER0 .. PERF_ATTR_SIZE_VER9, without the struct
 * perf_file_section that follows each attribute in the file [bytes].
 */
size_t evlist__attr_size(struct evlist *evlist)
{
	size_t largest = PERF_ATTR_SIZE_VER0;
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		size_t size = perf_event_attr__published_size(&evsel->core.attr);

		if (size > largest)
			largest = size;
	}
	return largest;
}

/**
 * perf_event__copy_attr - copy the attribute of a PERF_RECORD_HEADER_ATTR
 * @event: the record, in the byte order of this machine. Not modified.
 * @attr:  receives the attribute, zero padded, without the ids that follow it in
 *         the record.
 *
 * Return: 0, or -EINVAL if the record is too short for its attribute.
 */
int perf_event__copy_attr(const union perf_event *event, struct perf_event_attr *attr)
{
	size_t before = offsetof(struct perf_record_header_attr, attr);

	if (event->header.size < before)
		return -EINVAL;

	return perf_event_attr__copy(attr, &event->attr.attr, event->header.size - before);
}
