// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzz snapshots of a ring that the kernel writes to, and of a corrupted ring (libFuzzer target).
 *
 * The input: one byte selects the kind and size of the ring, one its first position; then follow
 * operations, each one byte and its arguments. As long as the operations only write and publish
 * records, the snapshots must keep the guarantees of perf/overwrite.h. As soon as an operation
 * modifies the ring or its control page in another way, snapshots may contain anything that
 * consists of records and is accounted for.
 */
#include <string.h>
#include <linux/perf_event_trailer.h>
#include <internal/grace.h>
#include <internal/overwrite.h>
#include <internal/snapshot-records.h>
#include <internal/snapshot.h>
#include <perf/event.h>

#include "fuzz.h"
#include "ring_writer.h"

#define NR_SIZES	3
#define NR_SNAPSHOTS	2
#define TRAILER		sizeof(struct perf_event_trailer)

static struct {
	struct ring_writer	 writer;
	struct perf_overwrite	*ring;
	struct perf_snapshot	*snapshot[NR_SNAPSHOTS];
	struct perf_snapshot	*copied;	/* not yet settled, or NULL */
	/* Numbers of records: each snapshot accounts for [first, next). */
	u64			 first[NR_SNAPSHOTS];
	u64			 next[NR_SNAPSHOTS];
	u64			 copied_next;
	u64			 taken_next;	/* of the ring */
	bool			 intact;	/* not corrupted */
} on;

static bool is_sized(void)
{
	return on.writer.kind == PERF_OVERWRITE_SIZED;
}

/*
 * Stubs
 */

int perf_overwrite__probe(void)
{
	return PERF_OVERWRITE_SIZED;
}

enum perf_snapshot_grace perf_grace__wait(void)
{
	if (on.intact)
		ring_writer__publish(&on.writer);
	return PERF_SNAPSHOT_GRACE_MEMBARRIER;
}

/*
 * Walks over memory of exact size, so that AddressSanitizer detects overruns, compared with simple
 * implementations
 */

static size_t model_reverse(const unsigned char *data, size_t len, unsigned char *out, u64 *nr)
{
	const struct perf_event_header *header;
	size_t at = 0, from;

	for (*nr = 0; len - at >= sizeof(*header); at += header->size, (*nr)++) {
		header = (const void *)(data + at);
		if (header->size < sizeof(*header) || header->size % 8 || header->size > len - at)
			break;
	}
	for (from = 0; from < at; from += header->size) {
		header = (const void *)(data + from);
		memcpy(out + at - from - header->size, data + from, header->size);
	}
	return at;
}

static size_t model_strip(const unsigned char *data, size_t len, u64 position,
			  unsigned char *out, u64 *nr)
{
	size_t begin = len, from, to = 0;
	u16 size;

	for (*nr = 0; begin >= 16; begin -= size, (*nr)++) {
		u64 trailer, expected;

		memcpy(&trailer, data + begin - TRAILER, TRAILER);
		size = trailer >> 48;
		expected = position - (len - begin) - size;
		if (size < 16 || size % 8 || size > begin || (expected ^ trailer) << 16)
			break;
		if (((const struct perf_event_header *)(data + begin - size))->size != size)
			break;
	}
	for (from = begin; from < len; from += size) {
		struct perf_event_header *header = (void *)(out + to);

		memcpy(out + to, data + from, sizeof(*header));
		size = header->size;
		memcpy(out + to, data + from, size - TRAILER);
		header->size -= TRAILER;
		to += header->size;
	}
	return to;
}

static void walk_any(void)
{
	size_t len = (take() << 8 | take()) & ~7ull, at = take() << 3, bytes;
	u64 position = take() ? take_u64() : on.writer.reserved, nr;
	unsigned char *data, *out, *found;
	struct perf_walk walk;

	at = at % on.writer.size;
	if (len > on.writer.size - at)
		len = on.writer.size - at;
	data = malloc(len + !len);
	out = malloc(len + !len);
	memcpy(data, on.writer.data + at, len);
	if (is_sized()) {
		bytes = model_strip(data, len, position, out, &nr);
		found = perf_records__strip(data + len, len, position, &walk);
		MUST(walk.bytes == bytes + nr * TRAILER);
		MUST(found == data + len - walk.bytes);
	} else {
		bytes = model_reverse(data, len, out, &nr);
		perf_records__reverse(data, len, &walk);
		found = data;
		MUST(walk.bytes == bytes);
	}
	MUST(walk.nr == nr && !memcmp(found, out, bytes));
	MUST(walk.bytes < len || !walk.truncated);
	free(data);
	free(out);
}

/*
 * Snapshots
 */

static void read_snapshot(unsigned int which)
{
	struct perf_snapshot *snapshot = on.snapshot[which];
	struct perf_snapshot_records records;
	union perf_event *event;
	u64 nr = 0, stream, accounts_for = snapshot->head - snapshot->account_from;
	bool again = snapshot->was_read;
	void *at;

	if (snapshot == on.copied)
		return;
	perf_snapshot__records(snapshot, &records);
	MUST(records.bytes <= on.writer.size);
	MUST(records.data >= snapshot->shadow);
	MUST(records.data + records.bytes <= snapshot->shadow + 2 * on.writer.size);
	stream = records.bytes + (is_sized() ? records.nr * TRAILER : 0);
	MUST(records.overwritten + records.malformed + stream == accounts_for);
	if (again)
		return;

	at = records.data;
	while ((event = perf_snapshot__read_event(snapshot))) {
		MUST(event == at);
		MUST(event->header.size >= sizeof(event->header));
		at += event->header.size;
		nr++;
		MUST((event == (void *)records.newest) == (nr == records.nr));
	}
	MUST(at == records.data + records.bytes && nr == records.nr);

	if (on.intact) {
		u64 first = 0, last = 0;

		MUST(!records.malformed);
		MUST(records_are_numbered(&records, on.writer.kind, &first, &last));
		MUST(!records.nr || last == on.next[which] - 1);
		MUST(records.overwritten || records.nr == on.next[which] - on.first[which]);
	}
}

