// SPDX-License-Identifier: GPL-2.0-only
/* Read the side-band records of a box and of the rings, and write them by time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "util/event.h"
#include "util/evlist.h"
#include "util/machine.h"
#include "util/sample.h"
#include "util/session.h"
#include "recording/lib/array.h"
#include "recording/state/sb_record.h"
#include "internal.h"

/*
 * Files of perf record have no EXIT records either: the FORK record of the next task with that tid
 * ends the task (state.h).
 */
static bool is_left_out(const union perf_event *event)
{
	return event->header.type == PERF_RECORD_EXIT;
}

static int add(struct recovery *recovery, union perf_event *event)
{
	struct recovered_sideband *sideband = &recovery->sideband;
	int err = array__grow(&sideband->data, sideband->len, event->header.size, 1,
			      &sideband->space) ?:
		  array__grow(&sideband->records, sideband->nr, 1, sizeof(*sideband->records),
			      &sideband->max);

	if (err)
		return err;
	memcpy(sideband->data + sideband->len, event, event->header.size);
	sideband->records[sideband->nr] = (struct sideband_record){
		.time = recovery__time(recovery, event), .pos = sideband->len,
		.order = sideband->nr,
	};
	sideband->nr++;
	sideband->len += event->header.size;
	return 0;
}

/* A record that is shorter than its type says would mislead readers of the file. */
static bool is_whole(const union perf_event *event)
{
	return !(event->header.size % sizeof(u64)) &&
	       sb_record__body_size(event, event->header.size) <= event->header.size;
}

/* Return: 0, -ENOMEM, or -EINVAL if the record is malformed. */
static int add_whole(struct recovery *recovery, union perf_event *event)
{
	if (!is_whole(event))
		return -EINVAL;
	return is_left_out(event) ? 0 : add(recovery, event);
}

static int add_block(struct recovery *recovery, const struct box_slot *slot)
{
	struct records records;
	bool intact = recovery__read_block(recovery, slot, &records);
	struct record_iter iter;
	int err;

	records__for_each(&records, iter) {
		union perf_event *event = records.part[0].iov_base + iter.pos;

		recovery__note_written(recovery, event, recovery__time(recovery, event));
		err = add_whole(recovery, event);
		if (err == -ENOMEM)
			return err;
		intact = intact && !err;
	}
	recovery->damaged_sideband += !intact;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct sideband_record *left = a, *right = b;

	if (left->time != right->time)
		return left->time < right->time ? -1 : 1;
	return left->order < right->order ? -1 : left->order > right->order;
}

int recovery__load_sideband(struct recovery *recovery)
{
	const struct box_reader *reader = &recovery->reader;
	size_t i;
	int err = 0;

	for (i = 0; i < reader->nr[BOX_SIDEBAND] && !err; i++)
		err = add_block(recovery, &reader->slots[BOX_SIDEBAND][i]);
	err = err ?: recovery__read_ring_sideband(recovery, add_whole);
	if (!err && recovery->sideband.nr)
		qsort(recovery->sideband.records, recovery->sideband.nr,
		      sizeof(*recovery->sideband.records), compare);
	return err;
}

/*
 * Let the session know the DSO, for the table of build-ids. After a start of the machine, the
 * kernel may be another one.
 */
static void note_map(struct recovery *recovery, union perf_event *event)
{
	struct perf_sample sample = {
		.cpumode = event->header.misc & PERF_RECORD_MISC_CPUMODE_MASK,
	};
	struct machine *machine = &recovery->session->machines.host;

	if (sample.cpumode != PERF_RECORD_MISC_USER &&
	    (sample.cpumode != PERF_RECORD_MISC_KERNEL || !recovery->same_boot))
		return;
	if (event->header.type == PERF_RECORD_MMAP)
		machine__process_mmap_event(machine, event, &sample);
	else if (event->header.type == PERF_RECORD_MMAP2)
		machine__process_mmap2_event(machine, event, &sample);
}

int recovery__write_sideband(struct recovery *recovery, u64 time)
{
	struct recovered_sideband *sideband = &recovery->sideband;
	union perf_event *event;
	int err = 0;

	while (!err && sideband->next < sideband->nr &&
	       sideband->records[sideband->next].time <= time) {
		event = sideband->data + sideband->records[sideband->next++].pos;
		note_map(recovery, event);
		err = recovery->write(recovery->tool, event);
	}
	return err;
}

void recovery__free_sideband(struct recovered_sideband *sideband)
{
	zfree(&sideband->data);
	zfree(&sideband->records);
}
