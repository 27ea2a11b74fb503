// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include "recording/lib/array.h"
#include "log.h"
#include "sb_record.h"
#include "system_wide.h"

size_t log_entry__bytes(const struct log_entry *entry)
{
	return sizeof(*entry) + sizeof(*entry->record) + entry->record->header.size;
}

bool log_entry__is_passthrough(const struct log_entry *entry)
{
	return !entry->task && !system_wide__covers(entry->record);
}

void state_log__exit(struct state_log *log)
{
	size_t i;

	for (i = 0; i < log->nr; i++)
		sb_record__put(log->entries[i].record);
	free(log->entries);
}

int state_log__add(struct state_log *log, struct sb_record *record, u32 file)
{
	struct log_entry *entry;
	int err = array__grow(&log->entries, log->nr, 1, sizeof(*log->entries), &log->capacity);

	if (err)
		return err;
	entry = &log->entries[log->nr++];
	*entry = (struct log_entry){
		.record	 = record,
		.arrival = log->nr_added++,
		.file	 = file,
	};
	log->bytes += log_entry__bytes(entry);
	return 0;
}

/*
 * Filter entries from @first to @last, and close the gap. Return: number of entries that are left
 * of them.
 */
static size_t filter_range(struct state_log *log, size_t first, size_t last, log_filter_t filter,
			   void *arg)
{
	size_t from, to = first;

	for (from = first; from < last; from++) {
		struct log_entry entry = log->entries[from];

		if (filter(arg, &entry)) {
			log->entries[to++] = entry;
		} else {
			log->bytes -= log_entry__bytes(&entry);
			sb_record__put(entry.record);
		}
	}
	if (to < last) {
		memmove(log->entries + to, log->entries + last,
			(log->nr - last) * sizeof(*log->entries));
		log->nr -= last - to;
	}
	return to - first;
}

void state_log__filter(struct state_log *log, log_filter_t filter, void *arg)
{
	log->nr_applied = filter_range(log, 0, log->nr_applied, filter, arg);
}

static int by_time(const void *a, const void *b)
{
	const struct log_entry *x = a, *y = b;

	if (x->record->time != y->record->time)
		return x->record->time < y->record->time ? -1 : 1;
	return x->arrival < y->arrival ? -1 : 1;
}

void state_log__apply(struct state_log *log, u64 time, log_filter_t filter, void *arg)
{
	size_t last = log->nr_applied;

	if (log->nr == log->nr_applied)
		return;
	qsort(log->entries + log->nr_applied, log->nr - log->nr_applied, sizeof(*log->entries),
	      by_time);
	while (last < log->nr && log->entries[last].record->time <= time)
		last++;
	log->nr_applied += filter_range(log, log->nr_applied, last, filter, arg);
}

void state_log__shrink(struct state_log *log)
{
	size_t capacity = log->nr + log->nr / 2 + 1024;
	struct log_entry *entries;

	if (capacity >= log->capacity)
		return;
	entries = realloc(log->entries, capacity * sizeof(*entries));
	if (entries) {
		log->entries = entries;
		log->capacity = capacity;
	}
}
