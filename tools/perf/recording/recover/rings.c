// SPDX-License-Identifier: GPL-2.0-only
/* Add what the rings had when the recorder was killed (keep/guard.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <internal/lib.h>
#include <linux/kernel.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "util/debug.h"
#include "util/event.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "recording/keep/guard.h"
#include "recording/lib/checksum.h"
#include "recording/lib/fd.h"
#include "recording/ring/sink.h"
#include "recording/state/fixup.h"
#include "internal.h"

/* The guard writes as much as the rings have. It has the lock from the start of the recorder. */
#define LOCK_TRIES	600

/* Where a ring has less space than that, or than two of its records, later ones may be lost. */
#define MIN_FREE	4096

/*
 * Load
 */

static int read_file(struct saved_rings *rings, int fd)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    (size_t)st.st_size < sizeof(struct rings_header))
		return 0;
	rings->data = malloc(st.st_size);
	if (!rings->data)
		return -ENOMEM;
	if (preadn(fd, rings->data, st.st_size, 0) == st.st_size)
		rings->bytes = st.st_size;
	return 0;
}

/* The guard writes the records of one ring after those of another. */
static bool overlap(const struct saved_rings *rings)
{
	const struct rings_entry *entry;
	u64 end = 0;

	for (entry = rings->entries; entry < rings->entries + rings->nr; entry++) {
		if (entry->at < end || entry->len > UINT64_MAX - entry->at)
			return true;
		end = entry->at + entry->len;
	}
	return false;
}

/* Return: is this the file of the rings of that box, and whole? */
static bool check(struct saved_rings *rings, u64 box)
{
	const struct rings_header *header = rings->data;
	u64 max = (rings->bytes - sizeof(*header)) / sizeof(*rings->entries);

	if (memcmp(header->magic, RINGS_MAGIC, sizeof(header->magic)) || header->box != box ||
	    header->nr > max)
		return false;
	rings->entries = (void *)(header + 1);
	if (checksum(rings->entries, header->nr * sizeof(*rings->entries)) != header->sum)
		return false;
	rings->nr = header->nr;
	if (!overlap(rings))
		return true;
	rings->nr = 0;
	return false;
}

/* Return: the records of an entry; none if they are damaged. */
static struct records records_of(const struct saved_rings *rings, const struct rings_entry *entry)
{
	if (entry->at > rings->bytes || entry->len > rings->bytes - entry->at ||
	    checksum(rings->data + entry->at, entry->len) != entry->sum)
		return records__of(NULL, 0);
	return records__of(rings->data + entry->at, entry->len);
}

static u64 sum_of(const union perf_event *event)
{
	return checksum(event, event->header.size);
}

static int compare(const void *a, const void *b)
{
	const struct ring_record *left = a, *right = b;

	return left->sum < right->sum ? -1 : left->sum > right->sum;
}

/**
 * struct ring_end - up to which time a ring has everything
 * @last:	time of the newest record before the first loss [ns]
 * @max_size:	of a record [bytes]
 * @lost:	the ring has lost records after @last
 */
struct ring_end {
	u64	last;
	size_t	max_size;
	bool	lost;
};

/**
 * struct ring_visitor - takes the records of one ring, with true headers
 * @add:	of recovery__read_ring_sideband()
 * @end:	what is known of the ring so far; only when they are written
 */
struct ring_visitor {
	struct record_sink	 sink;
	struct recovery		*recovery;
	int			(*add)(struct recovery *recovery, union perf_event *event);
	struct ring_end		 end;
};

static int visit(struct ring_visitor *visitor, const struct records *records)
{
	static union fixup_copy copy;

	return fixup__pass(visitor->recovery->evlist, records, &copy, &visitor->sink, NULL);
}

static int note_records(struct record_sink *sink, const struct records *records,
			struct ring *ring __maybe_unused)
{
	struct recovery *recovery = container_of(sink, struct ring_visitor, sink)->recovery;
	struct saved_rings *rings = &recovery->rings;
	struct record_iter iter;

	records__for_each(records, iter) {
		union perf_event *event = records->part[0].iov_base + iter.pos;
		u64 time = recovery__time(recovery, event);

		rings->records[rings->nr_records++].sum = sum_of(event);
		if (time)
			rings->oldest = min(rings->oldest, time);
	}
	return 0;
}

/* Note all records, to recognize those that the box has as well. */
static int note_all(struct recovery *recovery)
{
	struct saved_rings *rings = &recovery->rings;
	struct ring_visitor visitor = { .sink.write = note_records, .recovery = recovery };
	size_t i, max = rings->bytes / sizeof(struct perf_event_header);
	struct records records;

	rings->records = calloc(max ?: 1, sizeof(*rings->records));
	if (!rings->records)
		return -ENOMEM;
	rings->oldest = UINT64_MAX;
	for (i = 0; i < rings->nr; i++) {
		records = records_of(rings, &rings->entries[i]);
		visit(&visitor, &records);
	}
	qsort(rings->records, rings->nr_records, sizeof(*rings->records), compare);
	return 0;
}

int recovery__load_rings(struct recovery *recovery)
{
	struct saved_rings *rings = &recovery->rings;
	char *path = guard__path(recovery->path);
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1, err = 0;

	if (fd >= 0 && guard__lock(fd, LOCK_SH, LOCK_TRIES))
		pr_warning("%s is still being written: left out.\n", path);
	else if (fd >= 0)
		err = read_file(rings, fd);
	if (!err && rings->bytes) {
		if (check(rings, recovery->reader.header.sum))
			err = note_all(recovery);
		else
			pr_debug("%s is incomplete, or of another recorder.\n", path);
	}
	fd__close(&fd);
	free(path);
	return err;
}

