/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keep the maps of a process: what is still mapped of its own and its inherited MMAP records.
 *
 * Maps are ordered by address and do not overlap. A child begins with the set of its parent, and
 * most of both sets stays the same. So a set is an immutable tree. Changing a set means creating
 * another one: it has new nodes on the path from the root to the change, and shares all other
 * nodes:
 *
 *	A		A'		Insert D: A' and C' are new as well.
 *     / \	       / \		Both sets share node B.
 *    B   C	      B   C'
 *			   \
 *			    D
 *
 * So a fork costs a reference, and a new map costs a few nodes. The tree is balanced at random, for
 * any order of addresses: Martinez and Roura, "Randomized binary search trees", J. ACM 45, 1998.
 * The empty set is NULL.
 *
 * The kernel sends no record for munmap(). A map leaves the set when newer ones cover it, with
 * exec(), or when /proc/PID/maps does not show it (stale_maps.h).
 *
 * Not for several threads.
 */
#ifndef PERF_RECORDING_MAPSET_H
#define PERF_RECORDING_MAPSET_H

#include <linux/types.h>

struct proc_maps;
struct sb_record;

/**
 * struct mapping - a map, or a part of it that newer maps do not cover
 * @start, @end: addresses
 * @record:	the MMAP or MMAP2 record, whose range contains [@start, @end); a reference
 */
struct mapping {
	u64		 start;
	u64		 end;
	struct sb_record	*record;
};

/**
 * struct mapset - a node, which stands for the set of the maps in its subtree
 * @refcount:	number of references, from parent nodes and from owners of the set
 * @nr:		number of maps in the set
 * @bytes:	size that their records have in a file [bytes]
 * @map:	map of this node
 * @left, @right: subtrees with lower and with higher addresses; NULL if empty
 */
struct mapset {
	u32		 refcount;
	u32		 nr;
	size_t		 bytes;
	struct mapping	 map;
	struct mapset	*left;
	struct mapset	*right;
};

/**
 * mapset__insert - insert a map, and remove what it covers
 * @set:	the caller's reference to the set; replaced by one to the new set
 * @record:	MMAP or MMAP2; the set takes a reference of its own. An empty map is ignored.
 *
 * Return: 0, or -ENOMEM; then the set is unchanged.
 */
int mapset__insert(struct mapset **set, struct sb_record *record);

/**
 * mapset__prune - remove maps that are older than @proc_maps and not in it
 * @set:	as for mapset__insert()
 *
 * Return: as mapset__insert().
 */
int mapset__prune(struct mapset **set, const struct proc_maps *proc_maps);

typedef void (*mapset_visit_t)(void *arg, const struct mapping *map);

/** mapset__visit - call @visit for all maps, by ascending address; @set may be NULL */
void mapset__visit(const struct mapset *set, mapset_visit_t visit, void *arg);

static inline u32 mapset__nr(const struct mapset *set)
{
	return set ? set->nr : 0;
}

static inline struct mapset *mapset__get(struct mapset *set)
{
	if (set)
		set->refcount++;
	return set;
}

/** mapset__put - drop a reference; @set may be NULL */
void mapset__put(struct mapset *set);

/** mapsets__bytes - return the memory that all sets take without their records [bytes] */
size_t mapsets__bytes(void);

#endif
