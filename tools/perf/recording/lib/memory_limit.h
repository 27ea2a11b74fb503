/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find out how much memory the cgroup of this process may use.
 */
#ifndef PERF_RECORDING_MEMORY_LIMIT_H
#define PERF_RECORDING_MEMORY_LIMIT_H

#include <stddef.h>
#include <linux/types.h>

/**
 * memory_limit__find - find the lowest limit of the cgroup of this process and of its parents
 * @root:	where /proc and /sys are: "", except in tests
 * @file:	receives the name of the file with the limit
 * @size:	of @file [bytes]
 *
 * Return: the limit [bytes]; 0: there is none, or it is unknown.
 */
u64 memory_limit__find(const char *root, char *file, size_t size);

#endif
