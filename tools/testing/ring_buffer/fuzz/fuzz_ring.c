// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run the same operations on the kernel's ring buffer and on a reference model (libFuzzer target).
 *
 * Input: one byte each for mode, size and watermark of the ring, then operations. Each operation
 * is a byte that selects it, followed by the bytes that it consumes.
 *
 * The model is slow and simple: it keeps every byte since the ring was made, in order of
 * reservation. From these it computes the contents of the ring, what a reader and a snapshot must
 * find, and what was lost.
 */
#include "shim/ring.h"
#include "../../../lib/perf/tests/fuzz.h"

#define MAX_STREAM	(1u << 18)
#define MAX_WRITES	4096
#define MAX_DEPTH	5	/* an overwrite ring accepts records at depths 0 to 3 */

/*
 * One reservation: a LOST record if lost_size is not 0, and a numbered record. In memory the LOST
 * record comes first, in a backward ring too.
 */
struct write {
	u64		begin;
	unsigned int	lost_size, size;
	u64		lost, number;
};

static struct model {
	u64		head, published, tail, snapshot_end;
	unsigned int	nr, nr_published;
	u64		lost, all_lost;
	u64		wakeup, watermark, wakeups;
	bool		paused;
	bool		bad_tail;	/* data_tail is not the start of a record */
	u64		outermost;	/* where the outermost active writer began */
	u64		reserved[4];	/* words of data_reserved */
	struct write	write[MAX_WRITES];
} model;

static unsigned char stream[MAX_STREAM];
static struct ring *ring;
static unsigned int depth;
static u64 number;

static bool has_flag(unsigned int flag)
{
	return ring->flags & flag;
}

/*
 * Writing
 */

static unsigned char *put_u64(unsigned char *at, u64 value)
{
	memcpy(at, &value, sizeof(value));
	return at + sizeof(value);
}

static unsigned char *put_header(unsigned char *at, unsigned int type, unsigned int size)
{
	return put_u64(at, type | (u64)size << 48);
}

static void put_tail(unsigned char *at, u64 position, unsigned int size)
{
	if (has_flag(RING_WITH_ID)) {
		memset(at, RING_ID_FILL, RING_ID_SIZE);
		at += RING_ID_SIZE;
	}
	if (has_flag(RING_SIZED))
		put_u64(at, position | (u64)size << 48);
}

static void put_write(const struct write *w)
{
	unsigned char *begin = stream + w->begin, *at = begin;

	if (w->lost_size) {
		at = put_header(at, PERF_RECORD_LOST, w->lost_size);
		at = put_u64(at, ring->event.id);
		at = put_u64(at, w->lost);
		put_tail(at, w->begin, w->lost_size);
	}
	at = begin + w->lost_size;
	at = put_header(at, PERF_RECORD_SAMPLE, w->size);
	at = put_u64(at, w->number);
	for (unsigned int i = 16; i < w->size - ring_record_tail(ring); i += sizeof(u64))
		at = put_u64(at, (w->number + 1) * 0x9e3779b97f4a7c15ull ^ ((u64)i << 48 | i));
	put_tail(at, w->begin + w->lost_size, w->size);
}

/* Model perf_output_begin(). Returns false if the record is lost. */
static bool model_begin(unsigned int size)
{
	struct write w = {
		.begin = model.head, .size = size, .number = number, .lost = model.lost,
	};
	u64 used = has_flag(RING_STREAMING) ? (model.head - model.tail) % ring->size + 1 : 0;
	s64 due;

	if (model.lost)
		w.lost_size = sizeof(struct ring_lost_record) + ring_record_tail(ring);
	if (model.paused || used + w.lost_size + size > ring->size ||
	    (!has_flag(RING_STREAMING) && depth >= ARRAY_SIZE(model.reserved))) {
		model.lost++;
		model.all_lost++;
		return false;
	}
	model.lost = 0;
	put_write(&w);
	model.write[model.nr++] = w;
	model.head += w.lost_size + size;
	if (!has_flag(RING_STREAMING))
		model.reserved[depth] += w.lost_size + size;
	due = (s64)(model.head - model.wakeup - model.watermark);
	if (due > 0)
		model.wakeup += max_t(u64, due, model.watermark);
	return true;
}

