/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Build the memory of a machine: boxes, and page tables of processes that map them, in page frames
 * all over it.
 */
#ifndef PERF_RECORDING_TESTS_FAKE_IMAGE_H
#define PERF_RECORDING_TESTS_FAKE_IMAGE_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/types.h>

#include "recording/keep/box_format.h"

#define FRAME		4096u
#define ENTRIES		512u
#define TOP_LEVEL	3

/**
 * struct fake_format - entries of page tables
 * @page, @large, @table: bits beside the address
 */
struct fake_format {
	u64	page;
	u64	large;
	u64	table;
};

/* Present, writable, user, accessed, dirty, and no-execute for pages */
static const struct fake_format fake_x86 __attribute__((unused)) = {
	.page = 0x8000000000000067, .large = 0x80000000000000e7, .table = 0x067,
};

/* Valid, EL0, shareable, accessed, not global, and no-execute for pages */
static const struct fake_format fake_arm64 __attribute__((unused)) = {
	.page = 0x0060000000000f43, .large = 0x0060000000000f41, .table = 0x003,
};

/**
 * struct fake_image
 * @memory:	of the machine, which begins at physical address 0
 * @nr_frames:	a power of two
 * @nr_used:	frames that are taken, in the order of fake_frame()
 * @large:	address of a large page, which fake_frame() leaves alone; 0: none
 * @format:	of the tables
 */
struct fake_image {
	u8			 *memory;
	u64			  nr_frames;
	u64			  nr_used;
	u64			  large;
	const struct fake_format *format;
};

/* Frame 0 is taken, as on any machine. */
static inline void fake_image__init(struct fake_image *image, u64 nr_frames)
{
	*image = (struct fake_image){
		.memory = calloc(nr_frames, FRAME), .nr_frames = nr_frames, .nr_used = 1,
		.format = &fake_x86,
	};
}

static inline void fake_image__exit(struct fake_image *image)
{
	free(image->memory);
}

/* Take the next frame: all have their turn, in an order without neighbours. Return its address. */
static inline u64 fake_frame(struct fake_image *image)
{
	u64 address;

	do {
		if (image->nr_used == image->nr_frames)
			abort();
		address = image->nr_used++ * (image->nr_frames / 8 * 5 + 1) % image->nr_frames *
			  FRAME;
	} while (image->large && address / (ENTRIES * FRAME) == image->large / (ENTRIES * FRAME));
	return address;
}

static inline u64 *fake_table(struct fake_image *image, u64 address)
{
	return (u64 *)(image->memory + address);
}

/* Return: the entry at @level of the page with number @nr in the address space below @root. */
static inline u64 *fake_entry(struct fake_image *image, u64 root, u64 nr, int level)
{
	u64 *table = fake_table(image, root);
	int i;

	for (i = TOP_LEVEL; i > level; i--) {
		u64 *entry = &table[nr >> 9 * i & (ENTRIES - 1)];

		if (!*entry)
			*entry = fake_frame(image) | image->format->table;
		table = fake_table(image, *entry & 0xfffffffff000);
	}
	return &table[nr >> 9 * level & (ENTRIES - 1)];
}

static inline void fake_map(struct fake_image *image, u64 root, u64 nr, u64 address)
{
	*fake_entry(image, root, nr, 0) = address | image->format->page;
}

/**
 * struct fake_box
 * @data:	of the file
 * @nr_pages:	its size
 * @frames:	address of each page in memory; 0: none
 */
struct fake_box {
	u8	*data;
	u64	 nr_pages;
	u64	*frames;
};

static inline void fake_slot(struct fake_box *box, unsigned int nr, enum box_kind kind, u64 at,
			     u64 len)
{
	struct box_header *header = (void *)box->data;
	struct box_slot *slot = (void *)(box->data + header->slots_at);

	slot += nr;
	*slot = (struct box_slot){
		.state = BOX_CLOSED, .at = at, .len = len, .kind = kind, .seq = nr + 1,
		.raw_len = len, .data_sum = checksum(box->data + at, len),
	};
	slot->open_sum = box_slot__open_sum(slot);
	slot->sum = box_slot__sum(slot);
}

/* The session has 5000 bytes; events have all pages behind it, in extents of up to 1 MB. */
static inline void fake_box__init(struct fake_box *box, u64 nr_pages, u64 pid)
{
	struct box_header *header;
	u64 at, len, bytes = nr_pages * FRAME;
	unsigned int nr = 0;

	*box = (struct fake_box){
		.data = aligned_alloc(FRAME, bytes), .nr_pages = nr_pages,
		.frames = calloc(nr_pages, sizeof(*box->frames)),
	};
	memset(box->data, 0, bytes);
	header = (void *)box->data;
	*header = (struct box_header){
		.magic = { 0 }, .byte_order = BOX_BYTE_ORDER, .version = BOX_VERSION,
		.bytes = bytes, .page = FRAME, .nr_slots = FRAME / sizeof(struct box_slot),
		.slots_at = FRAME, .arena_at = 2 * FRAME, .pid = pid, .state = BOX_RECORDING,
	};
	memcpy(header->magic, BOX_MAGIC, sizeof(header->magic));
	header->sum = box_header__sum(header);
	for (at = header->arena_at; at < bytes; at += 8)
		*(u64 *)(box->data + at) = (at + pid) * 0x9e3779b97f4a7c15;
	fake_slot(box, nr++, BOX_SESSION, header->arena_at, 5000);
	for (at = header->arena_at + 2 * FRAME; at < bytes; at += len) {
		len = bytes - at < KEEP_BLOCK_BYTES ? bytes - at : KEEP_BLOCK_BYTES;
		fake_slot(box, nr++, BOX_EVENTS, at, len);
	}
}

static inline void fake_box__exit(struct fake_box *box)
{
	free(box->data);
	free(box->frames);
}

/* Copy the pages to frames, @frames 0: to any. */
static inline void fake_box__load(struct fake_box *box, struct fake_image *image)
{
	u64 i;

	for (i = 0; i < box->nr_pages; i++) {
		box->frames[i] = box->frames[i] ?: fake_frame(image);
		memcpy(image->memory + box->frames[i], box->data + i * FRAME, FRAME);
	}
}

/* Map the first @nr pages from the page with number @first of an address space on. */
static inline void fake_box__map(const struct fake_box *box, struct fake_image *image, u64 root,
				 u64 first, u64 nr)
{
	u64 i;

	for (i = 0; i < nr; i++)
		fake_map(image, root, first + i, box->frames[i]);
}

#endif
