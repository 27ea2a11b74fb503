/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fuzz perf_event_open(2) and the ring buffer.
 *
 *	main.c		options, rounds, time limit
 *	worker.c	one process of a round: random actions on its events
 *	attr.c		random attributes
 *	check.c		check the records of rings that nobody has corrupted
 *
 * Each process has a table of events. A child begins with the events of its parent, on the same
 * descriptors, and maps them on its own.
 */
#ifndef PERF_EVENT_FUZZ_H
#define PERF_EVENT_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/perf_event.h>
#include <linux/perf_event_trailer.h>

#include "random.h"

#define NR_EVENTS	12	/* of a process */

/**
 * struct event - an event and this process's mappings of its ring and AUX area
 * @fd:		-1 if the entry is free
 * @attr:	its attributes, as opened
 * @pid, @cpu:	what it measures
 * @mine:	opened by this process, which alone consumes records
 * @hostile:	any process may write anything to the control page; its records are not checked
 * @shared:	redirected, or the target of others: its ring has records of several events
 * @writable:	how every process maps it: streaming or overwrite
 * @pages:	data pages that every process maps
 * @page:	the control page, or NULL if this process has not mapped it
 * @size:	of the data area, which follows @page [bytes]
 * @aux:	the AUX area, or NULL
 * @aux_size:	of the AUX area [bytes]
 */
struct event {
	int				fd;
	struct perf_event_attr		attr;
	pid_t				pid;
	int				cpu;
	bool				mine;
	bool				hostile;
	bool				shared;
	bool				writable;
	unsigned int			pages;
	struct perf_event_mmap_page	*page;
	size_t				size;
	void				*aux;
	size_t				aux_size;
};

/* Counts of all processes, in shared memory. */
struct counts {
	unsigned long	actions, opened, refused, mapped, aux_mapped, records, lost, snapshots;
	unsigned long	failures;
};

extern struct counts *counts;

/* The seed of the round that runs. */
extern uint64_t round_seed;

static inline void count(unsigned long *counter, unsigned long n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

/* Look up types of PMUs and ids of tracepoints; once, before the first round. */
void attr_init(void);
/* Fill in attributes, most of them valid. @leader: an event for a group, or NULL */
void attr_random(struct perf_event_attr *attr, const struct event *leader);
/* Tell whether events with @attr may have an AUX area. */
bool attr_has_aux(const struct perf_event_attr *attr);
/*
 * Return the size of the samples that @attr asks for [bytes], without the trailer; 0 if it depends
 * on the sample.
 */
unsigned int attr_sample_size(const struct perf_event_attr *attr);

/*
 * Check and consume the records of @event's ring, which this process has mapped. Counts and prints
 * a failure if they are not what the ABI promises.
 */
void check_ring(struct event *event);

/* Run @actions random actions. @workload: a process to measure. Returns when they are done. */
void worker_run(unsigned int actions, pid_t workload);
/* Cause events until killed. */
void workload_run(void);

/* Print a failure with the seed of the round, and count it. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
