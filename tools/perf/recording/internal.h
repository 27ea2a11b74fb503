/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Declare what the parts of the recorder call of each other:
 *
 *	run.c		main loop, reactions, begin and end
 *	   +-- take.c		take, write and drop snapshots
 *	   +-- setup.c		prepare everything that a recording needs, and tear it down
 *	   |      +-- events.c	target, attributes, open
 *	   +-- files.c		begin, end and switch files
 *
 * All run in the main thread.
 */
#ifndef PERF_RECORDING_INTERNAL_H
#define PERF_RECORDING_INTERNAL_H

#include <stdbool.h>

struct lost_counters;
struct recorder;

/*
 * take.c
 */

/**
 * recorder__take_snapshot - write what the capture thread has copied, and what is kept
 * @to_next_file: complete the file with it, and begin the next
 * @sync:	sync it: the caller will say that it is written
 *
 * Return: 0, also if it was dropped after a message (@rec->nr_missing), or a negative errno that
 * ends the recording.
 */
int recorder__take_snapshot(struct recorder *rec, bool to_next_file, bool sync);

/** recorder__snapshot_file - return where the last snapshot is; NULL for a pipe */
const char *recorder__snapshot_file(const struct recorder *rec);

/**
 * recorder__sync_snapshot - wait for the disk, unless --no-fsync is given; note an error in
 * @rec->nr_missing, after a message
 */
void recorder__sync_snapshot(struct recorder *rec);

/**
 * recorder__take_last - write the snapshot at the end of the recording, when the readers have ended
 *
 * With --keep-file, the caller ends it (keep__end_snapshot()) when the file is complete.
 *
 * Return: 0, or a negative errno.
 */
int recorder__take_last(struct recorder *rec);

/**
 * recorder__drop_snapshot - drop the file, or its end, that could not be written
 *
 * The rings go on, and kept records stay for the next snapshot. If the file has earlier snapshots,
 * the next one is appended to them, otherwise it creates another file.
 *
 * Return: 0, or a negative errno after an error message.
 */
int recorder__drop_snapshot(struct recorder *rec);

/*
 * setup.c
 */

/**
 * recorder__prepare - from options to mapped rings and a capture thread that waits
 * @argc:	number of words of the command, 0 for none
 * @argv:	the command; it is forked, and waits
 *
 * Return: 0, or a negative errno after an error message (-EMFILE: see
 * recorder__explain_file_limit()).
 */
int recorder__prepare(struct recorder *rec, int argc, const char **argv);

/** recorder__explain_file_limit - print a hint about RLIMIT_NOFILE */
void recorder__explain_file_limit(void);

/** recorder__cleanup - free everything, however far recorder__prepare() came */
void recorder__cleanup(struct recorder *rec);

/** recorder__has_overwrite - are there rings that overwrite themselves? Once they are mapped. */
bool recorder__has_overwrite(const struct recorder *rec);

/**
 * recorder__has_snapshots - is there anything that is copied when asked for: rings, or AUX areas?
 */
bool recorder__has_snapshots(const struct recorder *rec);

/*
 * events.c
 */

/**
 * events__find_target - find CPUs and threads, add the tracking event
 *
 * Return: 0, or a negative errno after an error message.
 */
int events__find_target(struct recorder *rec);

/**
 * events__configure - set attributes
 *
 * The workload is forked, the capture thread exists.
 *
 * Return: 0, or a negative errno after an error message.
 */
int events__configure(struct recorder *rec);

/**
 * events__open - open all events, disabled
 *
 * BPF programs exclude the recorder itself; events__exclude_threads() does the rest.
 *
 * Overwrite events get the best kind of ring that this kernel offers (perf/overwrite.h), noted in
 * @rec->overwrite. Their attributes are left as the file describes them: there, records have no
 * trailers.
 *
 * Return: 0, or a negative errno after an error message.
 */
int events__open(struct recorder *rec);

/** events__warn_of_hotplug - warn of CPUs that came online or went offline since events__open() */
void events__warn_of_hotplug(const struct recorder *rec);

/**
 * events__exclude_threads - set the filters that exclude the recorder's threads, which all run
 *
 * Return: 0, or a negative errno after an error message.
 */
int events__exclude_threads(struct recorder *rec);

/*
 * files.c
 */

/**
 * recorder__begin_file - describe events and tasks in a new file. Return: 0, or a negative errno
 */
int recorder__begin_file(struct recorder *rec);

/**
 * recorder__store_session - after recorder__begin_file(): let the file of --keep-file, and what
 * --pin has pinned, have all that is needed to make a file of their records
 *
 * Return: 0, or a negative errno after an error message.
 */
int recorder__store_session(struct recorder *rec);

/**
 * recorder__read_lost - write what events of streams have lost since the last call
 * (lost_counters.h)
 *
 * Return: 0, or a negative errno.
 */
int recorder__read_lost(struct recorder *rec);

/** recorder__write_lost - write @counters, and clear them. Return: 0, or a negative errno */
int recorder__write_lost(struct recorder *rec, struct lost_counters *counters);

/** recorder__write_end - write what each file ends with. Return: 0, or a negative errno */
int recorder__write_end(struct recorder *rec);

/**
 * recorder__reads_on - may readers be released between recorder__end_data() and the end of
 * recorder__next_file()?
 */
bool recorder__reads_on(const struct recorder *rec);

/**
 * recorder__end_data - end the file's data: what is written from now on belongs to the next file
 *
 * The streams have been drained for this file. The readers go on, or are held if AUX areas are
 * streamed.
 *
 * Return: 0, or a negative errno.
 */
int recorder__end_data(struct recorder *rec);

/**
 * recorder__next_file - after recorder__end_data(): complete the file, begin the next. Return: as
 * above
 */
int recorder__next_file(struct recorder *rec);

/**
 * recorder__resume_file - after output__drop(): create another file, and begin it
 *
 * Return: 0, or a negative errno after an error message.
 */
int recorder__resume_file(struct recorder *rec);

/**
 * recorder__close_file - complete the file; @rename: append a timestamp to its name. Return: as
 * above
 */
int recorder__close_file(struct recorder *rec, bool rename);

#endif
