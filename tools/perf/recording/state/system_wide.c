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

static struct thing thing_of(const struct tracked *record)
{
	const union perf_event *event = tracked__event(record);

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
	struct thing thing = thing_of((const struct tracked *)key);

	return thing.id * 31 + thing.type;
}

static bool same_thing(long a, long b, void *ctx __maybe_unused)
{
	struct thing x = thing_of((const struct tracked *)a);
	struct thing y = thing_of((const struct tracked *)b);

	return x.id == y.id && x.type == y.type && x.pid == y.pid;
}

void globals__init(struct globals *globals)
{
	*globals = (struct globals){ 0 };
	INIT_LIST_HEAD(&globals->list);
	hashmap__init(&globals->by_thing, hash_thing, same_thing, NULL);
}

static void forget(struct globals *globals, struct global *global)
{
	hashmap__delete(&globals->by_thing, global->record, NULL, NULL);
	globals->nr_cgroups -= global->record->header.type == PERF_RECORD_CGROUP;
	list_del(&global->node);
	tracked__put(global->record);
	free(global);
}

void globals__exit(struct globals *globals)
{
	struct global *global, *next;

	list_for_each_entry_safe(global, next, &globals->list, node)
		forget(globals, global);
	hashmap__clear(&globals->by_thing);
}

bool globals__knows(const struct tracked *record)
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

static bool is_end(const struct tracked *record)
{
	const union perf_event *event = tracked__event(record);

	switch (record->header.type) {
	case PERF_RECORD_KSYMBOL:
		return event->ksymbol.flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	case PERF_RECORD_BPF_EVENT:
		return event->bpf.type == PERF_BPF_EVENT_PROG_UNLOAD;
	default:
		return false;
	}
}

static void forget_oldest_cgroup(struct globals *globals)
{
	struct global *global;

	globals__for_each(globals, global) {
		if (global->record->header.type != PERF_RECORD_CGROUP)
			continue;
		forget(globals, global);
		globals->given_up++;
		return;
	}
}

void globals__apply(struct globals *globals, struct tracked *record, u32 file)
{
	struct global *global;
	bool told = false;

	if (hashmap__find(&globals->by_thing, record, &global)) {
		told = global->file == globals->file;
		forget(globals, global);
	}
	if (is_end(record) && (!told || file == globals->file))
		return;

	global = malloc(sizeof(*global));
	if (!global || hashmap__add(&globals->by_thing, record, global)) {
		free(global);
		globals->given_up++;
		return;
	}
	global->record = tracked__get(record);
	global->file = file;
	list_add_tail(&global->node, &globals->list);

	globals->nr_cgroups += record->header.type == PERF_RECORD_CGROUP;
	if (globals->nr_cgroups > GLOBALS_MAX_CGROUPS)
		forget_oldest_cgroup(globals);
}

void globals__begin_file(struct globals *globals, u32 file)
{
	struct global *global, *next;

	list_for_each_entry_safe(global, next, &globals->list, node) {
		if (is_end(global->record))
			forget(globals, global);
	}
	globals->file = file;
}
