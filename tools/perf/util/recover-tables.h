/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find the page tables that map memory of a process, in an image of the memory of its machine.
 *
 * No symbols of the kernel are needed. A table that maps a page has an entry with the address of
 * the page, and the table above it has an entry with the address of that table. So all tables of
 * consecutive pages are found from the address of the first page, by one search for each level
 * that these pages need: 4 kB pages of up to 2 MB have one table or two, which one table above
 * lists. Nothing in the image is trusted: an entry may be any word that looks like one.
 *
 * The tables of x86-64 are read, with 4 or 5 levels, and those of arm64 with any size of pages.
 */
#ifndef __PERF_RECOVER_TABLES_H
#define __PERF_RECOVER_TABLES_H

#include <stddef.h>
#include <linux/types.h>
#include "util/recover-image.h"

#define RECOVER_MAX_MAPPINGS	256

struct page_format;

/**
 * struct recover_wanted - memory whose tables are searched
 * @address:	physical address of its first page
 * @nr_pages:	consecutive pages of the process
 */
struct recover_wanted {
	u64	address;
	u64	nr_pages;
};

/**
 * struct recover_mapping - tables that map the first page
 * @wanted:	index of the memory
 * @format:	of the tables
 * @page:	size of a page [bytes]
 * @table:	physical address of the topmost table that was found
 * @level:	its level; entries of level 0 are pages
 * @first:	number of the first page among all that the table can map
 */
struct recover_mapping {
	size_t				 wanted;
	const struct page_format	*format;
	u64				 page;
	u64				 table;
	unsigned int			 level;
	u64				 first;
};

/**
 * struct recover_mappings
 * @all:	@nr mappings; one whose upper tables are missing maps less than is wanted
 */
struct recover_mappings {
	struct recover_mapping	all[RECOVER_MAX_MAPPINGS];
	size_t			nr;
};

/**
 * recover_tables__find - find mappings of any of @nr pieces of memory
 * @page:	size of a page [bytes], a power of two
 * @mappings:	receives them
 *
 * Return: 0, or a negative errno: -ENOMEM; -EOPNOTSUPP if the image is from a machine whose tables
 * are unknown.
 */
int recover_tables__find(const struct recover_image *image, u64 page,
			 const struct recover_wanted *wanted, size_t nr,
			 struct recover_mappings *mappings);

/**
 * recover_mapping__walk - find the pages of a mapping
 * @nr_pages:	from the first one on
 * @addresses:	@nr_pages, all 0; receives the physical address of each page that is mapped, + 1
 *
 * Return: how many pages are mapped.
 */
u64 recover_mapping__walk(const struct recover_mapping *mapping,
			  const struct recover_image *image, u64 nr_pages, u64 *addresses);

#endif /* __PERF_RECOVER_TABLES_H */