static void settle(void)
{
	struct perf_snapshot *snapshot = on.copied;

	if (!snapshot)
		return;
	if (!on.ring->has_data_reserved)
		perf_grace__wait();
	snapshot->write_limit = perf_overwrite__write_limit(on.ring);
	perf_snapshot__settle(snapshot);
	on.next[snapshot == on.snapshot[1]] = on.taken_next = on.copied_next;
	on.copied = NULL;
}

static void begin_take(unsigned int which)
{
	const struct perf_snapshot *snapshot = on.snapshot[which];

	if (snapshot->was_read || snapshot->account_from == snapshot->head)
		on.first[which] = on.taken_next;
}

static void copy(unsigned int which)
{
	if (on.copied && on.copied != on.snapshot[which])
		settle();
	begin_take(which);
	on.copied = on.snapshot[which];
	perf_snapshot__copy(on.copied);
	on.copied_next = on.writer.next_published;
}

static void take_snapshot(unsigned int which)
{
	struct perf_snapshot_stats stats;
	u64 next, taken;

	settle();
	begin_take(which);
	next = on.writer.next_published;
	taken = on.ring->taken;
	perf_snapshot__take(&on.snapshot[which], 1, &stats);
	MUST(stats.written == on.ring->taken - taken && !stats.paused);
	MUST(stats.discarded <= on.writer.size);
	on.next[which] = on.taken_next = next;
}

static void write_record(void)
{
	size_t size = RECORD_MIN + 8 * take();

	if (take() % 16 == 0)
		size *= 16;
	if (size <= on.writer.size)
		ring_writer__write(&on.writer, size);
}

static void write_many(void)
{
	size_t size = RECORD_MIN + 8 * (take() % 16);
	unsigned int nr = take();

	while (nr--)
		ring_writer__write(&on.writer, size);
}

static void put_bytes(void)
{
	size_t at = (take() << 8 | take()) % on.writer.size, len = take() % 32;

	on.intact = false;
	while (len--)
		on.writer.data[at++ % on.writer.size] = take();
}

static void put_word(u64 *word)
{
	on.intact = false;
	switch (take() % 3) {
	case 0:
		*word = take_u64();
		break;
	case 1:
		*word += (signed char)take();
		break;
	default:
		*word += take() << 8;
		break;
	}
}

static void operate(void)
{
	unsigned int operation = take();

	switch (operation % 12) {
	case 0:
	case 1:
		write_record();
		break;
	case 2:
		write_many();
		break;
	case 3:
	case 4:
		ring_writer__publish(&on.writer);
		break;
	case 5:
		take_snapshot(operation / 16 % 2);
		break;
	case 6:
		copy(operation / 16 % 2);
		break;
	case 7:
		settle();
		break;
	case 8:
		read_snapshot(operation / 16 % 2);
		break;
	case 9:
		put_bytes();
		break;
	case 10:
		put_word(operation / 16 % 2 ?
			 (u64 *)&on.writer.page->data_head :
			 (u64 *)&on.writer.page->data_reserved[operation / 32 % 4]);
		break;
	case 11:
		walk_any();
		break;
	}
}

/* Reuse one snapshot per size: mapping it takes longer than a whole run. */
static struct perf_snapshot *snapshot_of(unsigned int which, unsigned int size_shift)
{
	static struct perf_snapshot *made[NR_SNAPSHOTS][NR_SIZES];
	struct perf_snapshot *snapshot = made[which][size_shift];

	if (!snapshot) {
		snapshot = made[which][size_shift] = perf_snapshot__new(on.ring);
		MUST(snapshot);
	}
	memset(snapshot->shadow, 0, on.writer.size);
	snapshot->ring = on.ring;
	snapshot->account_from = snapshot->start = snapshot->head = on.ring->taken;
	snapshot->was_read = false;
	return snapshot;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static const u64 positions[] = {
		0, 8, 4000, (1ull << 32) - 400, (1ull << 48) - 80, (1ull << 48) - 4000,
		-8ull, -1600ull,
	};
	unsigned int what, size_shift, i;

	input = data;
	input_left = size;
	what = take();
	size_shift = what / 4 % NR_SIZES;
	on.intact = true;
	on.copied = NULL;
	ring_writer__init(&on.writer, what % 2 ? PERF_OVERWRITE_SIZED : PERF_OVERWRITE_BACKWARD,
			  4096u << size_shift, positions[take() % 8]);
	on.ring = ring_writer__reader(&on.writer);
	on.ring->has_data_reserved = is_sized() || what / 2 % 2;
	for (i = 0; i < NR_SNAPSHOTS; i++) {
		on.snapshot[i] = snapshot_of(i, size_shift);
		on.first[i] = on.next[i] = 0;
	}
	on.taken_next = 0;

	while (input_left)
		operate();
	settle();
	for (i = 0; i < NR_SNAPSHOTS; i++)
		read_snapshot(i);

	perf_overwrite__delete(on.ring);
	ring_writer__exit(&on.writer);
	return 0;
}
