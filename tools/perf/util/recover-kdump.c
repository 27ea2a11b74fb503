// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <internal/lib.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include <linux/zalloc.h>
#include <sys/stat.h>
#include "util/recover-kdump.h"

#ifdef HAVE_ZLIB_SUPPORT
#include <zlib.h>
#endif
#ifdef HAVE_LZO_SUPPORT
#include <lzo/lzo1x.h>
#endif
#ifdef HAVE_ZSTD_SUPPORT
#include <zstd.h>
#endif

static int read_at(const struct kdump *kdump, u64 pos, void *to, size_t len)
{
	ssize_t n;

	if (pos > kdump->bytes || len > kdump->bytes - pos)
		return -ENODATA;
	n = preadn(kdump->fd, to, len, pos);
	if (n < 0)
		return -errno;
	return n == (ssize_t)len ? 0 : -ENODATA;
}

/*
 * Compressed pages
 */

/* Return whether @kdump->packed decompresses to a whole page. */
static bool unpack(const struct kdump *kdump __maybe_unused, const struct kdump_page *entry,
		   void *page __maybe_unused)
{
	switch (entry->flags) {
#ifdef HAVE_ZLIB_SUPPORT
	case KDUMP_ZLIB: {
		uLongf len = kdump->page_size;

		return uncompress(page, &len, kdump->packed, entry->len) == Z_OK &&
		       len == kdump->page_size;
	}
#endif
#ifdef HAVE_LZO_SUPPORT
	case KDUMP_LZO: {
		lzo_uint len = kdump->page_size;

		return lzo1x_decompress_safe(kdump->packed, entry->len, page, &len, NULL) ==
		       LZO_E_OK &&
		       len == kdump->page_size;
	}
#endif
#ifdef HAVE_ZSTD_SUPPORT
	case KDUMP_ZSTD:
		return ZSTD_decompress(page, kdump->page_size, kdump->packed, entry->len) ==
		       kdump->page_size;
#endif
	default:
		return false;
	}
}

#define CONVERT	"Convert the file: makedumpfile -c -d 0 <file> <new file>"

/* Return NULL, or why pages with @flags cannot be decompressed. */
static const char *missing_library(u32 flags __maybe_unused)
{
	if (flags & KDUMP_SNAPPY)
		return "its pages are compressed with snappy. " CONVERT;
#ifndef HAVE_ZLIB_SUPPORT
	if (flags & KDUMP_ZLIB)
		return "its pages are compressed with zlib, and this perf was built without zlib1g-dev";
#endif
#ifdef HAVE_LZO_SUPPORT
	if (flags & KDUMP_LZO && lzo_init() != LZO_E_OK)
		return "liblzo2 does not work";
#else
	if (flags & KDUMP_LZO)
		return "its pages are compressed with LZO, and this perf was built without liblzo2-dev. "
		       CONVERT;
#endif
#ifndef HAVE_ZSTD_SUPPORT
	if (flags & KDUMP_ZSTD)
		return "its pages are compressed with zstd, and this perf was built without libzstd-dev. "
		       CONVERT;
#endif
	return NULL;
}

/*
 * Headers
 */

static const char damaged[] = "its header is damaged, or from another kind of machine";

static bool header_is_sane(const struct kdump_header *header)
{
	u32 size = header->page_size;

	return size >= KDUMP_MIN_PAGE && size <= KDUMP_MAX_PAGE && !(size & (size - 1)) &&
	       header->sub_blocks && header->bitmap_blocks && header->bitmap_blocks % 2 == 0;
}

/* Blocks are counted in 32 bits, and have at most 16: no sum overflows. */
static void set_places(struct kdump *kdump, const struct kdump_header *header)
{
	u64 bitmap_bytes = (u64)header->bitmap_blocks / 2 * header->page_size;

	kdump->page_size = header->page_size;
	kdump->bitmap_at = (1 + (u64)header->sub_blocks) * header->page_size + bitmap_bytes;
	kdump->page_at = kdump->bitmap_at + bitmap_bytes;
	kdump->end_pfn = bitmap_bytes * 8;
}

