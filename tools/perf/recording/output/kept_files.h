/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Delete the oldest completed files of an output beyond a number or a size (--switch-max-files,
 * --switch-max-size).
 *
 * Files count if their name is one that output__close_as() gives, FILE.<timestamp>[-<n>], and if
 * they are recordings of this user: those of this recorder and those of earlier runs with the same
 * -o. The directory is read each time, so files that are removed or moved meanwhile do not count.
 *
 * With --exec-snapshot, files count as well whose name is that of a completed file with an
 * extension, FILE.<timestamp>[-<n>].<extension>: the command may compress the file, for instance.
 * They belong to the completed file, and are deleted with it.
 *
 * Files of earlier runs are older than those of this recorder, and have the order of their names.
 * Files of this recorder are ordered by completion.
 */
#ifndef PERF_RECORDING_KEPT_FILES_H
#define PERF_RECORDING_KEPT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/list.h>
#include <linux/types.h>

/**
 * struct kept_files
 * @max_nr:	number of completed files to keep, 0 for all
 * @max_bytes:	size of all completed files to keep, 0 for any [bytes]
 * @in_use:	is a command of --exec-snapshot still running for this completed file? NULL without
 *		one
 * @in_use_arg:	for @in_use
 * @own:	struct own_file: files that this recorder has completed; empty without limits
 * @nr_own:	their number
 * @last_order:	the number that the last of them has got
 */
struct kept_files {
	unsigned int	 max_nr;
	u64		 max_bytes;
	bool		 (*in_use)(void *arg, const char *name);
	void		*in_use_arg;
	struct list_head own;
	size_t		 nr_own;
	u64		 last_order;
};

/** kept_files__init - set @own; the limits and @in_use stay */
void kept_files__init(struct kept_files *kept);

/**
 * kept_files__add - add a file that was completed, and delete the oldest ones beyond the limits
 * @path:	the output, as the user knows it
 * @name:	the file: @path with a suffix. This one is never deleted.
 * @data_bytes:	length of its data section [bytes]
 *
 * Files that another recorder writes to, and those that a command works on, are not deleted. An
 * error costs a warning.
 *
 * Return: length of the data sections of those deleted files that were added before [bytes].
 */
u64 kept_files__add(struct kept_files *kept, const char *path, const char *name, u64 data_bytes);

/** kept_files__exit - free @own; the files stay. Harmless if not initialized. */
void kept_files__exit(struct kept_files *kept);

#endif
