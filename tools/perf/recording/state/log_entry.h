/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Describe a record in the log of the live state (log.h).
 */
#ifndef PERF_RECORDING_LOG_ENTRY_H
#define PERF_RECORDING_LOG_ENTRY_H

#include <stddef.h>
#include <linux/types.h>
#include "sb_record.h"

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

/** log_entry__bytes - get the memory that an entry takes with its record [bytes] */
static inline size_t log_entry__bytes(const struct log_entry *entry)
{
	return sizeof(*entry) + sizeof(*entry->record) + entry->record->header.size;
}

#endif
