// SPDX-License-Identifier: GPL-2.0-only
/* Transform a block of records into columns, and back. */
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include "columns.h"
#include "columns_clock.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define MAX_KINDS	128
#define MAX_TEMPLATES	254

/* Values of "order" beside templates. */
#define ODD		254
#define WHOLE		255

/* Columns of a kind: one for each word, and those of the time. */
#define TIME_FIRST	COLUMNS_WORDS
#define TIME_SECOND	(COLUMNS_WORDS + 1)
#define TIME_REST	(COLUMNS_WORDS + 2)
#define NR_COLUMNS	(COLUMNS_WORDS + 3)

#define SIZE_WORD	1
#define WORD_BYTES	sizeof(u32)
#define MIN_RECORD	sizeof(struct perf_event_header)
#define HEAD_BYTES	(COLUMNS_WORDS * WORD_BYTES)
#define MAX_VARINT	10

/* Count in one record of so many which predictor is right. */
#define COUNT_EACH	64

#define TASK_BITS	9
#define CONTEXT_BITS	12
#define NEXT_BITS	12
#define NO_KIND		0xffffU

/* The history of a task: a few bits of each of its last three samples. */
#define HISTORY_SHIFT	10
#define HISTORY_MASK	(bit(3 * HISTORY_SHIFT) - 1)

/* A thread and key without a record predict 0. */
static const u32 zeroes[COLUMNS_WORDS];

static u64 bit(unsigned int word)
{
	return 1ULL << word;
}

/*
 * Where a record is: its position [bytes], from bit 32 on its kind, or NO_KIND, from bit 48 on the
 * number of its words. One number: a structure would be copied piece by piece.
 */
typedef u64 slot_t;

/**
 * struct predictor - earlier records; encoder and decoder keep the same
 * @layout:	see there
 * @base:	the records
 * @words:	those that are predicted by other samples, all in the same way, as bits
 * @previous:	the record before, or @zeroes
 * @nr_previous: number of its words
 * @last:	the last record of each kind
 * @task:	the last record whose kind and task hash to this
 * @context:	the last record whose kind, task and key hash to this
 * @history:	what the task that hashes to this has done
 * @next:	the key of the last record whose kind and history hash to this
 * @clock:	predicts the time of samples
 */
struct predictor {
	struct columns_layout	 layout;
	const u8		*base;
	u64			 words;
	const u32		*previous;
	unsigned int		 nr_previous;
	slot_t		 last[MAX_KINDS];
	slot_t		 task[1 << TASK_BITS];
	slot_t		 context[1 << CONTEXT_BITS];
	u32			 history[1 << TASK_BITS];
	u32			 next[1 << NEXT_BITS];
	struct columns_clock	 clock;
};

/* The words that no column has, and those that are decoded before the context is known. */
static u64 time_words(const struct columns_layout *layout)
{
	return layout->time ? 3ULL << layout->time : 0;
}

static u64 first_words(unsigned int words)
{
	return words == COLUMNS_WORDS ? ~0ULL : bit(words) - 1;
}

static bool is_between(unsigned int word, unsigned int first, unsigned int end)
{
	return word >= first && word < end;
}

/* Is each word that has a meaning in the first words, behind the header, and only that word? */
static bool is_valid(const struct columns_layout *layout)
{
	const u8 id = layout->id, tid = layout->tid, time = layout->time, key = layout->key;

	if ((id && !is_between(id, 2, COLUMNS_WORDS - 1)) || (tid && !is_between(tid, 2, COLUMNS_WORDS)) ||
	    (time && !is_between(time, 2, COLUMNS_WORDS - 1)) ||
	    (key && !is_between(key, 2, COLUMNS_WORDS)))
		return false;
	if (time && (is_between(tid, time, time + 2) || is_between(key, time, time + 2)))
		return false;
	return !tid || tid != key;
}

static unsigned int head_words(const u32 *record)
{
	unsigned int words = record[SIZE_WORD] >> 16 >> 2;

	return min(words, (unsigned int)COLUMNS_WORDS);
}

