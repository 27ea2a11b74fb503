// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include "system_wide.h"
#include "sb_record.h"

/* Identifies what a record is about. Kernel maps of a guest have the pid of the guest. */
struct object {
	u32	type;
	u32	pid;
	u64	id;
};

static struct object object_of(const struct sb_record *record)
{
	const union perf_event *event = sb_record__event(record);

	switch (record->header.type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return (struct object){ PERF_RECORD_MMAP, event->mmap.pid, event->mmap.start };
	case PERF_RECORD_KSYMBOL:
		return (struct object){ PERF_RECORD_KSYMBOL, 0, event->ksymbol.addr };
	case PERF_RECORD_BPF_EVENT:
		return (struct object){ PERF_RECORD_BPF_EVENT, 0, event->bpf.id };
	case PERF_RECORD_CGROUP:
		return (struct object){ PERF_RECORD_CGROUP, 0, event->cgroup.id };
	default:
		return (struct object){ PERF_RECORD_TEXT_POKE, 0, event->text_poke.addr };
	}
}

static size_t hash_object(long key, void *ctx __maybe_unused)
{
	struct object object = object_of((const struct sb_record *)key);

	return object.id * 31 + object.type;
}

static bool is_same_object(long a, long b, void *ctx __maybe_unused)
{
	struct object x = object_of((const struct sb_record *)a);
	struct object y = object_of((const struct sb_record *)b);

	return x.id == y.id && x.type == y.type && x.pid == y.pid;
}

void system_wide__init(struct system_wide *system_wide)
{
	*system_wide = (struct system_wide){ 0 };
	INIT_LIST_HEAD(&system_wide->list);
	hashmap__init(&system_wide->by_object, hash_object, is_same_object, NULL);
}

static void drop(struct system_wide *system_wide, struct system_wide_record *entry)
{
	hashmap__delete(&system_wide->by_object, entry->record, NULL, NULL);
	system_wide->nr_cgroups -= entry->record->header.type == PERF_RECORD_CGROUP;
	list_del(&entry->node);
	sb_record__put(entry->record);
	free(entry);
}

void system_wide__exit(struct system_wide *system_wide)
{
	struct system_wide_record *entry, *next;

	list_for_each_entry_safe(entry, next, &system_wide->list, node)
		drop(system_wide, entry);
	hashmap__clear(&system_wide->by_object);
}

bool system_wide__covers(const struct sb_record *record)
{
	switch (record->header.type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return (record->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) !=
		       PERF_RECORD_MISC_USER;
	case PERF_RECORD_KSYMBOL:
	case PERF_RECORD_BPF_EVENT:
	case PERF_RECORD_CGROUP:
	case PERF_RECORD_TEXT_POKE:
		return true;
	default:
		return false;
	}
}

static bool is_removal(const struct sb_record *record)
{
	const union perf_event *event = sb_record__event(record);

	switch (record->header.type) {
	case PERF_RECORD_KSYMBOL:
		return event->ksymbol.flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	case PERF_RECORD_BPF_EVENT:
		return event->bpf.type == PERF_BPF_EVENT_PROG_UNLOAD;
	default:
		return false;
	}
}

static void drop_oldest_cgroup(struct system_wide *system_wide)
{
	struct system_wide_record *entry;

	system_wide__for_each(system_wide, entry) {
		if (entry->record->header.type != PERF_RECORD_CGROUP)
			continue;
		drop(system_wide, entry);
		system_wide->nr_dropped++;
		return;
	}
}

void system_wide__apply(struct system_wide *system_wide, struct sb_record *record, u32 file)
{
	struct system_wide_record *entry;
	bool in_file = false;

	if (hashmap__find(&system_wide->by_object, record, &entry)) {
		in_file = entry->file && entry->file >= system_wide->first_file;
		drop(system_wide, entry);
	}
	if (is_removal(record) && (!in_file || file == system_wide->file))
		return;

	entry = malloc(sizeof(*entry));
	if (!entry || hashmap__add(&system_wide->by_object, record, entry)) {
		free(entry);
		system_wide->nr_dropped++;
		return;
	}
	entry->record = sb_record__get(record);
	entry->file = file;
	list_add_tail(&entry->node, &system_wide->list);

	system_wide->nr_cgroups += record->header.type == PERF_RECORD_CGROUP;
	if (system_wide->nr_cgroups > SYSTEM_WIDE_MAX_CGROUPS)
		drop_oldest_cgroup(system_wide);
}

void system_wide__begin_file(struct system_wide *system_wide, u32 file)
{
	struct system_wide_record *entry, *next;

	list_for_each_entry_safe(entry, next, &system_wide->list, node) {
		if (is_removal(entry->record))
			drop(system_wide, entry);
	}
	system_wide->file = system_wide->first_file = file;
}

void system_wide__rewrite_file(struct system_wide *system_wide, u32 file)
{
	system_wide->file = file;
}

const char *system_wide__cgroup(const struct system_wide *system_wide, u64 id)
{
	const struct system_wide_record *entry;

	system_wide__for_each(system_wide, entry) {
		const union perf_event *event = sb_record__event(entry->record);

		if (event->header.type == PERF_RECORD_CGROUP && event->cgroup.id == id)
			return event->cgroup.path;
	}
	return NULL;
}
