/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * List the threads of the recorder by the ids that filters of the kernel compare with.
 *
 * Filters compare with ids of the initial PID namespace. A recorder in another namespace does not
 * find its ids of the initial one in /proc. Such a recorder sends each of its threads a signal that
 * is ignored, and reads the id from the tracepoint signal:signal_generate.
 */
#ifndef PERF_RECORDING_OWN_TIDS_H
#define PERF_RECORDING_OWN_TIDS_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * struct own_tids
 * @tids:	@nr thread ids, ascending
 * @process:	id of the process
 */
struct own_tids {
	pid_t	*tids;
	int	 nr;
	pid_t	 process;
};

/** own_tids__are_initial - is perf in the initial PID namespace? */
bool own_tids__are_initial(void);

/**
 * own_tids__find - list the threads that exist now
 *
 * Return: 0 (then the caller frees @own by own_tids__free()), or a negative errno.
 */
int own_tids__find(struct own_tids *own);

/** own_tids__find_process - find only @process. Return: as above */
int own_tids__find_process(struct own_tids *own);

void own_tids__free(struct own_tids *own);

#endif
