/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Predict the words of a sample from earlier ones, the same way in encoder and decoder.
 *
 * Which sample predicts which word, and the format of columns, stand in columns.h.
 */
#ifndef PERF_RECORDING_KEEP_COLUMNS_PREDICT_H
#define PERF_RECORDING_KEEP_COLUMNS_PREDICT_H

#include <stdbool.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include "columns.h"
#include "columns_clock.h"

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

#define TASK_BITS	9
#define CONTEXT_BITS	12
#define NEXT_BITS	12

/* The history of a task: a few bits of each of its last three samples. */
#define HISTORY_SHIFT	10
#define HISTORY_MASK	(bit(3 * HISTORY_SHIFT) - 1)

/* Without an earlier sample, 0 is predicted. */
static const u32 zeroes[COLUMNS_WORDS];

static inline u64 bit(unsigned int word)
{
	return 1ULL << word;
}

/*
 * Where a record is: its position [bytes], from bit 32 on the number of its words, from bit 48 on
 * its kind (0xffff: the slot is empty). One number: a structure would be copied piece by piece.
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
static inline u64 time_words(const struct columns_layout *layout)
{
	return layout->time ? 3ULL << layout->time : 0;
}

static inline u64 first_words(unsigned int words)
{
	return words == COLUMNS_WORDS ? ~0ULL : bit(words) - 1;
}

static inline bool is_between(unsigned int word, unsigned int first, unsigned int end)
{
	return word >= first && word < end;
}

/* Is each word that has a meaning in the first words, behind the header, and only that word? */
static inline bool is_valid(const struct columns_layout *layout)
{
	const u8 id = layout->id, tid = layout->tid, time = layout->time, key = layout->key;

	if ((id && !is_between(id, 2, COLUMNS_WORDS - 1)) ||
	    (tid && !is_between(tid, 2, COLUMNS_WORDS)) ||
	    (time && !is_between(time, 2, COLUMNS_WORDS - 1)) ||
	    (key && !is_between(key, 2, COLUMNS_WORDS)))
		return false;
	if (time && (is_between(tid, time, time + 2) || is_between(key, time, time + 2)))
		return false;
	return !tid || tid != key;
}

static inline unsigned int head_words(const u32 *record)
{
	unsigned int words = record[SIZE_WORD] >> 16 >> 2;

	return min(words, (unsigned int)COLUMNS_WORDS);
}

static inline u32 word_at(const u32 *record, unsigned int word, unsigned int words)
{
	return word && word < words ? record[word] : 0;
}

static inline void predictor__begin(struct predictor *predictor,
				    const struct columns_layout *layout, u64 tick,
				    const void *base)
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

static inline const u32 *record_at(const struct predictor *predictor, slot_t slot)
{
	return (const u32 *)(predictor->base + (u32)slot);
}

static inline bool previous_has(const struct predictor *predictor, unsigned int words)
{
	return predictor->nr_previous >= words;
}

/* Return: the previous sample if it has @words words, or zeroes. */
static inline const u32 *previous_record(const struct predictor *predictor, unsigned int words)
{
	return previous_has(predictor, words) ? predictor->previous : zeroes;
}

static inline u32 previous_tid(const struct predictor *predictor)
{
	return predictor->previous[predictor->layout.tid];
}

/* Is a record of @kind there that has @words words? */
static inline bool is_of(slot_t slot, unsigned int kind, unsigned int words)
{
	return slot - ((u64)kind << 48 | (u64)words << 32) < (0x10000ULL - words) << 32;
}

/* Return: the record of @slot if it is of @kind and has @words words; or the last one that has. */
static inline const u32 *task_record(const struct predictor *predictor, slot_t slot,
				     unsigned int kind, unsigned int words)
{
	if (!is_of(slot, kind, words))
		slot = predictor->last[kind];
	return is_of(slot, kind, words) ? record_at(predictor, slot) : zeroes;
}

static inline slot_t *find_task(struct predictor *predictor, unsigned int kind, u32 tid)
{
	u32 hash = (tid ^ kind << 20) * 0x9e3779b1U;

	return &predictor->task[hash >> (32 - TASK_BITS)];
}

static inline slot_t *find_context(struct predictor *predictor, unsigned int kind, u32 tid, u32 key)
{
	u32 hash = tid * 2654435761U ^ kind * 0x9e3779b1U ^ key * 0x85ebca6bU;

	return &predictor->context[hash * 0x9e3779b1U >> (32 - CONTEXT_BITS)];
}

static inline u32 *find_history(struct predictor *predictor, u32 tid)
{
	return &predictor->history[tid * 0x9e3779b1U >> (32 - TASK_BITS)];
}

static inline u32 *find_next(struct predictor *predictor, unsigned int kind, u32 history)
{
	u32 hash = history * 2654435761U ^ kind * 0x85ebca6bU;

	return &predictor->next[hash * 0x9e3779b1U >> (32 - NEXT_BITS)];
}

/* A sample of @kind and @key follows what @history has. */
static inline void note_key(u32 *history, u32 *next, unsigned int kind, u32 key)
{
	*next = key;
	*history = (*history << HISTORY_SHIFT | ((key ^ kind * 37) & (bit(HISTORY_SHIFT) - 1))) &
		   HISTORY_MASK;
}

/* The record at @pos, of @kind, predicts later ones. */
static inline void note_record(struct predictor *predictor, u32 pos, unsigned int kind,
			       unsigned int words, slot_t *task, slot_t *context)
{
	slot_t slot = pos | (u64)words << 32 | (u64)kind << 48;

	predictor->previous = record_at(predictor, slot);
	predictor->nr_previous = words;
	predictor->last[kind] = *task = *context = slot;
}

/* Return: number of words that a sample must have. */
static inline unsigned int min_words(const struct columns_layout *layout)
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

/* Return: size of the record at @record [bytes], or 0 if it is malformed. */
static inline size_t record_size(const u32 *record, size_t left)
{
	size_t size = left < MIN_RECORD ? 0 : record[SIZE_WORD] >> 16;

	return size < MIN_RECORD || size % sizeof(u64) || size > left ? 0 : size;
}

/* The words that differ in a sample of @kind: many samples share one. */
struct template {
	u64	mask;
	u8	kind;
};

#endif /* PERF_RECORDING_KEEP_COLUMNS_PREDICT_H */
