// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include <traceevent/event-parse.h>
#include "recording/lib/compat.h"
#include "util/convert/fields.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/sample.h"
#include "ftrace.h"

#define MAX_BUNDLE	(64 << 10)	/* of encoded events [bytes] */
#define MAX_FIELDS	8

/* Fields that several events have in common */
#define WAKEUP { "comm", 1 }, { "pid", 2 }, { "prio", 3 }, { "success", 4 }, { "target_cpu", 5 }
#define SOFTIRQ { "vec", 1 }

static const struct known_event {
	const char	*system;
	const char	*name;
	unsigned int	 number;
	struct {
		const char	*name;
		unsigned int	 number;
	} fields[MAX_FIELDS];
} known_events[] = {
	{ "sched", "sched_switch", FTRACE_SCHED_SWITCH, {
		{ "prev_comm", 1 }, { "prev_pid", 2 }, { "prev_prio", 3 }, { "prev_state", 4 },
		{ "next_comm", 5 }, { "next_pid", 6 }, { "next_prio", 7 } } },
	{ "sched", "sched_wakeup", FTRACE_SCHED_WAKEUP, { WAKEUP } },
	{ "sched", "sched_wakeup_new", FTRACE_SCHED_WAKEUP_NEW, { WAKEUP } },
	{ "sched", "sched_waking", FTRACE_SCHED_WAKING, { WAKEUP } },
	{ "irq", "softirq_entry", FTRACE_SOFTIRQ_ENTRY, { SOFTIRQ } },
	{ "irq", "softirq_exit", FTRACE_SOFTIRQ_EXIT, { SOFTIRQ } },
	{ "irq", "softirq_raise", FTRACE_SOFTIRQ_RAISE, { SOFTIRQ } },
	{ "irq", "irq_handler_entry", FTRACE_IRQ_HANDLER_ENTRY, { { "irq", 1 }, { "name", 2 } } },
	{ "irq", "irq_handler_exit", FTRACE_IRQ_HANDLER_EXIT, { { "irq", 1 }, { "ret", 2 } } },
	{ "raw_syscalls", "sys_enter", FTRACE_SYS_ENTER, { { "id", 1 }, { "args", 2 } } },
	{ "raw_syscalls", "sys_exit", FTRACE_SYS_EXIT, { { "id", 1 }, { "ret", 2 } } },
};

/**
 * struct layout - how the samples of a tracepoint are written; event_fields->converter
 * @number:	of the event in enum ftrace_event_fields
 * @nr:		number of @fields; unused if the event is generic
 * @fields:	fields to write with their numbers
 */
struct layout {
	unsigned int	number;
	unsigned int	nr;
	struct {
		struct tep_format_field	*field;
		unsigned int		 number;
	} fields[16];
};

static void add_field(struct layout *layout, struct tep_format_field *field, unsigned int number)
{
	if (layout->nr == ARRAY_SIZE(layout->fields))
		return;
	layout->fields[layout->nr].field = field;
	layout->fields[layout->nr++].number = number;
}

static unsigned int number_of_field(const struct known_event *known, const char *name)
{
	int i;

	for (i = 0; i < MAX_FIELDS && known->fields[i].name; i++) {
		if (!strcmp(known->fields[i].name, name))
			return known->fields[i].number;
	}
	return 0;
}

/* Return: false if the format has a field that the message of Perfetto lacks. */
static bool lay_out(struct layout *layout, const struct known_event *known,
		    const struct tep_event *format)
{
	struct tep_format_field *field;
	unsigned int number;

	for (field = format->format.fields; field; field = field->next) {
		number = number_of_field(known, field->name);
		if (!number)
			return false;
		add_field(layout, field, number);
	}
	layout->number = known->number;
	return true;
}

/* syscalls:sys_enter_*: the number of the system call, and each argument in a field of its own */
static void lay_out_syscall(struct layout *layout, const struct tep_event *format, bool enter)
{
	struct tep_format_field *field;

	for (field = format->format.fields; field; field = field->next)
		add_field(layout, field, strcmp(field->name, "__syscall_nr") ? 2 : 1);
	layout->number = enter ? FTRACE_SYS_ENTER : FTRACE_SYS_EXIT;
}

