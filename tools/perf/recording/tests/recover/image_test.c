// SPDX-License-Identifier: GPL-2.0-only
/*
 * Find the file of --keep-file in images of memory: its pages are scattered, missing, or mapped
 * tags: fast parallel
 *
 * Prints KTAP.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <linux/kernel.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "recording/lib/fd.h"
#include "recording/recover/image.h"
#include "recording/tests/stubs/debug.h"
#include "perf/tests/tap.h"
#include "fake_image.h"

#define NR_FRAMES	4096u	/* 16 MB */
#define NR_PAGES	1100u	/* parts of four leaf tables */
#define FIRST		(0x7f62e97daULL - 5)	/* its entry is the 469th of a table */

static struct fake_image image;
static struct fake_box box;
static u64 root;

static void setup(void)
{
	fake_image__init(&image, NR_FRAMES);
	fake_box__init(&box, NR_PAGES, 4711);
	root = fake_frame(&image);
}

static void teardown(void)
{
	fake_box__exit(&box);
	fake_image__exit(&image);
}

/* Load the box and map it. */
static void map_box(void)
{
	fake_box__load(&box, &image);
	fake_box__map(&box, &image, root, FIRST, NR_PAGES);
}

/*
 * Images
 */

static u64 wanted_pid;

static int extract_from(int fd, struct image_box *found)
{
	char name[32];
	int err;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	err = image_box__extract(name, wanted_pid, found);
	close(fd);
	return err;
}

static int create(const void *data, size_t bytes)
{
	int fd = memfd_create("image", MFD_CLOEXEC);

	return write(fd, data, bytes) == (ssize_t)bytes ? fd : -1;
}

static int extract(struct image_box *found)
{
	return extract_from(create(image.memory, (size_t)NR_FRAMES * FRAME), found);
}

/* Three segments, the upper ones of the memory first, at an odd place. */
static int extract_elf(struct image_box *found, u16 machine)
{
	static const u64 begin[] = { 3000, 100, 0 }, end[] = { NR_FRAMES, 3000, 150 };
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr segments[ARRAY_SIZE(begin)];
		char	   odd[3];
	} __attribute__((packed)) elf = {
		.header = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
			.e_type = ET_CORE, .e_machine = machine, .e_phoff = sizeof(elf.header),
			.e_phentsize = sizeof(*elf.segments), .e_phnum = ARRAY_SIZE(begin),
		},
	};
	u64 at = sizeof(elf), len;
	unsigned int i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(begin); i++, at += len) {
		len = (end[i] - begin[i]) * FRAME;
		elf.segments[i] = (Elf64_Phdr){
			.p_type = PT_LOAD, .p_offset = at, .p_paddr = begin[i] * FRAME,
			.p_filesz = len, .p_memsz = len,
		};
	}
	fd = create(&elf, sizeof(elf));
	for (i = 0; i < ARRAY_SIZE(begin); i++) {
		len = elf.segments[i].p_filesz;
		if (write(fd, image.memory + elf.segments[i].p_paddr, len) != (ssize_t)len)
			return -EIO;
	}
	return extract_from(fd, found);
}

/* Return: number of pages that differ from those of @expected; UINT64_MAX: all is wrong. */
static u64 count_wrong(struct image_box *found, const struct fake_box *expected)
{
	size_t bytes = expected->nr_pages * FRAME;
	struct stat st = { .st_size = 0 };
	u8 page[FRAME];
	u64 i, nr = 0;

	if (found->fd < 0 || fstat(found->fd, &st) || st.st_size != (off_t)bytes)
		return UINT64_MAX;
	for (i = 0; i < expected->nr_pages; i++) {
		if (pread(found->fd, page, FRAME, i * FRAME) != FRAME)
			return UINT64_MAX;
		nr += !!memcmp(page, expected->data + i * FRAME, FRAME);
	}
	fd__close(&found->fd);
	return nr;
}

static bool is_whole(int err, struct image_box *found)
{
	bool whole = !err && !found->nr_missing && found->nr_used == NR_PAGES - 2 &&
		     !found->nr_others && !count_wrong(found, &box);

	fd__close(&found->fd);
	return whole;
}

/*
 * Tests
 */

