// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include "hw_ids.h"

void aux_outputs__init(struct aux_outputs *outputs)
{
	*outputs = (struct aux_outputs){ .file = 1 };
}

void aux_outputs__exit(struct aux_outputs *outputs)
{
	free(outputs->list);
	outputs->list = NULL;
	outputs->nr = 0;
}

/* Return: the newest record about the counter, from number @from on; or NULL. */
static struct aux_output *find(const struct aux_outputs *outputs, size_t from, u64 counter)
{
	size_t i;

	for (i = outputs->nr; i > from; i--) {
		if (outputs->list[i - 1].record.hw.hw_id == counter)
			return &outputs->list[i - 1];
	}
	return NULL;
}

static void make_room(struct aux_outputs *outputs)
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

void aux_outputs__add(struct aux_outputs *outputs, const union perf_event *record, u64 id)
{
	const size_t size = record->header.size;
	struct aux_output *output;

	if (size < sizeof(output->record.hw) || size > sizeof(output->record)) {
		outputs->given_up++;
		return;
	}
	output = find(outputs, 0, record->aux_output_hw_id.hw_id);
	if (output && output->id == id)
		return;
	if (!outputs->list)
		outputs->list = calloc(AUX_OUTPUTS_MAX, sizeof(*outputs->list));
	if (!outputs->list) {
		outputs->given_up++;
		return;
	}
	if (outputs->nr == AUX_OUTPUTS_MAX)
		make_room(outputs);
	output = &outputs->list[outputs->nr++];
	output->id = id;
	output->file = 0;
	memcpy(&output->record, record, size);
}

void aux_outputs__begin_file(struct aux_outputs *outputs)
{
	outputs->file++;
	outputs->begun = false;
}

bool aux_outputs__has_news(const struct aux_outputs *outputs)
{
	size_t i;

	for (i = 0; i < outputs->nr; i++) {
		if (outputs->list[i].file != outputs->file)
			return true;
	}
	return false;
}

int aux_outputs__write(struct aux_outputs *outputs, aux_outputs_write_t write, void *arg)
{
	size_t i;
	int err;

	for (i = 0; i < outputs->nr; i++) {
		struct aux_output *output = &outputs->list[i];

		if (output->file == outputs->file)
			continue;
		err = write(arg, &output->record, output->record.hw.header.size);
		if (err)
			return err;
		output->file = outputs->file;
	}
	return 0;
}
