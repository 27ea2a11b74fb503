/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The maps of a process: what is visible of the MMAP records that it has and has inherited.
 *
 * Ordered by address, without overlap. A child shares its parent's set until one of them changes
 * its own (copy on write), so that a fork costs a reference. The empty set is NULL.
 *
 * Nobody tells when a map goes; it goes here when another one takes its place, with exec, or when a
 * survey of what there is (surveys.h) does not find it.
 */
#ifndef PERF_RECORDING_MAPSET_H
#define PERF_RECORDING_MAPSET_H

#include <linux/types.h>

struct survey;
struct tracked;

/**
 * struct mapping - a map, or what newer ones left of it
 * @start, @end: addresses
 * @record:	the MMAP or MMAP2 record; it may be of more than [@start, @end). A reference.
 */
struct mapping {
	u64		 start;
	u64		 end;
	struct tracked	*record;
};

/**
 * struct mapset
 * @refs:	references; more than one: not to be changed
 * @nr:		number of @map
 * @room:	how many would fit
 * @bytes:	what they are in a file [bytes]
 */
struct mapset {
	u32		 refs;
	u32		 nr;
	u32		 room;
	size_t		 bytes;
	struct mapping	 map[];
};

/**
 * mapset__insert - put a map over what is there
 * @set:	the reference to the set; replaced by one to a copy if the set is shared
 * @record:	MMAP or MMAP2; referred to if need be. One that maps nothing is ignored.
 *
 * Return: 0, or -ENOMEM: then the set is as it was.
 */
int mapset__insert(struct mapset **set, struct tracked *record);

/**
 * mapset__prune - drop maps that were before @survey and are not in it
 * @set:	as for mapset__insert()
 *
 * Return: as mapset__insert().
 */
int mapset__prune(struct mapset **set, const struct survey *survey);

static inline struct mapset *mapset__get(struct mapset *set)
{
	if (set)
		set->refs++;
	return set;
}

/** mapset__put - give up a reference; @set may be NULL */
void mapset__put(struct mapset *set);

#endif
