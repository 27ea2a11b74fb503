/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Read the pages of a dump in the kdump-compressed format, as makedumpfile and QEMU write it.
 *
 * The file has blocks of the size of a page:
 *
 *	1		struct kdump_header
 *	sub_blocks	struct kdump_sub_header
 *	bitmap_blocks	two bitmaps of equal size, one bit a page frame: pages that exist, and pages
 *			that are in the file
 *			struct kdump_page for each page that is in the file, by page frame
 *			the pages, each compressed on its own
 *
 * Layout and byte order are those of the dumped machine: only files of 64-bit machines with the
 * byte order of this one are read. Nothing in the file is trusted.
 */
#ifndef __PERF_RECOVER_KDUMP_H
#define __PERF_RECOVER_KDUMP_H

#include <linux/types.h>

#define KDUMP_SIGNATURE		"KDUMP   "
#define KDUMP_FLAT_SIGNATURE	"makedumpfile"
#define KDUMP_MIN_PAGE		4096u
#define KDUMP_MAX_PAGE		65536u

/*
 * Flags of a page: how it is compressed. Flags of the file: how its pages are, unless it is larger
 * then.
 */
#define KDUMP_ZLIB		0x01u
#define KDUMP_LZO		0x02u
#define KDUMP_SNAPPY		0x04u
#define KDUMP_ZSTD		0x20u
#define KDUMP_COMPRESSED	(KDUMP_ZLIB | KDUMP_LZO | KDUMP_SNAPPY | KDUMP_ZSTD)

/**
 * struct kdump_header - the first block
 * @version:	of the format
 * @names:	struct new_utsname of the dumped machine
 * @flags:	KDUMP_*
 * @page_size:	of a page and a block [bytes]
 * @sub_blocks:	size of the second header [blocks]
 * @bitmap_blocks: size of both bitmaps [blocks]
 */
struct kdump_header {
	char	signature[8];
	s32	version;
	char	names[6][65];
	char	pad[6];
	u64	time[2];
	u32	flags;
	u32	page_size;
	u32	sub_blocks;
	u32	bitmap_blocks;
};

/**
 * struct kdump_sub_header - the second block
 * @split:	the file is one of several, and has only the page frames from @first_pfn to @end_pfn
 *		- 1
 */
struct kdump_sub_header {
	u64	phys_base;
	u32	level;
	u32	split;
	u64	first_pfn;
	u64	end_pfn;
};

/**
 * struct kdump_page - where a page is in the file
 * @at:		[bytes]
 * @len:	[bytes]
 * @flags:	one of KDUMP_*, or 0: not compressed
 * @page_flags:	unused
 */
struct kdump_page {
	u64	at;
	u32	len;
	u32	flags;
	u64	page_flags;
};

/**
 * struct kdump - an open file
 * @fd:		the file, the caller's
 * @page_size:	[bytes]
 * @machine:	EM_* of the dumped machine; EM_NONE: another one
 * @level:	-d of makedumpfile
 * @bytes:	size of the file
 * @bitmap_at:	where the second bitmap begins in the file [bytes]
 * @page_at:	where the struct kdump_page of the next page begins in the file [bytes]
 * @next_pfn:	page frame from which the next page is searched
 * @end_pfn:	behind the last page frame
 * @bits:	a block of the bitmap
 * @bits_pfn:	page frame of the first of @bits; UINT64_MAX: none is loaded
 * @packed:	a compressed page
 */
struct kdump {
	int		 fd;
	u32		 page_size;
	u16		 machine;
	u32		 level;
	u64		 bytes;
	u64		 bitmap_at;
	u64		 page_at;
	u64		 next_pfn;
	u64		 end_pfn;
	unsigned char	*bits;
	u64		 bits_pfn;
	void		*packed;
};

/**
 * kdump__open - read the headers
 * @fd:		a regular file that begins with KDUMP_SIGNATURE; remains the caller's
 * @problem:	after an error: what is wrong
 *
 * Return: 0, or a negative errno; then there is nothing to close.
 */
int kdump__open(struct kdump *kdump, int fd, const char **problem);

void kdump__close(struct kdump *kdump);

/**
 * kdump__read_next - read the next page that is in the file
 * @pfn:	receives its page frame number
 * @page:	receives its contents, @kdump->page_size bytes
 *
 * Return: 1; 0 after the last page; -EILSEQ if this page is damaged: @pfn is set, and others
 * follow; -ENODATA if the file ends before the list of its pages; or another negative errno.
 */
int kdump__read_next(struct kdump *kdump, u64 *pfn, void *page);

#endif /* __PERF_RECOVER_KDUMP_H */
