// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <linux/kernel.h>
#include "system_wide.h"
#include "sb_record.h"

/* What a record is about. Kernel maps of guests have the guest's pid. */
struct thing {
	u32	type;
	u32	pid;
	u64	id;
};

static struct thing thing_of(const struct sb_record *record)
{
	const union perf_event *event = sb_record__event(record);

	switch (record->header.type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return (struct thing){ PERF_RECORD_MMAP, event->mmap.pid, event->mmap.start };
	case PERF_RECORD_KSYMBOL:
		return (struct thing){ PERF_RECORD_KSYMBOL, 0, event->ksymbol.addr };
	case PERF_RECORD_BPF_EVENT:
		return (struct thing){ PERF_RECORD_BPF_EVENT, 0, event->bpf.id };
	case PERF_RECORD_CGROUP:
		return (struct thing){ PERF_RECORD_CGROUP, 0, event->cgroup.id };
	default:
		return (struct thing){ PERF_RECORD_TEXT_POKE, 0, event->text_poke.addr };
	}
}

static size_t hash_thing(long key, void *ctx __maybe_unused)
{
	struct thing thing = thing_of((const struct sb_record *)key);

	return thing.id * 31 + thing.type;
}

static bool same_thing(long a, long b, void *ctx __maybe_unused)
{
	struct thing x = thing_of((const struct sb_record *)a);
	struct thing y = thing_of((const struct sb_record *)b);

	return x.id == y.id && x.type == y.type && x.pid == y.pid;
}

void system_wide__init(struct system_wide *system_wide)
{
	*system_wide = (struct system_wide){ 0 };
	INIT_LIST_HEAD(&system_wide->list);
	hashmap__init(&system_wide->by_thing, hash_thing, same_thing, NULL);
}

static void forget(struct system_wide *system_wide, struct global *global)
{
	hashmap__delete(&system_wide->by_thing, global->record, NULL, NULL);
	system_wide->nr_cgroups -= global->record->header.type == PERF_RECORD_CGROUP;
	list_del(&global->node);
	sb_record__put(global->record);
	free(global);
}

void system_wide__exit(struct system_wide *system_wide)
{
	struct global *global, *next;

	list_for_each_entry_safe(global, next, &system_wide->list, node)
		forget(system_wide, global);
	hashmap__clear(&system_wide->by_thing);
}

bool system_wide__knows(const struct sb_record *record)
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

static bool is_end(const struct sb_record *record)
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

static void forget_oldest_cgroup(struct system_wide *system_wide)
{
	struct global *global;

	system_wide__for_each(system_wide, global) {
		if (global->record->header.type != PERF_RECORD_CGROUP)
			continue;
		forget(system_wide, global);
		system_wide->nr_dropped++;
		return;
	}
}

void system_wide__apply(struct system_wide *system_wide, struct sb_record *record, u32 file)
{
	struct global *global;
	bool told = false;

	if (hashmap__find(&system_wide->by_thing, record, &global)) {
		told = global->file == system_wide->file;
		forget(system_wide, global);
	}
	if (is_end(record) && (!told || file == system_wide->file))
		return;

	global = malloc(sizeof(*global));
	if (!global || hashmap__add(&system_wide->by_thing, record, global)) {
		free(global);
		system_wide->nr_dropped++;
		return;
	}
	global->record = sb_record__get(record);
	global->file = file;
	list_add_tail(&global->node, &system_wide->list);

	system_wide->nr_cgroups += record->header.type == PERF_RECORD_CGROUP;
	if (system_wide->nr_cgroups > GLOBALS_MAX_CGROUPS)
		forget_oldest_cgroup(system_wide);
}

void system_wide__begin_file(struct system_wide *system_wide, u32 file)
{
	struct global *global, *next;

	list_for_each_entry_safe(global, next, &system_wide->list, node) {
		if (is_end(global->record))
			forget(system_wide, global);
	}
	system_wide->file = file;
}
