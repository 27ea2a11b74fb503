/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pack tracepoint payloads into pages of ftrace's ring buffer, in a temporary file.
 *
 * A page begins with a timestamp and a word with the length of the data. Events follow, each after
 * a word with its type or length and the time since the previous event:
 *
 *	timestamp [8] | commit [4 or 8] | event | event | ... | lost events [4 or 8], if any
 *
 * trace.dat has the pages of each CPU in one run, but samples come in the order of time. Each CPU
 * has one page in memory; full pages are appended to the temporary file, and copied to their places
 * at the end. A page that is written costs 4 bytes of memory.
 */
#ifndef PERF_TRACE_DAT_PAGES_H
#define PERF_TRACE_DAT_PAGES_H

#include <stdbool.h>
#include <stdio.h>
#include <linux/types.h>

/* Linux supports 8192 CPUs at most. */
#define TRACE_DAT_MAX_CPUS	65536

/**
 * struct page_format - from header_page of the machine that recorded the file
 * @size:	of a page [bytes]
 * @data_offset: of the first event
 * @commit_offset: of the word with the length of the data
 * @long_size:	of that word, 4 or 8
 * @big_endian:	byte order
 */
struct page_format {
	unsigned int	size;
	unsigned int	data_offset;
	unsigned int	commit_offset;
	unsigned int	long_size;
	bool		big_endian;
};

/**
 * struct cpu_pages
 * @page:	not yet written, NULL before the first event
 * @used:	bytes of its data, 0 if no page has been begun
 * @limit:	bytes of data that fit
 * @time:	of the last event in @page
 * @missed:	lost events to report at the begin of @page
 * @pending_lost: lost events, to be reported with the next event
 * @lost_time:	when the last of them were reported
 * @nr_counted:	lost events of which only the number is known, which may include all others
 * @nr_events:	events
 * @nr_lost:	lost events in pages
 * @nr_pages:	written pages
 * @first_page:	number of the first one in the temporary file
 * @last_page:	number of the last one
 */
struct cpu_pages {
	unsigned char	*page;
	unsigned int	 used;
	unsigned int	 limit;
	u64		 time;
	u64		 missed;
	u64		 pending_lost;
	u64		 lost_time;
	u64		 nr_counted;
	u64		 nr_events;
	u64		 nr_lost;
	u64		 nr_pages;
	u32		 first_page;
	u32		 last_page;
};

/**
 * struct pages
 * @format:	of a page; set by the caller before the first event
 * @spool:	the temporary file
 * @cpus:	array, by number of the CPU
 * @nr_cpus:	its length
 * @next_page:	for each page in @spool, the next one of the same CPU
 * @nr_pages:	number of pages in @spool
 * @max_pages:	allocated length of @next_page
 */
struct pages {
	struct page_format	 format;
	int			 spool;
	struct cpu_pages	*cpus;
	unsigned int		 nr_cpus;
	u32			*next_page;
	u64			 nr_pages;
	u64			 max_pages;
};

/* Set up for the temporary file @spool, which stays the caller's. Release with pages__exit(). */
void pages__init(struct pages *pages, int spool);
void pages__exit(struct pages *pages);

/* Return: the number of bytes that an event may have. */
unsigned int pages__max_event(const struct pages *pages);

/* Make the file have at least @nr_cpus CPUs. Return: 0, or -ENOMEM. */
int pages__grow(struct pages *pages, unsigned int nr_cpus);

/**
 * pages__add - append an event
 * @cpu:	less than TRACE_DAT_MAX_CPUS
 * @time:	in ns
 * @size:	of @data, at most pages__max_event()
 *
 * Return: 0, -ENOMEM, or a negative errno of writing the temporary file.
 */
int pages__add(struct pages *pages, unsigned int cpu, u64 time, const void *data,
	       unsigned int size);

/*
 * Note that events are lost between the last event of @cpu and the next one, which @time precedes.
 * Return: as above.
 */
int pages__lost(struct pages *pages, unsigned int cpu, u64 time, u64 nr);

/* Write the pages that are not full. Return: as above. */
int pages__flush(struct pages *pages);

/*
 * Copy all pages, by CPU. Errors of @file are left to the caller. Return: 0, or a negative errno.
 */
int pages__copy(struct pages *pages, FILE *file);

#endif
