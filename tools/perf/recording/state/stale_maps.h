/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which maps are gone. Nobody tells: a process that maps at ever new addresses, as compilers that
 * run within it do, would have ever more. When a process has twice as many as the last time, it is
 * looked up what is mapped (/proc), and what is not is dropped:
 *
 *       before                       seen              time
 *   ------+--------- /proc is read ----+----- a record --+--- settled ----> time
 *         |                            |        SETTLE_NS
 *    newer maps                   the rings were       by then it had
 *    are not judged               read once more       been read
 *
 * The clock of the records is the kernel's own. So the times are those of records, and on the safe
 * side: maps of which the record may be newer than what was read stay, and those that are gone stay
 * in the NOW view until @time has settled, and in BASE until that is where it begins.
 */
#ifndef PERF_RECORDING_STALE_MAPS_H
#define PERF_RECORDING_STALE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/list.h>
#include <linux/types.h>

struct process;
struct state;

/* Default of tasks->min_prune_threshold. */
#define STALE_MAPS_MIN	256U

/** struct mapped_range - what is mapped from @start to @end, and whether it can be executed */
struct mapped_range {
	u64	start;
	u64	end;
	bool	exec;
};

/**
 * struct proc_maps
 * @node:	in state->proc_maps, until it is applied to NOW
 * @pid:	of the process
 * @before:	newer maps are not judged [ns]
 * @seen:	time of the newest record when the rings were read next; 0 if not yet [ns]
 * @time:	from when on it holds; 0 if that is not known yet [ns]
 * @nr:		number of @extent, ordered by address
 */
struct proc_maps {
	struct list_head node;
	u32		 pid;
	u64		 before;
	u64		 seen;
	u64		 time;
	size_t		 nr;
	struct mapped_range	 extent[];
};

/** proc_maps_read_t - what is mapped by @tid, to be freed with free(); NULL if that cannot be known */
typedef struct proc_maps *(*proc_maps_read_t)(u32 tid);

/** proc_maps__read - that, from /proc/@tid/maps */
struct proc_maps *proc_maps__read(u32 tid);

/** state__find_stale_maps - ask about processes that have many maps, if there are any; after a round */
void state__find_stale_maps(struct state *state, proc_maps_read_t ask);

/* For state.c. */

/** stale_maps__date - a round has ended */
void stale_maps__date(struct state *state);
/** stale_maps__apply - to NOW, what holds at state->settled */
void stale_maps__apply(struct state *state);
/** stale_maps__fold - to BASE, what holds at process->since. Return: whether others are left. */
bool stale_maps__fold(struct state *state, struct process *process);
/** stale_maps__forget - all of them: after a loss, when maps have times that are not theirs */
void stale_maps__forget(struct state *state);

#endif
