/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write text as events ftrace:print, which writes to trace_marker are in files of trace-cmd.
 */
#ifndef PERF_TRACE_DAT_PRINT_H
#define PERF_TRACE_DAT_PRINT_H

#include <stdio.h>
#include <linux/types.h>
#include "pages.h"

/* Write the format of the event. Errors of @file are left to the caller. */
void print__write_format(const struct page_format *format, FILE *file);

/**
 * print__add - append an event
 * @cpu:	less than TRACE_DAT_MAX_CPUS
 * @time:	in ns
 * @pid:	task of the event; 0 is the idle task
 * @text:	truncated if it is longer than 511 bytes
 *
 * Return: as pages__add().
 */
int print__add(struct pages *pages, unsigned int cpu, u64 time, int pid, const char *text);

#endif
