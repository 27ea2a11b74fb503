// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <internal/lib.h>
#include <linux/types.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "util/debug.h"
#include "util/recover-elf.h"
#include "util/recover-image.h"
#include "util/recover-kdump.h"
#include "util/recover-temporary.h"

/* A record has less than 64 kB: it crosses no larger gap. */
#define MAX_RECORD_BYTES	(1 << 16)

static int map(struct recover_image *image, int fd, size_t size, const char *path)
{
	int err;

	image->size = size;
	image->data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (image->data != MAP_FAILED)
		return 0;
	err = -errno;
	pr_err("Cannot map %s: %s\n", path, strerror(-err));
	return err;
}

/*
 * kdump-compressed files
 */

/**
 * struct expansion - a kdump-compressed file that is being decompressed
 * @kdump:	the file
 * @path:	of the file
 * @places:	of its pages in the temporary file
 * @fd:		the temporary file
 * @page:	the page that was read last
 * @size:	of the temporary file so far [bytes]
 * @next_pfn:	behind the page that was read last
 * @nr_pages:	pages so far, including damaged ones
 * @nr_damaged:	pages that cannot be read
 * @is_cut:	the end of the file is missing
 */
struct expansion {
	struct kdump		 kdump;
	const char		*path;
	struct recover_places	*places;
	int			 fd;
	unsigned char		*page;
	u64			 size;
	u64			 next_pfn;
	u64			 nr_pages;
	u64			 nr_damaged;
	bool			 is_cut;
};

static int explain_dir(const struct expansion *expansion, int error)
{
	pr_err("Cannot decompress %s to %s: %s. Set TMPDIR to a directory with space for its pages.\n",
	       expansion->path, recover_temporary__dir(), strerror(error));
	return -error;
}

static bool is_zero(const unsigned char *page, size_t size)
{
	return !page[0] && !memcmp(page, page + 1, size - 1);
}

/* Leave a hole where a page is zero, damaged, or not in the file. */
static int add_page(struct expansion *expansion, u64 pfn, bool is_damaged)
{
	size_t len = expansion->kdump.page_size;
	u64 gap = pfn - expansion->next_pfn;
	ssize_t n;

	if (expansion->nr_pages && gap < MAX_RECORD_BYTES / len)
		expansion->size += gap * len;
	if (!is_damaged && !is_zero(expansion->page, len)) {
		n = pwrite(expansion->fd, expansion->page, len, expansion->size);
		if (n != (ssize_t)len)
			return explain_dir(expansion, n < 0 ? errno : ENOSPC);
	}
	expansion->size += len;
	expansion->next_pfn = pfn + 1;
	expansion->nr_pages++;
	expansion->nr_damaged += is_damaged;
	return is_damaged ? 0 : recover_places__add(expansion->places, pfn * len, len,
						    expansion->size - len);
}

static int add_pages(struct expansion *expansion)
{
	u64 pfn;
	int ret;

	while ((ret = kdump__read_next(&expansion->kdump, &pfn, expansion->page))) {
		if (ret == -ENODATA) {
			expansion->is_cut = true;
			return 0;
		}
		if (ret < 0 && ret != -EILSEQ) {
			pr_err("Cannot read %s: %s\n", expansion->path, strerror(-ret));
			return ret;
		}
		ret = add_page(expansion, pfn, ret < 0);
		if (ret)
			return ret;
	}
	return 0;
}

static int check_pages(const struct expansion *expansion)
{
	if (expansion->nr_pages == expansion->nr_damaged) {
		pr_err("Cannot read %s: it is damaged, and has no intact page.\n", expansion->path);
		return -EINVAL;
	}
	if (expansion->nr_damaged)
		pr_warning("%s is damaged: %" PRIu64 " of %" PRIu64 " pages cannot be read.\n",
			   expansion->path, expansion->nr_damaged, expansion->nr_pages);
	if (expansion->is_cut)
		pr_warning("%s is damaged: its end is missing. It has %" PRIu64 " pages.\n",
			   expansion->path, expansion->nr_pages);
	return 0;
}

