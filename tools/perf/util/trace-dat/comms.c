// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "recording/lib/id_map.h"
#include <linux/err.h>
#include "comms.h"

int comms__init(struct hashmap **comms)
{
	*comms = id_map__new();
	if (!IS_ERR(*comms))
		return 0;
	*comms = NULL;
	return -ENOMEM;
}

void comms__exit(struct hashmap *comms)
{
	struct hashmap_entry *entry;
	size_t bucket;

	if (!comms)
		return;
	hashmap__for_each_entry(comms, entry, bucket)
		free(entry->pvalue);
	hashmap__free(comms);
}

static int set(struct hashmap *comms, int pid, const char *comm, bool replace)
{
	char *old = NULL, *copy;

	if (hashmap__find(comms, (long)pid, &old) && (!replace || !strcmp(old, comm)))
		return 0;
	copy = strdup(comm);
	if (!copy)
		return -ENOMEM;
	old = NULL;
	if (hashmap__set(comms, (long)pid, copy, NULL, &old)) {
		free(copy);
		return -ENOMEM;
	}
	free(old);
	return 0;
}

int comms__set(struct hashmap *comms, int pid, const char *comm)
{
	return set(comms, pid, comm, true);
}

int comms__add(struct hashmap *comms, int pid, const char *comm)
{
	return set(comms, pid, comm, false);
}

char *comms__text(struct hashmap *comms, size_t *size)
{
	struct hashmap_entry *entry;
	char *text = NULL, *c;
	size_t bucket;
	FILE *file = open_memstream(&text, size);

	if (!file)
		return NULL;
	hashmap__for_each_entry(comms, entry, bucket) {
		/* A line ends the name, and trace-cmd rejects a line without one. */
		if (!entry->pvalue || !*(char *)entry->pvalue)
			continue;
		fprintf(file, "%ld ", entry->key);
		for (c = entry->pvalue; *c; c++)
			putc(*c == '\n' ? '?' : *c, file);
		putc('\n', file);
	}
	if (fclose(file)) {
		free(text);
		return NULL;
	}
	return text;
}
