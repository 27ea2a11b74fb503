/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find the file that a task has mapped. Take no other file for it that has the same path.
 *
 * The path in a mmap record begins at the root of the task, in its mount namespace. That of a
 * record which was synthesized from /proc/PID/maps begins at the root of perf if both are in one
 * mount namespace. The task may have exited, and the file may have been replaced. So each candidate
 * is compared with what the record tells: the build-id, else device and inode number.
 */
#ifndef __PERF_MAPPED_FILE_H
#define __PERF_MAPPED_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct build_id;
struct dso;
struct nscookie;
struct nsinfo;
struct perf_record_mmap2;

/**
 * dso__mapped_path - find the file of @dso: at its long name, or below /proc/PID/root
 *
 * Return: false if there is no file, or only another file with that path.
 */
bool dso__mapped_path(const struct dso *dso, char *path, size_t size);

/**
 * dso__mountns_enter - enter the root of a task that has mapped @dso, unless the file is found here
 * @nc:	for nsinfo__mountns_exit()
 */
void dso__mountns_enter(const struct dso *dso, struct nscookie *nc);

/** dso__mapped_here - can the file at the long name of @dso be the one that was mapped? */
bool dso__mapped_here(const struct dso *dso);

/**
 * dso__outside_name - return the path from outside for @name in the root that @nc has entered
 *
 * The caller frees it.
 */
char *dso__outside_name(const struct dso *dso, const struct nscookie *nc, const char *name);

/**
 * dso__mapped_nsinfo - return where to find the file of @dso: in @nsi, or NULL for here
 * @found:	receives whether it was found
 */
struct nsinfo *dso__mapped_nsinfo(const struct dso *dso, bool *found);

/**
 * mmap2__read_build_id - read the build-id of the file that a running task has mapped
 * @event:	synthesized, without build-id
 *
 * Return: 0, or -1 if it cannot be had.
 */
int mmap2__read_build_id(const struct perf_record_mmap2 *event, struct build_id *bid);

#endif
