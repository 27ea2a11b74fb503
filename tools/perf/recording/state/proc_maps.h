/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Read /proc/PID/maps: the address ranges that a process has mapped.
 */
#ifndef PERF_RECORDING_PROC_MAPS_H
#define PERF_RECORDING_PROC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/list.h>
#include <linux/types.h>

/** struct mapped_range - addresses from @start to @end are mapped; @exec: with PROT_EXEC */
struct mapped_range {
	u64	start;
	u64	end;
	bool	exec;
};

/**
 * struct proc_maps - contents of /proc/PID/maps, and when they were read
 * @node:	in stale_maps->pending
 * @newer:	in process->proc_maps: the next one, or NULL
 * @pid:	pid of the process
 * @read_time:	time of the newest record that was known when the file was read: it does not show
 *		maps that are newer [ns]
 * @seen_time:	see stale_maps.h [ns]
 * @final_time: see stale_maps.h [ns]
 * @nr:		number of @range
 * @range:	by ascending address
 */
struct proc_maps {
	struct list_head	node;
	struct proc_maps	*newer;
	u32			pid;
	u64			read_time;
	u64			seen_time;
	u64			final_time;
	size_t			nr;
	struct mapped_range	range[];
};

/**
 * proc_maps_read_t - get the maps of the process that thread @tid belongs to
 *
 * Return: @nr and @range are set; to be freed with free(). NULL if the maps cannot be read.
 */
typedef struct proc_maps *(*proc_maps_read_t)(u32 tid);

/** proc_maps__free - free @maps and newer ones; may be NULL */
void proc_maps__free(struct proc_maps *maps);

/** proc_maps__read - a proc_maps_read_t that reads /proc/@tid/maps; NULL also if there is no map */
struct proc_maps *proc_maps__read(u32 tid);

#endif
