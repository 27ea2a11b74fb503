// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include "util/recover-tables.h"

/* No machine has more bits in a virtual address, but for those that are all equal. */
#define MAX_VIRTUAL_BITS	57

/* The largest page in a table above level 0: 1 GB of x86-64 is at level 2. */
#define MAX_LARGE_LEVEL		2

/**
 * struct pattern - an entry matches if the bits of @mask have @value
 */
struct pattern {
	u64	mask;
	u64	value;
};

/**
 * struct page_format - the entries of page tables
 * @machine:	EM_*
 * @address:	bits of the physical address
 * @page:	a page of user space, at level 0
 * @large:	a page of user space in a table above that
 * @table:	a table below
 * @hidden:	a page that the kernel has made inaccessible to see who uses it (NUMA balancing);
 *		its address is inverted
 * @shown:	bits that the entry of a hidden page has otherwise
 * @unused:	bits of @address that have another meaning in the entry of a large page
 */
struct page_format {
	u16		machine;
	u64		address;
	struct pattern	page;
	struct pattern	large;
	struct pattern	table;
	struct pattern	hidden;
	u64		shown;
	u64		unused;
};

static const struct page_format formats[] = {
	{
		/* Bits: 0 present, 2 user, 7 large, 8 PROT_NONE if not present */
		.machine = EM_X86_64,
		.address = 0x000ffffffffff000,
		.page	 = { 0x085, 0x005 },
		.large	 = { 0x085, 0x085 },
		.table	 = { 0x085, 0x005 },
		.hidden	 = { 0x101, 0x100 },
		.shown	 = 0x005,
		.unused	 = 0x1000,	/* PAT */
	}, {
		/* Bits: 0 valid, 1 table or page, 6 EL0. Hidden pages are not recognized. */
		.machine = EM_AARCH64,
		.address = 0x0000fffffffff000,
		.page	 = { 0x043, 0x043 },
		.large	 = { 0x043, 0x041 },
		.table	 = { 0x003, 0x003 },
		.hidden	 = { 0, 1 },
	},
};

static bool matches(u64 entry, struct pattern pattern)
{
	return (entry & pattern.mask) == pattern.value;
}

static u64 show(const struct page_format *format, u64 entry)
{
	return matches(entry, format->hidden) ? (entry ^ format->address) | format->shown : entry;
}

/* Entries of an ELF file are not aligned. */
static u64 load(const void *table, size_t index)
{
	u64 entry;

	memcpy(&entry, table + index * sizeof(entry), sizeof(entry));
	return entry;
}

/* Bits of the number of a page that the entries of one table distinguish. */
static unsigned int level_bits(u64 page)
{
	return ilog2(page / sizeof(u64));
}

static unsigned int max_level(u64 page)
{
	return (MAX_VIRTUAL_BITS - ilog2(page)) / level_bits(page) - 1;
}

/* Pages that an entry can map. */
static u64 entry_pages(u64 page, unsigned int level)
{
	return 1ULL << level_bits(page) * level;
}

static u64 large_mask(u64 page, unsigned int level)
{
	return ~(page * entry_pages(page, level) - 1);
}

/*
 * No process has the beginning of the memory as a large page, but small numbers look like entries
 * for it.
 */
static bool is_large(const struct page_format *format, u64 address, u64 page, unsigned int level)
{
	u64 base = address & large_mask(page, level);

	return base && !(address & ~base & ~format->unused);
}

/*
 * Search
 */

/**
 * struct key - what an entry may lead to
 * @to:		an address, and in its low bits the level of the entry
 * @index:	of the memory, or of the mapping whose table is at @to
 */
struct key {
	u64	to;
	size_t	index;
};

#define MAX_KEYS	(RECOVER_MAX_MAPPINGS * (MAX_LARGE_LEVEL + 1))

/* Most words lead to no key: a table of bits tells so. */
#define FILTER_BITS	12

/**
 * struct search
 * @keys:	@nr_keys, sorted
 * @filter:	a bit is set for the hash of each key
 */
struct search {
	const struct recover_image	*image;
	const struct page_format	*format;
	u64				 page;
	const struct recover_wanted	*wanted;
	struct recover_mappings		*mappings;
	struct key			 keys[MAX_KEYS];
	size_t				 nr_keys;
	unsigned long			 filter[BITS_TO_LONGS(1 << FILTER_BITS)];
};

