/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Claim an output file for one recorder, and find out whether its name still leads to it.
 *
 * The claim is a lock on the file (flock(2)), which ends when the file is closed, however the
 * recorder ends. Two recorders that write to one name would truncate or rename each other's files.
 * Other processes may still rename or remove the file: claim__fate() tells.
 */
#ifndef PERF_RECORDING_CLAIM_H
#define PERF_RECORDING_CLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct stat;

/* State of a file that is being written, as other processes may have changed it. */
enum file_fate {
	FILE_KEPT,	/* its name leads to it */
	FILE_MOVED,	/* it has another name now */
	FILE_DELETED,	/* it has no name: its contents are lost once it is closed */
};

/**
 * struct claim - identity of a file
 * @dev, @ino:	as of fstat(2)
 */
struct claim {
	dev_t	dev;
	ino_t	ino;
};

/**
 * claim__stat_data - stat(2) the file at @path, or the file "data" if @path is a directory
 * @path:	set to the name of the latter
 * @data:	a buffer of @size bytes for that name
 *
 * Return: 0, or a negative errno.
 */
int claim__stat_data(const char **path, char *data, size_t size, struct stat *st);

/**
 * claim__begin - keep other recorders from creating files in the directory of @path
 *
 * Between claim__check() and claim__take(), another recorder might create the file, complete it,
 * and end; creating it again would truncate it. Waits for recorders that do the same, two seconds
 * at most: then, and where the directory cannot be locked, the caller goes on unprotected.
 *
 * Return: a descriptor for claim__end(), which may be negative.
 */
int claim__begin(const char *path);

/** claim__end - the file is claimed, or was not created; @guard is closed */
void claim__end(int guard);

/**
 * claim__check - before a file is created: does another recorder write to @path?
 * @path:	of a file, or of a directory with a file "data"; it need not exist
 *
 * Return: 0, or -EBUSY.
 */
int claim__check(const char *path);

/**
 * claim__take - claim a file that was just opened
 * @fd:		stays the caller's
 *
 * Return: 0, also on file systems without locks; -EBUSY if another recorder has claimed it.
 */
int claim__take(struct claim *claim, int fd);

/** claim__names - does @path, as of claim__check(), lead to the claimed file? */
bool claim__names(const struct claim *claim, const char *path);

/** claim__fate - what became of the claimed file, which was created as @path and is open as @fd */
enum file_fate claim__fate(const struct claim *claim, int fd, const char *path);

#endif
