/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Assert conditions and read the input byte by byte, for libFuzzer targets. The input is followed
 * by zeros.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdio.h>
#include <stdlib.h>

#define MUST(condition)								\
	do {									\
		if (!(condition)) {						\
			fprintf(stderr, "line %d: violated: %s\n", __LINE__, #condition); \
			abort();						\
		}								\
	} while (0)

static const unsigned char *input;
static size_t input_left;

static inline unsigned int take(void)
{
	return input_left ? (input_left--, *input++) : 0;
}

static inline unsigned long long take_u64(void)
{
	unsigned long long value = 0;
	int i;

	for (i = 0; i < 8; i++)
		value = value << 8 | take();
	return value;
}

#endif
