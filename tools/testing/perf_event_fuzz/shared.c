// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hold what all parts of the fuzzer share: counts, the seed of the round, the random state.
 */
#include <stdarg.h>
#include <stdio.h>
#include "fuzz.h"
#include "random.h"

uint64_t random_state;
uint64_t round_seed;
struct counts *counts;

void fail(const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	dprintf(1, "# seed %#llx: %s\n", (unsigned long long)round_seed, text);
	count(&counts->failures, 1);
}
