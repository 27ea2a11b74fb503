// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/zalloc.h>
#include "recording/lib/compat.h"
#include "util/addr_location.h"
#include "util/build-id.h"
#include "util/callchain.h"
#include "util/dso.h"
#include "util/event.h"
#include "util/evsel.h"
#include "util/machine.h"
#include "util/map.h"
#include "util/sample.h"
#include "util/symbol.h"
#include "util/thread.h"
#include "intern.h"
#include "samples.h"

#define MAX_FRAMES	1024
#define MAX_TABLE	(32 << 20)	/* memory of a table, until it is cleared [bytes] */

/**
 * struct sample_table - an event
 * @intern:	what was interned
 * @interned:	what must be written before the sample
 * @counts:	for each CPU, the sum of the periods of its samples
 * @nr_counts:	number of @counts
 * @is_new:	nothing was written since the table was cleared
 */
struct sample_table {
	struct intern	 intern;
	struct proto	 interned;
	u64		*counts;
	unsigned int	 nr_counts;
	bool		 is_new;
};

void samples__init(struct samples *samples, struct packets *packets)
{
	*samples = (struct samples){ .packets = packets };
}

void samples__exit(struct samples *samples)
{
	unsigned int i;

	for (i = 0; i < samples->nr_tables; i++) {
		struct sample_table *table = samples->tables[i];

		if (!table)
			continue;
		intern__clear(&table->intern);
		proto__exit(&table->interned);
		free(table->counts);
		free(table);
	}
	zfree(&samples->tables);
	samples->nr_tables = 0;
}

static struct sample_table *table_of(struct samples *samples, unsigned int index)
{
	struct sample_table **tables;
	unsigned int nr = index + 1;

	if (nr > samples->nr_tables) {
		tables = realloc(samples->tables, nr * sizeof(*tables));
		if (!tables)
			return NULL;
		memset(tables + samples->nr_tables, 0,
		       (nr - samples->nr_tables) * sizeof(*tables));
		samples->tables = tables;
		samples->nr_tables = nr;
	}
	if (!samples->tables[index]) {
		samples->tables[index] = zalloc(sizeof(struct sample_table));
		if (samples->tables[index])
			samples->tables[index]->is_new = true;
	}
	return samples->tables[index];
}

/* ---- interned data: each function returns the number of the value, or 0 if memory is short */

static u64 intern_bytes(struct sample_table *table, unsigned int kind, const void *bytes,
			size_t len)
{
	bool is_new;
	u64 id = intern__id(&table->intern, kind, bytes, len, &is_new);
	size_t begin;

	if (!is_new)
		return id;
	begin = proto__begin(&table->interned, kind);
	proto__number(&table->interned, INTERNED_ID, id);
	proto__bytes(&table->interned, STRING_BYTES, bytes, len);
	proto__end(&table->interned, begin);
	return id;
}

static u64 intern_mapping(struct sample_table *table, struct dso *dso)
{
	const char *path = dso__long_name(dso) ?: dso__short_name(dso);
	struct { u64 path, build_id; } key = { 0 };
	bool is_new;
	size_t begin;
	u64 id;

	key.path = intern_bytes(table, INTERNED_PATH, path, strlen(path));
	if (dso__has_build_id(dso))
		key.build_id = intern_bytes(table, INTERNED_BUILD_ID, dso__bid(dso)->data,
					    dso__bid(dso)->size);
	id = intern__id(&table->intern, INTERNED_MAPPING, &key, sizeof(key), &is_new);
	if (!is_new)
		return id;
	begin = proto__begin(&table->interned, INTERNED_MAPPING);
	proto__number(&table->interned, INTERNED_ID, id);
	if (key.build_id)
		proto__number(&table->interned, MAPPING_BUILD_ID, key.build_id);
	proto__number(&table->interned, MAPPING_PATH, key.path);
	proto__end(&table->interned, begin);
	return id;
}

static u64 intern_frame(struct sample_table *table, u64 ip, struct map *map,
			const struct symbol *sym)
{
	const char *name = sym ? sym->name : "[unknown]";
	struct { u64 function, mapping, address; } key = { .address = ip };
	bool is_new;
	size_t begin;
	u64 id;

	key.function = intern_bytes(table, INTERNED_FUNCTION, name, strlen(name));
	if (map) {
		key.mapping = intern_mapping(table, map__dso(map));
		key.address = map__map_ip(map, ip);
	}
	id = intern__id(&table->intern, INTERNED_FRAME, &key, sizeof(key), &is_new);
	if (!is_new)
		return id;
	begin = proto__begin(&table->interned, INTERNED_FRAME);
	proto__number(&table->interned, INTERNED_ID, id);
	proto__number(&table->interned, FRAME_FUNCTION, key.function);
	if (key.mapping)
		proto__number(&table->interned, FRAME_MAPPING, key.mapping);
	proto__number(&table->interned, FRAME_ADDRESS, key.address);
	proto__end(&table->interned, begin);
	return id;
}

/* @frames: innermost first */
static u64 intern_stack(struct sample_table *table, const u64 *frames, unsigned int nr)
{
	bool is_new;
	u64 id = intern__id(&table->intern, INTERNED_CALLSTACK, frames, nr * sizeof(*frames),
			    &is_new);
	size_t begin;

	if (!is_new)
		return id;
	begin = proto__begin(&table->interned, INTERNED_CALLSTACK);
	proto__number(&table->interned, INTERNED_ID, id);
	while (nr)
		proto__number(&table->interned, CALLSTACK_FRAME, frames[--nr]);
	proto__end(&table->interned, begin);
	return id;
}

/* ---- samples */

