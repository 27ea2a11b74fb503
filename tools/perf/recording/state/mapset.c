// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <linux/kernel.h>
#include "mapset.h"
#include "proc_maps.h"
#include "sb_record.h"

static size_t nr_nodes;

size_t mapsets__bytes(void)
{
	return nr_nodes * (sizeof(struct mapset) + 2 * sizeof(size_t));	/* malloc() adds as much */
}

void mapset__put(struct mapset *set)
{
	if (!set || --set->refcount)
		return;
	mapset__put(set->left);
	mapset__put(set->right);
	sb_record__put(set->map.record);
	free(set);
	nr_nodes--;
}

void mapset__visit(const struct mapset *set, mapset_visit_t visit, void *arg)
{
	if (!set)
		return;
	mapset__visit(set->left, visit, arg);
	visit(arg, &set->map);
	mapset__visit(set->right, visit, arg);
}

/*
 * Construction of a new set. After a failed allocation the set is incomplete and must be dropped.
 */
struct build {
	bool failed;
};

/* Create a node. It takes over the references to @left and @right. */
static struct mapset *new_node(struct build *build, const struct mapping *map,
			       struct mapset *left, struct mapset *right)
{
	struct mapset *set = malloc(sizeof(*set));

	if (!set) {
		build->failed = true;
		mapset__put(left);
		mapset__put(right);
		return NULL;
	}
	*set = (struct mapset){
		.refcount = 1,
		.nr	  = mapset__nr(left) + 1 + mapset__nr(right),
		.bytes	  = map->record->header.size,
		.map	  = *map,
		.left	  = left,
		.right	  = right,
	};
	if (left)
		set->bytes += left->bytes;
	if (right)
		set->bytes += right->bytes;
	sb_record__get(map->record);
	nr_nodes++;
	return set;
}

/* Return: the maps below @addr, with the lower part of a map across it. */
static struct mapset *below(struct build *build, const struct mapset *set, u64 addr)
{
	struct mapping map;

	if (!set)
		return NULL;
	if (set->map.start >= addr)
		return below(build, set->left, addr);
	map = set->map;
	map.end = min(map.end, addr);
	return new_node(build, &map, mapset__get(set->left), below(build, set->right, addr));
}

/* Return: the maps above @addr, with the upper part of a map across it. */
static struct mapset *above(struct build *build, const struct mapset *set, u64 addr)
{
	struct mapping map;

	if (!set)
		return NULL;
	if (set->map.end <= addr)
		return above(build, set->right, addr);
	map = set->map;
	map.start = max(map.start, addr);
	return new_node(build, &map, above(build, set->left, addr), mapset__get(set->right));
}

/* Join two sets, all of @low being below all of @high. Take over the references to both. */
static struct mapset *join(struct build *build, struct mapset *low, struct mapset *high)
{
	struct mapset *set;

	if (!low)
		return high;
	if (!high)
		return low;
	if (random() % (low->nr + high->nr) < low->nr) {
		set = new_node(build, &low->map, mapset__get(low->left),
			       join(build, mapset__get(low->right), high));
		mapset__put(low);
	} else {
		set = new_node(build, &high->map, join(build, low, mapset__get(high->left)),
			       mapset__get(high->right));
		mapset__put(high);
	}
	return set;
}

/* Replace *@pset by @set, if that is complete. */
static int replace(struct mapset **pset, struct mapset *set, const struct build *build)
{
	if (build->failed) {
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
	struct build build = { .failed = false };
	struct mapset *set;

	if (new.end <= new.start)
		return 0;
	set = join(&build, below(&build, *pset, new.start), new_node(&build, &new, NULL, NULL));
	set = join(&build, set, above(&build, *pset, new.end));
	return replace(pset, set, &build);
}

/*
 * Is @map to be kept? To be called for maps by ascending address: *@first is the index of the first
 * range that the next one may overlap. Records of maps without PROT_EXEC have
 * PERF_RECORD_MISC_MMAP_DATA.
 */
static bool is_mapped(const struct proc_maps *proc_maps, size_t *first, const struct mapping *map)
{
	bool data = map->record->header.misc & PERF_RECORD_MISC_MMAP_DATA;
	size_t i;

	if (map->record->time >= proc_maps->read_time)
		return true;
	while (*first < proc_maps->nr && proc_maps->range[*first].end <= map->start)
		++*first;
	for (i = *first; i < proc_maps->nr && proc_maps->range[i].start < map->end; i++) {
		if (data || proc_maps->range[i].exec)
			return true;
	}
	return false;
}

static struct mapset *prune(struct build *build, struct mapset *set,
			    const struct proc_maps *proc_maps, size_t *first)
{
	struct mapset *left, *right;
	bool mapped;

	if (!set)
		return NULL;
	left = prune(build, set->left, proc_maps, first);
	mapped = is_mapped(proc_maps, first, &set->map);
	right = prune(build, set->right, proc_maps, first);
	if (!mapped)
		return join(build, left, right);
	if (left != set->left || right != set->right)
		return new_node(build, &set->map, left, right);
	mapset__put(left);
	mapset__put(right);
	return mapset__get(set);
}

int mapset__prune(struct mapset **pset, const struct proc_maps *proc_maps)
{
	struct build build = { .failed = false };
	size_t first = 0;

	return replace(pset, prune(&build, *pset, proc_maps, &first), &build);
}
