// SPDX-License-Identifier: GPL-2.0-only
/*
 * --switch-output-when: the field of a tracepoint is found in its format, if it is a number.
 * tags: fast parallel
 *
 * Prints KTAP.
 */
#include <stdio.h>
#include <string.h>
#include "recording/when/tracepoint.h"
#include "perf/tests/tap.h"

static const char format[] =
	"name: block_rq_issue\nID: 1186\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n"
	"\tfield:void *hrtimer;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:char rwbs[10];\toffset:40;\tsize:10;\tsigned:0;\n"
	"\tfield:char ops[4];\toffset:52;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc char[] cmd;\toffset:50;\tsize:4;\tsigned:0;\n"
	"\nprint fmt: \"%d\", REC->dev\n";

static char reason[256];

static bool finds(const char *field, u32 offset, u32 size)
{
	struct when_tracepoint tracepoint = { .system = "block", .name = "block_rq_issue" };
	int err = when_tracepoint__parse_format(&tracepoint, format, field, reason, sizeof(reason));

	if (err)
		printf("# %s\n", reason);
	return !err && tracepoint.field.offset == offset && tracepoint.field.size == size;
}

static bool refuses(const char *field)
{
	struct when_tracepoint tracepoint = { .system = "block", .name = "block_rq_issue" };

	return when_tracepoint__parse_format(&tracepoint, format, field, reason, sizeof(reason)) &&
	       !tracepoint.field.size;
}

int main(void)
{
	check(finds("dev", 8, 4), "4 bytes");
	check(finds("sector", 16, 8), "8 bytes");
	check(finds("nr_sector", 24, 4), "a name that ends like another one");
	check(finds("hrtimer", 32, 8), "a pointer");
	check(refuses("rwbs"), "an array is no number");
	check(refuses("common_pid"), "programs do not see the common fields");
	check(refuses("ops"), "nor is a small one");
	check(refuses("sect") &&
	      !strcmp(reason,
		      "block:block_rq_issue has no field 'sect' that is a number. It has: "
		      "dev, sector, nr_sector, hrtimer"),
	      "the reason says which fields exist");
	return tap_end();
}
