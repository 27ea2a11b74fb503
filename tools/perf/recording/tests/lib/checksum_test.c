// SPDX-License-Identifier: GPL-2.0-only
/*
 * checksum(): each bit counts, wherever it is
 *
 * tags: fast parallel
 */
#include <stddef.h>
#include "perf/tests/tap.h"
#include "recording/keep/box_format.h"
#include "recording/lib/checksum.h"

#define MAX_BYTES 131

/* Sum of main()'s bytes on a little-endian machine. Files have such sums: see BOX_VERSION. */
#define SUM_OF_VERSION_2 0xe082e80727e8332eULL

static unsigned char data[MAX_BYTES];

/* Return: the number of bits of the first @len bytes whose change changes no checksum. */
static int ignored_bits(size_t len)
{
	const u64 before = checksum(data, len);
	int ignored = 0;
	size_t bit;

	for (bit = 0; bit < 8 * len; bit++) {
		data[bit / 8] ^= 1 << bit % 8;
		ignored += checksum(data, len) == before;
		data[bit / 8] ^= 1 << bit % 8;
	}
	return ignored;
}

static int ignored_bits_of_all(void)
{
	int ignored = 0;
	size_t len;

	for (len = 0; len <= MAX_BYTES; len++)
		ignored += ignored_bits(len);
	return ignored;
}

int main(void)
{
	size_t i;

	check(!ignored_bits_of_all(), "each bit of zeros counts, at any length");
	for (i = 0; i < MAX_BYTES; i++)
		data[i] = 37 * i + 11;
	check(!ignored_bits_of_all(), "each bit of other bytes counts, at any length");
	check(checksum(data, 0) && checksum(data, 32) != checksum(data, 64), "the length counts");
	check(BOX_VERSION == 2, "the sum below is that of the version of files");
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	check(checksum(data, MAX_BYTES) == SUM_OF_VERSION_2, "files of this version have this sum");
#endif
	return tap_end();
}
