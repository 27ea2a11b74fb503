// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include "hw_ids.h"

void hw_ids__init(struct hw_ids *outputs)
{
	*outputs = (struct hw_ids){ .file = 1 };
}

void hw_ids__exit(struct hw_ids *outputs)
{
	free(outputs->list);
	outputs->list = NULL;
	outputs->nr = 0;
}

/* Return: the newest record about the counter, from number @from on; or NULL. */
static struct hw_id *find(const struct hw_ids *outputs, size_t from, u64 counter)
{
	size_t i;

	for (i = outputs->nr; i > from; i--) {
		if (outputs->list[i - 1].record.hw.hw_id == counter)
			return &outputs->list[i - 1];
	}
	return NULL;
}

static void make_room(struct hw_ids *outputs)
{
	size_t i;

	for (i = 0; i < outputs->nr; i++) {
		if (find(outputs, i + 1, outputs->list[i].record.hw.hw_id))
			break;
	}
	if (i == outputs->nr)
		i = 0;
	outputs->nr--;
	memmove(&outputs->list[i], &outputs->list[i + 1], (outputs->nr - i) * sizeof(*outputs->list));
	outputs->given_up++;
}

void hw_ids__add(struct hw_ids *outputs, const union perf_event *record, u64 id)
{
	const size_t size = record->header.size;
	struct hw_id *output;

	if (size < sizeof(output->record.hw) || size > sizeof(output->record)) {
		outputs->given_up++;
		return;
	}
	output = find(outputs, 0, record->aux_output_hw_id.hw_id);
	if (output && output->id == id)
		return;
	if (!outputs->list)
		outputs->list = calloc(HW_IDS_MAX, sizeof(*outputs->list));
	if (!outputs->list) {
		outputs->given_up++;
		return;
	}
	if (outputs->nr == HW_IDS_MAX)
		make_room(outputs);
	output = &outputs->list[outputs->nr++];
	output->id = id;
	output->file = 0;
	memcpy(&output->record, record, size);
}

void hw_ids__begin_file(struct hw_ids *outputs)
{
	outputs->file++;
	outputs->begun = false;
}

bool hw_ids__has_news(const struct hw_ids *outputs)
{
	size_t i;

	for (i = 0; i < outputs->nr; i++) {
		if (outputs->list[i].file != outputs->file)
			return true;
	}
	return false;
}

int hw_ids__write(struct hw_ids *outputs, hw_ids_write_t write, void *arg)
{
	size_t i;
	int err;

	for (i = 0; i < outputs->nr; i++) {
		struct hw_id *output = &outputs->list[i];

		if (output->file == outputs->file)
			continue;
		err = write(arg, &output->record, output->record.hw.header.size);
		if (err)
			return err;
		output->file = outputs->file;
	}
	return 0;
}