static void check(void)
{
	struct ring_state state;

	ring_impl.get_state(ring->rb, &state);
	MUST(state.head == model.head && state.lost == model.lost);
	MUST(state.wakeup == model.wakeup && state.nest == depth);
	MUST(ring_head(ring) == model.published);
	MUST(!memcmp(ring->user->data_reserved, model.reserved, sizeof(model.reserved)));
	MUST(ring->event.lost_samples.counter == model.all_lost);
	MUST(ring->event.pending_irq.queued == model.wakeups);
	MUST(shim.preempt == depth && !shim.rcu && !shim.warnings);
}

/* Compare the data area with the model, while no write is active. */
static void check_data(void)
{
	static unsigned char bytes[16 * PAGE_SIZE];

	memset(bytes, 0, ring->size);
	for (unsigned int i = 0; i < model.nr; i++) {
		struct write *w = &model.write[i];
		unsigned int size = w->lost_size + w->size;
		u64 offset = has_flag(RING_BACKWARD) ? -(w->begin + size) : w->begin;

		if (w->begin + size + ring->size < model.head)
			continue;
		for (unsigned int b = 0; b < size; b++)
			bytes[(offset + b) % ring->size] = stream[w->begin + b];
	}
	MUST(!memcmp(bytes, ring->data, ring->size));
}

static void run(void);

static void do_write(unsigned int size, bool nest)
{
	struct perf_sample_data data = { .id_fill = RING_ID_FILL };
	struct perf_output_handle handle;
	u64 wakeup = model.wakeup, mine = ++number;
	bool fits;
	int err;

	size = min(size, (unsigned int)RING_MAX_RECORD);
	if (model.head + 2 * size + 4096 > MAX_STREAM || model.nr == MAX_WRITES) {
		input_left = 0;
		return;
	}
	/* The model does not cover nested writers that exceed the ring. */
	if (depth && model.head + size + 256 - model.outermost > ring->size)
		return;
	if (!depth)
		model.outermost = model.head;
	fits = model_begin(size);
	err = ring_impl.begin(&handle, &data, &ring->event, size);
	MUST(err == (fits ? 0 : -ENOSPC));
	if (fits) {
		depth++;
		if (nest)
			run();
		ring_fill(ring, &handle, size, mine);
		ring_impl.end(&handle);
		depth--;
	}
	/* A writer whose record is lost publishes as well, except in a paused ring. */
	if (!depth && (fits || !model.paused)) {
		model.published = model.head;
		model.nr_published = model.nr;
		model.wakeups += fits && model.wakeup != wakeup;
	}
}

/*
 * Reading
 */

static void expect_record(const struct ring_records *records, size_t *at, bool lost, u64 value)
{
	struct ring_record *r = &records->record[*at];

	MUST(*at < records->nr);
	MUST(r->type == (lost ? PERF_RECORD_LOST : PERF_RECORD_SAMPLE));
	MUST((lost ? r->lost : r->number) == value);
	++*at;
}

/* Check that @records match the writes in [@begin, @end), oldest first. */
static void expect_records(const struct ring_records *records, u64 begin, u64 end)
{
	size_t at = 0;

	MUST(!records->error);
	for (unsigned int i = 0; i < model.nr_published; i++) {
		struct write *w = &model.write[i];
		u64 middle = w->begin + (has_flag(RING_BACKWARD) ? w->size : w->lost_size);

		if (w->begin >= end)
			break;
		/* In a backward ring the record is older than its LOST record. */
		if (!has_flag(RING_BACKWARD) && w->lost_size && w->begin >= begin)
			expect_record(records, &at, true, w->lost);
		if ((has_flag(RING_BACKWARD) ? w->begin : middle) >= begin)
			expect_record(records, &at, false, w->number);
		if (has_flag(RING_BACKWARD) && w->lost_size && middle >= begin)
			expect_record(records, &at, true, w->lost);
	}
	MUST(at == records->nr);
}