static u32 word_at(const u32 *record, unsigned int word, unsigned int words)
{
	return word && word < words ? record[word] : 0;
}

static void predictor__begin(struct predictor *predictor, const struct columns_layout *layout,
			     u64 tick, const void *base)
{
	predictor->layout = *layout;
	predictor->base = base;
	predictor->words = ~(bit(0) | bit(SIZE_WORD) | bit(layout->tid) | bit(layout->key) |
			     time_words(layout));
	predictor->previous = zeroes;
	predictor->nr_previous = COLUMNS_WORDS;
	memset(predictor->last, 0xff, sizeof(predictor->last));
	memset(predictor->task, 0xff, sizeof(predictor->task));
	memset(predictor->context, 0xff, sizeof(predictor->context));
	memset(predictor->history, 0, sizeof(predictor->history));
	memset(predictor->next, 0, sizeof(predictor->next));
	columns_clock__begin(&predictor->clock, tick);
}

static const u32 *record_at(const struct predictor *predictor, slot_t slot)
{
	return (const u32 *)(predictor->base + (u32)slot);
}

/* Return: the previous sample if it has @words words, or zeroes. */
static const u32 *previous_record(const struct predictor *predictor, unsigned int words)
{
	return predictor->nr_previous >= words ? predictor->previous : zeroes;
}

static u32 previous_tid(const struct predictor *predictor)
{
	return predictor->previous[predictor->layout.tid];
}

static bool is_of(slot_t slot, unsigned int kind, unsigned int words)
{
	return (u16)(slot >> 32) == kind && slot >> 48 >= words;
}

/* Return: the record of @slot if it is of @kind and has @words words; or the last one that has. */
static const u32 *task_record(const struct predictor *predictor, slot_t slot, unsigned int kind,
			      unsigned int words)
{
	if (!is_of(slot, kind, words))
		slot = predictor->last[kind];
	return is_of(slot, kind, words) ? record_at(predictor, slot) : zeroes;
}

static slot_t *find_task(struct predictor *predictor, unsigned int kind, u32 tid)
{
	u32 hash = (tid ^ kind << 20) * 0x9e3779b1U;

	return &predictor->task[hash >> (32 - TASK_BITS)];
}

static slot_t *find_context(struct predictor *predictor, unsigned int kind, u32 tid, u32 key)
{
	u32 hash = tid * 2654435761U ^ kind * 0x9e3779b1U ^ key * 0x85ebca6bU;

	return &predictor->context[hash * 0x9e3779b1U >> (32 - CONTEXT_BITS)];
}

static u32 *find_history(struct predictor *predictor, u32 tid)
{
	return &predictor->history[tid * 0x9e3779b1U >> (32 - TASK_BITS)];
}

static u32 *find_next(struct predictor *predictor, unsigned int kind, u32 history)
{
	u32 hash = history * 2654435761U ^ kind * 0x85ebca6bU;

	return &predictor->next[hash * 0x9e3779b1U >> (32 - NEXT_BITS)];
}

/* A sample of @kind and @key follows what @history has. */
static void note_key(u32 *history, u32 *next, unsigned int kind, u32 key)
{
	*next = key;
	*history = (*history << HISTORY_SHIFT | ((key ^ kind * 37) & (bit(HISTORY_SHIFT) - 1))) &
		   HISTORY_MASK;
}

/* The record at @pos, of @kind, predicts later ones. */
static void note_record(struct predictor *predictor, u32 pos, unsigned int kind, unsigned int words,
			slot_t *task, slot_t *context)
{
	slot_t slot = pos | (u64)kind << 32 | (u64)words << 48;

	predictor->previous = record_at(predictor, slot);
	predictor->nr_previous = words;
	predictor->last[kind] = *task = *context = slot;
}

static u32 zigzag(u32 difference)
{
	return difference << 1 ^ -(difference >> 31);
}

static u32 unzigzag(u32 number)
{
	return number >> 1 ^ -(number & 1);
}

