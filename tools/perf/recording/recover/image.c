// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "util/debug.h"
#include "util/recover-image.h"
#include "util/recover-tables.h"
#include "util/recover-temporary.h"
#include "recording/keep/box_read.h"
#include "recording/lib/fd.h"
#include "image.h"

#define MIN_PAGE	4096u
#define MAX_PAGE	65536u

/* A damaged header must not demand any amount of time and memory. */
#define MAX_BOX_BYTES	(1ULL << 40)

/* Headers of boxes that are gone may remain in free memory, and are candidates as well. */
#define MAX_BOXES	RECOVER_MAX_MAPPINGS

/* The largest level of makedumpfile that leaves out no pages of files. */
#define HINT_LEVEL	"-d 25 keeps them"

/**
 * struct found_box - the pages of a box, as one mapping has them
 * @header:	a copy
 * @addresses:	physical address of each page, + 1; 0: not mapped
 * @nr_pages:	size of the box
 * @nr_slots:	slots without damage
 * @nr_used, @nr_missing: as in struct image_box
 */
struct found_box {
	struct box_header header;
	u64		 *addresses;
	u64		  nr_pages;
	u64		  nr_slots;
	u64		  nr_used;
	u64		  nr_missing;
};

/**
 * struct box_search
 * @image:	in which boxes are searched
 * @pid:	of the recorder; 0: any
 * @wanted:	@nr headers
 * @headers:	copies of them
 * @problem:	why another header is of no use, or NULL
 */
struct box_search {
	struct recover_image	image;
	u64			pid;
	struct recover_wanted	wanted[MAX_BOXES];
	struct box_header	headers[MAX_BOXES];
	size_t			nr;
	const char		*problem;
};

/*
 * Headers
 */

static bool size_is_sane(const struct box_header *header)
{
	return header->page >= MIN_PAGE && header->page <= MAX_PAGE &&
	       !(header->page & (header->page - 1)) && !(header->bytes % header->page) &&
	       header->bytes <= MAX_BOX_BYTES;
}

static void check_header(struct box_search *search, u64 address, const void *data)
{
	struct box_header header;

	memcpy(&header, data, sizeof(header));
	if (search->nr == MAX_BOXES || box_header__check(&header, &search->problem))
		return;
	if (search->pid && header.pid != search->pid) {
		search->problem = "not of the process that --recover-pid names";
		return;
	}
	if (!size_is_sane(&header) || address % header.page ||
	    (search->nr && header.page != search->headers[0].page)) {
		search->problem = "its header is damaged";
		return;
	}
	search->headers[search->nr] = header;
	search->wanted[search->nr++] = (struct recover_wanted){
		.address = address, .nr_pages = header.bytes / header.page,
	};
}

static void find_headers(struct box_search *search)
{
	const struct recover_places *places = &search->image.places;
	u64 address, end;
	size_t i;

	for (i = 0; i < places->nr; i++) {
		const struct recover_place *place = &places->all[i];
		const void *data = search->image.data + place->at;

		end = place->address + place->len;
		for (address = (place->address + MIN_PAGE - 1) & ~(u64)(MIN_PAGE - 1);
		     address >= place->address && address < end && end - address >= MIN_PAGE;
		     address += MIN_PAGE) {
			const void *page = data + (address - place->address);

			if (!memcmp(page, BOX_MAGIC, strlen(BOX_MAGIC)))
				check_header(search, address, page);
		}
	}
}

/*
 * Pages of one mapping
 */

/* Return: NULL if the page is not mapped, or not in the image. */
static const void *find_page(const struct box_search *search, const struct found_box *box, u64 nr)
{
	u64 address = nr < box->nr_pages ? box->addresses[nr] : 0;

	return address ? recover_image__at(&search->image, address - 1, box->header.page) : NULL;
}

/* Pages that are missing are zero. */
static void read_slot(const struct box_search *search, const struct found_box *box, u64 nr,
		      struct box_slot *slot)
{
	u64 at = box->header.slots_at + nr * sizeof(*slot), page = box->header.page, len, done;
	const void *data;

	memset(slot, 0, sizeof(*slot));
	for (done = 0; done < sizeof(*slot); done += len) {
		len = min((u64)sizeof(*slot) - done, page - (at + done) % page);
		data = find_page(search, box, (at + done) / page);
		if (data)
			memcpy((void *)slot + done, data + (at + done) % page, len);
	}
}

