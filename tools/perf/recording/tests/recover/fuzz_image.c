// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzz the search for the file of --keep-file in an image of memory (libFuzzer target).
 *
 * The input is a list of words to replace in an image with a box of some pages, which two leaf
 * tables map: entries of tables by addresses of any frames, and words of headers by any others.
 * Without replaced words the box must be found.
 */
#include <elf.h>
#include <stdio.h>
#include <linux/kernel.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../../../../lib/perf/tests/fuzz.h"
#include "recording/recover/image.h"
#include "fake_image.h"

#define NR_FRAMES	64u
#define NR_PAGES	24u
#define FIRST		(512ULL * 512 * 7 - 10)

/* Bits of the first byte */
#define FIX_SUM		0x01	/* correct the checksum of the header */
#define AS_ELF		0x02

int verbose;
static struct fake_image valid, image;	/* @image is the one with replaced words */
static struct fake_box box;
static u64 root;

int eprintf(int level, int var, const char *fmt, ...)
{
	(void)level, (void)var, (void)fmt;
	return 0;
}

static void make_valid_image(void)
{
	fake_image__init(&valid, NR_FRAMES);
	fake_image__init(&image, NR_FRAMES);
	fake_box__init(&box, NR_PAGES, 1);
	root = fake_frame(&valid);
	fake_box__load(&box, &valid);
	fake_box__map(&box, &valid, root, FIRST, NR_PAGES);
}

/* Bits beside the address; most entries are valid. */
static u64 take_flags(void)
{
	static const u64 flags[] = { 0x067, 0x067, 0x067, 0x0e7, 0x120, 0x003, 0x041, 0xf43 };

	return flags[take() % ARRAY_SIZE(flags)];
}

/* An entry on the way to a page of the box, where the valid image has it */
static u64 *take_entry(unsigned int at, int level)
{
	u64 *entry = fake_entry(&valid, root, FIRST + at % NR_PAGES, level);

	return (u64 *)(image.memory + ((u8 *)entry - valid.memory));
}

/* Return: the number of replaced words. */
static unsigned int replace_words(void)
{
	unsigned int nr = 0;

	while (input_left) {
		unsigned int what = take(), at = take() << 8 | take();
		u64 frame = take() % (NR_FRAMES + 2) * FRAME, *word = (u64 *)image.memory;

		switch (what % 4) {
		case 0:			/* any word of any page */
			word += at % (NR_FRAMES * ENTRIES);
			*word = frame | take_flags();
			break;
		case 1:			/* an entry that leads to a page of the box */
			*take_entry(at, what / 4 % 3) = frame | take_flags();
			break;
		case 2:			/* the same with any value */
			*take_entry(at, what / 4 % 3) = take_u64();
			break;
		default:		/* the header, and slots */
			word = (u64 *)(image.memory + box.frames[what / 4 % 2]);
			word[at % 48] = what & 0x80 ? take_u64() : take();
			break;
		}
		nr++;
	}
	return nr;
}

static void fix_sum(void)
{
	struct box_header *header = (void *)(image.memory + box.frames[0]);

	header->sum = box_header__sum(header);
}

/* The segments of an ELF file are the input's. */
static int write_elf(int fd)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr segments[2];
	} elf = {
		.header = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
			.e_type = ET_CORE, .e_machine = EM_X86_64, .e_phoff = sizeof(elf.header),
			.e_phentsize = sizeof(*elf.segments),
		},
	};
	unsigned int i;

	elf.header.e_phnum = take() % 4 ? 2 : take() << 8 | take();
	for (i = 0; i < ARRAY_SIZE(elf.segments); i++) {
		u64 begin = take() % NR_FRAMES, len = take() % (NR_FRAMES + 8);

		elf.segments[i] = (Elf64_Phdr){
			.p_type = PT_LOAD, .p_offset = sizeof(elf) + begin * FRAME,
			.p_paddr = begin * FRAME + (take() % 8 ? 0 : take_u64()),
			.p_filesz = len * FRAME + (take() % 8 ? 0 : take_u64()),
		};
	}
	return write(fd, &elf, sizeof(elf)) == sizeof(elf);
}

static void check_box(struct image_box *found, bool is_valid)
{
	struct stat st;
	u8 page[FRAME];
	u64 i;

	MUST(found->fd >= 0 && !fstat(found->fd, &st));
	MUST(found->nr_missing <= found->nr_used);
	MUST(st.st_size >= (off_t)sizeof(struct box_header));
	for (i = 0; is_valid && i < NR_PAGES; i++)
		MUST(pread(found->fd, page, FRAME, i * FRAME) == FRAME &&
		     !memcmp(page, box.data + i * FRAME, FRAME));
	MUST(!is_valid || (st.st_size == NR_PAGES * FRAME && !found->nr_missing));
	close(found->fd);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	const size_t bytes = NR_FRAMES * FRAME;
	struct image_box found;
	unsigned int how;
	char name[32];
	bool is_valid;
	int fd, err;

	if (!valid.memory) {
		make_valid_image();
		setenv("TMPDIR", "/dev/shm", 1);
	}
	memcpy(image.memory, valid.memory, bytes);
	input = data;
	input_left = len;
	how = take();
	fd = memfd_create("image", MFD_CLOEXEC);
	MUST(!(how & AS_ELF) || write_elf(fd));
	is_valid = !replace_words() && !(how & AS_ELF);
	if (how & FIX_SUM)
		fix_sum();
	MUST(write(fd, image.memory, bytes) == (ssize_t)bytes);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	err = image_box__extract(name, 0, &found);
	MUST(!err || (!is_valid && err < 0 && found.fd < 0));
	if (!err)
		check_box(&found, is_valid);
	close(fd);
	return 0;
}
