/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write the kernel's symbols, as in /proc/kallsyms of the machine that recorded.
 */
#ifndef PERF_TRACE_DAT_KALLSYMS_H
#define PERF_TRACE_DAT_KALLSYMS_H

#include <stddef.h>

struct machine;

/**
 * kallsyms__text - write a line for each symbol that perf finds for the kernel of @machine
 * @size:	is set to the length of the text
 *
 * The symbols are those of the running kernel, or in the build-id cache, if the build-id matches.
 * Return: the text, to be released with free(); NULL if none is found.
 */
char *kallsyms__text(struct machine *machine, size_t *size);

#endif
