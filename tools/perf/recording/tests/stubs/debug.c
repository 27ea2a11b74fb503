// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include "util/debug.h"
#include "debug.h"

int verbose, debug_peo_args;
bool quiet;
__thread char debug_message[512];
atomic_uint debug_nr_messages;

int eprintf(int level, int var, const char *fmt, ...)
{
	va_list args;

	if (level > var)
		return 0;
	va_start(args, fmt);
	vsnprintf(debug_message, sizeof(debug_message), fmt, args);
	va_end(args);
	debug_nr_messages++;
	return printf("# %s", debug_message);
}
