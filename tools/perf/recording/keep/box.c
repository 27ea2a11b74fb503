// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <internal/lib.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include <sys/mman.h>
#include "util/debug.h"
#include "recording/lib/fd.h"
#include "box.h"
#include "box_file.h"

/* Blocks hardly ever take less than this: 1 MB, compressed 64 times. */
#define BYTES_PER_SLOT	(16UL << 10)

/* Barriers A, C, D, E, F of box_format.h. */
static void set(u64 *word, u64 value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/*
 * Extents
 */

u64 keep_box__capacity(const struct keep_box *box)
{
	return (u64)box->arena.nr * page_size;
}

static void *arena_base(const struct keep_box *box)
{
	return box->map + box->header->arena_at;
}

void *keep_box__alloc(struct keep_box *box, size_t len)
{
	size_t page = arena__alloc(&box->arena, DIV_ROUND_UP(len, page_size),
				   len == KEEP_BLOCK_BYTES);

	return page == ARENA_FULL ? NULL : arena_base(box) + page * page_size;
}

void keep_box__free(struct keep_box *box, void *data, size_t len)
{
	arena__free(&box->arena, (data - arena_base(box)) / page_size,
		    DIV_ROUND_UP(len, page_size));
}

bool keep_box__contains(const struct keep_box *box, const void *data)
{
	return box && data >= box->map && data < box->map + box->bytes;
}

/*
 * Slots
 */

static struct box_slot *take_slot(struct keep_box *box)
{
	return box->nr_free_slots ? &box->slots[box->free_slots[--box->nr_free_slots]] : NULL;
}

struct box_slot *keep_box__open(struct keep_box *box, enum box_kind kind, u64 generation,
				const void *data)
{
	struct box_slot *slot = take_slot(box);

	if (!slot)
		return NULL;
	*slot = (struct box_slot){
		.at = data - box->map, .seq = ++box->seq[kind], .generation = generation,
		.kind = kind,
	};
	slot->open_sum = box_slot__open_sum(slot);
	set(&slot->state, BOX_OPEN);
	return slot;
}

/* Of an open slot, a reader looks at nothing that is set here. */
void keep_box__close(struct box_slot *slot, const struct box_slot *fields)
{
	slot->encoding = fields->encoding;
	slot->flags    = fields->flags;
	slot->raw_len  = fields->raw_len;
	slot->first    = fields->first;
	slot->last     = fields->last;
	slot->records  = fields->records;
	slot->samples  = fields->samples;
	slot->data_sum = fields->data_sum;
	slot->sum      = box_slot__sum(slot);
	set(&slot->state, BOX_CLOSED);
}

struct box_slot *keep_box__add(struct keep_box *box, const struct box_slot *fields,
			       const void *data)
{
	struct box_slot *slot = take_slot(box);

	if (!slot)
		return NULL;
	slot->len	 = fields->len;
	slot->at	 = data - box->map;
	slot->seq	 = fields->seq ?: ++box->seq[fields->kind];
	slot->generation = fields->generation;
	slot->kind	 = fields->kind;
	slot->open_sum	 = box_slot__open_sum(slot);
	keep_box__close(slot, fields);
	return slot;
}

void keep_box__free_slot(struct keep_box *box, struct box_slot *slot)
{
	set(&slot->state, BOX_FREE);
	box->free_slots[box->nr_free_slots++] = slot - box->slots;
}

/*
 * Header
 */

void keep_box__set_state(struct keep_box *box, enum box_state state)
{
	set(&box->header->state, state);
}

void keep_box__set_generation(struct keep_box *box, u64 generation)
{
	set(&box->header->generation, generation);
}

void keep_box__note_saved(struct keep_box *box, u64 seq)
{
	set(&box->header->saved, max(box->header->saved, seq));
}

void keep_box__note_dropped(struct keep_box *box, u64 last, u64 limit)
{
	if (last <= box->header->dropped_last)
		return;
	set(&box->header->limit, limit);
	set(&box->header->dropped_last, last);
}

void keep_box__note_lost(struct keep_box *box, u64 since)
{
	if (since != box->header->lost_since)
		set(&box->header->lost_since, since);
}

void keep_box__note_complete(struct keep_box *box, u64 time)
{
	if (time > box->header->complete)
		set(&box->header->complete, time);
}

void keep_box__read_boot_id(char *id, size_t size)
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : read(fd, id, size - 1);

	fd__close(&fd);
	id[max(len, (ssize_t)0)] = '\0';
	id[strcspn(id, "\n")] = '\0';
}

/* The file has zeros: all slots are free, and the state is BOX_STARTING. */
static void init_header(struct keep_box *box)
{
	struct box_header *header = box->header;
	u64 nr_slots = box->bytes / BYTES_PER_SLOT;

	*header = (struct box_header){
		.magic	    = { 0 },
		.byte_order = BOX_BYTE_ORDER,
		.version    = BOX_VERSION,
		.bytes	    = box->bytes,
		.page	    = page_size,
		.nr_slots   = nr_slots,
		.slots_at   = page_size,
		.arena_at   = page_size + round_up(nr_slots * sizeof(struct box_slot), page_size),
		.pid	    = getpid(),
	};
	memcpy(header->magic, BOX_MAGIC, sizeof(header->magic));
	keep_box__read_boot_id(header->boot_id, sizeof(header->boot_id));
	header->sum = box_header__sum(header);
}

/* Slots with low numbers are used first. */
static int init_free_lists(struct keep_box *box)
{
	u32 nr = box->header->nr_slots;
	int err;

	box->slots = box->map + box->header->slots_at;
	box->free_slots = calloc(nr, sizeof(*box->free_slots));
	err = arena__init(&box->arena, (box->bytes - box->header->arena_at) / page_size);
	if (!box->free_slots)
		return -ENOMEM;
	while (nr)
		box->free_slots[box->nr_free_slots++] = --nr;
	return err;
}

static int map_file(struct keep_box *box)
{
	int err;

	box->map = box_file__map(box->fd, box->path, box->bytes);
	if (box->map == MAP_FAILED) {
		err = -errno;
		box->map = NULL;
		pr_err("Cannot map --keep-file=%s: %s\n", box->path, strerror(-err));
		return err;
	}
	box->header = box->map;
	init_header(box);
	err = init_free_lists(box);
	if (err)
		pr_err("Not enough memory for --keep-file=%s.\n", box->path);
	return err;
}

static void close_file(struct keep_box *box)
{
	if (box->map)
		munmap(box->map, box->bytes);
	close(box->fd);
	arena__exit(&box->arena);
	free(box->free_slots);
	free(box);
}

int keep_box__new(const char *path, u64 bytes, struct keep_box **box)
{
	struct keep_box *new = zalloc(sizeof(*new));
	int err;

	if (!new)
		return -ENOMEM;
	new->path = path;
	new->bytes = bytes / page_size * page_size;
	new->fd = box_file__create(path, new->bytes);
	if (new->fd < 0) {
		err = new->fd;
		free(new);
		return err;
	}
	err = map_file(new);
	if (err) {
		box_file__remove(new->fd, path);
		close_file(new);
		return err;
	}
	*box = new;
	return 0;
}

void keep_box__delete(struct keep_box *box, bool saved)
{
	if (saved) {
		keep_box__set_state(box, BOX_SAVED);
		box_file__remove(box->fd, box->path);
	} else {
		keep_box__set_state(box, BOX_UNSAVED);
		pr_err("Unsaved records are still in %s. Save them with: perf inject --recover-keep %s -o FILE\n",
		       box->path, box->path);
	}
	close_file(box);
}