/* If makedumpfile leaves out no pages of files, a page that is mapped but not there is zero. */
static bool is_missing(const struct box_search *search, const struct found_box *box, u64 nr)
{
	bool only_zeros = search->image.level && !(search->image.level & RECOVER_LEVEL_CACHE);

	return !find_page(search, box, nr) && !(only_zeros && box->addresses[nr]);
}

static void count_extent(const struct box_search *search, struct found_box *box,
			 const struct box_slot *slot)
{
	u64 i, end = DIV_ROUND_UP(slot->at + slot->len, box->header.page);

	for (i = slot->at / box->header.page; i < end; i++) {
		box->nr_used++;
		box->nr_missing += is_missing(search, box, i);
	}
}

static void count_slots(const struct box_search *search, struct found_box *box)
{
	struct box_slot slot;
	u64 i;

	/* Extents do not overlap. */
	for (i = 0; i < box->header.nr_slots && box->nr_used <= box->nr_pages; i++) {
		read_slot(search, box, i, &slot);
		if (slot.state == BOX_FREE || !box_slot__is_valid(&box->header, &slot))
			continue;
		box->nr_slots++;
		if (slot.len)
			count_extent(search, box, &slot);
	}
}

static int read_mapping(const struct box_search *search, const struct recover_mapping *mapping,
			struct found_box *box)
{
	u64 nr_mapped;

	*box = (struct found_box){
		.header = search->headers[mapping->wanted],
		.nr_pages = search->wanted[mapping->wanted].nr_pages,
	};
	box->addresses = calloc(box->nr_pages ?: 1, sizeof(*box->addresses));
	if (!box->addresses)
		return -ENOMEM;
	nr_mapped = recover_mapping__walk(mapping, &search->image, box->nr_pages, box->addresses);
	count_slots(search, box);
	pr_debug("Box of process %" PRIu64 ", table at %#" PRIx64 ", level %u: %" PRIu64 " of %"
		 PRIu64 " pages are mapped; %" PRIu64 " slots use %" PRIu64 ", %" PRIu64
		 " are missing\n", (u64)box->header.pid, mapping->table, mapping->level, nr_mapped,
		 box->nr_pages, box->nr_slots, box->nr_used, box->nr_missing);
	return 0;
}

/*
 * Choose
 */

static bool is_same(const struct box_header *left, const struct box_header *right)
{
	return left->sum == right->sum;
}

static bool has_unsaved(const struct box_header *header)
{
	return header->state == BOX_RECORDING || header->state == BOX_UNSAVED;
}

static bool is_better(const struct found_box *box, const struct found_box *other)
{
	if (!other->addresses)
		return true;
	if (has_unsaved(&box->header) != has_unsaved(&other->header))
		return has_unsaved(&box->header);
	if (!is_same(&box->header, &other->header) &&
	    box->header.complete != other->header.complete)
		return box->header.complete > other->header.complete;
	return box->nr_used - box->nr_missing > other->nr_used - other->nr_missing;
}

/* Several headers may be of one box: a copy of its file, or what has remained of one. */
static bool is_first(const struct box_search *search, const bool *is_mapped, size_t index)
{
	size_t i;

	for (i = 0; i < index; i++) {
		if (is_mapped[i] && is_same(&search->headers[i], &search->headers[index]))
			return false;
	}
	return is_mapped[index];
}

/* Note which boxes are not taken. */
static void note_others(const struct box_search *search, const bool *is_mapped,
			const struct found_box *best, struct image_box *box)
{
	size_t i, len = 0;

	for (i = 0; i < search->nr; i++) {
		const struct box_header *header = &search->headers[i];

		if (!is_first(search, is_mapped, i) || is_same(header, &best->header))
			continue;
		box->nr_others++;
		len += scnprintf(box->other_pids + len, sizeof(box->other_pids) - len, " %" PRIu64,
				 (u64)header->pid);
	}
}

/* @best: no @addresses if no mapping has a slot */
static int choose(const struct box_search *search, const struct recover_mappings *mappings,
		  struct found_box *best, struct image_box *found)
{
	bool is_mapped[MAX_BOXES] = { false };
	size_t i;

