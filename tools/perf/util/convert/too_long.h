/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find the duration that caused a snapshot in the text of its sample.
 */
#ifndef PERF_CONVERT_TOO_LONG_H
#define PERF_CONVERT_TOO_LONG_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/* Durations that overlap each other and are drawn; the begin of others is cut */
#define TOO_LONG_LANES	8

/**
 * struct too_long - a duration
 * @len:	of its description, with which the text begins [bytes]
 * @begin, @end: on the clock of the events, a multiple of 1,000 [ns]
 */
struct too_long {
	size_t	len;
	u64	begin;
	u64	end;
};

/** struct too_long_lanes - rows without overlaps; @end: of the last duration in each [ns] */
struct too_long_lanes {
	u64	end[TOO_LONG_LANES];
};

/**
 * too_long__parse - find the duration in the text of a snapshot
 * @size:	of @text, which may end earlier by a zero
 *
 * Return: whether a duration caused the snapshot, and its times are known.
 */
bool too_long__parse(struct too_long *too_long, const char *text, size_t size);

/**
 * too_long__choose_lane - choose a row where nothing overlaps the duration
 *
 * If there is none, @too_long->begin is changed. Return: index of the row.
 */
unsigned int too_long__choose_lane(struct too_long_lanes *lanes, struct too_long *too_long);

#endif
