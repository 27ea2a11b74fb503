/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parse numbers, sizes and times in options.
 */
#ifndef PERF_RECORDING_QUANTITY_H
#define PERF_RECORDING_QUANTITY_H

#include <stdbool.h>
#include <linux/types.h>

/**
 * quantity__parse_number - parse digits only: refuse "-1" and "4x"
 *
 * Return: true, with @number set, if @arg is a number from 0 to @max.
 */
bool quantity__parse_number(const char *arg, unsigned long max, unsigned long *number);

/**
 * quantity__parse_size - parse a number with a unit (B, K, M or G)
 *
 * Return: bytes, or 0 if invalid.
 */
u64 quantity__parse_size(const char *arg);

/**
 * quantity__take_time - parse a number with a unit (ns, us, ms, s, m, h or d), as "1.5ms"
 * @text:	then what follows the time, or where it is wrong
 * @ns:		set to the time: at least 1 ns, at most 1000 days
 *
 * Return: NULL, or what is wrong, for a message.
 */
const char *quantity__take_time(const char **text, u64 *ns);

/**
 * quantity__parse_time - parse an argument that is such a time
 *
 * Return: [ns], or 0 if invalid.
 */
u64 quantity__parse_time(const char *arg);

#endif