static struct layout *new_layout(const struct ftrace *ftrace, const struct event_fields *fields,
				 const struct tep_event *format)
{
	struct layout *layout = zalloc(sizeof(*layout));
	bool enter = fields->kind == SAMPLE_SYSCALL_ENTER;
	const struct known_event *known;

	if (!layout)
		return NULL;
	layout->number = FTRACE_GENERIC;
	if (!format)
		return layout;
	if (fields->syscall && !(enter ? ftrace->raw_enter : ftrace->raw_exit)) {
		lay_out_syscall(layout, format, enter);
		return layout;
	}
	for (known = known_events; known < known_events + ARRAY_SIZE(known_events); known++) {
		if (strcmp(format->name, known->name) || strcmp(format->system, known->system))
			continue;
		if (!lay_out(layout, known, format))
			layout->number = FTRACE_GENERIC;
		break;
	}
	return layout;
}

void ftrace__init(struct ftrace *ftrace, struct packets *packets)
{
	*ftrace = (struct ftrace){ .packets = packets };
}

void ftrace__exit(struct ftrace *ftrace)
{
	unsigned int i;

	for (i = 0; i < ftrace->nr_bundles; i++)
		proto__exit(&ftrace->bundles[i]);
	zfree(&ftrace->bundles);
	ftrace->nr_bundles = 0;
}

void ftrace__prepare(struct ftrace *ftrace, struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		const struct event_fields *fields = fields__get(evsel);

		if (!fields || fields->syscall)
			continue;
		ftrace->raw_enter |= fields->kind == SAMPLE_SYSCALL_ENTER;
		ftrace->raw_exit |= fields->kind == SAMPLE_SYSCALL_EXIT;
	}
}

/* ---- events */

static void write_text(void *arg, const char *name, const char *text, size_t size)
{
	struct proto *event = arg;
	size_t begin = proto__begin(event, GENERIC_FIELD);

	proto__text(event, FIELD_NAME, name, SIZE_MAX);
	proto__text(event, FIELD_TEXT, text, size);
	proto__end(event, begin);
}

static void write_number(void *arg, const char *name, s64 number, bool hex)
{
	struct proto *event = arg;
	size_t begin = proto__begin(event, GENERIC_FIELD);

	proto__text(event, FIELD_NAME, name, SIZE_MAX);
	proto__number(event, hex ? FIELD_UNSIGNED : FIELD_SIGNED, number);
	proto__end(event, begin);
}

static void write_hex(struct proto *event, const char *name, const unsigned char *data, size_t size)
{
	size_t begin = proto__begin(event, GENERIC_FIELD);

	proto__text(event, FIELD_NAME, name, SIZE_MAX);
	proto__hex(event, FIELD_TEXT, data, size);
	proto__end(event, begin);
}

/* Perfetto's generic events have no arrays. */
static void write_array(struct proto *event, struct evsel *evsel, const struct perf_sample *sample,
			struct tep_format_field *field)
{
	struct tep_format_field element;
	unsigned int i, count = fields__array(evsel, sample, field, &element);
	char name[64];

	if (count && element.size == 1) {
		write_hex(event, field->name, (unsigned char *)sample->raw_data + element.offset,
			  count);
		return;
	}
	for (i = 0; i < count; i++, element.offset += element.size) {
		snprintf(name, sizeof(name), "%s[%u]", field->name, i);
		write_number(event, name, fields__number(evsel, sample, &element, 0),
			     !(element.flags & TEP_FIELD_IS_SIGNED));
	}
}

/*
 * Samples of bpf-output, and of tracepoints without a format, have data that only their users know.
 */
