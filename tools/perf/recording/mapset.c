// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "mapset.h"
#include "surveys.h"
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
	*set = (struct mapset){
		.refs  = 1,
		.room  = room,
		.nr    = old ? old->nr : 0,
		.bytes = old ? old->bytes : 0,
	};
	for (i = 0; i < set->nr; i++) {
		set->map[i] = old->map[i];
		tracked__get(set->map[i].record);
	}
	mapset__put(old);
	*pset = set;
	return 0;
}

static void take(struct mapset *set, const struct mapping *map)
{
	set->bytes += map->record->header.size;
	tracked__get(map->record);
}

static void give(struct mapset *set, const struct mapping *map)
{
	set->bytes -= map->record->header.size;
	tracked__put(map->record);
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
		take(set, &piece[i]);
	for (i = first; i < last; i++)
		give(set, &set->map[i]);
	memmove(set->map + first + nr, set->map + last, (set->nr - last) * sizeof(*set->map));
	memcpy(set->map + first, piece, nr * sizeof(*piece));
	set->nr += nr - (last - first);
	return 0;
}

/*
 * Asked of one map after the other, as they lie: @at is the first extent that may be in the next. The
 * kernel tells of maps that cannot be executed, if it does, with PERF_RECORD_MISC_MMAP_DATA.
 */
static bool is_there(const struct survey *survey, size_t *at, const struct mapping *map)
{
	bool data = map->record->header.misc & PERF_RECORD_MISC_MMAP_DATA;
	size_t i;

	if (map->record->time >= survey->before)
		return true;
	while (*at < survey->nr && survey->extent[*at].end <= map->start)
		++*at;
	for (i = *at; i < survey->nr && survey->extent[i].start < map->end; i++) {
		if (data || survey->extent[i].exec)
			return true;
	}
	return false;
}

int mapset__prune(struct mapset **pset, const struct survey *survey)
{
	struct mapset *set = *pset;
	size_t at = 0;
	u32 from, to;
	int err;

	for (to = 0; set && to < set->nr && is_there(survey, &at, &set->map[to]); to++)
		;
	if (!set || to == set->nr)
		return 0;
	err = mapset__own(pset, set->nr);
	if (err)
		return err;

	set = *pset;
	for (from = to; from < set->nr; from++) {
		if (is_there(survey, &at, &set->map[from]))
			set->map[to++] = set->map[from];
		else
			give(set, &set->map[from]);
	}
	set->nr = to;
	return 0;
}