/*
 * Encode
 */

/* A column grows by pieces, so all columns share one bounded memory. */
struct piece {
	u32	next;
	u32	len;
	u8	data[248];
};

/**
 * struct column
 * @at:		where the next byte goes
 * @end:	a number may begin below this
 * @first:	index of its first piece
 * @piece:	index of the piece that is filled
 */
struct column {
	u8	*at;
	u8	*end;
	u32	 first;
	u32	 piece;
};

/**
 * struct kind - the samples of one event
 * @event:	its index
 * @used:	by this block
 * @template:	index of its last template
 * @by_previous: words that the previous record predicts
 * @by_task:	words that the last record of this kind and task predicts
 * @nr:		number of records, to count each COUNT_EACHth
 * @counted:	number of records that were counted
 * @right_previous: how often the previous record was right, for each word; likewise the others
 */
struct kind {
	int		event;
	bool		used;
	u8		template;
	u64		by_previous;
	u64		by_task;
	unsigned int	nr;
	u32		counted;
	u32		right_previous[COLUMNS_WORDS];
	u32		right_task[COLUMNS_WORDS];
	u32		right_context[COLUMNS_WORDS];
};

struct template {
	u64	mask;
	u8	kind;
};

#define TEMPLATE_BITS	10
#define ID_BITS		10

/* @kind: index, or a negative number if records of this id have none */
struct known_id {
	u64	id;
	int	kind;
	bool	valid;
};

/**
 * struct buffer - bytes of one part
 * @at:		where the next byte goes
 */
struct buffer {
	u8	*data;
	u8	*at;
};

struct columns_encoder {
	struct columns_layout	 layout;
	struct columns_tick	 tick;
	columns_event_fn	 event_of;
	void			*arg;
	size_t			 max_bytes;
	struct predictor	 predictor;
	struct known_id		 ids[1 << ID_BITS];
	struct kind		 kinds[MAX_KINDS];
	unsigned int		 nr_kinds;
	struct template		 templates[MAX_TEMPLATES];
	unsigned int		 nr_templates;
	u8			 template_hash[1 << TEMPLATE_BITS];
	struct column		 columns[MAX_KINDS][NR_COLUMNS];
	struct piece		*pieces;
	u32			 nr_pieces;
	u32			 max_pieces;
	struct buffer		 order;
	struct buffer		 odd;
	struct buffer		 whole;
	struct buffer		 tails;
	struct buffer		 out;
	u8			*out_end;
	u64			 nr_records;
	bool			 overflow;
	size_t			*cuts;
	unsigned int		 nr_cuts;
};

static u8 *write_number(u8 *at, u64 number)
{
	while (number >= 128) {
		*at++ = number | 128;
		number >>= 7;
	}
	*at++ = number;
	return at;
}

/* Without another piece, the block is refused in the end. */
static void begin_piece(struct columns_encoder *encoder, struct column *column)
{
	struct piece *piece;
	u32 index = encoder->nr_pieces;

	if (index == encoder->max_pieces) {
		encoder->overflow = true;
		index = 0;
	} else {
		encoder->nr_pieces++;
	}
	if (column->at) {
		piece = &encoder->pieces[column->piece];
		piece->len = column->at - piece->data;
		piece->next = index;
	} else {
		column->first = index;
	}
	piece = &encoder->pieces[index];
	column->piece = index;
	column->at = piece->data;
	column->end = piece->data + sizeof(piece->data) - MAX_VARINT + 1;
}

static inline void put_number(struct columns_encoder *encoder, struct column *column, u64 number)
{
	if (column->at >= column->end)
		begin_piece(encoder, column);
	column->at = write_number(column->at, number);
}

