// SPDX-License-Identifier: GPL-2.0-only
/* Read and check the records of one block. */
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include "util/event.h"
#include "util/evlist.h"
#include "util/sample.h"
#include "recording/keep/block.h"
#include "recording/keep/pack.h"
#include "recording/lib/compat.h"
#include "recording/stats/ring_stats.h"
#include "recording/write/zstd_records.h"
#include "internal.h"

u64 recovery__time(const struct recovery *recovery, union perf_event *event)
{
	return evlist__record_time(recovery->evlist, event);
}

/* Is this a record that the kernel may have written for these events? */
static bool is_credible(const struct recovery *recovery, union perf_event *event)
{
	struct perf_sample sample = { 0 };
	bool credible;

	if (!event->header.type || event->header.type >= PERF_RECORD_MAX ||
	    event->header.size % sizeof(u64))
		return false;
	credible = !evlist__parse_sample(recovery->evlist, event, &sample);
	if (event->header.type == PERF_RECORD_SAMPLE)
		credible = credible && evlist__event2evsel(recovery->evlist, event);
	perf_sample__exit(&sample);
	return credible;
}

/*
 * Return: length of the whole records that are intact [bytes]. What was appended last, or was not
 * compressed yet, has no checksum.
 */
static size_t intact(const struct recovery *recovery, const struct box_slot *slot, void *data,
		     size_t len)
{
	struct records records = records__of(data, len);
	struct record_iter iter;

	records__for_each(&records, iter) {
		if (!box_slot__is_checked(slot) && !is_credible(recovery, data + iter.pos))
			break;
	}
	return iter.pos;
}

static ssize_t decode(struct recovery *recovery, const struct box_slot *slot, void **data)
{
	*data = recovery->packed;
	if (slot->encoding == BOX_RECORDS)
		return slot->len;
	if (slot->encoding == BOX_PACKED)
		return keep_unpacker__unpack(recovery->unpacker, recovery->packed, slot->len, data);
	*data = recovery->raw;
	return zstd_records__decompress(recovery->packed, slot->len, recovery->raw,
					KEEP_BLOCK_BYTES);
}

bool recovery__read_block(struct recovery *recovery, const struct box_slot *slot,
			  struct records *records)
{
	size_t len;
	ssize_t ret;
	void *data;

	*records = records__of(NULL, 0);
	if (box_reader__read(&recovery->reader, slot, recovery->packed))
		return false;
	ret = decode(recovery, slot, &data);
	if (ret < 0)
		return false;
	len = intact(recovery, slot, data, ret);
	*records = records__of(data, len);
	return len == slot->raw_len;
}

static void note_time(struct recovery *recovery, u64 time)
{
	if (!time)
		return;
	recovery->first = recovery->first ? min(recovery->first, time) : time;
	recovery->last = max(recovery->last, time);
}

int recovery__write_record(struct recovery *recovery, union perf_event *event)
{
	note_time(recovery, recovery__time(recovery, event));
	recovery->records++;
	recovery->samples += event->header.type == PERF_RECORD_SAMPLE;
	return recovery->write(recovery->tool, event);
}
