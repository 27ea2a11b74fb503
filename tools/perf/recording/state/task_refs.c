// SPDX-License-Identifier: GPL-2.0-only
#include <stdint.h>
#include <stdlib.h>
#include <linux/kernel.h>
#include "recording/lib/id_map.h"
#include "task_refs.h"

void task_refs__init(struct task_refs *refs)
{
	*refs = (struct task_refs){ .oldest = UINT64_MAX };
	id_map__init(&refs->processes);
	id_map__init(&refs->tasks);
}

static void free_all(struct hashmap *map)
{
	struct hashmap_entry *entry;
	size_t bucket;

	hashmap__for_each_entry(map, entry, bucket)
		free(entry->pvalue);
	hashmap__clear(map);
}

void task_refs__exit(struct task_refs *refs)
{
	free_all(&refs->processes);
	free_all(&refs->tasks);
}

static int add(struct hashmap *map, u32 id, u64 time)
{
	struct task_ref *ref;
	int err;

	if (hashmap__find(map, id, &ref)) {
		ref->oldest = min(ref->oldest, time);
		ref->newest = max(ref->newest, time);
		return 0;
	}
	ref = malloc(sizeof(*ref));
	if (!ref)
		return -1;
	*ref = (struct task_ref){ time, time };
	err = hashmap__add(map, id, ref);
	if (err)
		free(ref);
	return err;
}

void task_refs__add(struct task_refs *refs, u32 pid, u32 tid, u64 time)
{
	if (add(&refs->processes, pid, time) || add(&refs->tasks, tid, time))
		refs->incomplete = true;
	refs->oldest = min(refs->oldest, time);
}

static const struct task_ref *find(const struct hashmap *map, u32 id)
{
	const struct task_ref *ref;

	return hashmap__find(map, id, &ref) ? ref : NULL;
}

const struct task_ref *task_refs__process(const struct task_refs *refs, u32 pid)
{
	return find(&refs->processes, pid);
}

const struct task_ref *task_refs__task(const struct task_refs *refs, u32 tid)
{
	return find(&refs->tasks, tid);
}