/* As put_number(), without a branch for each byte. */
static inline void put_difference(struct columns_encoder *encoder, struct column *column,
				  u32 difference)
{
	u64 number = zigzag(difference), bytes;
	unsigned int more = (31 - __builtin_clz((u32)number | 1)) / 7;	/* bytes but the first */

	bytes = (number & 0x7f) | (number & 0x3f80) << 1 | (number & 0x1fc000) << 2 |
		(number & 0xfe00000) << 3 | (number & 0xf0000000) << 4 |
		(0x8080808080ULL & (bit(8 * more) - 1));
	bytes = htole64(bytes);
	if (column->at >= column->end)
		begin_piece(encoder, column);
	memcpy(column->at, &bytes, sizeof(bytes));
	column->at += 1 + more;
}

static inline void put_byte(struct columns_encoder *encoder, struct column *column, u8 byte)
{
	if (column->at >= column->end)
		begin_piece(encoder, column);
	*column->at++ = byte;
}

/* Whether a symbol has a second byte cannot be predicted: write it always, and keep it or not. */
static void put_time(struct columns_encoder *encoder, struct column *columns, u64 time)
{
	u32 symbol = columns_clock__encode(&encoder->predictor.clock, &time), rest;
	struct column *second = &columns[TIME_SECOND];
	bool is_long = symbol >= TIME_SHORT;

	if (symbol >= TIME_LONG) {
		put_byte(encoder, &columns[TIME_FIRST], TIME_OTHER);
		put_number(encoder, &columns[TIME_REST], time);
		return;
	}
	rest = symbol - TIME_SHORT;
	put_byte(encoder, &columns[TIME_FIRST], is_long ? TIME_SHORT + (rest >> 8) : symbol);
	put_byte(encoder, second, rest);
	second->at -= !is_long;
}

/* Return: which of two words differ, as two bits. */
static inline u64 compare_two(const u32 *a, const u32 *b)
{
	u64 x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	x ^= y;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	x = x << 32 | x >> 32;
#endif
	return ((u32)x != 0) | (x >> 32 != 0) << 1;
}

/* Return: which of eight words differ, as eight bits. */
static inline u64 compare_eight(const u32 *a, const u32 *b)
{
#ifdef __SSE2__
	__m128i low = _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)a),
				      _mm_loadu_si128((const __m128i *)b));
	__m128i high = _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)(a + 4)),
				       _mm_loadu_si128((const __m128i *)(b + 4)));
	__m128i equal = _mm_packs_epi16(_mm_packs_epi32(low, high), _mm_setzero_si128());

	return _mm_movemask_epi8(equal) ^ 0xff;
#else
	return compare_two(a, b) | compare_two(a + 2, b + 2) << 2 | compare_two(a + 4, b + 4) << 4 |
	       compare_two(a + 6, b + 6) << 6;
#endif
}

/* Return: which of @words words (an even number) differ. */
static u64 compare(const u32 *a, const u32 *b, unsigned int words)
{
	u64 mask = 0;
	unsigned int i;

	for (i = 0; i + 8 <= words; i += 8)
		mask |= compare_eight(a + i, b + i) << i;
	for (; i < words; i += 2)
		mask |= compare_two(a + i, b + i) << i;
	return mask;
}

static int find_kind(struct columns_encoder *encoder, int event)
{
	struct kind *kind;
	unsigned int i;

	if (event < 0)
		return -1;
	for (i = 0; i < encoder->nr_kinds; i++) {
		if (encoder->kinds[i].event == event)
			return i;
	}
	if (i == MAX_KINDS)
		return -1;
	kind = &encoder->kinds[encoder->nr_kinds++];
	*kind = (struct kind){ .event = event };
	return i;
}

static int kind_of(struct columns_encoder *encoder, const u32 *record)
{
	struct known_id *known;
	u64 id = 0;

	if (encoder->layout.id)
		memcpy(&id, record + encoder->layout.id, sizeof(id));
	known = &encoder->ids[id * 0x9e3779b97f4a7c15ULL >> (64 - ID_BITS)];
	if (!known->valid || known->id != id)
		*known = (struct known_id){
			.id = id, .valid = true,
			.kind = find_kind(encoder, encoder->event_of(encoder->arg, id)),
		};
	return known->kind;
}

