/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tracking channel tells of the system as a whole: the maps of kernel and modules,
 * kernel symbols, BPF programs, cgroups, changes of the kernel's code.
 *
 * One record for each thing: it replaces an older one about the same thing. One that says that the
 * thing is unloaded or unregistered is kept while there is a file that knows the thing, and is
 * still to be told. Nobody tells when a cgroup goes, so the oldest ones are given up when they are
 * too many.
 */
#ifndef PERF_RECORDING_SYSTEM_WIDE_H
#define PERF_RECORDING_SYSTEM_WIDE_H

#include <stdbool.h>
#include <linux/list.h>
#include <linux/types.h>
#include "util/hashmap.h"

struct sb_record;

#define GLOBALS_MAX_CGROUPS	(1 << 16)

/**
 * struct global
 * @node:	in system_wide->list
 * @record:	a reference
 * @file:	number of the file that has it, 0 for none
 */
struct global {
	struct list_head node;
	struct sb_record	*record;
	u32		 file;
};

/**
 * struct system_wide
 * @list:	all, oldest first
 * @by_thing:	record to struct global; equal are records about the same thing
 * @file:	number of the present file
 * @nr_cgroups:	how many are cgroups
 * @nr_dropped:	cgroups that were forgotten, and records that are missing for want of memory
 */
struct system_wide {
	struct list_head list;
	struct hashmap	 by_thing;
	u32		 file;
	size_t		 nr_cgroups;
	u64		 nr_dropped;
};

void system_wide__init(struct system_wide *system_wide);
void system_wide__exit(struct system_wide *system_wide);

/** system_wide__knows - is the record about one of those things? */
bool system_wide__knows(const struct sb_record *record);

/**
 * system_wide__apply - let a record change what is known
 * @record:	one that system_wide__knows(); referred to if need be
 * @file:	number of the file that has it, 0 for none
 */
void system_wide__apply(struct system_wide *system_wide, struct sb_record *record, u32 file);

/** system_wide__begin_file - there is a new file, which knows nothing */
void system_wide__begin_file(struct system_wide *system_wide, u32 file);

#define system_wide__for_each(system_wide, global)	list_for_each_entry(global, &(system_wide)->list, node)

#endif
