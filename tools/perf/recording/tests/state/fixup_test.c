// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fix up records with a wrong size or a wrong flag, in a ring that wraps at each offset.
 * tags: fast parallel
 *
 * Prints KTAP.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <perf/event.h>
#include "util/evlist.h"
#include "util/evsel.h"

#include "recording/lib/records.h"
#include "recording/ring/drain.h"
#include "recording/state/fixup.h"
#include "perf/tests/tap.h"

/*
 * Events: one with samples, the side-band event, and one with TEXT_POKE records and a longer sample
 * id
 */

enum { SAMPLES, SIDEBAND, TEXT_POKE, NR_EVENTS };

#define FIRST_ID	4711
#define ID_OF(event)	(FIRST_ID + (event))
#define ID_SIZE		24
#define LONG_ID_SIZE	32

static struct evlist evlist = { .is_pos = 1 };
static struct evsel events[NR_EVENTS];

u16 evsel__id_hdr_size(const struct evsel *evsel)
{
	return evsel == &events[TEXT_POKE] ? LONG_ID_SIZE : ID_SIZE;
}

struct perf_sample_id *evlist__id2sid(struct evlist *list, u64 id)
{
	static struct perf_sample_id sids[NR_EVENTS];
	u64 event = id - FIRST_ID;

	(void)list;
	if (event >= NR_EVENTS)
		return NULL;
	sids[event].evsel = &events[event].core;
	return &sids[event];
}

static void set_up_events(void)
{
	int i;

	INIT_LIST_HEAD(&evlist.core.entries);
	for (i = 0; i < NR_EVENTS; i++) {
		events[i].core.attr.sample_id_all = 1;
		list_add_tail(&events[i].core.node, &evlist.core.entries);
	}
	events[SIDEBAND].core.attr.ksymbol = 1;
	events[SIDEBAND].core.attr.bpf_event = 1;
	events[TEXT_POKE].core.attr.text_poke = 1;
}

/*
 * Records, as they lie in a ring, and as the sink must get them
 */

struct bytes {
	unsigned char	byte[4096];
	size_t		len;
};

static struct bytes ring, wanted;
static union fixup_copy copy;

static void append(struct bytes *bytes, const void *from, size_t len)
{
	memcpy(bytes->byte + bytes->len, from, len);
	bytes->len += len;
}

/*
 * Append a record. @body: header and fields before the sample id, of @size bytes. @excess: number
 * of bytes that the kernel added to the size and did not write; they have sample ids in them as
 * well.
 */
static void put(const void *body, size_t size, int event, size_t excess, bool is_fixed_up)
{
	union perf_event record;
	u64 *word;
	size_t len = size + evsel__id_hdr_size(&events[event]);

	memset(&record, 0, len);
	memcpy(&record, body, size);
	record.header.size = len;
	word = (void *)&record + len;
	word[-1] = ID_OF(event);
	for (size_t i = 0; i < excess / sizeof(u64); i++)
		word[i] = ID_OF(i % NR_EVENTS);
	if (is_fixed_up)
		append(&wanted, &record, len);
	record.header.size += excess;
	append(&ring, &record, len + excess);
	if (!is_fixed_up)
		append(&wanted, &record, len + excess);
}

static void put_ksymbol(const char *name, size_t excess)
{
	struct perf_record_ksymbol body = { .header.type = PERF_RECORD_KSYMBOL };
	size_t size = offsetof(struct perf_record_ksymbol, name) + round_up(strlen(name) + 1, 8);

	strcpy(body.name, name);
	put(&body, size, SIDEBAND, excess, true);
}

static void put_bpf_event(int event, size_t excess, bool is_fixed_up)
{
	struct perf_record_bpf_event body = { .header.type = PERF_RECORD_BPF_EVENT, .id = 42 };

	put(&body, sizeof(body), event, excess, is_fixed_up);
}

static void put_text_poke(unsigned int old_len, unsigned int new_len, size_t excess)
{
	struct {
		struct perf_record_text_poke_event poke;
		u8 bytes[64];
	} body = { .poke.header.type = PERF_RECORD_TEXT_POKE };
	size_t size = offsetof(struct perf_record_text_poke_event, bytes) + old_len + new_len;

	body.poke.old_len = old_len;
	body.poke.new_len = new_len;
	memset(body.poke.bytes, 0xcc, old_len + new_len);
	put(&body, round_up(size, 8), TEXT_POKE, excess, true);
}

