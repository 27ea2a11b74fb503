/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Map an image of memory: a raw or ELF file as it is, and the pages of a kdump-compressed file.
 */
#ifndef __PERF_RECOVER_IMAGE_H
#define __PERF_RECOVER_IMAGE_H

#include <stddef.h>
#include <linux/types.h>
#include "util/recover-places.h"

/* Bits of makedumpfile -d that leave out pages of files. */
#define RECOVER_LEVEL_CACHE	(2u | 4u)

/**
 * struct recover_image - a mapped image
 * @data:	read-only
 * @size:	[bytes]
 * @places:	where @data has which memory; in a raw file, physical addresses are offsets
 * @machine:	EM_* of the dumped machine; EM_NONE: unknown
 * @level:	-d of makedumpfile; 0 for other files
 */
struct recover_image {
	void			*data;
	size_t			 size;
	struct recover_places	 places;
	u16			 machine;
	u32			 level;
};

/**
 * recover_image__map - map a file
 * @path:	of a regular file
 *
 * Decompresses a kdump-compressed file to a temporary file in $TMPDIR, or /var/tmp. Pages are in
 * order of their addresses. Pages that the file lacks are zero, as if they had been left out
 * because they are, but for gaps that no record can cross: these are left out. Prints a warning if
 * pages are damaged.
 *
 * Return: 0, or a negative errno after an error message.
 */
int recover_image__map(struct recover_image *image, const char *path);

void recover_image__unmap(struct recover_image *image);

/**
 * recover_image__at - return @len bytes at a physical address, not aligned; NULL if the image lacks
 * them
 */
const void *recover_image__at(const struct recover_image *image, u64 address, u64 len);

#endif /* __PERF_RECOVER_IMAGE_H */