static unsigned int hash(u64 to)
{
	return to * 0x9e3779b97f4a7c15ULL >> (64 - FILTER_BITS);
}

static void add_key(struct search *search, u64 to, size_t index)
{
	unsigned int bit = hash(to);

	if (search->nr_keys == MAX_KEYS)
		return;
	search->keys[search->nr_keys++] = (struct key){ .to = to, .index = index };
	search->filter[bit / BITS_PER_LONG] |= 1UL << bit % BITS_PER_LONG;
}

static void clear_keys(struct search *search)
{
	search->nr_keys = 0;
	memset(search->filter, 0, sizeof(search->filter));
}

static int compare(const void *a, const void *b)
{
	const struct key *left = a, *right = b;

	if (left->to != right->to)
		return left->to < right->to ? -1 : 1;
	return left->index < right->index ? -1 : left->index > right->index;
}

typedef void (*found_t)(struct search *search, const struct key *key, u64 table, size_t index);

static inline void look_up(struct search *search, u64 to, u64 table, size_t index, found_t found)
{
	unsigned int bit = hash(to);
	size_t low = 0, high = search->nr_keys, middle;

	if (!(search->filter[bit / BITS_PER_LONG] & 1UL << bit % BITS_PER_LONG))
		return;
	while (low < high) {		/* keys below @low are less than @to */
		middle = low + (high - low) / 2;
		if (search->keys[middle].to < to)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < search->nr_keys && search->keys[low].to == to; low++)
		found(search, &search->keys[low], table, index);
}

static void add_mapping(struct search *search, const struct recover_mapping *mapping)
{
	struct recover_mappings *mappings = search->mappings;

	if (mappings->nr < RECOVER_MAX_MAPPINGS)
		mappings->all[mappings->nr++] = *mapping;
}

/* An entry of @table is the first page, or a large page that contains it. */
static void found_page(struct search *search, const struct key *key, u64 table, size_t index)
{
	unsigned int level = key->to % search->page;
	u64 base = key->to - level, address = search->wanted[key->index].address;
	struct recover_mapping mapping = {
		.wanted = key->index, .format = search->format, .page = search->page,
		.table = table, .level = level,
		.first = index * entry_pages(search->page, level) + (address - base) / search->page,
	};

	add_mapping(search, &mapping);
}

/* An entry of @table is the topmost table of a mapping. */
static void found_table(struct search *search, const struct key *key, u64 table, size_t index)
{
	struct recover_mapping mapping = search->mappings->all[key->index];

	mapping.table = table;
	mapping.level++;
	mapping.first += index * entry_pages(search->page, mapping.level);
	add_mapping(search, &mapping);
}

static void search_entry_for_pages(struct search *search, u64 entry, u64 table, size_t index)
{
	const struct page_format *format = search->format;
	u64 address;
	unsigned int level;

	entry = show(format, entry);
	address = entry & format->address & ~(search->page - 1);
	if (matches(entry, format->page))
		look_up(search, address, table, index, found_page);
	if (!matches(entry, format->large))
		return;
	for (level = 1; level <= MAX_LARGE_LEVEL; level++) {
		if (is_large(format, address, search->page, level))
			look_up(search, (address & large_mask(search->page, level)) | level, table,
				index, found_page);
	}
}

static void search_entry_for_tables(struct search *search, u64 entry, u64 table, size_t index)
{
	if (matches(entry, search->format->table))
		look_up(search, entry & search->format->address & ~(search->page - 1), table,
			index, found_table);
}

/* Take each page of the image for a table. */
static void search_pages(struct search *search,
			 void (*entry)(struct search *search, u64 entry, u64 table, size_t index))
{
	const struct recover_places *places = &search->image->places;
	u64 address, end, page = search->page;
	size_t i, j;

	qsort(search->keys, search->nr_keys, sizeof(*search->keys), compare);
	for (i = 0; i < places->nr; i++) {
		const struct recover_place *place = &places->all[i];
		const void *data = search->image->data + place->at;

		end = place->address + place->len;
		for (address = (place->address + page - 1) & ~(page - 1);
		     address >= place->address && address < end && page <= end - address;
		     address += page) {
			const void *table = data + (address - place->address);

			for (j = 0; j < page / sizeof(u64); j++) {
				u64 word = load(table, j);

				if (word)
					entry(search, word, address, j);
			}
		}
	}
}

