/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keep the log of the live state (state.h): records between the BASE and the NOW views, and pending
 * ones.
 *
 *   entries:   | applied, by time          | pending, in the order of arrival |
 *              0                       nr_applied                            nr
 *
 * Not for several threads.
 */
#ifndef PERF_RECORDING_LOG_H
#define PERF_RECORDING_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

struct sb_record;
struct task;

/**
 * struct log_entry - a record in the log
 * @record:	a reference
 * @task:	the task that the record is about; NULL while it is pending, and if it is about no
 *		task
 * @arrival:	number of entries that were added before this one
 * @file:	number of the file that has the record, 0 for none
 */
struct log_entry {
	struct sb_record	*record;
	struct task		*task;
	u64			 arrival;
	u32			 file;
};

/**
 * struct state_log
 * @entries:	@nr entries, of which the first @nr_applied are applied; allocated for @capacity
 * @nr_added:	number of entries that were ever added
 * @bytes:	size of all entries [bytes]
 * @passthrough_bytes: size of the applied ones that are pass-through records [bytes]
 */
struct state_log {
	struct log_entry	*entries;
	size_t			 nr;
	size_t			 nr_applied;
	size_t			 capacity;
	u64			 nr_added;
	size_t			 bytes;
	size_t			 passthrough_bytes;
};

/** log_entry__bytes - get the memory that an entry takes with its record [bytes] */
size_t log_entry__bytes(const struct log_entry *entry);

/** log_entry__is_passthrough - is it an applied entry that changes no view (state.h)? */
bool log_entry__is_passthrough(const struct log_entry *entry);

/** state_log__exit - free all entries. A zeroed struct state_log is an empty log. */
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
 * Return: false to remove the entry; then the function has accounted for @passthrough_bytes.
 */
typedef bool (*log_filter_t)(void *arg, struct log_entry *entry);

/** state_log__filter - call @filter for each applied entry, in the order of time */
void state_log__filter(struct state_log *log, log_filter_t filter, void *arg);

/** state_log__apply - call @filter for pending entries up to @time, in the order of time [ns] */
void state_log__apply(struct state_log *log, u64 time, log_filter_t filter, void *arg);

/** state_log__shrink - give memory back that the entries do not need */
void state_log__shrink(struct state_log *log);

#endif
