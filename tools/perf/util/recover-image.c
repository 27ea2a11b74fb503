// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "util/debug.h"
#include "util/recover-image.h"

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

static int map_file(struct recover_image *image, int fd, const char *path)
{
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
	return map(image, fd, st.st_size, path);
}

int recover_image__map(struct recover_image *image, const char *path)
{
	int err, fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		err = -errno;
		pr_err("Cannot open %s: %s\n", path, strerror(-err));
		return err;
	}
	err = map_file(image, fd, path);
	close(fd);
	return err;
}

void recover_image__unmap(struct recover_image *image)
{
	munmap(image->data, image->size);
}
