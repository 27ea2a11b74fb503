/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keep the log of the live state (state.h): records between the BASE and the NOW views, and pending
 * ones.
 *
 *   blocks: | applied, packed |   entries: | applied, by time | pending, in the order of arrival |
 *                                        0              nr_applied                            nr
 *
 * The oldest entries are packed (log_block.h) when @max_unpacked more have been applied. By then,
 * most short-lived processes have ended. A block is unpacked each time that its entries are visited
 * or filtered.
 *
 * Not for several threads.
 */
#ifndef PERF_RECORDING_LOG_H
#define PERF_RECORDING_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#include "log_entry.h"

struct id_format;
struct log_block;
struct log_packer;
struct sb_record;

/* Default of log->max_unpacked. */
#define LOG_MAX_UNPACKED	2048

/**
 * struct state_log
 * @format:	of the records
 * @max_unpacked: more entries than that are packed when they are applied
 * @blocks:	the packed entries: @nr_blocks blocks, allocated for @max_blocks
 * @nr_packed:	number of entries in blocks
 * @block_bytes: memory of the blocks [bytes]
 * @shared_bytes: size of the entries in blocks whose records have other references [bytes]
 * @packer:	NULL until entries are packed
 * @entries:	@nr entries, of which the first @nr_applied are applied; allocated for @capacity
 * @nr_added:	number of entries that were ever added
 * @bytes:	size of @entries [bytes]
 * @passthrough_bytes: size of the applied entries that are pass-through records, packed ones as if
 *		they were not [bytes]
 */
struct state_log {
	const struct id_format	*format;
	size_t			 max_unpacked;
	struct log_block	**blocks;
	size_t			 nr_blocks;
	size_t			 max_blocks;
	size_t			 nr_packed;
	size_t			 block_bytes;
	size_t			 shared_bytes;
	struct log_packer	*packer;
	struct log_entry	*entries;
	size_t			 nr;
	size_t			 nr_applied;
	size_t			 capacity;
	u64			 nr_added;
	size_t			 bytes;
	size_t			 passthrough_bytes;
};

/** log_entry__is_passthrough - is it an applied entry that changes no view (state.h)? */
bool log_entry__is_passthrough(const struct log_entry *entry);

/** state_log__init - initialise an empty log; @format must stay. Free it with state_log__exit() */
void state_log__init(struct state_log *log, const struct id_format *format);

void state_log__exit(struct state_log *log);

/**
 * state_log__add - append a pending entry
 * @record:	the log takes over the reference, except on error
 * @file:	number of the file that has the record, 0 for none
 *
 * Return: 0, or -ENOMEM.
 */
int state_log__add(struct state_log *log, struct sb_record *record, u32 file);

/**
 * log_filter_t - decide about an entry, and perhaps change it
 *
 * To keep the record, use sb_record__own(). Return: false to remove the entry; then the function
 * has accounted for @passthrough_bytes.
 */
typedef bool (*log_filter_t)(void *arg, struct log_entry *entry);

/** state_log__filter - call @filter for each applied entry, in the order of time */
void state_log__filter(struct state_log *log, log_filter_t filter, void *arg);

/** state_log__apply - call @filter for pending entries up to @time, in the order of time [ns] */
void state_log__apply(struct state_log *log, u64 time, log_filter_t filter, void *arg);

/** state_log__pack - pack the oldest applied entries, if there are more than @max_unpacked */
void state_log__pack(struct state_log *log);

/**
 * log_visit_t - visit an entry; @applied: it is no pending one
 *
 * May set @file of all entries up to this one. Return: false to stop before this entry.
 */
typedef bool (*log_visit_t)(void *arg, struct log_entry *entry, bool applied);

/**
 * state_log__visit - call @visit for each entry, beginning with the one at @first, in the order of
 * time as far as they are applied
 *
 * Return: where the next call continues, unless entries are filtered meanwhile.
 */
size_t state_log__visit(const struct state_log *log, size_t first, log_visit_t visit, void *arg);

/** state_log__total_bytes - return the size of all entries, packed ones in blocks [bytes] */
static inline size_t state_log__total_bytes(const struct state_log *log)
{
	return log->bytes + log->block_bytes + log->shared_bytes;
}

/** state_log__shrink - give memory back that the entries do not need */
void state_log__shrink(struct state_log *log);

#endif