static void put_mmap2(u16 misc, u16 wanted_misc)
{
	struct perf_record_mmap2 body = {
		.header = { .type = PERF_RECORD_MMAP2, .misc = misc },
		.pid = 1,
		.filename = "/usr/bin/true",
	};
	size_t size = round_up(offsetof(struct perf_record_mmap2, filename) +
			       strlen(body.filename) + 1, 8);
	size_t at = wanted.len;

	put(&body, size, SIDEBAND, 0, true);
	((struct perf_event_header *)(wanted.byte + at))->misc = wanted_misc;
}

static void put_fork(void)
{
	struct perf_record_fork body = { .header.type = PERF_RECORD_FORK, .pid = 1 };

	put(&body, sizeof(body), SIDEBAND, 0, true);
}

/* A record that is wanted if @pid is not 0. The task of a sample may be 0. */
static void put_of(u32 type, u32 pid)
{
	struct perf_record_comm body = { .header.type = type, .pid = pid };
	size_t at = wanted.len;

	put(&body, sizeof(body), SIDEBAND, 0, true);
	if (!pid && type != PERF_RECORD_SAMPLE)
		wanted.len = at;
}

static void begin(void)
{
	ring.len = wanted.len = 0;
}

/*
 * Records that the sink gets
 */

static int take(struct record_sink *sink, const struct records *records, struct ring *ring);

static struct record_sink taker = { take };
static struct bytes got;
static struct records last;
static unsigned int nr_calls, fail_at;

static int take(struct record_sink *sink, const struct records *records, struct ring *ring)
{
	(void)sink, (void)ring;
	if (++nr_calls == fail_at || !records__len(records))
		return -ENOSPC;
	last = *records;
	records__copy(records, 0, got.byte + got.len, records__len(records));
	got.len += records__len(records);
	return 0;
}

/* Use the heap, where the sanitizer sees each read behind the end. */
static bool fixes_up_divided_at(size_t cut)
{
	unsigned char *first = malloc(cut ?: 1), *second = malloc(ring.len - cut ?: 1);
	struct records records = { .part = { { first, cut }, { second, ring.len - cut } } };
	int err;

	memcpy(first, ring.byte, cut);
	memcpy(second, ring.byte + cut, ring.len - cut);
	got.len = nr_calls = 0;
	err = fixup__pass(&evlist, &records, &copy, &taker, NULL);
	free(first);
	free(second);
	return !err && got.len == wanted.len && !memcmp(got.byte, wanted.byte, got.len);
}

static bool fixes_up(void)
{
	size_t cut;

	for (cut = 0; cut <= ring.len; cut += 8)
		if (!fixes_up_divided_at(cut))
			return false;
	return true;
}

static void test_each_kind(void)
{
	size_t excess, name;
	bool ok = true;

	for (excess = 0; excess <= 160; excess += 8) {
		for (name = 0; name < 20; name++) {
			begin();
			put_ksymbol("bpf_prog_of_some_name" + name, excess);
			ok = ok && fixes_up();
		}
	}
	check(ok, "KSYMBOL with names and excess of all lengths");

	for (ok = true, excess = 0; excess <= 160; excess += 8) {
		begin();
		put_bpf_event(SIDEBAND, excess, true);
		ok = ok && fixes_up();
	}
	check(ok, "BPF_EVENT with excess of all lengths");

	for (ok = true, excess = 0; excess <= 160; excess += 8) {
		begin();
		put_text_poke(excess % 11, excess % 7, excess);
		ok = ok && fixes_up();
	}
	check(ok, "TEXT_POKE with a longer sample id");
}

