/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find the file of --keep-file in an image of the memory of its machine.
 *
 * The recorder has mapped the file as a whole. Its header is found by magic and checksum, and all
 * other pages by the page tables that map the header (util/recover-tables.h). So nothing must be
 * known of the kernel, and the file may be on any file system, but some process must have it
 * mapped: a recorder that was killed before leaves a file without page tables.
 */
#ifndef PERF_RECORDING_RECOVER_IMAGE_H
#define PERF_RECORDING_RECOVER_IMAGE_H

#include <linux/types.h>

/**
 * struct image_box - the box of an image
 * @fd:		a temporary file; pages that are missing are zero
 * @nr_used:	pages of the box that slots use
 * @nr_missing:	how many of these are not in the image
 * @nr_others:	other boxes in the image that can be read
 * @other_pids:	the processes of some of them
 * @level:	-d of makedumpfile; 0 for other files
 */
struct image_box {
	int	fd;
	u64	nr_used;
	u64	nr_missing;
	size_t	nr_others;
	char	other_pids[80];
	u32	level;
};

/**
 * image_box__extract - copy the box that was written last to a temporary file
 * @path:	of a raw, ELF or kdump-compressed file
 * @pid:	of the recorder whose box is wanted; 0: of any
 * @box:	receives the box; the caller closes @fd
 *
 * Return: 0, or a negative errno after an error message.
 */
int image_box__extract(const char *path, u64 pid, struct image_box *box);

/** image_box__report - print a warning if anything is missing */
void image_box__report(const struct image_box *box, const char *path);

#endif
