/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keep side-band data that belongs to no task: maps of the kernel and of modules, kernel symbols,
 * BPF programs, cgroups, changes of kernel code.
 *
 * There is one record for each object, which replaces older records about the same object. A record
 * that says that an object was unloaded or unregistered is kept until each file that has the object
 * has got the record as well. The kernel sends no record when a cgroup is removed, so the oldest
 * cgroups are dropped when there are too many.
 *
 * Not for several threads.
 */
#ifndef PERF_RECORDING_SYSTEM_WIDE_H
#define PERF_RECORDING_SYSTEM_WIDE_H

#include <stdbool.h>
#include <linux/list.h>
#include <linux/types.h>
#include "util/hashmap.h"

struct sb_record;

#define SYSTEM_WIDE_MAX_CGROUPS	(1 << 16)

/**
 * struct system_wide_record - the newest record about an object
 * @node:	in system_wide->list
 * @record:	a reference
 * @file:	number of the file that has the record, or that may have it; 0 for none
 */
struct system_wide_record {
	struct list_head	node;
	struct sb_record	*record;
	u32			file;
};

/**
 * struct system_wide
 * @list:	all struct system_wide_record, oldest first
 * @by_object:	from struct sb_record to struct system_wide_record; records about the same object
 *		are equal
 * @file:	number of the present file
 * @first_file:	its number before the first system_wide__rewrite_file()
 * @nr_cgroups:	number of cgroups in @list
 * @nr_dropped:	number of cgroups that were dropped, and of records for which an allocation failed
 */
struct system_wide {
	struct list_head	list;
	struct hashmap		by_object;
	u32			file;
	u32			first_file;
	size_t			nr_cgroups;
	u64			nr_dropped;
};

void system_wide__init(struct system_wide *system_wide);
void system_wide__exit(struct system_wide *system_wide);

/** system_wide__covers - is the record about an object that is kept here? */
bool system_wide__covers(const struct sb_record *record);

/**
 * system_wide__apply - keep a record in place of the older one about the same object
 * @record:	one that system_wide__covers(); takes a reference of its own
 * @file:	number of the file that has the record, 0 for none
 */
void system_wide__apply(struct system_wide *system_wide, struct sb_record *record, u32 file);

/** system_wide__begin_file - begin a new file, which has no records yet */
void system_wide__begin_file(struct system_wide *system_wide, u32 file);

/**
 * system_wide__rewrite_file - the present file has lost some of its records, nobody knows which
 * @file:	number of the file from now on
 */
void system_wide__rewrite_file(struct system_wide *system_wide, u32 file);

/** system_wide__cgroup - return the path of the cgroup, or NULL: unknown */
const char *system_wide__cgroup(const struct system_wide *system_wide, u64 id);

#define system_wide__for_each(system_wide, entry)			\
	list_for_each_entry(entry, &(system_wide)->list, node)

#endif
