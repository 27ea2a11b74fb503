/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compute a checksum that detects damaged memory: 15 bytes a nanosecond, no protection from malice.
 */
#ifndef PERF_RECORDING_CHECKSUM_H
#define PERF_RECORDING_CHECKSUM_H

#include <string.h>
#include <linux/types.h>

static inline u64 checksum__mix(u64 sum, u64 word)
{
	sum = (sum ^ word) * 0x9e3779b97f4a7c15ULL;
	return sum ^ (sum >> 32);
}

/** checksum - return a checksum of @len bytes at @data, never 0. It depends on the byte order. */
static inline u64 checksum(const void *data, size_t len)
{
	u64 lane[4] = { 0, 1, 2, 3 }, word[4], sum = len;
	size_t pos, i;

	for (pos = 0; len - pos >= sizeof(word); pos += sizeof(word)) {
		memcpy(word, data + pos, sizeof(word));
		for (i = 0; i < 4; i++)
			lane[i] = checksum__mix(lane[i], word[i]);
	}
	memset(word, 0, sizeof(word));
	memcpy(word, data + pos, len - pos);
	for (i = 0; i < 4; i++)
		sum = checksum__mix(checksum__mix(sum, lane[i]), word[i]);
	return sum ?: 1;
}

#endif