static void test_scattered(void)
{
	struct image_box found;

	setup();
	map_box();
	check(is_whole(extract(&found), &found), "scattered pages");
	check(is_whole(extract_elf(&found, EM_X86_64), &found), "an ELF file");
	check(extract_elf(&found, EM_RISCV) == -EOPNOTSUPP, "an ELF file of another machine");
	teardown();

	setup();
	image.format = &fake_arm64;
	map_box();
	check(is_whole(extract_elf(&found, EM_AARCH64), &found), "tables of arm64");
	check(is_whole(extract(&found), &found), "tables of arm64 in a raw image");
	check(extract_elf(&found, EM_X86_64) == -ENOENT, "tables of arm64 in an image of x86-64");
	teardown();

	setup();
	fake_box__load(&box, &image);
	fake_box__map(&box, &image, root, (3ULL << 30) / FRAME - 7, NR_PAGES);
	check(is_whole(extract(&found), &found), "tables below two tables of 1 GB");
	teardown();

	setup();
	fake_box__load(&box, &image);
	fake_box__map(&box, &image, root, (1ULL << 39) / FRAME - 7, NR_PAGES);
	check(is_whole(extract(&found), &found), "tables below two tables of 512 GB");
	teardown();
}

/* Other processes have read some of the pages; one of them is not the box's in their tables. */
static void test_candidates(void)
{
	struct image_box found;
	u64 before, behind;

	setup();
	before = fake_frame(&image);
	fake_box__load(&box, &image);
	fake_box__map(&box, &image, before, 777, 30);
	fake_box__map(&box, &image, root, FIRST, NR_PAGES);
	behind = fake_frame(&image);
	fake_box__map(&box, &image, behind, 512 * 777 + 511, 500);
	fake_map(&image, behind, 512 * 777 + 511 + 200, fake_frame(&image));
	check(is_whole(extract(&found), &found), "the process that has most pages");
	*fake_entry(&image, root, FIRST, 0) = 0;
	check(!extract(&found) && found.nr_missing == NR_PAGES - 500 &&
	      count_wrong(&found, &box) == NR_PAGES - 499, "another one if it has no header");
	teardown();

	setup();
	map_box();
	memcpy(image.memory + fake_frame(&image), box.data, FRAME);
	check(is_whole(extract(&found), &found), "a header that no process maps");
	teardown();
}

static void test_missing(void)
{
	struct image_box found;

	setup();
	map_box();
	*fake_entry(&image, root, FIRST + 600, 0) = 0;
	check(!extract(&found) && found.nr_missing == 1 && found.nr_used == NR_PAGES - 2 &&
	      count_wrong(&found, &box) == 1, "a page that is not mapped");
	fake_map(&image, root, FIRST + 600, (u64)NR_FRAMES * FRAME);
	check(!extract(&found) && found.nr_missing == 1 && count_wrong(&found, &box) == 1,
	      "a page that is not in the image");
	*fake_entry(&image, root, FIRST + 600, 0) = box.frames[600] | 0x063;
	check(!extract(&found) && found.nr_missing == 1 && count_wrong(&found, &box) == 1,
	      "a page of the kernel");
	/* PROT_NONE for the time being: the address is inverted. */
	*fake_entry(&image, root, FIRST + 600, 0) = (~box.frames[600] & 0xffffffffff000) | 0x120;
	check(is_whole(extract(&found), &found), "a page that is hidden for NUMA balancing");
	*fake_entry(&image, root, FIRST + 600, 1) = 0;
	check(!extract(&found) && found.nr_missing >= 1 && found.nr_missing <= 512 &&
	      count_wrong(&found, &box) == found.nr_missing, "a table that is missing");
	*fake_entry(&image, root, FIRST, 0) = 0;
	check(extract(&found) == -ENOENT && strstr(debug_message, "4711"),
	      "the process is named if no one maps its box");
	memset(image.memory + box.frames[0], 0, FRAME);
	check(extract(&found) == -ENOENT && strstr(debug_message, "no image of memory with one"),
	      "an image without a box");
	teardown();
}

