// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/kernel.h>
#include "stale_maps.h"

/* Neighbours become one. */
static struct proc_maps *add(struct proc_maps *proc_maps, size_t *room, const struct mapped_range *extent)
{
	struct mapped_range *last = proc_maps && proc_maps->nr ? &proc_maps->extent[proc_maps->nr - 1] : NULL;
	struct proc_maps *larger;

	if (last && last->end == extent->start && last->exec == extent->exec) {
		last->end = extent->end;
		return proc_maps;
	}
	if (!proc_maps || proc_maps->nr == *room) {
		*room = *room * 2 ?: 64;
		larger = realloc(proc_maps, sizeof(*proc_maps) + *room * sizeof(*extent));
		if (!larger) {
			free(proc_maps);
			return NULL;
		}
		if (!proc_maps)
			larger->nr = 0;
		proc_maps = larger;
	}
	proc_maps->extent[proc_maps->nr++] = *extent;
	return proc_maps;
}

/* NULL, too, if there is no map at all: the task is just ending. */
struct proc_maps *proc_maps__read(u32 tid)
{
	struct proc_maps *proc_maps = NULL;
	struct mapped_range extent;
	char *line = NULL, name[32], exec;
	size_t len = 0, room = 0;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%u/maps", tid);
	file = fopen(name, "r");
	if (!file)
		return NULL;
	while (getline(&line, &len, file) > 0) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*c%*c%c", &extent.start, &extent.end,
			   &exec) != 3)
			continue;
		extent.exec = exec == 'x';
		proc_maps = add(proc_maps, &room, &extent);
		if (!proc_maps)
			break;
	}
	free(line);
	fclose(file);
	return proc_maps;
}
