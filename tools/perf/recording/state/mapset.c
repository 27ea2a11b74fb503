// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <linux/kernel.h>
#include "mapset.h"
#include "proc_maps.h"
#include "sb_record.h"

void mapset__put(struct mapset *set)
{
	if (!set || --set->refs)
		return;
	mapset__put(set->left);
	mapset__put(set->right);
	sb_record__put(set->map.record);
	free(set);
}

void mapset__visit(const struct mapset *set, mapset_visit_t visit, void *arg)
{
	if (!set)
		return;
	mapset__visit(set->left, visit, arg);
	visit(arg, &set->map);
	mapset__visit(set->right, visit, arg);
}

/* A set that is being made. Without memory parts of it are missing, and it is of no use. */
struct making {
	bool failed;
};

/* Takes over the references to @left and @right. */
static struct mapset *node(struct making *making, const struct mapping *map, struct mapset *left,
			   struct mapset *right)
{
	struct mapset *set = malloc(sizeof(*set));

	if (!set) {
		making->failed = true;
		mapset__put(left);
		mapset__put(right);
		return NULL;
	}
	*set = (struct mapset){
		.refs  = 1,
		.nr    = mapset__nr(left) + 1 + mapset__nr(right),
		.bytes = map->record->header.size,
		.map   = *map,
		.left  = left,
		.right = right,
	};
	if (left)
		set->bytes += left->bytes;
	if (right)
		set->bytes += right->bytes;
	sb_record__get(map->record);
	return set;
}

/* What lies below @addr; of a map across it the lower part. */
static struct mapset *below(struct making *making, const struct mapset *set, u64 addr)
{
	struct mapping map;

	if (!set)
		return NULL;
	if (set->map.start >= addr)
		return below(making, set->left, addr);
	map = set->map;
	map.end = min(map.end, addr);
	return node(making, &map, mapset__get(set->left), below(making, set->right, addr));
}

/* What lies above @addr; of a map across it the upper part. */
static struct mapset *above(struct making *making, const struct mapset *set, u64 addr)
{
	struct mapping map;

	if (!set)
		return NULL;
	if (set->map.end <= addr)
		return above(making, set->right, addr);
	map = set->map;
	map.start = max(map.start, addr);
	return node(making, &map, above(making, set->left, addr), mapset__get(set->right));
}

/* Two sets as one, all of @low below all of @high. Takes over the references to them. */
static struct mapset *join(struct making *making, struct mapset *low, struct mapset *high)
{
	struct mapset *set;

	if (!low)
		return high;
	if (!high)
		return low;
	if (random() % (low->nr + high->nr) < low->nr) {
		set = node(making, &low->map, mapset__get(low->left),
			   join(making, mapset__get(low->right), high));
		mapset__put(low);
	} else {
		set = node(making, &high->map, join(making, low, mapset__get(high->left)),
			   mapset__get(high->right));
		mapset__put(high);
	}
	return set;
}

/* Replaces *@pset by @set, if that could be made. */
static int replace(struct mapset **pset, struct mapset *set, const struct making *making)
{
	if (making->failed) {
		mapset__put(set);
		return -ENOMEM;
	}
	mapset__put(*pset);
	*pset = set;
	return 0;
}

int mapset__insert(struct mapset **pset, struct sb_record *record)
{
	const struct perf_record_mmap *mmap = &sb_record__event(record)->mmap;
	const struct mapping new = { mmap->start, mmap->start + mmap->len, record };
	struct making making = { .failed = false };
	struct mapset *set;

	if (new.end <= new.start)
		return 0;
	set = join(&making, below(&making, *pset, new.start), node(&making, &new, NULL, NULL));
	set = join(&making, set, above(&making, *pset, new.end));
	return replace(pset, set, &making);
}

/*
 * Asked of one map after the other, as they lie: @at is the first range that may be in the next. The
 * kernel tells of maps that cannot be executed, if it does, with PERF_RECORD_MISC_MMAP_DATA.
 */
static bool is_there(const struct proc_maps *proc_maps, size_t *at, const struct mapping *map)
{
	bool data = map->record->header.misc & PERF_RECORD_MISC_MMAP_DATA;
	size_t i;

	if (map->record->time >= proc_maps->read_time)
		return true;
	while (*at < proc_maps->nr && proc_maps->range[*at].end <= map->start)
		++*at;
	for (i = *at; i < proc_maps->nr && proc_maps->range[i].start < map->end; i++) {
		if (data || proc_maps->range[i].exec)
			return true;
	}
	return false;
}

static struct mapset *pruned(struct making *making, struct mapset *set,
			     const struct proc_maps *proc_maps, size_t *at)
{
	struct mapset *left, *right;
	bool there;

	if (!set)
		return NULL;
	left = pruned(making, set->left, proc_maps, at);
	there = is_there(proc_maps, at, &set->map);
	right = pruned(making, set->right, proc_maps, at);
	if (!there)
		return join(making, left, right);
	if (left != set->left || right != set->right)
		return node(making, &set->map, left, right);
	mapset__put(left);
	mapset__put(right);
	return mapset__get(set);
}

int mapset__prune(struct mapset **pset, const struct proc_maps *proc_maps)
{
	struct making making = { .failed = false };
	size_t at = 0;

	return replace(pset, pruned(&making, *pset, proc_maps, &at), &making);
}
