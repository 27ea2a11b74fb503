// SPDX-License-Identifier: GPL-2.0-only
/* Encode a block of records as columns. */
#include <endian.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include "columns_predict.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define MAX_VARINT	10

/* Count in one record of so many which predictor is right. */
#define COUNT_EACH	64

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
 * @by_previous: words that the previous record predicts
 * @by_task:	words that the last record of this kind and task predicts
 * @nr:		number of records, to count each COUNT_EACHth
 * @counted:	number of records that were counted
 * @right_previous: how often the previous record was right, for each word; likewise the others
 */
struct kind {
	int		event;
	bool		used;
	u64		by_previous;
	u64		by_task;
	unsigned int	nr;
	u32		counted;
	u32		right_previous[COLUMNS_WORDS];
	u32		right_task[COLUMNS_WORDS];
	u32		right_context[COLUMNS_WORDS];
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

static u32 zigzag(u32 difference)
{
	return difference << 1 ^ -(difference >> 31);
}

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

/* How a number of 1 to 5 bytes is written, by the index of its highest bit. */
static const struct {
	u64	more;		/* the bits that say that another byte follows */
	u64	len;		/* [bytes] */
} number_forms[32] = {
	[0 ... 6]   = { 0, 1 },
	[7 ... 13]  = { 0x80, 2 },
	[14 ... 20] = { 0x8080, 3 },
	[21 ... 27] = { 0x808080, 4 },
	[28 ... 31] = { 0x80808080, 5 },
};

/* As put_number(), without a branch for each byte. */
static inline void put_difference(struct columns_encoder *encoder, struct column *column,
				  u32 difference)
{
	u64 number = zigzag(difference), bytes;
	unsigned int form = 31 - __builtin_clz((u32)number | 1);

	bytes = (number & 0x7f) | (number & 0x3f80) << 1 | (number & 0x1fc000) << 2 |
		(number & 0xfe00000) << 3 | (number & 0xf0000000) << 4 | number_forms[form].more;
	bytes = htole64(bytes);
	if (column->at >= column->end)
		begin_piece(encoder, column);
	memcpy(column->at, &bytes, sizeof(bytes));
	column->at += number_forms[form].len;
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
	symbol -= -(u32)is_long & (rest - (rest >> 8));
	put_byte(encoder, &columns[TIME_FIRST], symbol);
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

/* Words that are compared at once. */
#define COMPARED 16

/* Return: which of COMPARED words differ, as bits. Copies those of @b. */
static inline u64 compare_some(const u32 *a, const u32 *b, u32 *copy)
{
#ifdef __SSE2__
	__m128i equal[4];
	unsigned int i;

	for (i = 0; i < 4; i++) {
		__m128i four = _mm_loadu_si128((const __m128i *)b + i);

		_mm_storeu_si128((__m128i *)copy + i, four);
		equal[i] = _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)a + i), four);
	}
	equal[0] = _mm_packs_epi32(equal[0], equal[1]);
	equal[2] = _mm_packs_epi32(equal[2], equal[3]);
	return _mm_movemask_epi8(_mm_packs_epi16(equal[0], equal[2])) ^ 0xffff;
#else
	u64 mask = 0;
	unsigned int i;

	memcpy(copy, b, COMPARED * WORD_BYTES);
	for (i = 0; i < COMPARED; i += 2)
		mask |= compare_two(a + i, b + i) << i;
	return mask;
#endif
}

/* Return: which of @words words (an even number) differ. Copies those of @b. */
static inline u64 compare(const u32 *a, const u32 *b, unsigned int words, u32 *copy)
{
	u64 mask = 0;
	unsigned int i;

	if (words < COMPARED) {
		memcpy(copy, b, words * WORD_BYTES);
		for (i = 0; i < words; i += 2)
			mask |= compare_two(a + i, b + i) << i;
		return mask;
	}
	for (i = 0; i < words - COMPARED; i += COMPARED)
		mask |= compare_some(a + i, b + i, copy + i) << i;
	/* Words are compared twice where a loop would have another length for each size. */
	i = words - COMPARED;
	return mask | compare_some(a + i, b + i, copy + i) << i;
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
	memset(encoder->columns[index], 0, sizeof(encoder->columns[index]));
}

/* Return: index of the template, or ODD. */
static inline u8 find_template(struct columns_encoder *encoder, unsigned int kind, u64 mask)
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

static inline void put_template(struct columns_encoder *encoder, unsigned int kind, u64 mask)
{
	u8 template = find_template(encoder, kind, mask);

	*encoder->order.at++ = template;
	if (template != ODD)
		return;
	*encoder->odd.at++ = kind;
	encoder->odd.at = write_number(encoder->odd.at, mask);
}

/*
 * Predict @words by @from if @keep is ~0, by 0 if it is 0: put that into @predicted.
 *
 * Return: @mask, corrected.
 */
static inline u64 replace_words(u64 mask, u64 words, const u32 *record, const u32 *from, u32 keep,
				u32 *predicted)
{
	mask &= ~words;
	for (; words; words &= words - 1) {
		unsigned int i = __builtin_ctzll(words);

		predicted[i] = from[i] & keep;
		mask |= (u64)(record[i] != predicted[i]) << i;
	}
	return mask;
}

/* Return: @mask, with the bit of @word if its value is not what is predicted. */
static inline u64 replace_word(u64 mask, unsigned int word, u32 value, u32 by, u32 *predicted)
{
	predicted[word] = by;
	return mask | (u64)(value != by) << word;
}

/* Which words differ cannot be foreseen by the CPU, so there are few branches. */
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
	u32 predicted_size = task_record(predictor, *task_slot, index, 0)[SIZE_WORD];
	u64 all = first_words(words) & predictor->words, mask, time;
	u32 predicted[COLUMNS_WORDS];

	if (!kind->used)
		begin_kind(encoder, index);
	if (kind->nr++ % COUNT_EACH == 0)
		count_right(kind, record, previous_record(predictor, words), task, context, words);
	mask = compare(record, context, words, predicted) & all;
	mask = replace_words(mask, kind->by_previous & all, record, predictor->previous,
			     previous_has(predictor, words) ? ~0U : 0, predicted);
	mask = replace_words(mask, kind->by_task & all, record, task, ~0U, predicted);
	mask = replace_word(mask, SIZE_WORD, record[SIZE_WORD], predicted_size, predicted);
	/* Samples without a thread or a key: word 0 stands for it, whose bit is of no use. */
	mask = replace_word(mask, layout->tid, tid, previous_tid(predictor), predicted);
	if (layout->key < words)
		mask = replace_word(mask, layout->key, key, *next, predicted);
	mask &= ~bit(0);
	put_template(encoder, index, mask);
	for (; mask; mask &= mask - 1) {
		unsigned int i = __builtin_ctzll(mask);

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

/*
 * A block takes a millisecond or two. Where all CPUs are busy, another task would have to wait for
 * the end of it, or for the next tick. So offer the CPU to others after so many samples, which take
 * about 15 us, and after each zstd block (pack.c).
 */
#define YIELD_RECORDS 512

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
		if (!(++encoder->nr_records % YIELD_RECORDS))
			sched_yield();
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

/*
 * Where statistics change, a new zstd block begins if the last one has this many bytes: its tables
 * take 2 us. With 4 kB, columns are 2 % smaller, and zstd takes a fifth longer.
 */
#define CUT_BYTES 16384

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