	*best = (struct found_box){ 0 };
	for (i = 0; i < mappings->nr; i++) {
		struct found_box box;
		int err = read_mapping(search, &mappings->all[i], &box);

		if (err)
			return err;
		if (box.nr_slots)
			is_mapped[mappings->all[i].wanted] = true;
		if (box.nr_slots && is_better(&box, best)) {
			free(best->addresses);
			*best = box;
		} else {
			free(box.addresses);
		}
	}
	note_others(search, is_mapped, best, found);
	return 0;
}

/*
 * Copy
 */

static int copy_pages(const struct box_search *search, const struct found_box *box, int fd)
{
	u64 i, page = box->header.page;
	const void *data;
	ssize_t n;

	if (ftruncate(fd, box->header.bytes))
		return -errno;
	for (i = 0; i < box->nr_pages; i++) {
		data = find_page(search, box, i);
		if (!data)
			continue;
		n = pwrite(fd, data, page, i * page);
		if (n != (ssize_t)page)
			return n < 0 ? -errno : -ENOSPC;
	}
	return 0;
}

static int copy(const struct box_search *search, const struct found_box *found,
		struct image_box *box)
{
	int err;

	box->nr_used = found->nr_used;
	box->nr_missing = found->nr_missing;
	box->fd = recover_temporary__open();
	err = box->fd < 0 ? -errno : copy_pages(search, found, box->fd);
	if (!err)
		return 0;
	pr_err("Cannot copy the kept records to %s: %s. Set TMPDIR to a directory with space for them.\n",
	       recover_temporary__dir(), strerror(-err));
	fd__close(&box->fd);
	return err;
}

/*
 * All together
 */

static int explain_no_box(const struct box_search *search, const char *path)
{
	const u32 level = search->image.level;

	if (search->problem)
		pr_err("Cannot recover from %s: there is a file of --keep-file in this image, but %s.\n",
		       path, search->problem);
	else if (level & RECOVER_LEVEL_CACHE)
		pr_err("Cannot recover from %s: no file of --keep-file is in this image. makedumpfile -d %u has left\n"
		       "out pages of files; " HINT_LEVEL ".\n", path, level);
	else
		pr_err("Cannot recover from %s: it is no file of --keep-file, and no image of memory with one.\n",
		       path);
	return -ENOENT;
}

static int explain_no_pages(const struct box_search *search, const char *path)
{
	pr_err("Cannot recover from %s: the pages of --keep-file of process %" PRIu64
	       " are not found. No process had them\n"
	       "mapped, or the image lacks page tables.\n", path, (u64)search->headers[0].pid);
	return -ENOENT;
}

static int extract(struct box_search *search, const char *path, struct image_box *box)
{
	struct recover_mappings *mappings;
	struct found_box best = { 0 };
	int err;

	box->level = search->image.level;
	find_headers(search);
	if (!search->nr)
		return explain_no_box(search, path);
	mappings = malloc(sizeof(*mappings));
	err = mappings ? recover_tables__find(&search->image, search->headers[0].page,
					      search->wanted, search->nr, mappings) : -ENOMEM;
	err = err ?: choose(search, mappings, &best, box);
	if (err == -EOPNOTSUPP)
		pr_err("Cannot recover from %s: only page tables of x86-64 and arm64 can be read.\n",
		       path);
	else if (err)
		pr_err("Cannot search %s: %s\n", path, strerror(-err));
	else
		err = best.addresses ? copy(search, &best, box) : explain_no_pages(search, path);
	free(best.addresses);
	free(mappings);
	return err;
}

int image_box__extract(const char *path, u64 pid, struct image_box *box)
{
	struct box_search *search = zalloc(sizeof(*search));
	int err;

	*box = (struct image_box){ .fd = -1 };
	if (!search)
		return -ENOMEM;
	search->pid = pid;
	err = recover_image__map(&search->image, path);
	if (!err) {
		err = extract(search, path, box);
		recover_image__unmap(&search->image);
	}
	free(search);
	return err;
}

void image_box__report(const struct image_box *box, const char *path)
{
	if (box->nr_others)
		pr_warning("%s has %zu more files of --keep-file. Recover them with --recover-pid, one of:%s\n",
			   path, box->nr_others, box->other_pids);
	if (!box->nr_missing)
		return;
	pr_warning("%" PRIu64 " of %" PRIu64 " pages with kept records are not in %s.\n",
		   box->nr_missing, box->nr_used, path);
	if (box->level & RECOVER_LEVEL_CACHE)
		pr_warning("makedumpfile -d %u has left out pages of files; " HINT_LEVEL ".\n",
			   box->level);
}
