/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Read the file of --keep-file when its recorder is gone. Nothing in the file is trusted.
 *
 * box_format.h says what a reader finds. Files may also be damaged: what a checksum or a limit
 * shows to be wrong is counted and left out.
 */
#ifndef PERF_RECORDING_BOX_READ_H
#define PERF_RECORDING_BOX_READ_H

#include <stdbool.h>
#include <linux/types.h>
#include <sys/types.h>
#include "box_format.h"

/**
 * struct box_reader
 * @fd:		the file, the caller's
 * @header:	a copy
 * @slots:	copies of the slots that are valid: by kind, then by @seq
 * @nr:		number of @slots of each kind
 * @damaged_slots: slots that are left out
 */
struct box_reader {
	int		  fd;
	struct box_header header;
	struct box_slot	 *slots[BOX_NR_KINDS];
	size_t		  nr[BOX_NR_KINDS];
	u64		  damaged_slots;
};

/**
 * box_header__check - can the box be read?
 * @problem:	after an error: what is wrong
 *
 * Terminates @boot_id. Return: 0 or -EINVAL.
 */
int box_header__check(struct box_header *header, const char **problem);

/** box_slot__is_valid - do checksums and limits show no damage? @slot is not free. */
bool box_slot__is_valid(const struct box_header *header, const struct box_slot *slot);

/**
 * box_reader__init - read header and slots
 * @fd:		a regular file that nobody writes to; remains the caller's
 * @problem:	after an error: what is wrong
 *
 * Leaves out blocks that are in a saved file, side-band records of other generations, and the
 * second one of two slots for the same records.
 *
 * Return: 0, or a negative errno; -EINVAL if the file is none, or if header or session are damaged.
 */
int box_reader__init(struct box_reader *reader, int fd, const char **problem);

void box_reader__exit(struct box_reader *reader);

/**
 * box_reader__read - read the data of a slot
 * @data:	@slot->len bytes
 *
 * Return: 0, or a negative errno; -EILSEQ if the data are damaged.
 */
int box_reader__read(const struct box_reader *reader, const struct box_slot *slot, void *data);

/** box_slot__is_checked - does a checksum show that the data are as they were written? */
static inline bool box_slot__is_checked(const struct box_slot *slot)
{
	return slot->state == BOX_CLOSED && slot->data_sum;
}

#endif
