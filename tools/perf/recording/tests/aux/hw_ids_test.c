// SPDX-License-Identifier: GPL-2.0-only
/*
 * AUX_OUTPUT_HW_ID records: a decoder finds the event of each sample in a trace, in each file.
 * tags: fast parallel
 *
 * Prints KTAP.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "recording/aux/hw_ids.h"
#include "perf/tests/tap.h"
#include "../random.h"

#define COUNTERS	8

static u64 random_state;

/* A record with a sample id of one word: the id of the event. */
struct record {
	struct perf_record_aux_output_hw_id	hw;
	uint64_t				id;
	uint64_t				more[6];
};

static void add(struct hw_ids *outputs, uint64_t counter, uint64_t id, size_t more)
{
	struct record record = {
		.hw.header = {
			.type = PERF_RECORD_AUX_OUTPUT_HW_ID,
			.size = sizeof(record.hw) + sizeof(record.id) + more,
		},
		.hw.hw_id = counter,
		.id = id,
	};

	hw_ids__add(outputs, (const void *)&record, id);
}

/* Knowledge of a decoder after reading a file. */
struct file {
	uint64_t	event[COUNTERS];
	unsigned int	records;
	unsigned int	full;		/* number of records that can be written; 0: any */
};

static int take(void *arg, const void *data, size_t len)
{
	const struct record *record = data;
	struct file *file = arg;

	if (len < sizeof(record->hw) + sizeof(record->id) || len != record->hw.header.size)
		return -1;
	if (file->full && file->records == file->full)
		return -2;
	file->event[record->hw.hw_id] = record->id;
	file->records++;
	return 0;
}

static bool once_in_each_file(void)
{
	struct file first = { 0 }, second = { 0 };
	struct hw_ids outputs;
	bool ok;

	hw_ids__init(&outputs);
	add(&outputs, 3, 77, 0);
	add(&outputs, 3, 77, 0);
	ok = !hw_ids__write(&outputs, take, &first) && !hw_ids__write(&outputs, take, &first);
	add(&outputs, 3, 77, 0);
	ok = ok && !hw_ids__write(&outputs, take, &first) && first.records == 1 &&
	     first.event[3] == 77;
	hw_ids__begin_file(&outputs);
	ok = ok && !hw_ids__write(&outputs, take, &second) && second.records == 1 &&
	     second.event[3] == 77 && !outputs.dropped;
	hw_ids__exit(&outputs);
	return ok;
}

/* A record that arrives after the file has begun is written to it, without the others. */
static bool only_new(void)
{
	struct file file = { 0 };
	struct hw_ids outputs;
	bool ok;

	hw_ids__init(&outputs);
	ok = !hw_ids__has_news(&outputs);
	add(&outputs, 0, 10, 0);
	ok = ok && hw_ids__has_news(&outputs) && !hw_ids__write(&outputs, take, &file) &&
	     !hw_ids__has_news(&outputs);
	add(&outputs, 1, 11, 8);
	ok = ok && hw_ids__has_news(&outputs) && !hw_ids__write(&outputs, take, &file) &&
	     file.records == 2 && file.event[0] == 10 && file.event[1] == 11;
	hw_ids__begin_file(&outputs);
	ok = ok && hw_ids__has_news(&outputs);
	hw_ids__exit(&outputs);
	return ok;
}

/* The area may hold data from before the change, so both records are written, in their order. */
static bool changes(void)
{
	struct file file = { 0 };
	struct hw_ids outputs;
	bool ok;

	hw_ids__init(&outputs);
	add(&outputs, 0, 10, 0);
	add(&outputs, 0, 11, 0);
	add(&outputs, 0, 11, 0);
	ok = !hw_ids__write(&outputs, take, &file) && file.records == 2 && file.event[0] == 11;
	add(&outputs, 0, 10, 0);
	ok = ok && !hw_ids__write(&outputs, take, &file) && file.records == 3 &&
	     file.event[0] == 10;
	hw_ids__exit(&outputs);
	return ok;
}

/* After many changes each file has the present events, and memory has not grown. */
static bool bounded(void)
{
	uint64_t truth[COUNTERS] = { 0 };
	struct hw_ids outputs;
	bool ok = true;
	int i;

	hw_ids__init(&outputs);
	for (i = 1; ok && i < 100000; i++) {
		/* The last counter changes only once, at the beginning. */
		uint64_t counter = i == 1 ? COUNTERS - 1 :
				   random_below(&random_state, COUNTERS - 1);
		uint64_t id = 1 + random_below(&random_state, 5);

		truth[counter] = id;
		add(&outputs, counter, id, 0);
		ok = outputs.nr <= HW_IDS_MAX;
		if (random_below(&random_state, 100) == 0) {
			struct file file = { 0 };

			hw_ids__begin_file(&outputs);
			ok = ok && !hw_ids__write(&outputs, take, &file) &&
			     !memcmp(file.event, truth, sizeof(truth));
		}
	}
	ok = ok && outputs.dropped;
	hw_ids__exit(&outputs);
	return ok;
}

static bool too_many_counters(void)
{
	struct hw_ids outputs;
	bool ok;
	int i;

	hw_ids__init(&outputs);
	for (i = 0; i < HW_IDS_MAX + 10; i++)
		add(&outputs, i, 1, 0);
	ok = outputs.nr == HW_IDS_MAX && outputs.dropped == 10 &&
	     outputs.list[0].record.hw.hw_id == 10;
	hw_ids__exit(&outputs);
	return ok;
}

/* A record that could not be written is written the next time. */
static bool error(void)
{
	struct file file = { .full = 1 };
	struct hw_ids outputs;
	bool ok;

	hw_ids__init(&outputs);
	add(&outputs, 0, 10, 0);
	add(&outputs, 1, 11, 0);
	ok = hw_ids__write(&outputs, take, &file) == -2;
	file.full = 0;
	ok = ok && !hw_ids__write(&outputs, take, &file) && file.records == 2;
	hw_ids__exit(&outputs);
	return ok;
}

static bool not_sound(void)
{
	const struct perf_event_header shorter = { .size = sizeof(shorter) };
	struct hw_ids outputs;
	bool ok;

	hw_ids__init(&outputs);
	add(&outputs, 0, 10, 6 * sizeof(uint64_t));
	hw_ids__add(&outputs, (const void *)&shorter, 1);
	ok = !outputs.nr && outputs.dropped == 2;
	add(&outputs, 0, 10, 5 * sizeof(uint64_t));
	ok = ok && outputs.nr == 1;
	hw_ids__exit(&outputs);
	return ok;
}

int main(void)
{
	check(once_in_each_file(), "a record is written once to each file");
	check(only_new(), "a new record is written to a file that has begun");
	check(changes(), "an event that takes another one's counter is written");
	check(bounded(), "many changes of counters take bounded memory");
	check(too_many_counters(), "with too many counters the oldest records are dropped");
	check(error(), "a write error is returned, and the record is written later");
	check(not_sound(), "records that are too short or too long are counted");
	return tap_end();
}
