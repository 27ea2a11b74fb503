// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzz the reader of kdump-compressed files (libFuzzer target).
 *
 * The input is a list of bytes to replace in a valid file with one page of each kind. All pages are
 * read. Without replaced bytes they must have their contents.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <lzo/lzo1x.h>
#include <sys/mman.h>
#include <zlib.h>
#include <zstd.h>

#include "../../../../lib/perf/tests/fuzz.h"
#include "util/recover-kdump.h"

#define PAGE		KDUMP_MIN_PAGE
#define NR_PAGES	4
#define FIRST_PFN	9	/* the pages of the file are every fifth one from here */
#define BITMAP_AT	(3 * PAGE)
#define LIST_AT		(4 * PAGE)
#define DATA_AT		(LIST_AT + NR_PAGES * sizeof(struct kdump_page))

/* Behind the pages is space, so that a page that is too long may lie within the file. */
#define SPACE		(2 * PAGE)

static u8 valid[LIST_AT + 4 * PAGE + SPACE] __attribute__((aligned(8)));
static size_t valid_bytes;

static void fill(u8 *page, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < PAGE; i++)
		page[i] = 16 * nr + (i % 256 == nr) + i / 256;
}

/* Return: the length. */
static u32 compress_page(u32 flags, const u8 *page, u8 *to)
{
	static u8 memory[LZO1X_1_MEM_COMPRESS];
	uLongf zlib_len = PAGE;
	lzo_uint lzo_len = 0;

	switch (flags) {
	case KDUMP_ZLIB:
		MUST(compress2(to, &zlib_len, page, PAGE, 1) == Z_OK);
		return zlib_len;
	case KDUMP_LZO:
		MUST(lzo1x_1_compress(page, PAGE, to, &lzo_len, memory) == LZO_E_OK);
		return lzo_len;
	case KDUMP_ZSTD:
		return ZSTD_compress(to, PAGE, page, PAGE, 1);
	default:
		memcpy(to, page, PAGE);
		return PAGE;
	}
}

static void make_valid_file(void)
{
	static const u32 flags[NR_PAGES] = { 0, KDUMP_ZLIB, KDUMP_LZO, KDUMP_ZSTD };
	struct kdump_header *header = (void *)valid;
	struct kdump_page *list = (void *)(valid + LIST_AT);
	u8 page[PAGE];
	unsigned int i, pfn = FIRST_PFN;

	memcpy(header->signature, KDUMP_SIGNATURE, sizeof(header->signature));
	header->version = 6;
	header->page_size = PAGE;
	header->sub_blocks = 1;
	header->bitmap_blocks = 2;
	valid_bytes = DATA_AT;
	for (i = 0; i < NR_PAGES; i++, pfn += 5) {
		valid[BITMAP_AT + pfn / 8] |= 1 << pfn % 8;
		fill(page, i);
		list[i].at = valid_bytes;
		list[i].flags = flags[i];
		list[i].len = compress_page(flags[i], page, valid + valid_bytes);
		valid_bytes += list[i].len;
		MUST(list[i].len <= PAGE && valid_bytes + SPACE <= sizeof(valid));
	}
	valid_bytes += SPACE;
}

/* Return: the number of replaced bytes. */
static unsigned int replace_bytes(u8 *file)
{
	static const struct { u16 at, len; } areas[] = {
		{ offsetof(struct kdump_header, flags), 16 },
		{ PAGE, sizeof(struct kdump_sub_header) },
		{ BITMAP_AT, 8 },
		{ LIST_AT, NR_PAGES * sizeof(struct kdump_page) },
		{ DATA_AT, 256 },
		{ 0, LIST_AT },
		{ LIST_AT, PAGE },
	};
	unsigned int nr = 0;

	while (input_left) {
		unsigned int area = take() % ARRAY_SIZE(areas);
		unsigned int at = areas[area].at + (take() << 8 | take()) % areas[area].len;

		if (at < valid_bytes)
			file[at] = take();
		nr++;
	}
	return nr;
}

static int read_all(struct kdump *kdump, size_t bytes, bool is_valid)
{
	u8 *page = malloc(kdump->page_size), expected[PAGE];
	u64 pfn, end = 0;
	int ret, nr = 0;

	while ((ret = kdump__read_next(kdump, &pfn, page))) {
		if (ret < 0 && ret != -EILSEQ) {
			MUST(!is_valid && ret == -ENODATA);
			break;
		}
		MUST(pfn >= end && pfn < kdump->end_pfn);
		end = pfn + 1;
		if (is_valid) {
			fill(expected, nr);
			MUST(ret == 1 && pfn == FIRST_PFN + 5ULL * nr &&
			     !memcmp(page, expected, PAGE));
		}
		MUST((size_t)++nr <= bytes / sizeof(struct kdump_page));
	}
	free(page);
	return nr;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	static u8 file[sizeof(valid)];
	const char *problem = NULL;
	struct kdump kdump;
	static int fd = -1;
	unsigned int cut;
	bool is_valid;
	size_t bytes;

	if (fd < 0) {
		fd = memfd_create("kdump", MFD_CLOEXEC);
		make_valid_file();
	}
	input = data;
	input_left = len;
	memcpy(file, valid, sizeof(file));
	cut = take() << 8 | take();
	is_valid = !replace_bytes(file) && cut < 0x8000;
	bytes = cut < 0x8000 ? valid_bytes : cut % valid_bytes;
	MUST(!ftruncate(fd, bytes) && pwrite(fd, file, bytes, 0) == (ssize_t)bytes);
	if (kdump__open(&kdump, fd, &problem)) {
		MUST(problem && *problem && !is_valid);
		return 0;
	}
	MUST(read_all(&kdump, bytes, is_valid) == NR_PAGES || !is_valid);
	kdump__close(&kdump);
	return 0;
}