void recovery__free_rings(struct saved_rings *rings)
{
	free(rings->records);
	free(rings->data);
}

static struct ring_record *find(const struct saved_rings *rings, const union perf_event *event)
{
	struct ring_record key = { .sum = sum_of(event) };

	return bsearch(&key, rings->records, rings->nr_records, sizeof(key), compare);
}

void recovery__note_written(struct recovery *recovery, const union perf_event *event, u64 time)
{
	struct ring_record *record;

	if (!recovery->rings.nr_records || (time && time < recovery->rings.oldest))
		return;
	record = find(&recovery->rings, event);
	if (record)
		record->is_written = true;
}

/*
 * Side-band
 */

/* Other records are those of the kept streams, or tell what a ring has lost. */
static bool is_sideband(const union perf_event *event)
{
	switch (event->header.type) {
	case PERF_RECORD_SAMPLE:
	case PERF_RECORD_READ:
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		return false;
	default:
		return true;
	}
}

static int add_sideband(struct record_sink *sink, const struct records *records,
			struct ring *ring __maybe_unused)
{
	struct ring_visitor *visitor = container_of(sink, struct ring_visitor, sink);
	struct recovery *recovery = visitor->recovery;
	struct ring_record *record;
	struct record_iter iter;

	records__for_each(records, iter) {
		union perf_event *event = records->part[0].iov_base + iter.pos;

		record = find(&recovery->rings, event);
		if (!is_sideband(event) || (record && record->is_written))
			continue;
		if (visitor->add(recovery, event) == -ENOMEM)
			return -ENOMEM;
		recovery->rings.nr_added++;
	}
	return 0;
}

int recovery__read_ring_sideband(struct recovery *recovery,
				 int (*add)(struct recovery *recovery, union perf_event *event))
{
	struct ring_visitor visitor = {
		.sink.write = add_sideband, .recovery = recovery, .add = add,
	};
	struct saved_rings *rings = &recovery->rings;
	struct records records;
	int err = 0;
	size_t i;

	for (i = 0; i < rings->nr && !err; i++) {
		records = records_of(rings, &rings->entries[i]);
		err = visit(&visitor, &records);
	}
	return err;
}

/*
 * Write
 */

/* Tracking rings lose no records of the kept streams. */
static bool is_of_tracking(const struct recovery *recovery, const union perf_event *event)
{
	struct evsel *evsel = evlist__id2evsel(recovery->evlist, event->lost.id);

	return evsel && evsel__is_dummy_event(evsel);
}

/*
 * If the first record tells of a loss, the ring was full when the recorder read it last, and the
 * box may have newer records of other rings. Claim nothing up to there, as where the recorder has
 * read of the loss.
 */
static void note_loss(struct recovery *recovery, struct ring_end *end,
		      const union perf_event *event, u64 time)
{
	bool is_first = !end->max_size;

	if (is_first && time && !is_of_tracking(recovery, event))
		recovery->rings.lost_since = max(recovery->rings.lost_since, time);
	else
		end->lost = true;
}

static void note_end(struct recovery *recovery, struct ring_end *end,
		     const union perf_event *event, u64 time)
{
	if (event->header.type == PERF_RECORD_LOST)
		note_loss(recovery, end, event, time);
	end->max_size = max(end->max_size, (size_t)event->header.size);
	if (!end->lost)
		end->last = max(end->last, time);
}

static bool is_whole(const struct ring_end *end, const struct rings_entry *entry)
{
	return !end->lost && entry->free >= max(2 * end->max_size, (size_t)MIN_FREE);
}

static int write_records(struct record_sink *sink, const struct records *records,
			 struct ring *ring __maybe_unused)
{
	struct ring_visitor *visitor = container_of(sink, struct ring_visitor, sink);
	struct recovery *recovery = visitor->recovery;
	struct record_iter iter;
	int err;

	records__for_each(records, iter) {
		union perf_event *event = records->part[0].iov_base + iter.pos;
		struct ring_record *record = find(&recovery->rings, event);

		note_end(recovery, &visitor->end, event, recovery__time(recovery, event));
		if (is_sideband(event) || (record && record->is_written))
			continue;
		err = recovery__write_record(recovery, event);
		if (err)
			return err;
		recovery->rings.nr_added++;
	}
	return 0;
}

static int write_ring(struct recovery *recovery, const struct rings_entry *entry, u64 *end_time)
{
	struct ring_visitor visitor = {
		.sink.write = write_records, .recovery = recovery,
		.end.last = recovery->reader.header.complete,
	};
	struct records records = records_of(&recovery->rings, entry);
	int err;

	visitor.end.lost = entry->len && !records__len(&records);
	err = visit(&visitor, &records);
	if (!is_whole(&visitor.end, entry))
		*end_time = min(*end_time, visitor.end.last);
	return err;
}

int recovery__write_rings(struct recovery *recovery)
{
	struct saved_rings *rings = &recovery->rings;
	u64 end_time = UINT64_MAX;
	int err = 0;
	size_t i;

	for (i = 0; i < rings->nr && !err; i++)
		err = write_ring(recovery, &rings->entries[i], &end_time);
	rings->end_time = rings->nr ? end_time : 0;
	return err;
}
