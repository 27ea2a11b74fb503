/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Define the data of the journal; journal.h explains it.
 */
#ifndef PERF_RECORDING_JOURNAL_DATA_H
#define PERF_RECORDING_JOURNAL_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#include "util/compress.h"

struct box_slot;

/**
 * struct journal_extent - a full extent
 * @data, @mapped: its memory [bytes]
 */
struct journal_extent {
	struct box_slot	*slot;
	void		*data;
	size_t		 mapped;
	u64		 generation;
};

/**
 * struct journal
 * @generation:	of what is appended
 * @data:	the extent that is filled, or NULL
 * @slot:	its slot
 * @len:	length of its records [bytes]
 * @extents:	@nr_extents of @max_extents that are full
 * @mapped:	memory of all extents [bytes]
 * @state_bytes: memory of the extents with the live state [bytes]
 * @incomplete:	records were left out of this generation: there was no room
 * @missing_before: box_header.incomplete when this generation began
 * @failed_ns:	when that happened [ns of CLOCK_MONOTONIC]
 * @zstd:	compresses
 * @compressed:	buffer for one extent
 */
struct journal {
	u64			 generation;
	void			*data;
	struct box_slot		*slot;
	size_t			 len;
	struct journal_extent	*extents;
	size_t			 nr_extents;
	size_t			 max_extents;
	u64			 mapped;
	u64			 state_bytes;
	bool			 incomplete;
	u64			 missing_before;
	u64			 failed_ns;
	struct zstd_data	 zstd;
	void			*compressed;
};

#endif
