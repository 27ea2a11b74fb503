// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <linux/string.h>
#include <linux/zalloc.h>
#include <traceevent/event-parse.h>
#include "recording/lib/compat.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/sample.h"
#include "util/session.h"
#include "common.h"
#include "fields.h"

static bool is_event(const struct tep_event *format, const char *system, const char *name)
{
	return !strcmp(format->system, system) && !strcmp(format->name, name);
}

static void find_fields(struct event_fields *fields, struct evsel *evsel)
{
	const struct tep_event *format = evsel__tp_format(evsel);

	if (!format)
		return;
	if (is_event(format, "sched", "sched_switch")) {
		fields->kind = SAMPLE_SWITCH;
		fields->prev_pid = evsel__field(evsel, "prev_pid");
		fields->prev_state = evsel__field(evsel, "prev_state");
		fields->pid = evsel__field(evsel, "next_pid");
		fields->comm = evsel__field(evsel, "next_comm");
	} else if (is_event(format, "sched", "sched_waking") ||
		   is_event(format, "sched", "sched_wakeup") ||
		   is_event(format, "sched", "sched_wakeup_new")) {
		fields->kind = SAMPLE_WAKEUP;
		fields->pid = evsel__field(evsel, "pid");
		fields->comm = evsel__field(evsel, "comm");
	} else if (is_event(format, "raw_syscalls", "sys_enter")) {
		fields->kind = SAMPLE_SYSCALL_ENTER;
		fields->id = evsel__field(evsel, "id");
	} else if (is_event(format, "raw_syscalls", "sys_exit")) {
		fields->kind = SAMPLE_SYSCALL_EXIT;
		fields->id = evsel__field(evsel, "id");
		fields->ret = evsel__field(evsel, "ret");
	} else if (!strcmp(format->system, "syscalls") && strstarts(format->name, "sys_enter_")) {
		fields->kind = SAMPLE_SYSCALL_ENTER;
		fields->syscall = format->name + strlen("sys_enter_");
	} else if (!strcmp(format->system, "syscalls") && strstarts(format->name, "sys_exit_")) {
		fields->kind = SAMPLE_SYSCALL_EXIT;
		fields->syscall = format->name + strlen("sys_exit_");
		fields->ret = evsel__field(evsel, "ret");
	}
}

const struct event_fields *fields__get(struct evsel *evsel)
{
	struct event_fields *fields = evsel->priv;

	if (fields)
		return fields;
	fields = zalloc(sizeof(*fields));
	if (!fields)
		return NULL;
	evsel->priv = fields;
	if (evsel->core.attr.type == PERF_TYPE_TRACEPOINT)
		find_fields(fields, evsel);
	else if (evsel__is_bpf_output(evsel) && !strcmp(evsel__name(evsel), "snapshot"))
		fields->kind = SAMPLE_SNAPSHOT;
	return fields;
}

void fields__put_all(struct conversion *conv)
{
	struct event_fields *fields;
	struct evsel *evsel;

	if (!conv->session)
		return;
	evlist__for_each_entry(conv->session->evlist, evsel) {
		fields = evsel->priv;
		if (fields)
			free(fields->converter);
		zfree(&evsel->priv);
	}
}

/* The format and the sample come from the file: neither is trusted to fit the other. */
static bool in_sample(const struct perf_sample *sample, size_t offset, size_t size)
{
	return sample->raw_data && offset <= sample->raw_size && size <= sample->raw_size - offset;
}

static bool has_field(const struct perf_sample *sample, const struct tep_format_field *field)
{
	return field && field->offset >= 0 && field->size >= 0 &&
	       in_sample(sample, field->offset, field->size);
}

s64 fields__number(struct evsel *evsel, const struct perf_sample *sample,
		   struct tep_format_field *field, s64 missing)
{
	u64 value;

	if (!has_field(sample, field))
		return missing;
	value = format_field__intval(field, (struct perf_sample *)sample, evsel->needs_swap);
	if (!(field->flags & TEP_FIELD_IS_SIGNED))
		return value;
	switch (field->size) {
	case 1:	return (s8)value;
	case 2:	return (s16)value;
	case 4:	return (s32)value;
	default: return value;
	}
}

void fields__comm(const struct perf_sample *sample, const struct tep_format_field *field,
		  char comm[COMM_SIZE])
{
	size_t size;

	comm[0] = 0;
	if (!has_field(sample, field))
		return;
	size = min_t(size_t, field->size, COMM_SIZE - 1);
	memcpy(comm, (const char *)sample->raw_data + field->offset, size);
	comm[size] = 0;
}

/* The text or array is in the field itself or, if the field says where, behind the others. */
const char *fields__text(struct evsel *evsel, const struct perf_sample *sample,
			 struct tep_format_field *field, size_t *size)
{
	size_t offset = field->offset;

	*size = field->size;
	if (!has_field(sample, field))
		return NULL;
	if (field->flags & TEP_FIELD_IS_DYNAMIC) {
		u64 place = format_field__intval(field, (struct perf_sample *)sample,
						 evsel->needs_swap);

		offset = place & 0xffff;
		*size = place >> 16 & 0xffff;
		if (field->flags & TEP_FIELD_IS_RELATIVE)
			offset += field->offset + field->size;
	}
	if (!in_sample(sample, offset, *size))
		return NULL;
	return (const char *)sample->raw_data + offset;
}

unsigned int fields__array(struct evsel *evsel, const struct perf_sample *sample,
			   struct tep_format_field *field, struct tep_format_field *element)
{
	size_t size;
	const char *data = fields__text(evsel, sample, field, &size);

	if (!data || !field->elementsize)
		return 0;
	*element = *field;
	element->offset = data - (const char *)sample->raw_data;
	element->size = field->elementsize;
	element->flags &= ~(TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC | TEP_FIELD_IS_RELATIVE);
	return size / field->elementsize;
}

bool fields__is_text(const struct tep_format_field *field)
{
	return field->flags & TEP_FIELD_IS_STRING && strstr(field->type, "char");
}

static void pass_text(struct evsel *evsel, const struct perf_sample *sample,
		      struct tep_format_field *field, const struct field_sink *sink, void *arg)
{
	size_t size;
	const char *text = fields__text(evsel, sample, field, &size);

	if (text)
		sink->text(arg, field->name, text, size);
}

/* Return: whether an unsigned number is too large for s64: then it is most likely an address. */
static bool is_beyond_s64(const struct tep_format_field *field, s64 number)
{
	return number < 0 && !(field->flags & TEP_FIELD_IS_SIGNED);
}

static void pass_number(struct evsel *evsel, const struct perf_sample *sample,
			struct tep_format_field *field, const struct field_sink *sink, void *arg)
{
	s64 number = fields__number(evsel, sample, field, 0);

	sink->number(arg, field->name, number,
		     field->flags & (TEP_FIELD_IS_POINTER | TEP_FIELD_IS_FLAG) ||
		     is_beyond_s64(field, number));
}

void fields__pass(struct evsel *evsel, const struct perf_sample *sample,
		  const struct field_sink *sink, void *arg)
{
	const struct tep_event *format = evsel__tp_format(evsel);
	struct tep_format_field *field;

	for (field = format ? format->format.fields : NULL; field; field = field->next) {
		if (!has_field(sample, field))
			continue;
		if (fields__is_text(field))
			pass_text(evsel, sample, field, sink, arg);
		else if (!(field->flags & TEP_FIELD_IS_ARRAY))
			pass_number(evsel, sample, field, sink, arg);
	}
}
