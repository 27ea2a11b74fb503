// SPDX-License-Identifier: GPL-2.0-only
/*
 * Restore the ids of samples, in a ring that wraps at each offset.
 * tags: fast parallel
 *
 * Prints KTAP.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>
#include "util/evlist.h"
#include "util/evsel.h"

#include "recording/lib/records.h"
#include "recording/ring/channel.h"
#include "recording/ring/drain.h"
#include "recording/ring/sample_ids.h"
#include "perf/tests/tap.h"

enum { OWN = 11, FOREIGN = 4711 };

static struct evlist evlist = { .id_pos = 1 };
static struct evsel owner = { .evlist = &evlist };
static struct ring ring = { .owner = &owner };

struct perf_sample_id *evlist__id2sid(struct evlist *list, u64 id)
{
	static struct perf_sample_id sid;

	(void)list;
	return id == OWN ? &sid : NULL;
}

static u64 lost;

void ring_stats__lose(struct ring_stats *stats, u64 nr, u64 before, u64 at)
{
	(void)stats, (void)before, (void)at;
	lost += nr;
}

struct record {
	struct perf_event_header header;
	u64			 ip;
	u64			 id;
	u64			 nr;
};

struct bytes {
	unsigned char		 byte[1024];
	size_t			 len;
};

static struct bytes in, wanted, out;
static int nr_calls, fail_at;

static void put(struct bytes *to, u32 type, u64 id)
{
	const struct record record = { { type, 0, sizeof(record) }, 1, id, to->len };

	memcpy(to->byte + to->len, &record, sizeof(record));
	to->len += sizeof(record);
}

static int take(struct record_sink *sink, const struct records *records, struct ring *from)
{
	(void)sink, (void)from;
	if (++nr_calls == fail_at)
		return -ENOSPC;
	records__copy(records, 0, out.byte + out.len, records__len(records));
	out.len += records__len(records);
	return nr_calls == 2 ? SINK_WAKE_RECORDER : 0;
}

static struct record_sink sink = { take };

/* Use the heap, where the sanitizer sees each read behind the end. */
static int pass_divided_at(size_t cut)
{
	unsigned char *first = malloc(cut ?: 1), *second = malloc(in.len - cut ?: 1);
	struct records records = { .part = { { first, cut }, { second, in.len - cut } } };
	int ret;

	memcpy(first, in.byte, cut);
	memcpy(second, in.byte + cut, in.len - cut);
	out.len = nr_calls = lost = 0;
	ret = sample_ids__pass(&records, &sink, &ring);
	free(first);
	free(second);
	return ret;
}

static bool passes(u64 nr_lost)
{
	size_t cut;

	for (cut = 0; cut <= in.len; cut += 8)
		if (pass_divided_at(cut) < 0 || lost != nr_lost || out.len != wanted.len ||
		    memcmp(out.byte, wanted.byte, out.len))
			return false;
	return true;
}

/* Samples, and a record of another kind, whose third word is no id */
static void put_all(void)
{
	static const u64 ids[] = { FOREIGN, OWN, OWN, FOREIGN, FOREIGN, OWN, FOREIGN };
	size_t i;

	in.len = wanted.len = 0;
	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		put(&in, PERF_RECORD_SAMPLE, ids[i]);
		put(&in, PERF_RECORD_FORK, FOREIGN);
	}
}

static void want_restored(void)
{
	size_t at;

	memcpy(&wanted, &in, sizeof(in));
	for (at = 0; at < wanted.len; at += sizeof(struct record)) {
		struct record *record = (void *)wanted.byte + at;

		if (record->header.type == PERF_RECORD_SAMPLE)
			record->id = OWN;
	}
}

static void want_own(void)
{
	size_t at;

	wanted.len = 0;
	for (at = 0; at < in.len; at += sizeof(struct record)) {
		const struct record *record = (void *)in.byte + at;

		if (record->header.type == PERF_RECORD_SAMPLE && record->id == FOREIGN)
			continue;
		memcpy(wanted.byte + wanted.len, record, sizeof(*record));
		wanted.len += sizeof(*record);
	}
}

int main(void)
{
	int nr;
	bool ok = true;

	put_all();
	memcpy(&wanted, &in, sizeof(in));
	check(passes(0) && nr_calls == 1,
	      "rings without software events are passed on as they are");

	ring.sw_event = &owner;
	ring.sw_id = OWN;
	want_restored();
	check(passes(0), "samples get the id of the only software event");
	check(pass_divided_at(0) == SINK_WAKE_RECORDER, "an answer of the sink is returned");
	for (nr = 1; nr <= 5; nr++) {
		fail_at = nr;
		ok = ok && pass_divided_at(0) == -ENOSPC && nr_calls == nr;
	}
	fail_at = 0;
	check(ok, "an error of the sink ends the call");

	ring.sw_id = 0;
	want_own();
	check(passes(4), "beside another software event they are left out and counted");
	return tap_end();
}
