/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keep the live state in the file of --keep-file, so that recovered records have names and maps.
 *
 *	generation g	| the live state as of a moment | side-band records since then ...
 *	generation g+1	| the live state as of later    | ...
 *
 * The live state is in the memory of the recorder, and changes at many places. So the file has it
 * as a file of perf record would begin with it, followed by all records that were drained since.
 * When these have become as large as the state, a new generation replaces both. It takes effect at
 * once, when it is complete (box_format.h, E). The state only forgets what no kept record needs; so
 * any generation has all that blocks need which were kept when it began, or later.
 *
 * Extents are filled like blocks, and compressed when they are full, in the caller's thread: the
 * main thread's. All functions do nothing without --keep-file.
 */
#ifndef PERF_RECORDING_JOURNAL_H
#define PERF_RECORDING_JOURNAL_H

#include <stdbool.h>
#include "journal_data.h"

struct keep;
struct records;

/** journal__add - append side-band records, which the live state gets as well */
void journal__add(struct keep *keep, const struct records *records);

/** journal__due - is it time for a new generation? */
bool journal__due(const struct keep *keep);

/** journal__begin_state - begin a new generation: add the live state next */
void journal__begin_state(struct keep *keep);

/** journal__end_state - the generation has the live state, and replaces the one before */
void journal__end_state(struct keep *keep);

/** journal__exit - free ordinary memory; the box is closed */
void journal__exit(struct journal *journal);

#endif
