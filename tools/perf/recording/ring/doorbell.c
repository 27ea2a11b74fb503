// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <unistd.h>
#include <internal/lib.h>
#include <sys/mman.h>
#include "doorbell.h"

int doorbell__map(struct doorbell *doorbell, int fd)
{
	void *consumed = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	void *produced = mmap(NULL, page_size, PROT_READ, MAP_SHARED, fd, page_size);
	int err = consumed == MAP_FAILED || produced == MAP_FAILED ? -errno : 0;

	*doorbell = (struct doorbell){ .fd = fd };
	if (consumed != MAP_FAILED)
		doorbell->consumed = consumed;
	if (produced != MAP_FAILED)
		doorbell->produced = produced;
	if (err)
		doorbell__unmap(doorbell);
	return err;
}

void doorbell__unmap(struct doorbell *doorbell)
{
	if (doorbell->consumed)
		munmap(doorbell->consumed, page_size);
	if (doorbell->produced)
		munmap(doorbell->produced, page_size);
	if (doorbell->fd > 0)
		close(doorbell->fd);
	*doorbell = (struct doorbell){ 0 };
}
