/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Store numbers in the byte order of the machine that recorded a file.
 */
#ifndef PERF_TRACE_DAT_BYTES_H
#define PERF_TRACE_DAT_BYTES_H

#include <stdbool.h>
#include <linux/types.h>

static inline void put_number(unsigned char *to, u64 number, unsigned int size, bool big_endian)
{
	unsigned int i;

	for (i = 0; i < size; i++)
		to[big_endian ? size - 1 - i : i] = number >> (8 * i);
}

static inline u64 get_number(const unsigned char *from, unsigned int size, bool big_endian)
{
	u64 number = 0;
	unsigned int i;

	for (i = 0; i < size; i++)
		number = number << 8 | from[big_endian ? i : size - 1 - i];
	return number;
}

#endif
