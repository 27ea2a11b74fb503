// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <api/io.h>
#include "proc_maps.h"

/* Append @range, or extend the last one. Without memory: free @maps and return NULL. */
static struct proc_maps *append(struct proc_maps *maps, size_t *capacity,
				const struct mapped_range *range)
{
	struct mapped_range *last = maps && maps->nr ? &maps->range[maps->nr - 1] : NULL;
	struct proc_maps *larger;

	if (last && last->end == range->start && last->exec == range->exec) {
		last->end = range->end;
		return maps;
	}
	if (!maps || maps->nr == *capacity) {
		*capacity = *capacity * 2 ?: 64;
		larger = realloc(maps, sizeof(*maps) + *capacity * sizeof(*range));
		if (!larger) {
			free(maps);
			return NULL;
		}
		if (!maps)
			larger->nr = 0;
		maps = larger;
	}
	maps->range[maps->nr++] = *range;
	return maps;
}

/* Parse a line "START-END rwxp ...". */
static bool read_range(struct io *io, struct mapped_range *range)
{
	__u64 start, end;

	if (io__get_hex(io, &start) != '-' || io__get_hex(io, &end) != ' ')
		return false;
	range->start = start;
	range->end = end;
	io__get_char(io);
	io__get_char(io);
	range->exec = io__get_char(io) == 'x';
	/* A byte of a name may be negative, like what io__get_char() returns at the end. */
	while (io__get_char(io) != '\n') {
		if (io->eof)
			break;
	}
	return true;
}

void proc_maps__free(struct proc_maps *maps)
{
	struct proc_maps *newer;

	for (; maps; maps = newer) {
		newer = maps->newer;
		free(maps);
	}
}

struct proc_maps *proc_maps__read(u32 tid)
{
	struct proc_maps *maps = NULL;
	struct mapped_range range;
	char path[32], buf[4096];
	size_t capacity = 0;
	struct io io;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/maps", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	io__init(&io, fd, buf, sizeof(buf));
	while (read_range(&io, &range)) {
		maps = append(maps, &capacity, &range);
		if (!maps)
			break;
	}
	close(fd);
	return maps;
}
