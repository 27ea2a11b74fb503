// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <linux/kernel.h>
#include "bytes.h"
#include "print.h"

#define PRINT_ID	5	/* TRACE_PRINT; the ids of tracepoints are larger */
#define MAX_TEXT	512

/* The kernel's format prints the address of the writer, ip, before the text: there is none here. */
static const char print_format[] =
	"name: print\n"
	"ID: %u\n"
	"format:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:unsigned long ip;\toffset:8;\tsize:%u;\tsigned:0;\n"
	"\tfield:char buf[];\toffset:%u;\tsize:0;\tsigned:0;\n"
	"\n"
	"print fmt: \"%%s\", REC->buf\n";

void print__write_format(const struct page_format *format, FILE *file)
{
	char text[sizeof(print_format) + 16];
	unsigned char size[8];
	int len;

	len = snprintf(text, sizeof(text), print_format, PRINT_ID, format->long_size,
		       8 + format->long_size);
	put_number(size, len, sizeof(size), format->big_endian);
	fwrite(size, sizeof(size), 1, file);
	fwrite(text, len, 1, file);
}

int print__add(struct pages *pages, unsigned int cpu, u64 time, int pid, const char *text)
{
	const struct page_format *format = &pages->format;
	unsigned char event[8 + sizeof(u64) + MAX_TEXT] = { 0 };
	unsigned int at = 8 + format->long_size;
	size_t len = min(strlen(text), (size_t)pages__max_event(pages) - at - 1);

	put_number(event, PRINT_ID, 2, format->big_endian);
	put_number(event + 4, (u32)pid, 4, format->big_endian);
	len = min(len, (size_t)MAX_TEXT - 1);
	memcpy(event + at, text, len);
	return pages__add(pages, cpu, time, event, at + len + 1);
}
