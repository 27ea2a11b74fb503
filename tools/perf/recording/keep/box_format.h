/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Define the file of --keep-file, the box, which outlives the recorder.
 *
 *	0			struct box_header
 *	@slots_at		@nr_slots of struct box_slot
 *	@arena_at		pages of @page bytes, up to @bytes: the data of the slots
 *
 * A slot describes one piece of data, its extent: a block of the kept streams (block.h), side-band
 * records that these need, or the session. The session is a perf.data file without samples, with
 * the attributes, ids and features of the recording. Only slots say which pages are used. Words
 * have the byte order of the machine.
 *
 * The recorder maps the file and may be killed between any two stores. Stores that it has executed
 * are in the file, whatever happens to the process. Readers come when it is gone: so only the order
 * of its stores counts. Each change takes effect by one store of 8 bytes, and all stores before it
 * have been executed by then:
 *
 *	store that takes effect		what is stored before it		at
 *
 *	A  slot.state = BOX_OPEN	@at, @seq, @kind, @open_sum		keep_box__open()
 *	B  slot.len			the records up to there			keep_box__set_len()
 *	C  slot.state = BOX_CLOSED	all other fields, the data		keep_box__close(), __add()
 *	D  slot.state = BOX_FREE	what replaces the slot, or		keep_box__free_slot()
 *					header.dropped_last, header.saved
 *	E  header.generation		all slots of that generation, C		keep_box__set_generation()
 *	F  header.state			the slot of the session, C		keep_box__set_state()
 *
 * An extent or a slot is used again only after D.
 *
 * So a reader finds at any instant:
 *  1. Each record that was appended by B is in an open or closed slot, until the snapshot that has
 *     it is saved, or it is dropped (D).
 *  2. While a block is replaced by its compressed form, two closed slots have its @seq and hold the
 *     same records. The reader takes one.
 *  3. The side-band records of header.generation are all that later blocks need: they begin with
 *     the live state (state.h), and those that were drained since follow in the order of @seq.
 *     Slots of other generations are ignored.
 *  4. No record newer than max(@dropped_last, @lost_since) and not newer than @complete is missing.
 */
#ifndef PERF_RECORDING_BOX_FORMAT_H
#define PERF_RECORDING_BOX_FORMAT_H

#include <stddef.h>
#include <linux/types.h>
#include "recording/lib/checksum.h"

/* Large enough for a good ratio, small enough to be the unit in which records are dropped. */
#define KEEP_BLOCK_BYTES	(1UL << 20)

#define BOX_MAGIC		"PERFKEEP"
/* Add one for each change of the format, also of the checksum and of packed records (pack.h). */
#define BOX_VERSION		2
#define BOX_BYTE_ORDER		0x0102030405060708ULL

/* Offset of the fields that change, in a cache line of their own */
#define BOX_MUTABLE_AT		256

enum box_state {
	BOX_STARTING,		/* no record was kept so far */
	BOX_RECORDING,		/* in use, or its recorder was killed */
	BOX_UNSAVED,		/* its recorder ended, but could not write the last snapshot */
	BOX_SAVED,		/* everything is in files of the recorder */
	BOX_RECOVERED,		/* perf inject has written it to a file */
};

/**
 * struct box_header
 * @magic:	BOX_MAGIC
 * @byte_order:	BOX_BYTE_ORDER
 * @version:	BOX_VERSION
 * @bytes:	size of the file [bytes]
 * @page:	unit of extents [bytes]
 * @nr_slots, @slots_at, @arena_at: see above
 * @pid:	of the recorder
 * @boot_id:	/proc/sys/kernel/random/boot_id of its machine
 * @sum:	checksum of the fields above
 *
 * @state:	enum box_state
 * @generation:	that side-band records must have
 * @saved:	blocks up to this @seq are in a file
 * @dropped_last: time of the newest record that was dropped, and is in no file [ns]
 * @limit:	why it was dropped (enum keep_limit)
 * @lost_since:	time of the first record after the last loss of a ring [ns]; UINT64_MAX: a ring was
 *		full, and it is not known yet until when
 * @complete:	all records up to this time had been appended [ns]
 * @incomplete:	side-band records for which there was no space
 */
struct box_header {
	char	magic[8];
	u64	byte_order;
	u64	version;
	u64	bytes;
	u64	page;
	u64	nr_slots;
	u64	slots_at;
	u64	arena_at;
	u64	pid;
	char	boot_id[40];
	u64	sum;

	u64	state __attribute__((aligned(BOX_MUTABLE_AT)));
	u64	generation;
	u64	saved;
	u64	dropped_last;
	u64	limit;
	u64	lost_since;
	u64	complete;
	u64	incomplete;
};

enum box_slot_state {
	BOX_FREE,
	BOX_OPEN,	/* records are appended; their number and times are not in the slot */
	BOX_CLOSED,
};

enum box_kind {
	BOX_SESSION,		/* a perf.data file */
	BOX_EVENTS,
	BOX_SIDEBAND,
	BOX_NR_KINDS,
};

/* How an extent encodes records. */
enum box_encoding {
	BOX_RECORDS,		/* as they were recorded */
	BOX_ZSTD_RECORDS,	/* PERF_RECORD_COMPRESSED, a zstd frame of its own */
	BOX_PACKED,		/* as pack.h says */
	BOX_NR_ENCODINGS,
};

/* Flags of a slot */
#define BOX_ENDS_ROUND		(1U << 0)

/**
 * struct box_slot
 * @state:	enum box_slot_state
 * @len:	length of the data [bytes]
 * @at:		where the data begin in the file
 * @seq:	order among slots of its kind, from 1; never used twice for other records
 * @generation:	of side-band records
 * @kind:	enum box_kind
 * @encoding:	enum box_encoding
 * @flags:	BOX_ENDS_ROUND
 * @open_sum:	checksum of @at to @kind
 * @raw_len:	length of the records [bytes]
 * @first, @last: times of the oldest and the newest record [ns]
 * @records, @samples: how many there are
 * @data_sum:	checksum of the data, or 0
 * @sum:	checksum of @len to @data_sum
 */
struct box_slot {
	u64	state;
	u64	len;
	u64	at;
	u64	seq;
	u64	generation;
	u64	kind;
	u64	open_sum;
	u32	encoding;
	u32	flags;
	u64	raw_len;
	u64	first;
	u64	last;
	u64	records;
	u64	samples;
	u64	data_sum;
	u64	sum;
	u64	unused;
};

_Static_assert(sizeof(struct box_slot) == 128, "slots are to share no cache line");
_Static_assert(offsetof(struct box_header, sum) < BOX_MUTABLE_AT, "see BOX_MUTABLE_AT");

static inline u64 box_header__sum(const struct box_header *header)
{
	return checksum(header, offsetof(struct box_header, sum));
}

static inline u64 box_slot__open_sum(const struct box_slot *slot)
{
	return checksum(&slot->at,
			offsetof(struct box_slot, open_sum) - offsetof(struct box_slot, at));
}

static inline u64 box_slot__sum(const struct box_slot *slot)
{
	return checksum(&slot->len,
			offsetof(struct box_slot, sum) - offsetof(struct box_slot, len));
}

#endif
