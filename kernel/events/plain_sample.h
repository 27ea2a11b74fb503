/* SPDX-License-Identifier: GPL-2.0-only */
/* Store the fields of plain samples, see plain_sample.c. */
#ifndef _KERNEL_EVENTS_PLAIN_SAMPLE_H
#define _KERNEL_EVENTS_PLAIN_SAMPLE_H

#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/smp.h>

/* The fields that perf record has in samples of tracepoints. */
#define PLAIN_COMMON							\
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |	\
	 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |	\
	 PERF_SAMPLE_RAW)

/* An inherited event writes in the name of its parent. */
static __always_inline struct perf_event *
plain_output_event(struct perf_event *event)
{
	return event->parent ?: event;
}

/* Store a field of 8 bytes, and return its end. */
static __always_inline u64 *put_field(u64 *field, const void *value)
{
	memcpy(field, value, sizeof(*field));
	return field + 1;
}

/* Store raw data behind its size, and return the end. */
static __always_inline void *put_plain_raw(void *to,
					   struct perf_raw_record *raw)
{
	struct { u32 size, zero; } none = { sizeof(u32), 0 };

	if (unlikely(!raw)) {
		memcpy(to, &none, sizeof(none));
		return to + sizeof(none);
	}
	memcpy(to, &raw->size, sizeof(u32));
	memcpy(to + sizeof(u32), raw->frag.data, raw->size);
	return to + sizeof(u32) + raw->size;
}

/* Store the fields of @type. Their order is that of perf_output_sample(). */
static __always_inline void *put_plain_fields(void *addr,
					      struct perf_event_header header,
					      struct perf_sample_data *data,
					      struct perf_event *event,
					      u32 type)
{
	struct { u32 pid, tid; } tid = { current->tgid, current->pid };
	struct { u32 cpu, reserved; } cpu = { raw_smp_processor_id(), 0 };
	u64 id = plain_output_event(event)->id;
	u64 *field = addr;

	field = put_field(field, &header);
	if (type & PERF_SAMPLE_IDENTIFIER)
		field = put_field(field, &id);
	if (type & PERF_SAMPLE_IP)
		field = put_field(field, &data->ip);
	if (type & PERF_SAMPLE_TID)
		field = put_field(field, &tid);
	if (type & PERF_SAMPLE_TIME)
		field = put_field(field, &data->time);
	if (type & PERF_SAMPLE_ID)
		field = put_field(field, &id);
	if (type & PERF_SAMPLE_STREAM_ID)
		field = put_field(field, &event->id);
	if (type & PERF_SAMPLE_CPU)
		field = put_field(field, &cpu);
	if (type & PERF_SAMPLE_PERIOD)
		field = put_field(field, &data->period);
	return type & PERF_SAMPLE_RAW ? put_plain_raw(field, data->raw) : field;
}

/*
 * Store the sample, which is contiguous. Its fields are in the lower half of
 * sample_type; the upper half has PERF_SAMPLE_SIZE_AT_END.
 */
static __always_inline void *put_plain(void *addr,
				       struct perf_event_header header,
				       struct perf_sample_data *data,
				       struct perf_event *event)
{
	u32 type = event->attr.sample_type;

	if (likely(type == PLAIN_COMMON))
		return put_plain_fields(addr, header, data, event,
					PLAIN_COMMON);
	return put_plain_fields(addr, header, data, event, type);
}

/* Return the header of the sample. */
static __always_inline struct perf_event_header
plain_header(struct perf_event *event, struct perf_sample_data *data, u16 misc)
{
	struct perf_event_header header = {
		.type = PERF_RECORD_SAMPLE,
		.misc = misc,
		.size = event->plain_size,
	};

	if (event->attr.sample_type & PERF_SAMPLE_RAW)
		header.size += sizeof(u32) + (likely(data->raw) ?
					      data->raw->size : sizeof(u32));
	return header;
}

/* Take the time: before the sample is reserved, as in all other samples. */
static __always_inline void plain_time(struct perf_event *event,
				       struct perf_sample_data *data)
{
	if (event->attr.sample_type & PERF_SAMPLE_TIME)
		data->time = event->clock();
}

/* Write a sample that continues on another page, to a reserved record. */
void put_split_plain(struct perf_output_handle *handle,
		     struct perf_event_header header,
		     struct perf_sample_data *data, struct perf_event *event);

/* Write a sample to any ring. A lost sample is counted. */
void output_any_plain(struct perf_event *event, struct perf_sample_data *data,
		      struct perf_event_header header);

#endif /* _KERNEL_EVENTS_PLAIN_SAMPLE_H */
