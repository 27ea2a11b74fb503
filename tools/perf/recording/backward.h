/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A private copy of a write_backward ring, and which of its bytes can be trusted.
 *
 * A write_backward ring is written from high offsets to low ones. data_head starts at 0 and is
 * decremented, so it always stands on the newest record, and reading upward from it goes back in
 * time until the ring has been gone round once:
 *
 *        data_head                                          data_head + ring size
 *            |                                                         |
 *            v                                                         v
 *   --- free | newest | ...            older  ...           | oldest   |
 *        ^                                                     ^
 *        the next record goes here, and lands, modulo the size, here
 *
 * Nobody stops the writers while the copy is made, so they go on eating its oldest end. How much
 * they ate is known afterwards from how far data_head has moved, provided that every writer that
 * was active during the copy has published data_head in the meantime: grace.h waits for that.
 *
 *   copy:    head = LOAD_ACQUIRE(data_head)       (C) of linux/ring_buffer.h, pairs with (B)
 *            LOAD $data
 *   grace:   every writer that had begun has published
 *   settle:  now = LOAD_ACQUIRE(data_head)        (C)
 *            the records in [now, head) lie, modulo the size, where the last head - now
 *            bytes of the copy came from: those bytes are dropped
 *
 * Offsets run freely and are compared by unsigned difference only. They are 64 bits wide: 32-bit
 * kernels publish fewer, and are not supported.
 *
 * All of this is unaware of files, events and CPUs, and is tested alone (tests/backward_test.c).
 */
#ifndef PERF_RECORDING_BACKWARD_H
#define PERF_RECORDING_BACKWARD_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/**
 * struct backward_image - the unread part of one ring, newest record first
 * @data:	the bytes; @size of them are allocated
 * @size:	size of the ring, a power of two [bytes]
 * @head:	data_head at the moment of the copy
 * @unread:	bytes written to the ring since the previous image, exact
 * @len:	bytes copied: the smaller of @unread and @size
 * @whole:	the first @whole bytes of @data were complete and not yet overwritten
 *		when they were copied; valid after backward_image__settle()
 */
struct backward_image {
	void	*data;
	size_t	 size;
	u64	 head;
	u64	 unread;
	size_t	 len;
	size_t	 whole;
};

/**
 * struct backward_records - what backward_image__oldest_first() found
 * @bytes:	length of the records returned [bytes]
 * @nr:		how many they are
 * @corrupt:	a record header made no sense and ended the walk; never seen unless the
 *		memory was changed by somebody else than the kernel
 */
struct backward_records {
	size_t	 bytes;
	u64	 nr;
	bool	 corrupt;
};

/**
 * backward_image__init - allocate the buffers for copies of a ring
 * @image:	to be initialised; owned by the caller, freed with backward_image__exit()
 * @size:	size of the ring's data area [bytes]
 *
 * The pages are populated at once: a page fault during the copy would let the writers
 * get further.
 *
 * Return: 0, or -ENOMEM.
 */
int backward_image__init(struct backward_image *image, size_t size);

/** backward_image__exit - free what backward_image__init() allocated; harmless if it failed */
void backward_image__exit(struct backward_image *image);

/**
 * backward_image__copy - copy what was written since @prev
 * @image:	receives the copy
 * @ring:	start of the data area in the mapping, @image->size bytes
 * @head:	data_head, read with acquire semantics before the call
 * @prev:	head of the previous image, 0 for the first
 */
void backward_image__copy(struct backward_image *image, const void *ring, u64 head, u64 prev);

/**
 * backward_image__settle - find out which bytes of the copy can be trusted
 * @image:	filled by backward_image__copy()
 * @now:	data_head, read after all writers that were active during the copy have published
 */
void backward_image__settle(struct backward_image *image, u64 now);

/**
 * backward_image__oldest_first - the whole records of the image, oldest first
 * @image:	settled
 * @dst:	receives the records, without gaps; room for @image->whole bytes
 *
 * The record that straddles @image->whole, whose end is overwritten, is left out.
 */
struct backward_records backward_image__oldest_first(const struct backward_image *image,
						     void *dst);

#endif
