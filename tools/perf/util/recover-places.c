// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "util/recover-places.h"

static bool extends(const struct recover_place *last, u64 address, u64 at)
{
	return last->address + last->len == address && last->at + last->len == at;
}

int recover_places__add(struct recover_places *places, u64 address, u64 len, u64 at)
{
	if (!len || len > UINT64_MAX - address || len > UINT64_MAX - at)
		return 0;
	if (places->nr && extends(&places->all[places->nr - 1], address, at)) {
		places->all[places->nr - 1].len += len;
		return 0;
	}
	if (places->nr == places->max) {
		size_t max = max(2 * places->max, (size_t)16);
		struct recover_place *all = realloc(places->all, max * sizeof(*all));

		if (!all)
			return -ENOMEM;
		places->all = all;
		places->max = max;
	}
	places->all[places->nr++] = (struct recover_place){
		.address = address, .len = len, .at = at,
	};
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct recover_place *left = a, *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return left->at < right->at ? -1 : left->at > right->at;
}

void recover_places__sort(struct recover_places *places)
{
	u64 end = 0, cut;
	size_t i, nr = 0;

	if (places->nr)
		qsort(places->all, places->nr, sizeof(*places->all), compare);
	for (i = 0; i < places->nr; i++) {
		struct recover_place place = places->all[i];

		cut = end > place.address ? end - place.address : 0;
		if (cut >= place.len)
			continue;
		place.address += cut;
		place.at += cut;
		place.len -= cut;
		end = place.address + place.len;
		places->all[nr++] = place;
	}
	places->nr = nr;
}

bool recover_places__find(const struct recover_places *places, u64 address, u64 len, u64 *at)
{
	size_t low = 0, high = places->nr, middle;
	const struct recover_place *place;

	while (low < high) {		/* those below @low begin at @address or before it */
		middle = low + (high - low) / 2;
		if (places->all[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	place = &places->all[low - 1];
	if (address - place->address >= place->len ||
	    len > place->len - (address - place->address))
		return false;
	*at = place->at + (address - place->address);
	return true;
}

void recover_places__exit(struct recover_places *places)
{
	zfree(&places->all);
	places->nr = places->max = 0;
}
