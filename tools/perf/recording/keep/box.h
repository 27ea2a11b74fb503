/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keep blocks in a file that outlives the recorder (--keep-file). box_format.h explains the file.
 *
 * The memory of blocks lies in the file, which is mapped as a whole. What is free is noted in
 * ordinary memory only: a reader finds it out from the slots.
 *
 * Caller holds keep->lock, unless stated otherwise; keep_box__set_len() needs no lock.
 */
#ifndef PERF_RECORDING_BOX_H
#define PERF_RECORDING_BOX_H

#include <stdbool.h>
#include <linux/types.h>
#include "arena.h"
#include "box_format.h"

/**
 * struct keep_box
 * @fd:		the file, locked
 * @path:	its name, the caller's
 * @map:	the file in memory
 * @bytes:	its size [bytes]
 * @header:	at the beginning of @map
 * @slots:	in @map
 * @free_slots: stack of @nr_free_slots numbers
 * @arena:	which pages behind the slots are free
 * @seq:	newest number of each kind
 */
struct keep_box {
	int		   fd;
	const char	  *path;
	void		  *map;
	u64		   bytes;
	struct box_header *header;
	struct box_slot	  *slots;
	u32		  *free_slots;
	u32		   nr_free_slots;
	struct arena	   arena;
	u64		   seq[BOX_NR_KINDS];
};

/**
 * keep_box__new - create the file
 * @path:	remains the caller's
 * @bytes:	its size [bytes]
 * @box:	receives the box
 *
 * Needs no lock. Return: 0, or a negative errno after an error message.
 */
int keep_box__new(const char *path, u64 bytes, struct keep_box **box);

/**
 * keep_box__delete - close the file; no block of it is used any more
 * @saved:	all records are in files: remove it. Otherwise print how to recover them.
 *
 * Needs no lock.
 */
void keep_box__delete(struct keep_box *box, bool saved);

/** keep_box__capacity - return how many bytes extents may take together */
u64 keep_box__capacity(const struct keep_box *box);

/** keep_box__alloc - allocate an extent of @len bytes. Return: NULL if there is no room */
void *keep_box__alloc(struct keep_box *box, size_t len);

/** keep_box__free - free @len bytes at @data: an extent, or its last pages. No slot has them. */
void keep_box__free(struct keep_box *box, void *data, size_t len);

/** keep_box__contains - is this memory in the file? @box may be NULL */
bool keep_box__contains(const struct keep_box *box, const void *data);

/**
 * keep_box__open - describe an extent to which records will be appended
 *
 * Its @seq is the next one of @kind. Return: NULL if all slots are used.
 */
struct box_slot *keep_box__open(struct keep_box *box, enum box_kind kind, u64 generation,
				const void *data);

/** keep_box__set_len - the extent has whole records up to @len [bytes]; one thread at a time */
static inline void keep_box__set_len(struct box_slot *slot, u64 len)
{
	__atomic_store_n(&slot->len, len, __ATOMIC_RELEASE);		/* B */
}

/**
 * keep_box__close - the extent will not change any more
 * @fields:	what the slot gets, from @len on but for @at, @seq, @generation, @kind and the sums
 */
void keep_box__close(struct box_slot *slot, const struct box_slot *fields);

/**
 * keep_box__add - describe an extent that will not change any more
 * @fields:	as of keep_box__close(), with @seq, @generation, @kind; @seq 0: the next one
 *
 * Return: NULL if all slots are used.
 */
struct box_slot *keep_box__add(struct keep_box *box, const struct box_slot *fields,
			       const void *data);

/** keep_box__free_slot - the extent is not needed any more; the caller frees it after that */
void keep_box__free_slot(struct keep_box *box, struct box_slot *slot);

/** keep_box__set_state - change header.state */
void keep_box__set_state(struct keep_box *box, enum box_state state);

/** keep_box__set_generation - the slots of this generation are complete */
void keep_box__set_generation(struct keep_box *box, u64 generation);

/** keep_box__note_saved - blocks up to @seq are in a file that is saved */
void keep_box__note_saved(struct keep_box *box, u64 seq);

/** keep_box__note_dropped - records up to @last will be dropped because of @limit [ns] */
void keep_box__note_dropped(struct keep_box *box, u64 last, u64 limit);

/**
 * keep_box__note_lost - a ring lost records before @since [ns], or UINT64_MAX; caller holds
 * keep->append only
 */
void keep_box__note_lost(struct keep_box *box, u64 since);

/** keep_box__note_complete - all records up to @time are appended [ns]; likewise */
void keep_box__note_complete(struct keep_box *box, u64 time);

/**
 * keep_box__read_boot_id - get what identifies this boot of the machine; "" if that is not known
 */
void keep_box__read_boot_id(char *id, size_t size);

#endif
