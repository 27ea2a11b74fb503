/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Map an image of memory: a raw or ELF file as it is, and the pages of a kdump-compressed file.
 */
#ifndef __PERF_RECOVER_IMAGE_H
#define __PERF_RECOVER_IMAGE_H

#include <stddef.h>

/**
 * struct recover_image - a mapped image
 * @data:	read-only
 * @size:	[bytes]
 */
struct recover_image {
	void	*data;
	size_t	 size;
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

#endif /* __PERF_RECOVER_IMAGE_H */