/* Count in a sample of the records which predictor is right. */
static void count_right(struct kind *kind, const u32 *record, const u32 *previous, const u32 *task,
			const u32 *context, unsigned int words)
{
	unsigned int i;

	kind->counted++;
	for (i = 0; i < words; i++) {
		kind->right_previous[i] += record[i] == previous[i];
		kind->right_task[i] += record[i] == task[i];
		kind->right_context[i] += record[i] == context[i];
	}
}

/* Choose the predictors for the next blocks. They cost time, so they must be clearly better. */
static void choose_predictors(struct kind *kind)
{
	u32 margin = kind->counted / 32, previous, task, context;
	unsigned int i;

	if (kind->counted < 16)
		return;
	kind->by_previous = 0;
	kind->by_task = 0;
	for (i = SIZE_WORD + 1; i < COLUMNS_WORDS; i++) {
		previous = kind->right_previous[i];
		task = kind->right_task[i];
		context = kind->right_context[i];
		if (previous > max(task, context) + margin)
			kind->by_previous |= bit(i);
		else if (task > context + margin)
			kind->by_task |= bit(i);
		kind->right_previous[i] /= 2;
		kind->right_task[i] /= 2;
		kind->right_context[i] /= 2;
	}
	kind->counted /= 2;
}

static void begin_kind(struct columns_encoder *encoder, unsigned int index)
{
	struct kind *kind = &encoder->kinds[index];

	choose_predictors(kind);
	kind->used = true;
	kind->template = ODD;
	memset(encoder->columns[index], 0, sizeof(encoder->columns[index]));
}

/* Return: index of the template, or ODD. */
static u8 find_template(struct columns_encoder *encoder, unsigned int kind, u64 mask)
{
	u32 hash = (mask + kind) * 0x9e3779b97f4a7c15ULL >> (64 - TEMPLATE_BITS);
	struct template *template;
	unsigned int i;

	for (;; hash = (hash + 1) & ((1 << TEMPLATE_BITS) - 1)) {
		i = encoder->template_hash[hash];
		if (i == ODD)
			break;
		template = &encoder->templates[i];
		if (template->mask == mask && template->kind == kind)
			return i;
	}
	if (encoder->nr_templates == MAX_TEMPLATES)
		return ODD;
	i = encoder->nr_templates++;
	encoder->templates[i] = (struct template){ .mask = mask, .kind = kind };
	return encoder->template_hash[hash] = i;
}

static void put_template(struct columns_encoder *encoder, unsigned int index, u64 mask)
{
	struct kind *kind = &encoder->kinds[index];

	if (kind->template == ODD || encoder->templates[kind->template].mask != mask)
		kind->template = find_template(encoder, index, mask);
	*encoder->order.at++ = kind->template;
	if (kind->template != ODD)
		return;
	*encoder->odd.at++ = index;
	encoder->odd.at = write_number(encoder->odd.at, mask);
}

static u64 compare_words(u64 words, const u32 *record, const u32 *predicted)
{
	u64 mask = 0;

	for (; words; words &= words - 1) {
		unsigned int i = __builtin_ctzll(words);

		mask |= (u64)(record[i] != predicted[i]) << i;
	}
	return mask;
}

