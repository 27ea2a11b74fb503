/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Check, change and sync names of recordings.
 *
 * A recording is a file, or with --kcore a directory that has a file "data".
 */
#ifndef PERF_RECORDING_NAMES_H
#define PERF_RECORDING_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct stat;

/**
 * name__is_other_directory - return whether @path, with status @st, is a directory but no recording
 */
bool name__is_other_directory(const char *path, const struct stat *st);

/** name__is_link - return whether @path is a symbolic link */
bool name__is_link(const char *path);

/**
 * name__check_suffix - can names be @len bytes longer than @path?
 *
 * Return: 0, or -ENAMETOOLONG.
 */
int name__check_suffix(const char *path, size_t len);

/**
 * name__add_suffix - rename @path to @path.SUFFIX, or @path.SUFFIX-N where that name is taken
 * @name:	receives the new name, which the caller frees; NULL after an error
 *
 * Never replaces a file.
 *
 * Return: 0, or a negative errno after an error message.
 */
int name__add_suffix(const char *path, const char *suffix, char **name);

/** name__restore_old - rename @path.old to @path; warns after an error */
void name__restore_old(const char *path);

/**
 * name__sync - wait until the disk has a file and its name
 * @is_dir:	a directory of files
 *
 * A missing file is no error, nor is one that cannot be synced: a pipe or a device.
 *
 * Return: 0, or a negative errno after an error message.
 */
int name__sync(const char *path, bool is_dir);

#endif
