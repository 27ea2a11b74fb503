/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stubs of the functions that restore packed blocks, for a test of which one file includes this.
 *
 * The compressor restores a packed block before it thins it (keep/share.c). The blocks that these
 * tests thin are not packed.
 */
#ifndef PERF_RECORDING_TESTS_NO_UNPACKER_H
#define PERF_RECORDING_TESTS_NO_UNPACKER_H

#include <errno.h>
#include <stdlib.h>
#include "recording/keep/pack.h"

struct keep_unpacker *keep_unpacker__new(size_t max_bytes)
{
	(void)max_bytes;
	return malloc(1);
}

void keep_unpacker__free(struct keep_unpacker *unpacker)
{
	free(unpacker);
}

ssize_t keep_unpacker__unpack(struct keep_unpacker *unpacker, const void *packed, size_t len,
			      void **records)
{
	(void)unpacker, (void)packed, (void)len, (void)records;
	return -EINVAL;
}

#endif