static void encode_sample(struct columns_encoder *encoder, const u32 *record, u32 pos,
			  unsigned int index)
{
	const struct columns_layout *layout = &encoder->layout;
	struct predictor *predictor = &encoder->predictor;
	struct kind *kind = &encoder->kinds[index];
	struct column *columns = encoder->columns[index];
	unsigned int size = record[SIZE_WORD] >> 16, words = head_words(record);
	u32 tid = word_at(record, layout->tid, words), key = word_at(record, layout->key, words);
	u32 *history = find_history(predictor, tid), *next = find_next(predictor, index, *history);
	slot_t *task_slot = find_task(predictor, index, tid);
	slot_t *context_slot = find_context(predictor, index, tid, key);
	const u32 *task = task_record(predictor, *task_slot, index, words);
	const u32 *context = is_of(*context_slot, index, words) ?
			     record_at(predictor, *context_slot) : task;
	const u32 *previous = previous_record(predictor, words);
	u32 predicted_size = task_record(predictor, *task_slot, index, 0)[SIZE_WORD];
	u64 mask, rest, by_previous, by_task, time;
	bool has_key = layout->key && layout->key < words;

	if (!kind->used)
		begin_kind(encoder, index);
	if (kind->nr++ % COUNT_EACH == 0)
		count_right(kind, record, previous, task, context, words);
	rest = first_words(words) & predictor->words;
	by_previous = kind->by_previous & rest;
	by_task = kind->by_task & rest;
	rest &= compare(record, context, words) & ~(by_previous | by_task);
	rest |= compare_words(by_previous, record, previous);
	rest |= compare_words(by_task, record, task);
	mask = rest;
	mask |= record[SIZE_WORD] != predicted_size ? bit(SIZE_WORD) : 0;
	mask |= tid != previous_tid(predictor) ? bit(layout->tid) : 0;
	mask |= has_key && key != *next ? bit(layout->key) : 0;
	put_template(encoder, index, mask & ~bit(0));

	if (mask & bit(SIZE_WORD))
		put_difference(encoder, &columns[SIZE_WORD], record[SIZE_WORD] - predicted_size);
	if (layout->tid && mask & bit(layout->tid))
		put_difference(encoder, &columns[layout->tid], tid - previous_tid(predictor));
	if (has_key && mask & bit(layout->key))
		put_difference(encoder, &columns[layout->key], key - *next);
	for (; rest; rest &= rest - 1) {
		unsigned int i = __builtin_ctzll(rest);
		const u32 *predicted = by_task & bit(i) ? task : by_previous & bit(i) ? previous : context;

		put_difference(encoder, &columns[i], record[i] - predicted[i]);
	}
	if (layout->time) {
		memcpy(&time, record + layout->time, sizeof(time));
		put_time(encoder, columns, time);
	}
	if (size > HEAD_BYTES) {
		memcpy(encoder->tails.at, record + COLUMNS_WORDS, size - HEAD_BYTES);
		encoder->tails.at += size - HEAD_BYTES;
	}
	note_key(history, next, index, key);
	note_record(predictor, pos, index, words, task_slot, context_slot);
}

/* Return: number of words that a sample must have. */
static unsigned int min_words(const struct columns_layout *layout)
{
	unsigned int words = 2;

	if (layout->id)
		words = max(words, layout->id + 2U);
	if (layout->tid)
		words = max(words, layout->tid + 1U);
	if (layout->time)
		words = max(words, layout->time + 2U);
	return words;
}

/* Return: size of the record at @pos [bytes], or 0 if it is malformed. */
static size_t record_size(const u32 *record, size_t left)
{
	size_t size = left < MIN_RECORD ? 0 : record[SIZE_WORD] >> 16;

	return size < MIN_RECORD || size % sizeof(u64) || size > left ? 0 : size;
}

static int encode_records(struct columns_encoder *encoder, const void *records, size_t len)
{
	unsigned int needed = min_words(&encoder->layout);
	size_t pos, size;

	for (pos = 0; pos < len; pos += size) {
		const u32 *record = records + pos;
		int kind = -1;

		size = record_size(record, len - pos);
		if (!size || encoder->odd.at > encoder->odd.data + encoder->max_bytes)
			return -EINVAL;
		encoder->nr_records++;
		if (record[0] == PERF_RECORD_SAMPLE && size >= needed * WORD_BYTES)
			kind = kind_of(encoder, record);
		if (kind >= 0) {
			encode_sample(encoder, record, pos, kind);
			continue;
		}
		*encoder->order.at++ = WHOLE;
		memcpy(encoder->whole.at, record, size);
		encoder->whole.at += size;
	}
	return encoder->overflow ? -ENOSPC : 0;
}

/* A zstd block has one table for all its bytes: it pays for this many bytes of one kind. */
#define CUT_BYTES 4096