static void write_generic(struct proto *event, struct evsel *evsel,
			  const struct perf_sample *sample)
{
	static const struct field_sink sink = { .text = write_text, .number = write_number };
	const struct tep_event *format = evsel->core.attr.type == PERF_TYPE_TRACEPOINT ?
					 evsel__tp_format(evsel) : NULL;
	struct tep_format_field *field;

	proto__text(event, GENERIC_NAME, evsel__name(evsel), SIZE_MAX);
	fields__pass(evsel, sample, &sink, event);
	for (field = format ? format->format.fields : NULL; field; field = field->next) {
		if (field->flags & TEP_FIELD_IS_ARRAY && !fields__is_text(field))
			write_array(event, evsel, sample, field);
	}
	if (!format && sample->raw_size)
		write_hex(event, "data", sample->raw_data, sample->raw_size);
}

static void write_known(struct proto *event, const struct layout *layout, struct evsel *evsel,
			const struct perf_sample *sample)
{
	struct tep_format_field element;
	unsigned int i, j, count;

	for (i = 0; i < layout->nr; i++) {
		struct tep_format_field *field = layout->fields[i].field;
		unsigned int number = layout->fields[i].number;
		const char *text;
		size_t size;

		if (fields__is_text(field)) {
			text = fields__text(evsel, sample, field, &size);
			if (text)
				proto__text(event, number, text, size);
		} else if (field->flags & TEP_FIELD_IS_ARRAY) {
			count = fields__array(evsel, sample, field, &element);
			for (j = 0; j < count; j++, element.offset += element.size)
				proto__number(event, number,
					      fields__number(evsel, sample, &element, 0));
		} else {
			proto__number(event, number, fields__number(evsel, sample, field, 0));
		}
	}
}

static int flush_bundle(struct ftrace *ftrace, unsigned int cpu)
{
	struct proto *events = &ftrace->bundles[cpu];
	struct proto *packet;
	size_t begin;

	if (events->failed)
		return -ENOMEM;
	if (!events->len)
		return 0;
	packet = packets__begin(ftrace->packets, SEQUENCE_COMMON, 0);
	begin = proto__begin(packet, PACKET_FTRACE_EVENTS);
	proto__number(packet, BUNDLE_CPU, cpu);
	proto__append(packet, events);
	proto__end(packet, begin);
	events->len = 0;
	return packets__end(ftrace->packets);
}

static struct proto *bundle_of(struct ftrace *ftrace, unsigned int cpu)
{
	struct proto *bundles;
	unsigned int nr = cpu + 1;

	if (nr <= ftrace->nr_bundles)
		return &ftrace->bundles[cpu];
	bundles = realloc(ftrace->bundles, nr * sizeof(*bundles));
	if (!bundles)
		return NULL;
	memset(bundles + ftrace->nr_bundles, 0, (nr - ftrace->nr_bundles) * sizeof(*bundles));
	ftrace->bundles = bundles;
	ftrace->nr_bundles = nr;
	return &bundles[cpu];
}

int ftrace__add(struct ftrace *ftrace, struct evsel *evsel, const struct perf_sample *sample,
		const struct moment *at)
{
	struct event_fields *fields = evsel->priv;
	struct proto *bundle = bundle_of(ftrace, at->cpu);
	const struct layout *layout;
	size_t event, payload;

	if (!fields->converter)
		fields->converter = new_layout(ftrace, fields,
					       evsel__is_bpf_output(evsel) ? NULL :
					       evsel__tp_format(evsel));
	layout = fields->converter;
	if (!bundle || !layout)
		return -ENOMEM;
	event = proto__begin(bundle, BUNDLE_EVENT);
	proto__number(bundle, FTRACE_TIMESTAMP, packets__time(ftrace->packets, at->time));
	if (at->tid >= 0)
		proto__number(bundle, FTRACE_PID, at->tid);
	payload = proto__begin(bundle, layout->number);
	if (layout->number == FTRACE_GENERIC)
		write_generic(bundle, evsel, sample);
	else
		write_known(bundle, layout, evsel, sample);
	proto__end(bundle, payload);
	proto__end(bundle, event);
	return bundle->len >= MAX_BUNDLE ? flush_bundle(ftrace, at->cpu) : 0;
}

int ftrace__flush(struct ftrace *ftrace)
{
	unsigned int cpu;
	int err = 0;

	for (cpu = 0; cpu < ftrace->nr_bundles && !err; cpu++)
		err = flush_bundle(ftrace, cpu);
	return err;
}
