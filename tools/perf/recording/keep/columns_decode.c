// SPDX-License-Identifier: GPL-2.0-only
/* Decode columns to the block of records that they were made of. */
#include <errno.h>
#include <stdlib.h>
#include "columns_predict.h"

/* The bytes of a part that are left. */
struct part {
	const u8	*at;
	const u8	*end;
};

/**
 * struct columns_decoder
 * @predictor:	as the encoder's
 * @known:	kinds of this block
 * @by_previous: words that the previous record predicts, for each kind
 * @by_task:	words that the last record of the kind and task predicts
 * @templates:	@nr_templates of them
 * @columns:	what is left of each column
 * @failed:	a part was too short
 */
struct columns_decoder {
	struct predictor	predictor;
	bool			known[MAX_KINDS];
	u64			by_previous[MAX_KINDS];
	u64			by_task[MAX_KINDS];
	struct template		templates[MAX_TEMPLATES];
	unsigned int		nr_templates;
	struct part		columns[MAX_KINDS * NR_COLUMNS];
	struct part		order;
	struct part		odd;
	struct part		whole;
	struct part		tails;
	bool			failed;
};

static u32 unzigzag(u32 number)
{
	return number >> 1 ^ -(number & 1);
}

static inline u64 get_number(struct columns_decoder *decoder, struct part *part)
{
	unsigned int shift;
	u64 number = 0;

	for (shift = 0; shift < 64 && part->at < part->end; shift += 7) {
		u8 byte = *part->at++;

		number |= (u64)(byte & 127) << shift;
		if (byte < 128)
			return number;
	}
	decoder->failed = true;
	return 0;
}

static inline u8 get_byte(struct columns_decoder *decoder, struct part *part)
{
	if (part->at < part->end)
		return *part->at++;
	decoder->failed = true;
	return 0;
}

/* Return: @len bytes of @part, or NULL if there are not so many. */
static const void *get_bytes(struct columns_decoder *decoder, struct part *part, size_t len)
{
	const u8 *data = part->at;

	if ((size_t)(part->end - part->at) < len) {
		decoder->failed = true;
		return NULL;
	}
	part->at += len;
	return data;
}

static u64 get_time(struct columns_decoder *decoder, struct part *columns)
{
	struct columns_clock *clock = &decoder->predictor.clock;
	u32 symbol = get_byte(decoder, &columns[TIME_FIRST]);

	if (symbol == TIME_OTHER)
		return columns_clock__jump(clock, get_number(decoder, &columns[TIME_REST]));
	if (symbol >= TIME_SHORT)
		symbol = TIME_SHORT + ((symbol - TIME_SHORT) << 8 |
				       get_byte(decoder, &columns[TIME_SECOND]));
	return columns_clock__decode(clock, symbol);
}

static bool read_kinds(struct columns_decoder *decoder, struct part *in)
{
	u64 nr = get_number(decoder, in), kind, i;

	memset(decoder->known, 0, sizeof(decoder->known));
	for (i = 0; i < nr && !decoder->failed; i++) {
		kind = get_number(decoder, in);
		if (kind >= MAX_KINDS)
			return false;
		decoder->known[kind] = true;
		decoder->by_previous[kind] = get_number(decoder, in);
		decoder->by_task[kind] = get_number(decoder, in);
	}
	nr = get_number(decoder, in);
	if (nr > MAX_TEMPLATES)
		return false;
	decoder->nr_templates = nr;
	for (i = 0; i < nr && !decoder->failed; i++) {
		kind = get_number(decoder, in);
		if (kind >= MAX_KINDS || !decoder->known[kind])
			return false;
		decoder->templates[i].kind = kind;
		decoder->templates[i].mask = get_number(decoder, in);
	}
	return !decoder->failed;
}

/* Place @part of @len bytes behind what was placed before, which ends at @at. */
static bool place(struct part *part, const u8 **at, const u8 *end, u64 len)
{
	if (len > (u64)(end - *at))
		return false;
	*part = (struct part){ *at, *at + len };
	*at += len;
	return true;
}

/* The lengths are read twice: where the parts begin is known behind the last one. */
static bool place_parts(struct columns_decoder *decoder, struct part *in)
{
	u64 lens[4], nr, index = 0, i;
	struct part again;
	const u8 *at;

	memset(decoder->columns, 0, sizeof(decoder->columns));
	for (i = 0; i < ARRAY_SIZE(lens); i++)
		lens[i] = get_number(decoder, in);
	nr = get_number(decoder, in);
	again = *in;
	for (i = 0; i < nr && !decoder->failed; i++) {
		get_number(decoder, in);
		get_number(decoder, in);
	}
	at = in->at;
	if (decoder->failed || !place(&decoder->order, &at, in->end, lens[0]) ||
	    !place(&decoder->odd, &at, in->end, lens[1]) ||
	    !place(&decoder->whole, &at, in->end, lens[2]) ||
	    !place(&decoder->tails, &at, in->end, lens[3]))
		return false;
	for (i = 0; i < nr; i++) {
		index += get_number(decoder, &again);
		if (index >= ARRAY_SIZE(decoder->columns) ||
		    !place(&decoder->columns[index], &at, in->end, get_number(decoder, &again)))
			return false;
	}
	return true;
}

static void get_differences(struct columns_decoder *decoder, struct part *columns, u64 mask,
			    u32 *record)
{
	for (; mask; mask &= mask - 1) {
		unsigned int i = __builtin_ctzll(mask);

		record[i] += unzigzag(get_number(decoder, &columns[i]));
	}
}

