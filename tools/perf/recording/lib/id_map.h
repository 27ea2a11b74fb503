/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Create hash maps whose keys are ids, such as those of tasks (util/hashmap.h).
 */
#ifndef PERF_RECORDING_ID_MAP_H
#define PERF_RECORDING_ID_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/compiler.h>
#include "util/hashmap.h"

static inline size_t id_map__hash(long id, void *ctx __maybe_unused)
{
	return id;
}

static inline bool id_map__equal(long a, long b, void *ctx __maybe_unused)
{
	return a == b;
}

#define id_map__init(map)	hashmap__init(map, id_map__hash, id_map__equal, NULL)
#define id_map__new()		hashmap__new(id_map__hash, id_map__equal, NULL)

#endif
