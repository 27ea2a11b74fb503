/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write records in task, interrupt and NMI context, so that single_step.h can nest the writers.
 *
 * The ring has one page and is restored to the same state before each run. Writers are compiled
 * against internal.h, as core.c is: a field is one store.
 */
#ifndef RING_BUFFER_NESTED_WRITER_H
#define RING_BUFFER_NESTED_WRITER_H

#include <linux/perf_event.h>
#include "internal.h"

#include "ring.h"
#include "single_step.h"

#define WRITER_RING_SIZE		PAGE_SIZE
#define WRITER_MAX_WORDS		8

struct writer_mode {
	const char	*name;
	unsigned int	flags;		/* RING_* */
	bool		exhaustive;	/* test all pairs: one mode for each way to reserve */
};

#define WRITER_NR_MODES	6
extern const struct writer_mode writer_modes[WRITER_NR_MODES];

/* Contents of ring, event and control page at the start of a run. */
struct ring_backup {
	struct perf_buffer		rb;
	struct perf_event		event;
	struct perf_event_mmap_page	user;
	unsigned char			data[WRITER_RING_SIZE];
};

/* Contexts; the records of each have a different length. */
enum writer_context { TASK, INTERRUPT, NMI };

/**
 * struct writer - a writer of one record, and its result
 * @fn:		writes the record; call it between writer__begin() and writer__end()
 * @size:	of the record, including sample id and trailer [bytes]
 * @words:	the record without sample id and trailer
 * @interrupted: the writer that this one interrupted, or NULL
 * @reserved_after: @interrupted had reserved its space before this one began
 * @ended:	@fn has returned
 * @lost:	the record was lost
 * @head_before, @head_after: rb->head before and after the call
 * @nested_bytes: how much of that difference was reserved by nested writers
 */
struct writer {
	step_fn		fn;
	struct ring	*ring;
	unsigned int	size;
	u64		number;
	u64		words[WRITER_MAX_WORDS];
	struct writer	*interrupted;
	bool		reserved_after;
	bool		ended, lost;
	unsigned long	head_before, head_after, nested_bytes;
};

/*
 * Make a ring whose next record wraps at the end of the area. It is full of records that are
 * numbered from 1 on; if it is streaming, they have been consumed.
 */
struct ring *writer_ring__new(unsigned int flags);

void ring_backup__save(const struct ring *ring, struct ring_backup *state);
void ring_backup__restore(struct ring *ring, const struct ring_backup *state);

void writer__init(struct writer *writer, struct ring *ring, enum writer_context context,
		  u64 number);
void writer__begin(struct writer *writer, struct writer *interrupted);
void writer__end(struct writer *writer);

/* Run @writer in one go. @interrupted: the writer that it interrupts, or NULL */
void writer__run(struct writer *writer, struct writer *interrupted);

/* Whether @writer has reserved its space; for callbacks that interrupt it. */
bool writer__has_reserved(const struct writer *writer);

#endif
