/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rings whose writers are stepped: of one page, put back to the same state before each run.
 *
 * A writer is compiled as core.c is, against internal.h: its fields are stores.
 */
#ifndef STEPPED_H
#define STEPPED_H

#include <linux/perf_event.h>
#include "internal.h"

#include "ring.h"
#include "single_step.h"

#define STEPPED_SIZE		PAGE_SIZE
#define STEPPED_WORDS		8

struct stepped_mode {
	const char	*name;
	unsigned int	flags;		/* RING_* */
	bool		in_full;	/* one of each way to take room */
};

#define STEPPED_NR_MODES	6
extern const struct stepped_mode stepped_modes[STEPPED_NR_MODES];

/* What a run starts from. */
struct stepped_state {
	struct perf_buffer		rb;
	struct perf_event		event;
	struct perf_event_mmap_page	user;
	unsigned char			data[STEPPED_SIZE];
};

/* Contexts. Their records have different lengths. */
enum stepped_context { TASK, INTERRUPT, NMI };

/**
 * struct writer - a record to be written, and what becomes of it
 * @fn:		writes it; to be called between writer__begin() and writer__end()
 * @size:	of the record, with all that belongs to the mode [bytes]
 * @words:	the record's own part
 * @interrupted: the writer that this one interrupted, or NULL
 * @is_behind:	that one had its room already
 * @ended:	was run; @lost: and found no room
 * @from, @to:	rb->head before and after
 * @inside:	how much of that is of writers that interrupted this one
 */
struct writer {
	stepper_fn	fn;
	struct ring	*ring;
	unsigned int	size;
	u64		number;
	u64		words[STEPPED_WORDS];
	struct writer	*interrupted;
	bool		is_behind;
	bool		ended, lost;
	unsigned long	from, to, inside;
};

/*
 * Makes a ring whose next record goes over the end of the area. All others are in it, or, if it
 * streams, were, and are numbered from 1 on.
 */
struct ring *stepped__new_ring(unsigned int flags);

void stepped__save(const struct ring *ring, struct stepped_state *state);
void stepped__restore(struct ring *ring, const struct stepped_state *state);

void writer__init(struct writer *writer, struct ring *ring, enum stepped_context context,
		  u64 number);
void writer__begin(struct writer *writer, struct writer *interrupted);
void writer__end(struct writer *writer);

/* All of it, in place of @interrupted, or NULL. */
void writer__run(struct writer *writer, struct writer *interrupted);

/* Whether it has its room; from between its steps. */
bool writer__has_room(const struct writer *writer);

#endif