static void consume_all(void)
{
	struct ring_records records = {};

	if (!has_flag(RING_STREAMING))
		return;
	if (model.bad_tail) {
		ring->user->data_tail = ring->user->data_head;
	} else {
		ring_consume(ring, &records);
		expect_records(&records, model.tail, model.published);
	}
	model.tail = model.published;
	model.bad_tail = false;
	ring_records_free(&records);
}

/* Advance data_tail by @nr writes. */
static void consume_some(unsigned int nr)
{
	if (!has_flag(RING_STREAMING) || model.bad_tail)
		return;
	for (unsigned int i = 0; i < model.nr_published && nr; i++) {
		u64 end = model.write[i].begin + model.write[i].lost_size + model.write[i].size;

		if (end <= model.tail)
			continue;
		model.tail = end;
		nr--;
	}
	ring->user->data_tail = has_flag(RING_BACKWARD) ? -model.tail : model.tail;
}

static void set_bad_tail(unsigned int how, unsigned int by)
{
	u64 tail = (u64)by << (how & 63);

	if (how & 64)
		tail += ring->user->data_head;
	if (how & 128)
		tail = -tail;
	ring->user->data_tail = tail;
	model.tail = has_flag(RING_BACKWARD) ? -tail : tail;
	model.bad_tail = true;
}

/* Write a record after data_head and data_reserved were corrupted with @byte. */
static void write_corrupted(unsigned int byte, unsigned int size)
{
	ring->user->data_head = byte * 0x0101010101010101ull;
	memset(ring->user->data_reserved, ~byte, sizeof(model.reserved));
	do_write(size, false);
	memcpy(ring->user->data_reserved, model.reserved, sizeof(model.reserved));
	ring->user->data_head = has_flag(RING_BACKWARD) ? -model.published : model.published;
}

static void snapshot(u64 since)
{
	struct ring_snapshot snapshot;
	u64 begin = since;

	if (has_flag(RING_STREAMING))
		return;
	ring_snapshot(ring, since, &snapshot);
	if (model.head > ring->size)
		begin = max(begin, model.head - ring->size);
	begin = min(begin, model.published);
	MUST(snapshot.begin == begin && snapshot.end == model.published);
	if (has_flag(RING_SIZED) || has_flag(RING_BACKWARD))
		expect_records(&snapshot.records, begin, model.published);
	model.snapshot_end = snapshot.end;
	ring_snapshot_free(&snapshot);
}

/* Run operations up to the end of the input, or to the end of the current nested write. */
static void run(void)
{
	unsigned int min_size = ring_min_record(ring), size;

	while (input_left) {
		switch (take() % 16) {
		case 0 ... 3:
			do_write(min_size + take() * 8, false);
			break;
		case 4:
			size = take();
			do_write(min_size + (size << 8 | take()) % 8192 * 8, false);
			break;
		case 5 ... 6:
			do_write(min_size + take() * 8, depth < MAX_DEPTH);
			break;
		case 7:
			if (depth)
				return;
			break;
		case 8:
			consume_all();
			break;
		case 9:
			consume_some(take() % 16);
			break;
		case 10:
			size = take();
			set_bad_tail(size, take());
			break;
		case 11:
			model.paused = take() % 2;
			ring_impl.pause(ring->rb, model.paused);
			break;
		case 12:
			snapshot(0);
			break;
		case 13:
			snapshot(model.snapshot_end);
			break;
		case 14:
			size = take();
			write_corrupted(take(), min_size + size * 8);
			break;
		case 15:
			/* Up to the end of the area, and a few bytes around it. */
			size = -model.head & (ring->size - 1);
			do_write(max(min_size, size + take() % 4 * 8), false);
			break;
		}
		check();
		if (!depth)
			check_data();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int flags, nr_pages;

	input = data;
	input_left = size;
	flags = take() % 16;
	if (flags & RING_BACKWARD)
		flags &= ~RING_SIZED;
	nr_pages = 1 << take() % 5;
	memset(&model, 0, offsetof(struct model, write));
	model.watermark = take() * 64;
	ring = ring_new(&ring_impl, flags, nr_pages, model.watermark);
	model.watermark = model.watermark ? min(model.watermark, ring->size) : ring->size / 2;
	number = 0;

	run();
	MUST(!depth);
	check();
	ring_delete(ring);
	MUST(shim_balanced());
	return 0;
}