/* The names are those of uname(2). */
static u16 machine_of(const struct kdump_header *header)
{
	if (!strncmp(header->names[4], "x86_64", sizeof(header->names[4])))
		return EM_X86_64;
	if (!strncmp(header->names[4], "aarch64", sizeof(header->names[4])))
		return EM_AARCH64;
	return EM_NONE;
}

static int read_headers(struct kdump *kdump, const char **problem)
{
	struct kdump_sub_header sub;
	struct kdump_header header;
	int err = read_at(kdump, 0, &header, sizeof(header));

	*problem = err == -ENODATA ? "its end is missing" : strerror(-err);
	if (err)
		return err;
	*problem = damaged;
	if (memcmp(header.signature, KDUMP_SIGNATURE, sizeof(header.signature)) ||
	    !header_is_sane(&header))
		return -EINVAL;
	*problem = missing_library(header.flags);
	if (*problem)
		return -EOPNOTSUPP;
	set_places(kdump, &header);
	err = read_at(kdump, header.page_size, &sub, sizeof(sub));
	*problem = err == -ENODATA || kdump->page_at > kdump->bytes ? "its end is missing" :
								       strerror(-err);
	if (err || kdump->page_at > kdump->bytes)
		return err ?: -ENODATA;
	kdump->machine = machine_of(&header);
	kdump->level = sub.level;
	if (sub.split) {
		kdump->next_pfn = sub.first_pfn;
		kdump->end_pfn = min(kdump->end_pfn, (u64)sub.end_pfn);
	}
	return 0;
}

int kdump__open(struct kdump *kdump, int fd, const char **problem)
{
	struct stat st;
	int err;

	*kdump = (struct kdump){ .fd = fd, .bits_pfn = UINT64_MAX };
	if (fstat(fd, &st)) {
		*problem = strerror(errno);
		return -errno;
	}
	kdump->bytes = st.st_size;
	err = read_headers(kdump, problem);
	if (err)
		return err;
	kdump->bits = malloc(kdump->page_size);
	kdump->packed = malloc(kdump->page_size);
	if (!kdump->bits || !kdump->packed) {
		*problem = strerror(ENOMEM);
		kdump__close(kdump);
		return -ENOMEM;
	}
	return 0;
}

void kdump__close(struct kdump *kdump)
{
	zfree(&kdump->bits);
	zfree(&kdump->packed);
}

/*
 * Pages
 */

/*
 * Set @pfn to the next page frame that is in the file. Return 1, 0 if there is none, or an error.
 */
static int find_next(struct kdump *kdump, u64 *pfn)
{
	u64 bits_per_block = 8ULL * kdump->page_size;

	while (kdump->next_pfn < kdump->end_pfn) {
		u64 bit = kdump->next_pfn % bits_per_block, block = kdump->next_pfn - bit;
		unsigned int bits;
		int err;

		if (block != kdump->bits_pfn) {
			err = read_at(kdump, kdump->bitmap_at + block / 8, kdump->bits,
				      kdump->page_size);
			if (err)
				return err;
			kdump->bits_pfn = block;
		}
		bits = kdump->bits[bit / 8] >> bit % 8;
		if (bits & 1) {
			*pfn = kdump->next_pfn++;
			return 1;
		}
		kdump->next_pfn += bits ? 1 : 8 - bit % 8;
	}
	return 0;
}

static int read_page(struct kdump *kdump, const struct kdump_page *entry, void *page)
{
	bool is_packed = entry->flags & KDUMP_COMPRESSED;
	int err;

	if (!entry->len || entry->len > kdump->page_size ||
	    (!is_packed && entry->len != kdump->page_size))
		return -EILSEQ;
	err = read_at(kdump, entry->at, is_packed ? kdump->packed : page, entry->len);
	if (err)
		return err == -ENODATA ? -EILSEQ : err;
	if (is_packed && !unpack(kdump, entry, page))
		return -EILSEQ;
	return 0;
}

int kdump__read_next(struct kdump *kdump, u64 *pfn, void *page)
{
	struct kdump_page entry;
	int err, found = find_next(kdump, pfn);

	if (found <= 0)
		return found;
	err = read_at(kdump, kdump->page_at, &entry, sizeof(entry));
	if (err)
		return err;
	kdump->page_at += sizeof(entry);
	return read_page(kdump, &entry, page) ?: 1;
}
