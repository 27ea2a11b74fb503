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
 * quantity__parse_seconds - parse a number with a unit (s, m, h or d)
 *
 * Return: seconds, at most INT_MAX, or 0 if invalid.
 */
u64 quantity__parse_seconds(const char *arg);

#endif
