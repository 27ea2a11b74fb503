// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include <sys/stat.h>
#include <internal/lib.h>
#include "box_read.h"

/* A session is some 100 kB; tracing data of all events 10 MB. */
#define MAX_SESSION_BYTES	(1ULL << 30)

/* An extent of pages of any size fits into the file before its slots reach this. */
#define MAX_SLOTS		(1ULL << 26)

static int read_at(int fd, u64 pos, void *to, size_t len)
{
	ssize_t n = preadn(fd, to, len, pos);

	if (n < 0)
		return -errno;
	return n == (ssize_t)len ? 0 : -ENODATA;
}

/*
 * Header
 */

static bool header_is_sane(const struct box_header *header)
{
	return header->page && header->nr_slots && header->nr_slots <= MAX_SLOTS &&
	       header->slots_at >= sizeof(*header) && header->slots_at <= header->arena_at &&
	       (header->arena_at - header->slots_at) / sizeof(struct box_slot) >=
	       header->nr_slots &&
	       header->arena_at <= header->bytes;
}

int box_header__check(struct box_header *header, const char **problem)
{
	*problem = "it is no file of --keep-file";
	if (memcmp(header->magic, BOX_MAGIC, sizeof(header->magic)))
		return -EINVAL;
	*problem = "it is from a machine with another byte order";
	if (header->byte_order == __builtin_bswap64(BOX_BYTE_ORDER))
		return -EINVAL;
	*problem = "it is from another version of perf";
	if (header->byte_order == BOX_BYTE_ORDER && header->version != BOX_VERSION)
		return -EINVAL;
	*problem = "perf record was killed before it kept anything";
	if (!header->sum && header->state == BOX_STARTING)
		return -EINVAL;
	*problem = "its header is damaged";
	if (header->byte_order != BOX_BYTE_ORDER || header->sum != box_header__sum(header) ||
	    !header_is_sane(header))
		return -EINVAL;
	header->boot_id[sizeof(header->boot_id) - 1] = '\0';
	*problem = "perf record was killed before it kept anything";
	return header->state == BOX_STARTING ? -EINVAL : 0;
}

/*
 * Slots
 */

static u64 max_len(const struct box_slot *slot)
{
	return slot->kind == BOX_SESSION ? MAX_SESSION_BYTES : KEEP_BLOCK_BYTES;
}

bool box_slot__is_valid(const struct box_header *header, const struct box_slot *slot)
{
	if (slot->state > BOX_CLOSED || slot->open_sum != box_slot__open_sum(slot))
		return false;
	if (slot->state == BOX_CLOSED && slot->sum != box_slot__sum(slot))
		return false;
	return slot->kind < BOX_NR_KINDS && slot->encoding < BOX_NR_ENCODINGS && slot->seq &&
	       slot->len <= max_len(slot) && slot->at >= header->arena_at &&
	       slot->at < header->bytes && slot->len <= header->bytes - slot->at;
}

/* Other fields of an open slot may be left from its last use. */
static void clear_unset(struct box_slot *slot)
{
	if (slot->state == BOX_CLOSED)
		return;
	slot->encoding = BOX_RECORDS;
	slot->flags = 0;
	slot->raw_len = slot->len;
	slot->first = slot->last = slot->records = slot->samples = slot->data_sum = 0;
}

static bool is_wanted(const struct box_header *header, const struct box_slot *slot)
{
	switch (slot->kind) {
	case BOX_EVENTS:
		return slot->seq > header->saved;
	case BOX_SIDEBAND:
		return slot->generation == header->generation;
	default:
		return true;
	}
}

static int add(struct box_reader *reader, const struct box_slot *slot)
{
	size_t nr = reader->nr[slot->kind], max = nr & (nr - 1) ? 0 : max(2 * nr, (size_t)1);
	struct box_slot *slots = reader->slots[slot->kind];

	if (max) {		/* @nr is 0 or a power of two: all are used */
		slots = realloc(slots, max * sizeof(*slots));
		if (!slots)
			return -ENOMEM;
		reader->slots[slot->kind] = slots;
	}
	slots[reader->nr[slot->kind]++] = *slot;
	return 0;
}

static int take_in(struct box_reader *reader, struct box_slot *slot)
{
	if (slot->state == BOX_FREE)
		return 0;
	if (!box_slot__is_valid(&reader->header, slot)) {
		reader->damaged_slots++;
		return 0;
	}
	clear_unset(slot);
	return is_wanted(&reader->header, slot) ? add(reader, slot) : 0;
}

static int read_slots(struct box_reader *reader)
{
	const struct box_header *header = &reader->header;
	struct box_slot slots[64];
	u64 i, j, nr;
	int err;

	for (i = 0; i < header->nr_slots; i += nr) {
		nr = min((u64)ARRAY_SIZE(slots), header->nr_slots - i);
		err = read_at(reader->fd, header->slots_at + i * sizeof(*slots), slots,
			      nr * sizeof(*slots));
		for (j = 0; j < nr && !err; j++)
			err = take_in(reader, &slots[j]);
		if (err)
			return err;
	}
	return 0;
}

/* Of two slots with the same records, the one with a checksum comes first. */
static int compare(const void *a, const void *b)
{
	const struct box_slot *left = a, *right = b;

	if (left->seq != right->seq)
		return left->seq < right->seq ? -1 : 1;
	return box_slot__is_checked(right) - box_slot__is_checked(left);
}

static void sort(struct box_reader *reader, enum box_kind kind)
{
	struct box_slot *slots = reader->slots[kind];
	size_t i, nr = 0;

	if (!reader->nr[kind])
		return;
	qsort(slots, reader->nr[kind], sizeof(*slots), compare);
	for (i = 0; i < reader->nr[kind]; i++) {
		if (!nr || slots[i].seq != slots[nr - 1].seq)
			slots[nr++] = slots[i];
	}
	reader->nr[kind] = nr;
}

int box_reader__init(struct box_reader *reader, int fd, const char **problem)
{
	unsigned int kind;
	int err;

	*reader = (struct box_reader){ .fd = fd };
	err = read_at(fd, 0, &reader->header, sizeof(reader->header));
	*problem = err == -ENODATA ? "it is no file of --keep-file" : strerror(-err);
	err = err ?: box_header__check(&reader->header, problem);
	if (err)
		return err;
	err = read_slots(reader);
	*problem = err == -ENODATA ? "its end is missing" : strerror(-err);
	for (kind = 0; kind < BOX_NR_KINDS; kind++)
		sort(reader, kind);
	if (!err && reader->nr[BOX_SESSION] != 1) {
		*problem = "the description of its events is damaged";
		err = -EINVAL;
	}
	if (err)
		box_reader__exit(reader);
	return err;
}

void box_reader__exit(struct box_reader *reader)
{
	unsigned int kind;

	for (kind = 0; kind < BOX_NR_KINDS; kind++)
		zfree(&reader->slots[kind]);
}

int box_reader__read(const struct box_reader *reader, const struct box_slot *slot, void *data)
{
	int err = read_at(reader->fd, slot->at, data, slot->len);

	if (err)
		return err == -ENODATA ? -EILSEQ : err;
	return slot->data_sum && slot->data_sum != checksum(data, slot->len) ? -EILSEQ : 0;
}