static void copy_words(u64 words, u32 *record, const u32 *from)
{
	for (; words; words &= words - 1) {
		unsigned int i = __builtin_ctzll(words);

		record[i] = from[i];
	}
}

/*
 * Decode one sample to the end of the records, which have @left bytes.
 *
 * Return: its size [bytes], or 0 if there is no such sample.
 */
static size_t decode_sample(struct columns_decoder *decoder, u32 pos, size_t left,
			    unsigned int kind, u64 mask)
{
	struct predictor *predictor = &decoder->predictor;
	const struct columns_layout *layout = &predictor->layout;
	struct part *columns = &decoder->columns[kind * NR_COLUMNS];
	u32 *record = (u32 *)(predictor->base + pos), tid = 0, key = 0, size_word, *history, *next;
	const u32 *task, *context, *previous;
	slot_t *task_slot, *context_slot;
	u64 all, time;
	unsigned int size, words;
	const void *tail;
	bool has_key;

	if (layout->tid) {
		tid = previous_tid(predictor);
		if (mask & bit(layout->tid))
			tid += unzigzag(get_number(decoder, &columns[layout->tid]));
	}
	task_slot = find_task(predictor, kind, tid);
	size_word = task_record(predictor, *task_slot, kind, 0)[SIZE_WORD];
	if (mask & bit(SIZE_WORD))
		size_word += unzigzag(get_number(decoder, &columns[SIZE_WORD]));
	size = size_word >> 16;
	if (size < min_words(layout) * WORD_BYTES || size % sizeof(u64) || size > left)
		return 0;
	words = min(size / (unsigned int)WORD_BYTES, (unsigned int)COLUMNS_WORDS);
	history = find_history(predictor, tid);
	next = find_next(predictor, kind, *history);
	has_key = layout->key && layout->key < words;
	if (has_key) {
		key = *next;
		if (mask & bit(layout->key))
			key += unzigzag(get_number(decoder, &columns[layout->key]));
	}
	task = task_record(predictor, *task_slot, kind, words);
	context_slot = find_context(predictor, kind, tid, key);
	context = is_of(*context_slot, kind, words) ? record_at(predictor, *context_slot) : task;
	previous = previous_record(predictor, words);

	all = first_words(words) & predictor->words;
	memcpy(record, context, words * WORD_BYTES);
	copy_words(decoder->by_previous[kind] & all, record, previous);
	copy_words(decoder->by_task[kind] & all, record, task);
	get_differences(decoder, columns, mask & all, record);
	record[0] = PERF_RECORD_SAMPLE;
	record[SIZE_WORD] = size_word;
	if (layout->tid)
		record[layout->tid] = tid;
	if (has_key)
		record[layout->key] = key;
	if (layout->time) {
		time = get_time(decoder, columns);
		memcpy(record + layout->time, &time, sizeof(time));
	}
	if (size > HEAD_BYTES) {
		tail = get_bytes(decoder, &decoder->tails, size - HEAD_BYTES);
		if (!tail)
			return 0;
		memcpy(record + COLUMNS_WORDS, tail, size - HEAD_BYTES);
	}
	note_key(history, next, kind, key);
	note_record(predictor, pos, kind, words, task_slot, context_slot);
	return decoder->failed ? 0 : size;
}

/* Return: size of the record that is stored as it is [bytes], or 0. */
static size_t decode_whole(struct columns_decoder *decoder, u32 pos, size_t left)
{
	struct part *whole = &decoder->whole;
	u32 header[2];
	size_t size;

	if ((size_t)(whole->end - whole->at) < sizeof(header))
		return 0;
	memcpy(header, whole->at, sizeof(header));
	size = record_size(header, min(left, (size_t)(whole->end - whole->at)));
	memcpy((void *)decoder->predictor.base + pos, whole->at, size);
	whole->at += size;
	return size;
}

static size_t decode_record(struct columns_decoder *decoder, u32 pos, size_t left)
{
	u8 order = get_byte(decoder, &decoder->order);
	u64 mask;
	u8 kind;

	if (order == WHOLE)
		return decode_whole(decoder, pos, left);
	if (order < decoder->nr_templates)
		return decode_sample(decoder, pos, left, decoder->templates[order].kind,
				     decoder->templates[order].mask);
	if (order != ODD)
		return 0;
	kind = get_byte(decoder, &decoder->odd);
	mask = get_number(decoder, &decoder->odd);
	if (kind >= MAX_KINDS || !decoder->known[kind])
		return 0;
	return decode_sample(decoder, pos, left, kind, mask);
}

ssize_t columns__decode(struct columns_decoder *decoder, const void *columns, size_t len,
			void *records, size_t size)
{
	struct part in = { columns, columns + len };
	struct columns_layout layout;
	size_t pos = 0, record;
	u64 nr, tick;

	decoder->failed = false;
	if (len < sizeof(layout) || size > COLUMNS_MAX_BYTES)
		return -EINVAL;
	memcpy(&layout, columns, sizeof(layout));
	in.at += sizeof(layout);
	tick = get_number(decoder, &in);
	nr = get_number(decoder, &in);
	if (!is_valid(&layout) || !read_kinds(decoder, &in) || !place_parts(decoder, &in))
		return -EINVAL;
	predictor__begin(&decoder->predictor, &layout, tick, records);
	for (; nr; nr--) {
		record = decode_record(decoder, pos, size - pos);
		if (!record || decoder->failed)
			return -EINVAL;
		pos += record;
	}
	return pos;
}

struct columns_decoder *columns_decoder__new(void)
{
	return calloc(1, sizeof(struct columns_decoder));
}

void columns_decoder__free(struct columns_decoder *decoder)
{
	free(decoder);
}