static void cut(struct columns_encoder *encoder)
{
	size_t pos = encoder->out.at - encoder->out.data;

	if (encoder->nr_cuts && pos - encoder->cuts[encoder->nr_cuts - 1] < CUT_BYTES)
		return;
	encoder->cuts[encoder->nr_cuts++] = pos;
}

static bool write_bytes(struct columns_encoder *encoder, const void *data, size_t len)
{
	if ((size_t)(encoder->out_end - encoder->out.at) < len)
		return false;
	memcpy(encoder->out.at, data, len);
	encoder->out.at += len;
	return true;
}

static void put_out(struct columns_encoder *encoder, u64 number)
{
	if (encoder->out_end - encoder->out.at >= MAX_VARINT)
		encoder->out.at = write_number(encoder->out.at, number);
	else
		encoder->overflow = true;
}

static size_t column_len(struct columns_encoder *encoder, struct column *column)
{
	size_t len = 0;
	u32 i;

	if (!column->at)
		return 0;
	encoder->pieces[column->piece].len = column->at - encoder->pieces[column->piece].data;
	for (i = column->first; i != column->piece; i = encoder->pieces[i].next)
		len += encoder->pieces[i].len;
	return len + encoder->pieces[i].len;
}

static bool write_column(struct columns_encoder *encoder, const struct column *column)
{
	u32 i;

	for (i = column->first; i != column->piece; i = encoder->pieces[i].next) {
		if (!write_bytes(encoder, encoder->pieces[i].data, encoder->pieces[i].len))
			return false;
	}
	return write_bytes(encoder, encoder->pieces[i].data, encoder->pieces[i].len);
}

static size_t buffer_len(const struct buffer *buffer)
{
	return buffer->at - buffer->data;
}

static void write_tables(struct columns_encoder *encoder)
{
	unsigned int i, j, nr = 0, before = 0;

	write_bytes(encoder, &encoder->layout, sizeof(encoder->layout));
	put_out(encoder, encoder->predictor.clock.tick);
	put_out(encoder, encoder->nr_records);
	for (i = 0; i < encoder->nr_kinds; i++)
		nr += encoder->kinds[i].used;
	put_out(encoder, nr);
	for (i = 0; i < encoder->nr_kinds; i++) {
		if (!encoder->kinds[i].used)
			continue;
		put_out(encoder, i);
		put_out(encoder, encoder->kinds[i].by_previous);
		put_out(encoder, encoder->kinds[i].by_task);
	}
	put_out(encoder, encoder->nr_templates);
	for (i = 0; i < encoder->nr_templates; i++) {
		put_out(encoder, encoder->templates[i].kind);
		put_out(encoder, encoder->templates[i].mask);
	}
	put_out(encoder, buffer_len(&encoder->order));
	put_out(encoder, buffer_len(&encoder->odd));
	put_out(encoder, buffer_len(&encoder->whole));
	put_out(encoder, buffer_len(&encoder->tails));
	for (i = nr = 0; i < encoder->nr_kinds; i++) {
		for (j = 0; j < NR_COLUMNS && encoder->kinds[i].used; j++)
			nr += encoder->columns[i][j].at != NULL;
	}
	put_out(encoder, nr);
	for (i = 0; i < encoder->nr_kinds; i++) {
		for (j = 0; j < NR_COLUMNS && encoder->kinds[i].used; j++) {
			if (!encoder->columns[i][j].at)
				continue;
			put_out(encoder, i * NR_COLUMNS + j - before);
			put_out(encoder, column_len(encoder, &encoder->columns[i][j]));
			before = i * NR_COLUMNS + j;
		}
	}
}

static bool write_buffer(struct columns_encoder *encoder, const struct buffer *buffer)
{
	cut(encoder);
	return write_bytes(encoder, buffer->data, buffer_len(buffer));
}

