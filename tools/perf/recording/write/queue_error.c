// SPDX-License-Identifier: GPL-2.0-only
/*
 * End the file behind the last whole record after an error, count the records that are dropped, and
 * keep the names among them.
 */
#include <linux/kernel.h>
#include <perf/event.h>
#include "queue_data.h"
#include "queue_error.h"

/* Add the records of @records that begin in [@pos, @end) to @unsaved; only one if @single. */
static void count_dropped(struct unsaved *unsaved, const struct records *records, size_t pos,
			  size_t end, bool single)
{
	size_t size;
	u32 type;

	while (pos < end && (size = records__extent(records, pos, &type))) {
		unsaved->records++;
		unsaved->samples += type == PERF_RECORD_SAMPLE;
		pos += size;
		if (single)
			break;
	}
}

/* Rescue the names of tasks and maps among those records. */
static void rescue_dropped(struct write_queue *queue, const struct records *records, size_t pos,
			   size_t end)
{
	size_t size;
	u32 type;

	while (pos < end && (size = records__extent(records, pos, &type))) {
		queue->rescue->dropped += rescue__add(queue->rescue, records, pos, size);
		pos += size;
	}
}

void write_queue__drop_rest(struct write_queue *queue, struct records_cursor *cursor)
{
	records_cursor__find(cursor);
	count_dropped(&queue->unsaved, cursor->records, cursor->next, cursor->len, cursor->single);
	queue->unsaved.bytes += cursor->len - cursor->pos;
}

/*
 * Return where the last whole record ends that is written. @chunk is the first that is not written.
 */
static u64 saved_end(const struct chunk *chunk)
{
	u64 written = chunk->pos + chunk->done, end = chunk->first_record;
	const struct records records = records__of(chunk->data, chunk->len);
	size_t size;
	u32 type;

	if (end > written)
		return chunk->record;
	while ((size = records__extent(&records, end - chunk->pos, &type)) && end + size <= written)
		end += size;
	return end;
}

/*
 * Drop the records of @chunk that begin at position @end of the file or behind it, and add their
 * number to @unsaved. The last one may end in the next chunk of @list.
 */
static void drop_chunk(struct write_queue *queue, struct list_head *list, struct chunk *chunk,
		       u64 end, struct unsaved *unsaved)
{
	const struct chunk *next = list_next_entry(chunk, node);
	size_t pos = max(end, chunk->first_record) - chunk->pos;
	struct records records = records__of(chunk->data, chunk->len);

	count_dropped(unsaved, &records, pos, chunk->len, false);
	if (!list_is_last(&chunk->node, list) && next->pos == chunk->pos + chunk->len)
		records.part[1] = (struct iovec){ next->data, next->len };
	if (queue->rescue)
		rescue_dropped(queue, &records, pos, chunk->len);
}

static void drop_list(struct write_queue *queue, struct list_head *list, u64 end)
{
	struct chunk *chunk, *tmp;

	list_for_each_entry_safe(chunk, tmp, list, node) {
		drop_chunk(queue, list, chunk, end, &queue->unsaved);
		chunk_pool__put(&queue->pool, chunk);
	}
}

void write_queue__release_chunk(struct write_queue *queue, struct chunk *chunk)
{
	queue->released.bytes += chunk->len;
	drop_chunk(queue, &queue->submitted, chunk, 0, &queue->released);
	chunk_pool__put(&queue->pool, chunk);
}

/*
 * Free all chunks that are not written, and set @tail to where the file ends. Caller holds both
 * locks; no chunk is in flight.
 */
static void drop_file(struct write_queue *queue)
{
	u64 end = write_queue__file_end(queue);
	const struct chunk *failed;

	list_splice_tail_init(&queue->full, &queue->submitted);
	if (!list_empty(&queue->submitted)) {
		failed = list_first_entry(&queue->submitted, struct chunk, node);
		end = saved_end(failed);
		if (end < failed->pos) {	/* a record that begins in an earlier chunk */
			queue->unsaved.records++;
			queue->unsaved.samples += failed->record_type == PERF_RECORD_SAMPLE;
		}
		queue->unsaved.bytes += write_queue__file_end(queue) - end;
		queue->unsaved.records += queue->released.records;
		queue->unsaved.samples += queue->released.samples;
		queue->released = (struct unsaved){ 0 };
		queue->direct.alone = NULL;
		drop_list(queue, &queue->submitted, end);
	}
	if (queue->in_next_file)
		queue->unsaved.bytes += tail__pos(&queue->tail) - queue->next_start;
	drop_list(queue, &queue->next_full, 0);
	queue->in_next_file = false;
	tail__set(&queue->tail, end);
}

/* Wait for threads that copy to reserved places without @append. Caller holds both locks. */
static void wait_until_copied(struct write_queue *queue, struct list_head *chunks)
{
	struct chunk *chunk;

	list_for_each_entry(chunk, chunks, node) {
		while (!chunk__is_copied(chunk))
			pthread_cond_wait(&queue->progress, &queue->lock);
	}
}

void write_queue__drop_all(struct write_queue *queue, int err)
{
	queue->err = err;
	pthread_cond_broadcast(&queue->progress);	/* begin_chunk() returns the error */
	pthread_mutex_unlock(&queue->lock);

	pthread_mutex_lock(&queue->append);
	pthread_mutex_lock(&queue->lock);
	write_queue__seal(queue);
	wait_until_copied(queue, &queue->full);
	wait_until_copied(queue, &queue->next_full);
	drop_file(queue);
	pthread_mutex_unlock(&queue->append);
}