static unsigned int read_callchain(struct sample_table *table, struct evsel *evsel,
				   struct perf_sample *sample, struct thread *thread, u64 *frames)
{
	struct callchain_cursor *cursor = get_tls_callchain_cursor();
	struct callchain_cursor_node *node;
	unsigned int nr = 0;

	if (!thread || !sample->callchain || !cursor ||
	    resolve_callchain(thread, cursor, evsel, sample, PERF_MAX_STACK_DEPTH))
		return 0;
	callchain_cursor_commit(cursor);
	while (nr < MAX_FRAMES && (node = callchain_cursor_current(cursor)) != NULL) {
		frames[nr++] = intern_frame(table, node->ip, node->ms.map, node->ms.sym);
		callchain_cursor_advance(cursor);
	}
	return nr;
}

static unsigned int read_place(struct sample_table *table, struct perf_sample *sample,
			       struct machine *machine, u64 *frames)
{
	struct addr_location al;
	unsigned int nr = 0;

	addr_location__init(&al);
	if (machine__resolve(machine, &al, sample) >= 0)
		frames[nr++] = intern_frame(table, sample->ip, al.map, al.sym);
	addr_location__exit(&al);
	return nr;
}

/* Return: the number of the stack, 0 if there is none. */
static u64 read_stack(struct sample_table *table, struct evsel *evsel, struct perf_sample *sample,
		      struct machine *machine, struct thread *thread)
{
	u64 frames[MAX_FRAMES];
	unsigned int nr = read_callchain(table, evsel, sample, thread, frames);

	if (!nr && evsel->core.attr.sample_type & PERF_SAMPLE_IP && sample->ip)
		nr = read_place(table, sample, machine, frames);
	return nr ? intern_stack(table, frames, nr) : 0;
}

/* Sum up the periods, which tell how often the event has occurred. */
static u64 count(struct sample_table *table, const struct perf_sample *sample, int cpu)
{
	unsigned int index = cpu + 1;
	u64 *counts;

	if (index >= table->nr_counts) {
		counts = realloc(table->counts, (index + 1) * sizeof(*counts));
		if (!counts)
			return 0;
		memset(counts + table->nr_counts, 0,
		       (index + 1 - table->nr_counts) * sizeof(*counts));
		table->counts = counts;
		table->nr_counts = index + 1;
	}
	return table->counts[index] += sample->period;
}

static void write_defaults(struct proto *packet, struct evsel *evsel)
{
	const struct perf_event_attr *attr = &evsel->core.attr;
	size_t defaults = proto__begin(packet, PACKET_DEFAULTS);
	size_t sample = proto__begin(packet, DEFAULTS_PERF_SAMPLE);
	size_t timebase = proto__begin(packet, SAMPLE_DEFAULTS_TIMEBASE);
	size_t raw;

	if (attr->freq)
		proto__number(packet, TIMEBASE_FREQUENCY, attr->sample_freq);
	else
		proto__number(packet, TIMEBASE_PERIOD, attr->sample_period);
	raw = proto__begin(packet, TIMEBASE_RAW_EVENT);
	proto__number(packet, RAW_TYPE, attr->type);
	proto__number(packet, RAW_CONFIG, attr->config);
	proto__end(packet, raw);
	proto__text(packet, TIMEBASE_NAME, evsel__name(evsel), SIZE_MAX);
	proto__end(packet, timebase);
	proto__end(packet, sample);
	proto__end(packet, defaults);
}

static void write_sample(struct proto *packet, const struct perf_sample *sample,
			 const struct moment *at, u64 stack, u64 sum)
{
	size_t begin = proto__begin(packet, PACKET_PERF_SAMPLE);

	if (at->cpu >= 0)
		proto__number(packet, SAMPLE_CPU, at->cpu);
	if (at->tid >= 0) {
		proto__number(packet, SAMPLE_PID, at->pid >= 0 ? at->pid : at->tid);
		proto__number(packet, SAMPLE_TID, at->tid);
	}
	if (stack)
		proto__number(packet, SAMPLE_CALLSTACK, stack);
	if (sample->cpumode == PERF_RECORD_MISC_KERNEL || sample->cpumode == PERF_RECORD_MISC_USER)
		proto__number(packet, SAMPLE_CPU_MODE,
			      sample->cpumode == PERF_RECORD_MISC_USER ? MODE_USER : MODE_KERNEL);
	if (sum)
		proto__number(packet, SAMPLE_COUNT, sum);
	proto__end(packet, begin);
}

int samples__add(struct samples *samples, struct evsel *evsel, struct perf_sample *sample,
		 const struct moment *at, struct machine *machine, struct thread *thread)
{
	struct sample_table *table = table_of(samples, evsel->core.idx);
	struct proto *packet;
	size_t begin;
	u64 stack;

	if (!table)
		return -ENOMEM;
	if (table->intern.bytes > MAX_TABLE) {
		intern__clear(&table->intern);
		table->is_new = true;
	}
	table->interned.len = 0;
	stack = read_stack(table, evsel, sample, machine, thread);
	if (table->interned.failed)
		return -ENOMEM;
	packet = packets__begin(samples->packets, SEQUENCE_OF_EVENT + evsel->core.idx, at->time);
	proto__number(packet, PACKET_SEQUENCE_FLAGS,
		      SEQUENCE_NEEDS_STATE | (table->is_new ? SEQUENCE_CLEARED : 0));
	if (table->is_new)
		write_defaults(packet, evsel);
	if (table->interned.len) {
		begin = proto__begin(packet, PACKET_INTERNED_DATA);
		proto__append(packet, &table->interned);
		proto__end(packet, begin);
	}
	write_sample(packet, sample, at, stack, count(table, sample, at->cpu));
	table->is_new = false;
	return packets__end(samples->packets);
}
