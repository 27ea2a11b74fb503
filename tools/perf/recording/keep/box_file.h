/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Create and lock the file of a box; refuse one that is in use, or whose records nobody has saved.
 */
#ifndef PERF_RECORDING_BOX_FILE_H
#define PERF_RECORDING_BOX_FILE_H

#include <linux/types.h>

/**
 * box_file__create - create the file, or empty a box whose records are saved or recovered
 * @path:	no symbolic link
 * @bytes:	its size, reserved on the file system: no later store can fail [bytes]
 *
 * The file has mode 0600 and is locked (flock(2)) until the descriptor is closed, also by the end
 * of the process.
 *
 * Return: a descriptor, or a negative errno after an error message. Then a file that existed is
 * unchanged, or empty if there was no space.
 */
int box_file__create(const char *path, u64 bytes);

/**
 * box_file__map - map the file
 *
 * The mapping refers to another open file than @fd. Otherwise it would hold the lock as long as
 * anything refers to the memory of a killed recorder, such as a reader of /proc/PID/maps.
 *
 * Return: MAP_FAILED, with errno set, after an error.
 */
void *box_file__map(int fd, const char *path, u64 bytes);

/** box_file__remove - remove the file, if @path still leads to @fd */
void box_file__remove(int fd, const char *path);

#endif
