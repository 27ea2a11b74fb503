// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include "sb_record.h"

/* In the order in which they lie in a record. */
static const u64 id_fields[] = {
	PERF_SAMPLE_TID,
	PERF_SAMPLE_TIME,
	PERF_SAMPLE_ID,
	PERF_SAMPLE_STREAM_ID,
	PERF_SAMPLE_CPU,
	PERF_SAMPLE_IDENTIFIER,
};

bool id_format__init(struct id_format *format, u64 sample_type, const u64 *sample)
{
	int i;

	*format = (struct id_format){ 0 };
	for (i = ARRAY_SIZE(id_fields) - 1; i >= 0; i--) {
		if (!(sample_type & id_fields[i]))
			continue;
		format->size += sizeof(u64);
		if (id_fields[i] == PERF_SAMPLE_TIME)
			format->time = format->size;
		if (id_fields[i] == PERF_SAMPLE_TID)
			format->tid = format->size;
		if (id_fields[i] == PERF_SAMPLE_CPU)
			format->cpu = format->size;
	}
	memcpy(format->sample, sample, format->size);
	return format->time;
}

void id_format__stamp(const struct id_format *format, void *end, u32 pid, u32 tid, u64 time)
{
	const u32 task[2] = { pid, tid };

	memcpy(end - format->size, format->sample, format->size);
	memcpy(end - format->time, &time, sizeof(time));
	if (format->tid)
		memcpy(end - format->tid, task, sizeof(task));
}

struct sb_origin id_format__read(const struct id_format *format, const struct sb_record *record)
{
	const void *end = (const void *)&record->header + record->header.size;
	struct sb_origin who = { -1, -1, -1 };

	if (format->tid)
		memcpy(&who, end - format->tid, offsetof(struct sb_origin, cpu));
	if (format->cpu)
		memcpy(&who.cpu, end - format->cpu, sizeof(who.cpu));
	return who;
}

/* Return: size of the header and of the fixed part of the body. @string: does a string follow? */
static size_t fixed_size(u32 type, bool *string)
{
	*string = false;
	switch (type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return sizeof(struct perf_record_fork);
	case PERF_RECORD_NAMESPACES:
		return sizeof(struct perf_record_namespaces);
	case PERF_RECORD_BPF_EVENT:
		return sizeof(struct perf_record_bpf_event);
	case PERF_RECORD_TEXT_POKE:
		return offsetof(struct perf_record_text_poke_event, bytes);
	default:
		break;
	}
	*string = true;
	switch (type) {
	case PERF_RECORD_COMM:
		return offsetof(struct perf_record_comm, comm);
	case PERF_RECORD_MMAP:
		return offsetof(struct perf_record_mmap, filename);
	case PERF_RECORD_MMAP2:
		return offsetof(struct perf_record_mmap2, filename);
	case PERF_RECORD_KSYMBOL:
		return offsetof(struct perf_record_ksymbol, name);
	case PERF_RECORD_CGROUP:
		return offsetof(struct perf_record_cgroup, path);
	default:
		break;
	}
	*string = false;
	return sizeof(struct perf_event_header);
}

size_t sb_record__body_size(const union perf_event *event, size_t size)
{
	bool string;
	size_t body = fixed_size(event->header.type, &string);

	if (size < body)
		return body;
	if (event->header.type == PERF_RECORD_NAMESPACES)
		body += min_t(u64, event->namespaces.nr_namespaces, UINT16_MAX) *
			sizeof(struct perf_ns_link_info);
	if (event->header.type == PERF_RECORD_TEXT_POKE)
		body += event->text_poke.old_len + event->text_poke.new_len;
	if (string)
		body += strnlen((const void *)event + body, size - body) + 1;
	return round_up(body, sizeof(u64));
}

static bool is_valid(const union perf_event *event, size_t id_size)
{
	size_t size = event->header.size;

	if (size < id_size || size % sizeof(u64))
		return false;
	return sb_record__body_size(event, size - id_size) <= size - id_size;
}

static size_t all_bytes;

size_t sb_records__bytes(void)
{
	return all_bytes;
}

/* Return: the memory of a record of @size, with what malloc() adds [bytes]. */
static size_t allocated_bytes(size_t size)
{
	return offsetof(struct sb_record, header) + size + 2 * sizeof(size_t);
}

/* The record has no header yet, so pass @size to sb_record__free(). */
static struct sb_record *sb_record__alloc(size_t size)
{
	struct sb_record *record = malloc(offsetof(struct sb_record, header) + size);

	if (!record)
		return NULL;
	record->refcount = 1;
	all_bytes += allocated_bytes(size);
	return record;
}

static void sb_record__free(struct sb_record *record, size_t size)
{
	all_bytes -= allocated_bytes(size);
	free(record);
}

struct sb_record *sb_record__new(const struct id_format *format, const struct records *records,
				 size_t pos, size_t size)
{
	struct sb_record *record = sb_record__alloc(size);

	if (!record)
		return ERR_PTR(-ENOMEM);
	records__copy(records, pos, &record->header, size);
	if (!is_valid(sb_record__event(record), format->size)) {
		sb_record__free(record, size);
		return ERR_PTR(-EINVAL);
	}
	memcpy(&record->time, (void *)&record->header + size - format->time, sizeof(record->time));
	return record;
}

struct sb_record *sb_record__new_synthesized(const struct id_format *format,
					     const union perf_event *event, size_t id_size,
					     u64 time)
{
	size_t size = event->header.size - id_size + format->size;
	struct sb_record *record;

	if (event->header.size < sizeof(event->header) + id_size || size > UINT16_MAX ||
	    !is_valid(event, id_size))
		return ERR_PTR(-EINVAL);
	record = sb_record__alloc(size);
	if (!record)
		return ERR_PTR(-ENOMEM);
	memcpy(&record->header, event, event->header.size - id_size);
	record->header.size = size;
	record->time = time;
	id_format__stamp(format, (void *)&record->header + size, -1, -1, time);
	return record;
}

struct sb_record *sb_record__own(struct sb_record *record)
{
	struct sb_record *copy;

	if (record->refcount)
		return sb_record__get(record);
	copy = sb_record__alloc(record->header.size);
	if (!copy)
		return NULL;
	copy->time = record->time;
	memcpy(&copy->header, &record->header, record->header.size);
	return copy;
}

void sb_record__put(struct sb_record *record)
{
	if (record && !--record->refcount)
		sb_record__free(record, record->header.size);
}
