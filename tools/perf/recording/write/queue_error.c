// SPDX-License-Identifier: GPL-2.0-only
#include <linux/kernel.h>
#include <perf/event.h>
#include "queue_internal.h"

/* Count the records of @records that begin at @pos or behind it as dropped; only one if @single. */
static void count_dropped(struct write_queue *queue, const struct records *records, size_t pos, bool single)
{
	struct unsaved *unsaved = &queue->unsaved;
	size_t len = records__len(records), size;
	u32 type;

	while (pos < len && (size = records__extent(records, pos, &type))) {
		unsaved->records++;
		unsaved->samples += type == PERF_RECORD_SAMPLE;
		pos += size;
		if (single)
			break;
	}
}

void write_queue__drop_rest(struct write_queue *queue, struct records_cursor *cursor)
{
	records_cursor__find(cursor);
	count_dropped(queue, cursor->records, cursor->next, cursor->single);
	queue->unsaved.bytes += cursor->len - cursor->pos;
}

/* Where the last whole record ends that is written; @chunk is the first that is not. */
static u64 saved_end(const struct chunk *chunk)
{
	u64 written = chunk->pos + chunk->done, end = chunk->first;
	const struct records records = records__of(chunk->data, chunk->len);
	size_t size;
	u32 type;

	if (end > written)
		return chunk->whole;
	while ((size = records__extent(&records, end - chunk->pos, &type)) && end + size <= written)
		end += size;
	return end;
}

/* With @lock held: what of @chunk does not lie below @end of the file is given up. */
static void give_up_chunk(struct write_queue *queue, const struct chunk *chunk, u64 end)
{
	const struct records records = records__of(chunk->data, chunk->len);

	count_dropped(queue, &records, max(end, chunk->first) - chunk->pos, false);
}

static void give_up_list(struct write_queue *queue, struct list_head *list, u64 end)
{
	struct chunk *chunk, *tmp;

	list_for_each_entry_safe(chunk, tmp, list, node) {
		give_up_chunk(queue, chunk, end);
		chunk_pool__put(&queue->pool, chunk);
	}
}

/* With both locks held: the file ends before the first chunk that is not written, if there is one. */
static void give_up_file(struct write_queue *queue)
{
	u64 end = write_queue__file_end(queue);
	const struct chunk *failed;

	list_splice_tail_init(&queue->full, &queue->flying);
	if (!list_empty(&queue->flying)) {
		failed = list_first_entry(&queue->flying, struct chunk, node);
		end = saved_end(failed);
		if (end < failed->pos) {	/* the record that begins in a chunk which is written */
			queue->unsaved.records++;
			queue->unsaved.samples += failed->type == PERF_RECORD_SAMPLE;
		}
		queue->unsaved.bytes += write_queue__file_end(queue) - end;
		give_up_list(queue, &queue->flying, end);
	}
	if (queue->turned)
		queue->unsaved.bytes += queue->end - queue->begin;
	give_up_list(queue, &queue->next, 0);
	queue->turned = false;
	__atomic_store_n(&queue->end, end, __ATOMIC_RELAXED);
}

void write_queue__drop_all(struct write_queue *queue, int err)
{
	queue->err = err;
	pthread_cond_broadcast(&queue->room);	/* whoever appends gives up, too */
	pthread_mutex_unlock(&queue->lock);

	pthread_mutex_lock(&queue->append);
	pthread_mutex_lock(&queue->lock);
	write_queue__seal(queue);
	give_up_file(queue);
	pthread_mutex_unlock(&queue->append);
}
