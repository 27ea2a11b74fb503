/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Transform a block of records into columns, which zstd packs twice as densely as the records.
 *
 *	columns__encode()	records -> columns
 *	columns__decode()	columns -> the same records, byte for byte
 *
 * A sample is a row of 32-bit words, and looks like an earlier one: the last one of the same event,
 * task, and first word of the payload (the number of a system call). So each word has an earlier
 * sample that predicts it, and only the words that differ are stored: which ones they are (the
 * mask), and by how much (the difference). The differences of one word of one event are a column,
 * since zstd finds more in bytes of one kind. Other records are stored as they are.
 *
 * The encoder knows which event a sample belongs to, and where its time, task and key are (struct
 * columns_layout), nothing else of it. A wrong layout costs space, never correctness.
 *
 * Which record predicts a word:
 *
 *	previous	the sample before this one
 *	task		the last one of the same event and task, or else of the event
 *	context		the last one of the same event, task and key, or else as task
 *
 * Tasks and contexts are found in tables of hash values, without a search. Samples too short to
 * predict another are passed over; where there is none, 0 is predicted. The task is predicted by
 * previous, the size by task. The key is what has followed the last time that a task had the same
 * history: the last three events and keys (programs repeat their sequences of system calls, and the
 * exit of a call has the number of its entry). Task, size and key are decoded in this order,
 * because the next one depends on them. For the other words the encoder counts in some of the
 * samples which predictor is right, and chooses for later blocks: padding, for instance, has what
 * the previous record left there. The choice is part of the columns, so each block can be decoded
 * alone. Times are predicted by the tick of the clock, see columns_clock.h.
 *
 * Format: host byte order; numbers are varints of 7 bits a byte, the lowest first; differences are
 * mapped to 0, -1, 1, -2, ... -> 0, 1, 2, 3, ...
 *
 *	layout		four bytes: @id, @tid, @time, @key
 *	tick		of the clock [ns << 32]
 *	records		number of records
 *	kinds		number of events (128 at most), and for each: its index, words that are
 *			predicted by previous, and by task, as bit masks
 *	templates	their number (254 at most), and for each: kind, mask
 *	lengths		of the parts below; of columns: number of them, then for each its distance
 *			from the one before and its length
 *	order		one byte for each record: its template; 254: kind and mask are in the part
 *			"odd"; 255: the record is in the part "whole"
 *	odd		kind, one byte, and mask, for each record of template 254
 *	whole		records as they are
 *	tails		what samples have behind their first 64 words
 *	columns		kind by kind, for each word the differences; for times, the first byte of
 *			the symbol, the second byte of those that have one, and differences as
 *			64-bit numbers where there is no symbol
 *
 * Bounds: a block has at most COLUMNS_MAX_BYTES. The encoder allocates five times the block and 3
 * MB when it is created, and touches what it uses of that: 1 MB for a block of 1 MB of system
 * calls. A block that the columns would not make smaller is refused, and one with records that no
 * ring has (of a size that is no multiple of 8). The decoder accepts any bytes: it reads none
 * behind their end, writes no more than there is space for, and needs no more memory than its
 * tables of 200 kB.
 *
 * Locks: none. An encoder or a decoder is used by one thread at a time.
 */
#ifndef PERF_RECORDING_KEEP_COLUMNS_H
#define PERF_RECORDING_KEEP_COLUMNS_H

#include <stddef.h>
#include <linux/types.h>
#include <sys/types.h>

#define COLUMNS_MAX_BYTES	(1UL << 26)

/* Words of a record that are predicted; the others are its tail. */
#define COLUMNS_WORDS		64

/**
 * struct columns_layout - where samples have what tells how to predict them
 * @id:		index of the word where the id begins, or 0 if samples have none
 * @tid:	index of the word with the thread, or 0
 * @time:	index of the first word of the time, or 0
 * @key:	index of the word that tells records of a task apart, or 0
 */
struct columns_layout {
	u8	id;
	u8	tid;
	u8	time;
	u8	key;
};

struct columns_encoder;
struct columns_decoder;

/**
 * columns_event_fn - return the index of the event that has @id, or a negative number
 *
 * Called once for most ids, in the thread of the encoder.
 */
typedef int (*columns_event_fn)(void *arg, u64 id);

/**
 * columns_encoder__new - allocate an encoder
 * @max_bytes:	largest block, up to COLUMNS_MAX_BYTES [bytes]
 * @layout:	not used if a word has two meanings, or lies in the header or behind the first words
 * @event_of:	called for ids; @arg is its argument
 *
 * Return: the encoder, or NULL: -ENOMEM.
 */
struct columns_encoder *columns_encoder__new(size_t max_bytes, const struct columns_layout *layout,
					     columns_event_fn event_of, void *arg);

void columns_encoder__free(struct columns_encoder *encoder);

/**
 * columns__encode - transform whole records
 * @len:	length of the records, no more than @max_bytes [bytes]
 * @size:	length of the columns [bytes]
 *
 * Return: the columns, valid until the next call, or NULL if they would not be smaller.
 */
const void *columns__encode(struct columns_encoder *encoder, const void *records, size_t len,
			    size_t *size);

/**
 * columns__cut - after columns__encode(): tell where other statistics begin, for zstd
 * @pos:	a position in the columns
 *
 * Return: the next position behind @pos where it is worthwhile to begin another zstd block.
 */
size_t columns__cut(const struct columns_encoder *encoder, size_t pos);

/** columns_decoder__new - allocate a decoder. Return: NULL: -ENOMEM */
struct columns_decoder *columns_decoder__new(void);

void columns_decoder__free(struct columns_decoder *decoder);

/**
 * columns__decode - restore the records
 * @columns:	any @len bytes
 * @size:	space at @records [bytes]
 *
 * Return: length of the records [bytes], or -EINVAL if this is no output of columns__encode(), or
 * of more records than there is space for. @records may have been written to in both cases.
 */
ssize_t columns__decode(struct columns_decoder *decoder, const void *columns, size_t len,
			void *records, size_t size);

#endif
