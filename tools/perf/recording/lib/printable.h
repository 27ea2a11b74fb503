/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copy names that others choose to messages.
 */
#ifndef PERF_RECORDING_PRINTABLE_H
#define PERF_RECORDING_PRINTABLE_H

#include <ctype.h>
#include <stddef.h>

/** copy_printable - copy what fits of a name; replace bytes that a terminal would act on by '?' */
static inline void copy_printable(char *to, const char *name, size_t size)
{
	size_t i;

	for (i = 0; i < size - 1 && name[i]; i++)
		to[i] = isprint((unsigned char)name[i]) ? name[i] : '?';
	to[i] = '\0';
}

#endif
