/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Drop unmapped maps: the kernel sends no record for munmap().
 *
 * A process that maps at ever new addresses, as a JIT compiler does, would have ever more maps.
 * Each time that their number has doubled, /proc/PID/maps is read, and maps that are not in it are
 * dropped from the process's views:
 *
 *     read_time                    seen_time         a record     final_time
 *   ------+--- /proc is read -----------+------------------+-----------+-------> time
 *         |                             |                  |           |
 *   newer maps are kept:         the rings were     published after   all records are final that
 *   /proc may lack them          read once more     /proc was read    were published before then
 *
 * The records' clock is the kernel's own, so all these times are those of records, chosen to err on
 * the side of keeping a map: maps whose records may be newer than what was read stay, and unmapped
 * ones stay in the NOW view until records up to @final_time are final, and in BASE until BASE has
 * that time.
 *
 * Not for several threads.
 */
#ifndef PERF_RECORDING_STALE_MAPS_H
#define PERF_RECORDING_STALE_MAPS_H

#include <stdbool.h>
#include <linux/list.h>
#include <linux/types.h>
#include "proc_maps.h"

struct process;
struct tasks;

/** struct stale_maps - @pending: struct proc_maps that are still to be applied to NOW views */
struct stale_maps {
	struct list_head pending;
};

void stale_maps__init(struct stale_maps *stale);

/**
 * stale_maps__discard - free all struct proc_maps, pending ones and those of processes
 *
 * To be called at the end, and after a loss: then a map may have a later time than its own.
 */
void stale_maps__discard(struct stale_maps *stale, struct tasks *tasks);

/**
 * stale_maps__find - read the maps of processes that have too many, if there are any
 * @newest:	time of the newest record that is known [ns]
 * @read:	usually proc_maps__read()
 */
void stale_maps__find(struct stale_maps *stale, struct tasks *tasks, u64 newest,
		      proc_maps_read_t read);

/**
 * stale_maps__end_round - all rings were read since the last call
 * @newest:	time of the newest record that is known [ns]
 */
void stale_maps__end_round(struct stale_maps *stale, u64 newest);

/** stale_maps__apply - prune NOW views; records up to @final are applied to them [ns] */
void stale_maps__apply(struct stale_maps *stale, struct tasks *tasks, u64 final);

/** stale_maps__fold - prune the BASE view of @process. Return: is more to be pruned later? */
bool stale_maps__fold(struct process *process, struct tasks *tasks);

#endif