static int expand(struct expansion *expansion, struct recover_image *image)
{
	int err;

	expansion->fd = recover_temporary__open();
	if (expansion->fd < 0)
		return explain_dir(expansion, errno);
	err = add_pages(expansion) ?: check_pages(expansion);
	if (!err && ftruncate(expansion->fd, expansion->size))
		err = explain_dir(expansion, errno);
	err = err ?: map(image, expansion->fd, expansion->size, expansion->path);
	close(expansion->fd);
	return err;
}

static int map_kdump(struct recover_image *image, int fd, const char *path)
{
	struct expansion expansion = { .path = path, .places = &image->places };
	const char *problem;
	int err = kdump__open(&expansion.kdump, fd, &problem);

	if (err) {
		pr_err("Cannot read %s: %s.\n", path, problem);
		return err;
	}
	image->machine = expansion.kdump.machine;
	image->level = expansion.kdump.level;
	expansion.page = malloc(expansion.kdump.page_size);
	err = expansion.page ? expand(&expansion, image) : -ENOMEM;
	free(expansion.page);
	kdump__close(&expansion.kdump);
	return err;
}

/*
 * Raw and ELF files
 */

static int map_uncompressed(struct recover_image *image, int fd, size_t size, const char *path)
{
	int err = map(image, fd, size, path);

	if (err)
		return err;
	if (recover_elf__is_core(image->data, size))
		err = recover_elf__places(image->data, size, &image->places, &image->machine);
	else
		err = recover_places__add(&image->places, 0, size, 0);
	if (err)
		munmap(image->data, size);
	return err;
}

/*
 * Any file
 */

static int map_file(struct recover_image *image, int fd, const char *path)
{
	char signature[16] = "";
	struct stat st;
	int err;

	if (fstat(fd, &st)) {
		err = -errno;
		pr_err("Cannot open %s: %s\n", path, strerror(-err));
		return err;
	}
	if (!S_ISREG(st.st_mode) || !st.st_size) {
		pr_err("Cannot search %s: it is %s. Copy the memory to a regular file.\n", path,
		       S_ISREG(st.st_mode) ? "empty" : "not a regular file");
		return -EINVAL;
	}
	if (preadn(fd, signature, sizeof(signature), 0) < 0) {
		err = -errno;
		pr_err("Cannot read %s: %s\n", path, strerror(-err));
		return err;
	}
	if (!strncmp(signature, KDUMP_FLAT_SIGNATURE, sizeof(signature))) {
		pr_err("Cannot read %s: it is flattened. Restore it: makedumpfile -R <new file> < %s\n",
		       path, path);
		return -EINVAL;
	}
	if (!memcmp(signature, KDUMP_SIGNATURE, strlen(KDUMP_SIGNATURE)))
		return map_kdump(image, fd, path);
	return map_uncompressed(image, fd, st.st_size, path);
}

int recover_image__map(struct recover_image *image, const char *path)
{
	int err, fd = open(path, O_RDONLY | O_CLOEXEC);

	*image = (struct recover_image){ .machine = EM_NONE };
	if (fd < 0) {
		err = -errno;
		pr_err("Cannot open %s: %s\n", path, strerror(-err));
		return err;
	}
	err = map_file(image, fd, path);
	close(fd);
	if (err)
		recover_places__exit(&image->places);
	else
		recover_places__sort(&image->places);
	return err;
}

void recover_image__unmap(struct recover_image *image)
{
	recover_places__exit(&image->places);
	munmap(image->data, image->size);
}

const void *recover_image__at(const struct recover_image *image, u64 address, u64 len)
{
	u64 at;

	return recover_places__find(&image->places, address, len, &at) ? image->data + at : NULL;
}
