/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The maps of a process: what is visible of the MMAP records that it has and has inherited.
 *
 * Ordered by address, without overlap. A child begins with its parent's set, and most of what both
 * have stays the same: so a set is a tree of which nothing is ever changed. To change a set is to make
 * another one, with new nodes on the way from the root to what changes, that shares the others:
 *
 *	A		A'		D is new; so are A' and C', for the sake of it.
 *     / \	       / \		B is one node, in both.
 *    B   C	      B   C'
 *			   \
 *			    D
 *
 * So a fork costs a reference, and a map some nodes. The tree is kept flat by chance, whatever the
 * addresses are: Martinez and Roura, "Randomized binary search trees", J. ACM 45, 1998. The empty set
 * is NULL.
 *
 * Nobody tells when a map goes; it goes here when another one takes its place, with exec, or when a
 * proc_maps of what there is (proc_maps.h) does not find it.
 */
#ifndef PERF_RECORDING_MAPSET_H
#define PERF_RECORDING_MAPSET_H

#include <linux/types.h>

struct proc_maps;
struct sb_record;

/**
 * struct mapping - a map, or what newer ones left of it
 * @start, @end: addresses
 * @record:	the MMAP or MMAP2 record; it may be of more than [@start, @end). A reference.
 */
struct mapping {
	u64		 start;
	u64		 end;
	struct sb_record	*record;
};

/**
 * struct mapset - a node, and the set of it and all below it
 * @refs:	references: of parents, and of who has the set
 * @nr:		number of maps in the set
 * @bytes:	what they are in a file [bytes]
 * @map:	of this node
 * @left, @right: those of lower and of higher addresses
 */
struct mapset {
	u32		 refs;
	u32		 nr;
	size_t		 bytes;
	struct mapping	 map;
	struct mapset	*left;
	struct mapset	*right;
};

/**
 * mapset__insert - put a map over what is there
 * @set:	the reference to the set; replaced by one to the new set
 * @record:	MMAP or MMAP2; referred to if need be. One that maps nothing is ignored.
 *
 * Return: 0, or -ENOMEM: then the set is as it was.
 */
int mapset__insert(struct mapset **set, struct sb_record *record);

/**
 * mapset__prune - drop maps that were before @proc_maps and are not in it
 * @set:	as for mapset__insert()
 *
 * Return: as mapset__insert().
 */
int mapset__prune(struct mapset **set, const struct proc_maps *proc_maps);

typedef void (*mapset_visit_t)(void *arg, const struct mapping *map);

/** mapset__visit - all maps, in the order of their addresses; @set may be NULL */
void mapset__visit(const struct mapset *set, mapset_visit_t visit, void *arg);

static inline u32 mapset__nr(const struct mapset *set)
{
	return set ? set->nr : 0;
}

static inline struct mapset *mapset__get(struct mapset *set)
{
	if (set)
		set->refs++;
	return set;
}

/** mapset__put - give up a reference; @set may be NULL */
void mapset__put(struct mapset *set);

#endif
