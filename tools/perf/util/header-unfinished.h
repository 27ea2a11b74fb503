/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files whose recorder was killed before it could complete the header, and files that were cut off.
 *
 * The former say that their data section is empty, the latter that it is longer than the file; and both list
 * features that they do not have. What is behind the header is records, up to the first that is torn, or
 * the zeros of a block that was not written. Those are read; the machine that recorded the file knows the
 * rest.
 */
#ifndef PERF_UTIL_HEADER_UNFINISHED_H
#define PERF_UTIL_HEADER_UNFINISHED_H

#include <stdbool.h>

struct evlist;
struct perf_header;

/**
 * perf_header__mend - find the records of a file whose header has no data size, or more than there are
 * @header:	as read; if so, receives the length of the records, and no features
 * @fd:		the file
 *
 * Return: true if it was so, and there are records; a warning tells.
 */
bool perf_header__mend(struct perf_header *header, int fd);

/**
 * perf_header__find_tracepoints - take the formats of tracepoints from this machine
 *
 * Does nothing where the header was complete.
 */
void perf_header__find_tracepoints(struct perf_header *header, struct evlist *evlist);

/** perf_header__describe - say what the recorder would have said of this machine, to be written */
void perf_header__describe(struct perf_header *header);

#endif