static void test_damaged(void)
{
	struct box_header *header;
	struct image_box found;
	struct box_slot *slots;

	setup();
	map_box();
	header = (void *)(image.memory + box.frames[0]);
	header->bytes += FRAME / 2;
	header->sum = box_header__sum(header);
	check(extract(&found) == -ENOENT && strstr(debug_message, "its header is damaged"),
	      "a box that ends within a page");
	teardown();

	setup();
	slots = (void *)(box.data + FRAME);
	slots[10] = slots[1];
	slots[10].state = BOX_FREE;
	slots[11] = slots[1];
	slots[11].len = 1ULL << 60;
	map_box();
	check(is_whole(extract(&found), &found), "slots that are free, or damaged, use no pages");
	teardown();
}

/* The page with number @nr lies in a large page, as do all that have the same entry. */
static bool is_found_in_large(u64 first, u64 nr)
{
	struct image_box found;
	u64 i, entry = (first + nr) / ENTRIES;
	bool whole;

	setup();
	image.large = 2048ULL * FRAME;
	for (i = 0; i < NR_PAGES; i++) {
		if ((first + i) / ENTRIES == entry)
			box.frames[i] = image.large + (first + i) % ENTRIES * FRAME;
	}
	fake_box__load(&box, &image);
	for (i = 0; i < NR_PAGES; i++) {
		if ((first + i) / ENTRIES != entry)
			fake_map(&image, root, first + i, box.frames[i]);
	}
	*fake_entry(&image, root, first + nr, 1) = image.large | image.format->large;
	whole = is_whole(extract(&found), &found);
	teardown();
	return whole;
}

static void test_large(void)
{
	check(is_found_in_large(FIRST, 0), "a large page with the header");
	check(is_found_in_large(FIRST, 600), "a large page between others");
	check(is_found_in_large(512 * 777, 0), "a large page that begins with the header");
}

/* Tables that list themselves are no end of pages. */
static void test_loops(void)
{
	struct image_box found;
	unsigned int i;
	u64 table, below;

	setup();
	map_box();
	table = *fake_entry(&image, root, FIRST, 1);
	below = *fake_entry(&image, root, FIRST, 2);
	for (i = 0; i < ENTRIES; i++) {
		*fake_entry(&image, root, i * 512, 1) = table;
		*fake_entry(&image, root, i * 512 * 512ULL, 2) = below;
		fake_table(&image, root)[i] = root | image.format->table;
	}
	check(is_whole(extract(&found), &found), "tables above that list themselves");
	teardown();

	setup();
	map_box();
	table = *fake_entry(&image, root, FIRST, 1);
	for (i = (FIRST + 2) % ENTRIES % 7; i < ENTRIES; i += 7)
		fake_table(&image, table & 0xfffffffff000)[i] = table;
	check(!extract(&found) && count_wrong(&found, &box) == 6,
	      "a table that lists itself as some of the pages");
	teardown();
}

static void test_several_boxes(void)
{
	struct image_box found;
	struct fake_box other;
	u64 process;

	setup();
	map_box();
	process = fake_frame(&image);
	fake_box__init(&other, 300, 4712);
	((struct box_header *)other.data)->complete = 99;
	fake_box__load(&other, &image);
	fake_box__map(&other, &image, process, 5, 300);
	check(!extract(&found) && found.nr_others == 1 && !count_wrong(&found, &other),
	      "the box that was written last");
	((struct box_header *)(image.memory + box.frames[0]))->complete = 100;
	((struct box_header *)box.data)->complete = 100;
	check(!extract(&found) && found.nr_others == 1 && !count_wrong(&found, &box),
	      "the other one if that was written later");
	((struct box_header *)(image.memory + box.frames[0]))->state = BOX_SAVED;
	((struct box_header *)box.data)->state = BOX_SAVED;
	check(!extract(&found) && found.nr_others == 1 && !count_wrong(&found, &other),
	      "not one whose records are saved");
	check(!strcmp(found.other_pids, " 4711"), "the process of another box is named");
	wanted_pid = 4711;
	check(!extract(&found) && !found.nr_others && !count_wrong(&found, &box),
	      "the box of a process");
	wanted_pid = 4713;
	check(extract(&found) == -ENOENT && strstr(debug_message, "--recover-pid"),
	      "no box of a process");
	wanted_pid = 0;
	fake_box__exit(&other);
	teardown();
}

int main(void)
{
	test_scattered();
	test_candidates();
	test_missing();
	test_damaged();
	test_large();
	test_loops();
	test_several_boxes();
	return tap_end();
}
