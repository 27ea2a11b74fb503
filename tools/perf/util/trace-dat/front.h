/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write what precedes the pages in trace.dat, version 6, which trace-cmd.dat.v6(5) describes.
 *
 * The tracing data of perf.data is the begin of such a file, up to the names of tasks: perf and
 * trace-cmd took the layout from the same source. Only the version differs.
 */
#ifndef PERF_TRACE_DAT_FRONT_H
#define PERF_TRACE_DAT_FRONT_H

#include <stdio.h>
#include "pages.h"

/**
 * struct front
 * @data:	tracing data of the perf.data file; owned by this structure
 * @size:	its length
 * @ftrace:	offset of the number of formats of ftrace itself
 * @kallsyms:	offset of the kernel's symbols
 * @has_symbols: there are some
 * @end:	of the formats, where the names of tasks follow
 * @symbols:	text to write as the kernel's symbols, or NULL
 * @symbols_size: length of @symbols
 * @system:	describes the machine: release, ...
 * @program:	which perf has recorded the file
 * @clock:	name of the clock, as in trace_clock of tracefs
 * @comms:	names of the tasks, as in saved_cmdlines of tracefs
 * @comms_size:	length of @comms
 */
struct front {
	unsigned char	*data;
	size_t		 size;
	size_t		 ftrace;
	size_t		 kallsyms;
	bool		 has_symbols;
	size_t		 end;
	char		*symbols;
	size_t		 symbols_size;
	char		*system;
	char		*program;
	const char	*clock;
	char		*comms;
	size_t		 comms_size;
};

/**
 * front__parse - find the end of the formats in @front->data, and read the format of pages
 *
 * Return: 0, or -EINVAL if the data is truncated or of an unknown kind.
 */
int front__parse(struct front *front, struct page_format *format);

/* Return: whether a format prints an address as a symbol. Call it after front__parse(). */
bool front__prints_symbols(const struct front *front);

/* Write all that precedes @pages. Errors of @file are left to the caller. Return: 0, or -ENOMEM. */
int front__write(const struct front *front, const struct pages *pages, FILE *file);

void front__exit(struct front *front);

#endif
