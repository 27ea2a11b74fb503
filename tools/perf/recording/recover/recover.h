/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Make a perf.data file of the file of --keep-file, whose recorder was killed, for perf inject
 * --recover-keep.
 *
 *	recover.c	what perf inject calls; the order in which things are written
 *	image.c		the file in an image of memory
 *	blocks.c	read and check the records of one block
 *	sideband.c	the side-band records, by time
 *	rings.c		what nobody had read from the rings (keep/guard.h)
 *
 * The session in the file is a perf.data file without samples. perf inject reads it as its input,
 * and so has the attributes, ids and features for its output. The records of the kept blocks
 * follow, with the side-band records that they need between them.
 */
#ifndef PERF_RECORDING_RECOVER_H
#define PERF_RECORDING_RECOVER_H

#include <stdbool.h>
#include <linux/types.h>

struct perf_session;
struct perf_tool;
struct recovery;
union perf_event;

typedef int (*recover_write_t)(const struct perf_tool *tool, union perf_event *event);

/**
 * recovery__new - open the file
 * @path:	of --keep-file, or of a memory image
 * @pid:	in an image: of the recorder; 0: of any, and the file that was written last
 * @recovery:	receives the recovery
 *
 * Refuses a file that a recorder uses.
 *
 * Return: 0, or a negative errno after an error message.
 */
int recovery__new(const char *path, u64 pid, struct recovery **recovery);

/** recovery__input - return the name of a perf.data file that describes the recording */
const char *recovery__input(const struct recovery *recovery);

/**
 * recovery__process - process the input, and write all that can be recovered
 * @session:	of recovery__input()
 * @tool:	passed to @write
 * @write:	called for each record; returns 0 or a negative errno, and then is not called again
 *
 * Marks all DSOs that were mapped, so that the output has their build-ids. Prints on standard error
 * what was recovered, and what is damaged.
 *
 * Return: 0, or a negative errno after an error message.
 */
int recovery__process(struct recovery *recovery, struct perf_session *session,
		      const struct perf_tool *tool, recover_write_t write);

/**
 * recovery__delete - close the file
 * @saved:	the output is complete: perf record may use the file again
 */
void recovery__delete(struct recovery *recovery, bool saved);

#endif
