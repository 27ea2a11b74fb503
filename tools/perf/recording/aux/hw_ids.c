// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include "hw_ids.h"

void hw_ids__init(struct hw_ids *ids)
{
	*ids = (struct hw_ids){ .file = 1 };
}

void hw_ids__exit(struct hw_ids *ids)
{
	free(ids->list);
	ids->list = NULL;
	ids->nr = 0;
}

/* Return: the newest record about the counter, from number @from on; or NULL. */
static struct hw_id *find(const struct hw_ids *ids, size_t from, u64 counter)
{
	size_t i;

	for (i = ids->nr; i > from; i--) {
		if (ids->list[i - 1].record.hw.hw_id == counter)
			return &ids->list[i - 1];
	}
	return NULL;
}

static void make_room(struct hw_ids *ids)
{
	size_t i;

	for (i = 0; i < ids->nr; i++) {
		if (find(ids, i + 1, ids->list[i].record.hw.hw_id))
			break;
	}
	if (i == ids->nr)
		i = 0;
	ids->nr--;
	memmove(&ids->list[i], &ids->list[i + 1], (ids->nr - i) * sizeof(*ids->list));
	ids->dropped++;
}

void hw_ids__add(struct hw_ids *ids, const union perf_event *record, u64 id)
{
	const size_t size = record->header.size;
	struct hw_id *output;

	if (size < sizeof(output->record.hw) || size > sizeof(output->record)) {
		ids->dropped++;
		return;
	}
	output = find(ids, 0, record->aux_output_hw_id.hw_id);
	if (output && output->id == id)
		return;
	if (!ids->list)
		ids->list = calloc(HW_IDS_MAX, sizeof(*ids->list));
	if (!ids->list) {
		ids->dropped++;
		return;
	}
	if (ids->nr == HW_IDS_MAX)
		make_room(ids);
	output = &ids->list[ids->nr++];
	output->id = id;
	output->file = 0;
	memcpy(&output->record, record, size);
}

void hw_ids__begin_file(struct hw_ids *ids)
{
	ids->file++;
	ids->begun = false;
}

bool hw_ids__has_news(const struct hw_ids *ids)
{
	size_t i;

	for (i = 0; i < ids->nr; i++) {
		if (ids->list[i].file != ids->file)
			return true;
	}
	return false;
}

int hw_ids__write(struct hw_ids *ids, hw_ids_write_t write, void *arg)
{
	size_t i;
	int err;

	for (i = 0; i < ids->nr; i++) {
		struct hw_id *output = &ids->list[i];

		if (output->file == ids->file)
			continue;
		err = write(arg, &output->record, output->record.hw.header.size);
		if (err)
			return err;
		output->file = ids->file;
	}
	return 0;
}
