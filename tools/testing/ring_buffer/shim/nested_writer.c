// SPDX-License-Identifier: GPL-2.0-only
/* Implement the writers and the ring of nested_writer.h. */
#include <stdlib.h>
#include "nested_writer.h"

const struct writer_mode writer_modes[WRITER_NR_MODES] = {
	{ "forward streaming", RING_STREAMING, .exhaustive = true },
	{ "forward overwrite", 0 },
	{ "backward streaming", RING_BACKWARD | RING_STREAMING },
	{ "backward overwrite", RING_BACKWARD },
	{ "sized streaming", RING_SIZED | RING_STREAMING },
	{ "sized overwrite", RING_SIZED, .exhaustive = true },
};

/* Distance of the next record from the end of the area [bytes]; shorter than a record */
#define BEFORE_END	40

struct ring *writer_ring__new(unsigned int flags)
{
	struct ring *ring = ring_new(&ring_impl, flags, WRITER_RING_SIZE >> PAGE_SHIFT, 0);
	unsigned long end = 4 * WRITER_RING_SIZE - BEFORE_END, left;
	unsigned int size;
	u64 number = 1;

	if (!ring)
		abort();
	while ((left = end - ring_head(ring))) {
		size = ring_min_record(ring) + number % 5 * 8;
		if (left < size + ring_min_record(ring))
			size = left;
		if (ring_write(ring, size, number++))
			abort();
		if (flags & RING_STREAMING)
			ring->user->data_tail = ring->user->data_head;
	}
	return ring;
}

void ring_backup__save(const struct ring *ring, struct ring_backup *state)
{
	state->rb = *ring->rb;
	state->event = ring->event;
	state->user = *ring->user;
	memcpy(state->data, ring->data, sizeof(state->data));
}

void ring_backup__restore(struct ring *ring, const struct ring_backup *state)
{
	*ring->rb = state->rb;
	ring->event = state->event;
	*ring->user = state->user;
	memcpy(ring->data, state->data, sizeof(state->data));
}

/*
 * The functions that are stepped. Not static, so that step__function() finds their names.
 */

static __always_inline void write_record(struct writer *writer, unsigned int nr)
{
	struct perf_sample_data data = { .id_fill = RING_ID_FILL };
	struct perf_event *event = &writer->ring->event;
	struct perf_output_handle handle;

	if (perf_output_begin(&handle, &data, event, writer->size)) {
		writer->lost = true;
		return;
	}
#pragma GCC unroll 8
	for (unsigned int i = 0; i < nr; i++)
		perf_output_put(&handle, writer->words[i]);
	perf_event__output_id_sample(event, &handle, &data);
	perf_output_end(&handle);
}

void write_in_task(void *writer);
void write_in_interrupt(void *writer);
void write_in_nmi(void *writer);

void write_in_task(void *writer)
{
	write_record(writer, 8);
}

void write_in_interrupt(void *writer)
{
	write_record(writer, 6);
}

void write_in_nmi(void *writer)
{
	write_record(writer, 5);
}

static const struct {
	step_fn		fn;
	unsigned int	nr_words;
} contexts[] = {
	[TASK]		= { write_in_task,	8 },
	[INTERRUPT]	= { write_in_interrupt,	6 },
	[NMI]		= { write_in_nmi,	5 },
};

void writer__init(struct writer *writer, struct ring *ring, enum writer_context context,
		  u64 number)
{
	unsigned int size = contexts[context].nr_words * sizeof(u64) + ring_record_tail(ring);
	struct ring *other = ring_new(&ring_impl, ring->flags, 1, 0);
	unsigned char bytes[WRITER_MAX_WORDS * sizeof(u64) + RING_ID_SIZE + 8];

	*writer = (struct writer){
		.fn = contexts[context].fn,
		.ring = ring,
		.size = size,
		.number = number,
	};
	/* Generate the record with ring_fill(), which the readers expect. */
	if (!other || ring_write(other, size, number))
		abort();
	ring_copy(other, bytes, 0, size);
	memcpy(writer->words, bytes, size - ring_record_tail(ring));
	ring_delete(other);
}

static unsigned long head_of(const struct ring *ring)
{
	return local_read(&ring->rb->head);
}

bool writer__has_reserved(const struct writer *writer)
{
	return head_of(writer->ring) - writer->head_before > writer->nested_bytes;
}

void writer__begin(struct writer *writer, struct writer *interrupted)
{
	writer->interrupted = interrupted;
	writer->reserved_after = interrupted && writer__has_reserved(interrupted);
	writer->ended = writer->lost = false;
	writer->nested_bytes = 0;
	writer->head_before = head_of(writer->ring);
}

void writer__end(struct writer *writer)
{
	writer->head_after = head_of(writer->ring);
	writer->ended = true;
	if (writer->interrupted)
		writer->interrupted->nested_bytes += writer->head_after - writer->head_before;
}

void writer__run(struct writer *writer, struct writer *interrupted)
{
	writer__begin(writer, interrupted);
	writer->fn(writer);
	writer__end(writer);
}
