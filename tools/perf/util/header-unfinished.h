/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Read perf.data files whose recorder was killed before it completed the header, and truncated
 * files.
 *
 * In an unfinished file the header contains an empty data section; in a truncated file the data
 * section is longer than the file. Both list features that they do not have. The header is followed
 * by records, up to the first incomplete record or to the zeros of a block that was not written.
 * Read these records, and take the missing features from the machine that recorded the file.
 */
#ifndef PERF_UTIL_HEADER_UNFINISHED_H
#define PERF_UTIL_HEADER_UNFINISHED_H

#include <stdbool.h>

struct evlist;
struct perf_header;

/**
 * perf_header__repair - correct the header of an unfinished or truncated file
 * @header:	as read from the file; if it is wrong, its data size is set to the size of the
 *		complete records, and its features are removed
 * @fd:		of the file
 *
 * Return: true, after a warning, if the header was wrong and the file contains records; otherwise
 * false.
 */
bool perf_header__repair(struct perf_header *header, int fd);

/**
 * perf_header__find_tracepoints - load missing formats of tracepoints from this machine
 * @header:	does nothing unless perf_header__repair() returned true for it
 * @evlist:	its events
 *
 * Prints an error for each tracepoint that this machine does not have.
 */
void perf_header__find_tracepoints(struct perf_header *header, struct evlist *evlist);

/**
 * perf_header__describe - set the features that describe this machine, as the recorder would have
 * @header:	to be written; does nothing unless perf_header__repair() returned true for it
 */
void perf_header__describe(struct perf_header *header);

#endif