static void test_build_id(void)
{
	const u16 flag = PERF_RECORD_MISC_MMAP_BUILD_ID;
	bool ok;

	begin();
	put_mmap2(flag | PERF_RECORD_MISC_USER, PERF_RECORD_MISC_USER);
	put_fork();
	put_mmap2(PERF_RECORD_MISC_USER, PERF_RECORD_MISC_USER);
	put_mmap2(flag | PERF_RECORD_MISC_MMAP_DATA, PERF_RECORD_MISC_MMAP_DATA);
	ok = fixes_up();

	begin();
	put_fork();
	put_mmap2(flag | PERF_RECORD_MISC_USER, flag | PERF_RECORD_MISC_USER);
	events[SIDEBAND].core.attr.build_id = 1;
	ok = ok && fixes_up() && nr_calls == 1;
	events[SIDEBAND].core.attr.build_id = 0;
	check(ok, "MMAP2 claims a build-id only if an event asked for build-ids");
}

static void test_among_others(void)
{
	begin();
	put_bpf_event(SIDEBAND, 72, true);
	put_ksymbol("first", 8);
	put_fork();
	put_fork();
	put_bpf_event(SIDEBAND, 0, true);
	put_ksymbol("in the middle", 40);
	put_text_poke(5, 5, 24);
	put_fork();
	put_bpf_event(SIDEBAND, 72, true);
	check(fixes_up(),
	      "records with excess at the beginning, at the end, in the middle, and in a row");
}

static void test_untouched(void)
{
	struct records records;
	size_t cut;
	bool ok = true;

	begin();
	put_fork();
	put_ksymbol("right", 0);
	put_bpf_event(SIDEBAND, 0, true);
	put_text_poke(1, 5, 0);
	put_fork();
	for (cut = 0; cut <= ring.len; cut += 8)
		ok = ok && fixes_up_divided_at(cut) && nr_calls == 1;
	records = records__of(ring.byte, ring.len);
	fixup__pass(&evlist, &records, &copy, &taker, NULL);
	check(ok && last.part[0].iov_base == ring.byte && last.part[0].iov_len == ring.len,
	      "without excess the sink gets the ring itself, in one call");

	begin();
	put_bpf_event(SAMPLES, 16, false);
	put_bpf_event(TEXT_POKE, 16, false);
	check(fixes_up(), "a record is not shortened if its id is not that of a side-band event");

	begin();
	check(fixes_up_divided_at(0) && !nr_calls, "the sink is not called for an empty run");
}

static void test_outsiders(void)
{
	static const u32 types[] = {
		PERF_RECORD_COMM, PERF_RECORD_FORK, PERF_RECORD_EXIT, PERF_RECORD_MMAP,
		PERF_RECORD_MMAP2, PERF_RECORD_NAMESPACES, PERF_RECORD_SAMPLE,
	};
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		put_of(types[i], 0);
		put_of(types[i], 7);
		put_ksymbol("name", 40);
	}
	put_of(PERF_RECORD_COMM, 0);
	check(fixes_up(), "records of tasks outside the PID namespace are dropped");

	begin();
	put_of(PERF_RECORD_COMM, 0);
	check(fixes_up_divided_at(0) && !nr_calls, "the sink is not called if none is left");
}

static void test_errors(void)
{
	struct records records;
	unsigned int nr;
	bool ok = true;

	begin();
	put_fork();
	put_ksymbol("name", 40);
	put_fork();
	records = records__of(ring.byte, ring.len);
	for (nr = 1; nr <= 3; nr++) {
		got.len = nr_calls = 0;
		fail_at = nr;
		ok = ok && fixup__pass(&evlist, &records, &copy, &taker, NULL) == -ENOSPC &&
		     nr_calls == nr;
	}
	fail_at = 0;
	check(ok, "an error of the sink ends the call");

	/* The sink has to handle what is no record. */
	begin();
	put_ksymbol("name", 40);
	append(&ring, (u64[1]){ 0 }, 8);
	append(&wanted, (u64[1]){ 0 }, 8);
	check(fixes_up(), "bytes that are no record are passed unchanged");

	/* A record of a broken kernel, with a name that is not terminated. */
	begin();
	put_ksymbol("name", 0);
	memset(ring.byte + 24, 'x', ring.len - 24);
	memcpy(wanted.byte, ring.byte, ring.len);
	check(fixes_up(), "a record with an unterminated name is passed unchanged");
}

int main(void)
{
	set_up_events();
	test_each_kind();
	test_build_id();
	test_among_others();
	test_untouched();
	test_outsiders();
	test_errors();
	return tap_end();
}
