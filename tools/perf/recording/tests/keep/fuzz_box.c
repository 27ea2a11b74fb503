// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzz the reader of the file of --keep-file (libFuzzer target).
 *
 * The input is made to such a file: a header and slots with valid magic and checksums, but for
 * those that bits of the first byte leave as they are. All slots that the reader finds valid are
 * read.
 */
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <sys/mman.h>

#include "../../../../lib/perf/tests/fuzz.h"
#include "recording/keep/box_read.h"

#define MAX_BYTES	(64UL << 10)
#define MAX_NR_SLOTS	32

/* Bits of the first byte: do not correct these. */
#define BAD_MAGIC	0x01
#define BAD_HEADER_SUM	0x02
#define BAD_PLACES	0x04
#define BAD_SLOT_SUMS	0x08
#define BAD_OPEN_SUMS	0x10
#define BAD_DATA_SUMS	0x20
#define SHORT_FILE	0x40

static void fix_header(struct box_header *header, u64 bytes, unsigned int bad)
{
	if (!(bad & BAD_MAGIC)) {
		memcpy(header->magic, BOX_MAGIC, sizeof(header->magic));
		header->byte_order = BOX_BYTE_ORDER;
		header->version = BOX_VERSION;
	}
	if (!(bad & BAD_PLACES)) {
		header->bytes = bytes;
		header->page = 512;
		header->nr_slots = 1 + header->nr_slots % MAX_NR_SLOTS;
		header->slots_at = sizeof(*header);
		header->arena_at = header->slots_at + header->nr_slots * sizeof(struct box_slot);
	}
	header->state %= 6;
	header->saved %= 8;
	header->generation %= 4;
	if (!(bad & BAD_HEADER_SUM))
		header->sum = box_header__sum(header);
}

static void fix_slot(struct box_slot *slot, const u8 *file, u64 arena_at, u64 bytes,
		     unsigned int bad)
{
	u64 room;

	slot->state %= 4;
	slot->kind %= 4;
	slot->encoding %= 4;
	slot->seq %= 16;
	slot->generation %= 4;
	if (slot->kind != BOX_SESSION)
		slot->flags &= BOX_ENDS_ROUND;
	if (!(bad & BAD_PLACES) && arena_at < bytes) {
		slot->at = arena_at + slot->at % (bytes - arena_at);
		room = bytes - slot->at;
		slot->len %= room + 1;
		if (!(bad & BAD_DATA_SUMS))
			slot->data_sum = checksum(file + slot->at, slot->len);
	}
	if (!(bad & BAD_OPEN_SUMS))
		slot->open_sum = box_slot__open_sum(slot);
	if (!(bad & BAD_SLOT_SUMS))
		slot->sum = box_slot__sum(slot);
}

/* Return: length of the file. */
static u64 make_box(u8 *file, const u8 *data, size_t len, unsigned int bad)
{
	struct box_header *header = (void *)file;
	struct box_slot *slots = (void *)(header + 1);
	u64 bytes = sizeof(*header) + MAX_NR_SLOTS * sizeof(*slots) + 4096, i;

	memset(file, 0, bytes);
	memcpy(file, data, min(len, (size_t)bytes));
	fix_header(header, bytes, bad);
	for (i = 0; i < MAX_NR_SLOTS; i++)
		fix_slot(&slots[i], file, header->arena_at, bytes, bad);
	return bad & SHORT_FILE ? len : bytes;
}

static void read_all(struct box_reader *reader, u64 file_bytes)
{
	u64 last;
	size_t i;
	int kind, err;

	for (kind = 0; kind < BOX_NR_KINDS; kind++) {
		last = 0;
		for (i = 0; i < reader->nr[kind]; i++) {
			const struct box_slot *slot = &reader->slots[kind][i];
			u8 *exact;

			MUST(slot->kind == (u64)kind && slot->seq > last);
			MUST(slot->state == BOX_OPEN || slot->state == BOX_CLOSED);
			MUST(slot->len <= (kind == BOX_SESSION ? 1UL << 30 : KEEP_BLOCK_BYTES));
			last = slot->seq;
			exact = malloc(slot->len ?: 1);
			err = box_reader__read(reader, slot, exact);
			MUST(!err ==
			     ((!slot->len || slot->at + slot->len <= file_bytes) &&
			      (!slot->data_sum || slot->data_sum == checksum(exact, slot->len))));
			free(exact);
		}
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	static u8 file[MAX_BYTES] __attribute__((aligned(BOX_MUTABLE_AT)));
	struct box_reader reader;
	const char *problem = NULL;
	static int fd = -1;
	u64 bytes;

	if (!len)
		return 0;
	if (fd < 0)
		fd = memfd_create("box", MFD_CLOEXEC);
	bytes = make_box(file, data + 1, len - 1, data[0]);
	MUST(!ftruncate(fd, bytes) && pwrite(fd, file, bytes, 0) == (ssize_t)bytes);
	if (box_reader__init(&reader, fd, &problem)) {
		MUST(problem);
		return 0;
	}
	read_all(&reader, bytes);
	box_reader__exit(&reader);
	return 0;
}
