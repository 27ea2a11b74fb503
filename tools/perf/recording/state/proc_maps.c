// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/kernel.h>
#include "stale_maps.h"

/* Neighbours become one. */
static struct survey *add(struct survey *survey, size_t *room, const struct extent *extent)
{
	struct extent *last = survey && survey->nr ? &survey->extent[survey->nr - 1] : NULL;
	struct survey *larger;

	if (last && last->end == extent->start && last->exec == extent->exec) {
		last->end = extent->end;
		return survey;
	}
	if (!survey || survey->nr == *room) {
		*room = *room * 2 ?: 64;
		larger = realloc(survey, sizeof(*survey) + *room * sizeof(*extent));
		if (!larger) {
			free(survey);
			return NULL;
		}
		if (!survey)
			larger->nr = 0;
		survey = larger;
	}
	survey->extent[survey->nr++] = *extent;
	return survey;
}

/* NULL, too, if there is no map at all: the task is just ending. */
struct survey *survey__proc(u32 tid)
{
	struct survey *survey = NULL;
	struct extent extent;
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
		survey = add(survey, &room, &extent);
		if (!survey)
			break;
	}
	free(line);
	fclose(file);
	return survey;
}
