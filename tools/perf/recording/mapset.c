// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "mapset.h"
#include "tracked.h"

void mapset__put(struct mapset *set)
{
	u32 i;

	if (!set || --set->refs)
		return;
	for (i = 0; i < set->nr; i++)
		tracked__put(set->map[i].record);
	free(set);
}

static size_t mapset__size(u32 room)
{
	return sizeof(struct mapset) + room * sizeof(struct mapping);
}

/* Makes *pset one that nobody else refers to and that has room for @nr maps. */
static int mapset__own(struct mapset **pset, u32 nr)
{
	struct mapset *old = *pset, *set;
	u32 room = nr + nr / 4, i;

	if (old && old->refs == 1) {
		if (nr <= old->room)
			return 0;
		set = realloc(old, mapset__size(room));
		if (!set)
			return -ENOMEM;
		set->room = room;
		*pset = set;
		return 0;
	}

	set = malloc(mapset__size(room));
	if (!set)
		return -ENOMEM;
	*set = (struct mapset){ .refs = 1, .room = room, .nr = old ? old->nr : 0 };
	for (i = 0; i < set->nr; i++) {
		set->map[i] = old->map[i];
		tracked__get(set->map[i].record);
	}
	mapset__put(old);
	*pset = set;
	return 0;
}

/* The first map that ends above @addr; the number of maps if none does. */
static u32 first_above(const struct mapset *set, u64 addr)
{
	u32 low = 0, high = set->nr;

	while (low < high) {
		u32 mid = low + (high - low) / 2;

		if (set->map[mid].end > addr)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

int mapset__insert(struct mapset **pset, struct tracked *record)
{
	const struct perf_record_mmap *mmap = &tracked__event(record)->mmap;
	const struct mapping new = { mmap->start, mmap->start + mmap->len, record };
	struct mapping piece[3];
	u32 first, last, i, nr = 0;
	struct mapset *set;
	int err;

	if (new.end <= new.start)
		return 0;
	/* At most two more: the new one, and the second half of one that it splits. */
	err = mapset__own(pset, (*pset ? (*pset)->nr : 0) + 2);
	if (err)
		return err;

	set = *pset;
	first = first_above(set, new.start);
	for (last = first; last < set->nr && set->map[last].start < new.end; last++)
		;
	if (first < last && set->map[first].start < new.start) {
		piece[nr] = set->map[first];
		piece[nr++].end = new.start;
	}
	piece[nr++] = new;
	if (first < last && set->map[last - 1].end > new.end) {
		piece[nr] = set->map[last - 1];
		piece[nr++].start = new.end;
	}

	for (i = 0; i < nr; i++)
		tracked__get(piece[i].record);
	for (i = first; i < last; i++)
		tracked__put(set->map[i].record);
	memmove(set->map + first + nr, set->map + last, (set->nr - last) * sizeof(*set->map));
	memcpy(set->map + first, piece, nr * sizeof(*piece));
	set->nr += nr - (last - first);
	return 0;
}
