/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write a HTML page that contains a trace, and the script that draws it.
 */
#ifndef PERF_CHROME_TRACE_PAGE_H
#define PERF_CHROME_TRACE_PAGE_H

#include <stdio.h>

/* Write what precedes the trace in the page, and what follows. */
void page__begin(FILE *file);
void page__end(FILE *file);

#endif