static bool write_all(struct columns_encoder *encoder)
{
	unsigned int i, j;

	write_tables(encoder);
	if (encoder->overflow || !write_buffer(encoder, &encoder->order) ||
	    !write_buffer(encoder, &encoder->odd) || !write_buffer(encoder, &encoder->whole) ||
	    !write_buffer(encoder, &encoder->tails))
		return false;
	for (i = 0; i < encoder->nr_kinds; i++) {
		for (j = 0; j < NR_COLUMNS && encoder->kinds[i].used; j++) {
			if (!encoder->columns[i][j].at)
				continue;
			cut(encoder);
			if (!write_column(encoder, &encoder->columns[i][j]))
				return false;
		}
	}
	return true;
}

static void begin_block(struct columns_encoder *encoder, const void *records, size_t len)
{
	unsigned int i;

	if (encoder->nr_kinds == MAX_KINDS) {		/* others may have become frequent */
		encoder->nr_kinds = 0;
		memset(encoder->ids, 0, sizeof(encoder->ids));
	}
	for (i = 0; i < encoder->nr_kinds; i++)
		encoder->kinds[i].used = false;
	columns_tick__learn(&encoder->tick, encoder->layout.time, records, len);
	predictor__begin(&encoder->predictor, &encoder->layout, encoder->tick.tick, records);
	memset(encoder->template_hash, ODD, sizeof(encoder->template_hash));
	encoder->nr_templates = 0;
	encoder->nr_pieces = 0;
	encoder->nr_records = 0;
	encoder->nr_cuts = 0;
	encoder->overflow = false;
	encoder->order.at = encoder->order.data;
	encoder->odd.at = encoder->odd.data;
	encoder->whole.at = encoder->whole.data;
	encoder->tails.at = encoder->tails.data;
	encoder->out.at = encoder->out.data;
	encoder->out_end = encoder->out.data + len;
}

const void *columns__encode(struct columns_encoder *encoder, const void *records, size_t len,
			    size_t *size)
{
	begin_block(encoder, records, len);
	if (encode_records(encoder, records, len) || !write_all(encoder))
		return NULL;
	*size = encoder->out.at - encoder->out.data;
	return encoder->out.data;
}

size_t columns__cut(const struct columns_encoder *encoder, size_t pos)
{
	unsigned int i;

	for (i = 0; i < encoder->nr_cuts; i++) {
		if (encoder->cuts[i] > pos)
			return encoder->cuts[i];
	}
	return encoder->out.at - encoder->out.data;
}

static void *allocate(struct buffer *buffer, size_t len)
{
	buffer->data = malloc(len);
	return buffer->data;
}

void columns_encoder__free(struct columns_encoder *encoder)
{
	if (!encoder)
		return;
	free(encoder->pieces);
	free(encoder->order.data);
	free(encoder->odd.data);
	free(encoder->whole.data);
	free(encoder->tails.data);
	free(encoder->out.data);
	free(encoder->cuts);
	free(encoder);
}

struct columns_encoder *columns_encoder__new(size_t max_bytes, const struct columns_layout *layout,
					     columns_event_fn event_of, void *arg)
{
	struct columns_encoder *encoder = calloc(1, sizeof(*encoder));

	if (!encoder)
		return NULL;
	if (is_valid(layout))
		encoder->layout = *layout;
	encoder->event_of = event_of;
	encoder->arg = arg;
	encoder->max_bytes = max_bytes;
	encoder->max_pieces = max_bytes / sizeof(struct piece) + MAX_KINDS * NR_COLUMNS;
	encoder->pieces = malloc(encoder->max_pieces * sizeof(struct piece));
	encoder->cuts = malloc((max_bytes / CUT_BYTES + 8) * sizeof(*encoder->cuts));
	if (encoder->pieces && encoder->cuts &&
	    allocate(&encoder->order, max_bytes / MIN_RECORD) &&
	    allocate(&encoder->odd, max_bytes + 2 * MAX_VARINT) &&
	    allocate(&encoder->whole, max_bytes) && allocate(&encoder->tails, max_bytes) &&
	    allocate(&encoder->out, max_bytes))
		return encoder;
	columns_encoder__free(encoder);
	return NULL;
}

/*
 * Decode
 */

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