static void find_lowest(struct search *search, size_t nr)
{
	unsigned int level;
	size_t i;

	clear_keys(search);
	for (i = 0; i < nr; i++) {
		u64 address = search->wanted[i].address;

		add_key(search, address, i);
		for (level = 1; level <= MAX_LARGE_LEVEL; level++)
			add_key(search, (address & large_mask(search->page, level)) | level, i);
	}
	search_pages(search, search_entry_for_pages);
}

/* Mappings at @level that need another table above them. */
static void find_above(struct search *search, unsigned int level)
{
	struct recover_mappings *mappings = search->mappings;
	size_t i;

	clear_keys(search);
	for (i = 0; i < mappings->nr; i++) {
		const struct recover_mapping *mapping = &mappings->all[i];
		u64 span = entry_pages(search->page, level + 1);

		if (mapping->level == level && mapping->format == search->format &&
		    search->wanted[mapping->wanted].nr_pages > span - mapping->first)
			add_key(search, mapping->table, i);
	}
	if (search->nr_keys)
		search_pages(search, search_entry_for_tables);
}

static void find_all(struct search *search, size_t nr)
{
	unsigned int level;

	find_lowest(search, nr);
	for (level = 0; level < max_level(search->page); level++)
		find_above(search, level);
}

int recover_tables__find(const struct recover_image *image, u64 page,
			 const struct recover_wanted *wanted, size_t nr,
			 struct recover_mappings *mappings)
{
	struct search *search = calloc(1, sizeof(*search));
	int err = -EOPNOTSUPP;
	size_t i;

	if (!search)
		return -ENOMEM;
	mappings->nr = 0;
	search->image = image;
	search->page = page;
	search->wanted = wanted;
	search->mappings = mappings;
	for (i = 0; i < ARRAY_SIZE(formats) && !mappings->nr; i++) {
		search->format = &formats[i];
		if (image->machine != EM_NONE && image->machine != formats[i].machine)
			continue;
		find_all(search, min(nr, (size_t)RECOVER_MAX_MAPPINGS));
		err = 0;
	}
	free(search);
	return err;
}

/*
 * Walk
 */

/**
 * struct walk
 * @first:	number of the page that @addresses[0] is, among all that the topmost table can map
 */
struct walk {
	const struct recover_mapping	*mapping;
	const struct recover_image	*image;
	u64				 first;
	u64				 nr_pages;
	u64				*addresses;
	u64				 nr_mapped;
};

/* @at: number of the page at @address */
static void add_pages(struct walk *walk, u64 address, u64 at, u64 nr)
{
	u64 i, begin = max(at, walk->first), end = min(at + nr, walk->first + walk->nr_pages);

	for (i = begin; i < end; i++)
		walk->addresses[i - walk->first] = address + (i - at) * walk->mapping->page + 1;
	walk->nr_mapped += end > begin ? end - begin : 0;
}

/*
 * @at: number of the first page that the table can map. Tables may point to each other in any way:
 * the walk ends, as each entry is for pages of its own.
 */
static void walk_table(struct walk *walk, u64 table, unsigned int level, u64 at)
{
	const struct page_format *format = walk->mapping->format;
	u64 page = walk->mapping->page, nr = entry_pages(page, level), entry, address;
	const void *data = recover_image__at(walk->image, table, page);
	size_t i = at < walk->first ? (walk->first - at) / nr : 0;

	if (!data)
		return;
	for (; i < page / sizeof(u64) && at + i * nr < walk->first + walk->nr_pages; i++) {
		entry = load(data, i);
		if (level && matches(entry, format->table)) {
			walk_table(walk, entry & format->address & ~(page - 1), level - 1,
				   at + i * nr);
			continue;
		}
		entry = show(format, entry);
		address = entry & format->address & ~(page - 1);
		if (!level && matches(entry, format->page))
			add_pages(walk, address, at + i, 1);
		else if (level && level <= MAX_LARGE_LEVEL && matches(entry, format->large) &&
			 is_large(format, address, page, level))
			add_pages(walk, address & large_mask(page, level), at + i * nr, nr);
	}
}

u64 recover_mapping__walk(const struct recover_mapping *mapping,
			  const struct recover_image *image, u64 nr_pages, u64 *addresses)
{
	struct walk walk = {
		.mapping = mapping, .image = image, .first = mapping->first,
		.nr_pages = nr_pages, .addresses = addresses,
	};

	walk_table(&walk, mapping->table, mapping->level, 0);
	return walk.nr_mapped;
}
