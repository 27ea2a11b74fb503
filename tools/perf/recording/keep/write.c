// SPDX-License-Identifier: GPL-2.0-only
/* Write the kept blocks of a snapshot. */
#include <linux/kernel.h>
#include <perf/event.h>
#include "recording/lib/records.h"
#include "recording/output/output.h"
#include "compress.h"
#include "drop.h"
#include "keep.h"

/*
 * Leave out the last mark. Records of the next snapshot were published after it; so the mark that
 * the caller writes at the end keeps its promise (rounds.h).
 */
static size_t last_mark(const struct keep *keep)
{
	size_t i = keep->nr_taken;

	while (i && !keep->taken[i - 1]->ends_round)
		i--;
	return i;
}

static int write_block(struct keep *keep, struct keep_block *block, struct output *output)
{
	struct time_span span = { block->first, block->last };
	struct records records;
	int err;

	pthread_mutex_lock(&keep->lock);
	keep__wait_compressed(keep, block);
	keep->restored |= block->form == KEEP_COMPRESSED;
	pthread_mutex_unlock(&keep->lock);
	records = records__of(block->data, block->len);
	err = block->form == KEEP_COMPRESSED ? restorer__restore(&keep->restorer, &records) : 0;
	block->file_len = records__len(&records);
	return err ?: output__write_kept(output, &records, block->raw_len, &span);
}

static void count(struct keep_stats *stats, const struct keep_block *block)
{
	stats->compressed_bytes += block->len;
	stats->written_bytes += block->file_len;
}

/* The block is copied to the output: its memory may be used. */
static void finish_block(struct keep *keep)
{
	pthread_mutex_lock(&keep->lock);
	keep__put_taken(keep);
	keep__trim(keep);
	pthread_mutex_unlock(&keep->lock);
}

static int write_mark(const struct keep_writer *writer, struct output *output, u64 newest)
{
	bool complete;
	int err = writer->before_mark(writer->arg, newest, &complete);

	return err || !complete ? err : output__mark(output, PERF_RECORD_FINISHED_ROUND);
}

int keep__write(struct keep *keep, struct output *output, const struct keep_writer *writer,
		struct keep_stats *stats)
{
	size_t nr_marks = last_mark(keep);
	u64 newest = 0, records = 0;
	int err = 0;

	while (keep->nr_written < keep->nr_taken && !err) {
		struct keep_block *block = keep->taken[keep->nr_written];

		newest = max(newest, block->last);
		records += block->records;
		err = writer->before_block(writer->arg, block->first) ?:
		      write_block(keep, block, output);
		if (!err)
			count(stats, block);
		if (!err && block->ends_round && keep->nr_written + 1 < nr_marks)
			err = write_mark(writer, output, newest);
		if (!err)
			finish_block(keep);
		if (!err && writer->after_block)
			writer->after_block(writer->arg, records, stats->records);
	}
	return err;
}
