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

/* Raw data of more bytes is copied by memcpy(). */
#define PLAIN_SHORT_RAW		128

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

/*
 * A sample, beside what its event and the current task tell. Inline functions
 * pass it by value, so that it is in registers.
 */
struct plain_sample {
	struct perf_event_header header;
	u64			 ip;
	u64			 time;
	u64			 period;
	const void		*raw;
	unsigned long		 raw_size;
};

/*
 * Copy raw data of @size bytes: 4, and any number of 8. A call of memcpy() takes
 * longer than to copy what most tracepoints have.
 */
static __always_inline void copy_raw(void *to, const void *from, u32 size)
{
	const void *end = from + size;

	if (!IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS) ||
	    size > PLAIN_SHORT_RAW) {
		memcpy(to, from, size);
		return;
	}
	memcpy(to, from, sizeof(u32));
	to += sizeof(u32);
	from += sizeof(u32);
	for (; end - from >= 4 * sizeof(u64); to += 4 * sizeof(u64),
	     from += 4 * sizeof(u64)) {
		put_field(to, from);
		put_field(to + sizeof(u64), from + sizeof(u64));
		put_field(to + 2 * sizeof(u64), from + 2 * sizeof(u64));
		put_field(to + 3 * sizeof(u64), from + 3 * sizeof(u64));
	}
	for (; from < end; to += sizeof(u64), from += sizeof(u64))
		put_field(to, from);
}

/* Store raw data behind its size, and return the end. */
static __always_inline void *put_plain_raw(void *to, const void *raw, u32 size)
{
	memcpy(to, &size, sizeof(u32));
	copy_raw(to + sizeof(u32), raw, size);
	return to + sizeof(u32) + size;
}

/* Store the fields of @type. Their order is that of perf_output_sample(). */
static __always_inline void *put_plain_fields(void *addr,
					      struct plain_sample sample,
					      struct perf_event *event,
					      struct perf_event *top,
					      u32 type)
{
	struct { u32 pid, tid; } tid = { current->tgid, current->pid };
	struct { u32 cpu, reserved; } cpu = { raw_smp_processor_id(), 0 };
	u64 id = top->id;
	u64 *field = addr;

	field = put_field(field, &sample.header);
	if (type & PERF_SAMPLE_IDENTIFIER)
		field = put_field(field, &id);
	if (type & PERF_SAMPLE_IP)
		field = put_field(field, &sample.ip);
	if (type & PERF_SAMPLE_TID)
		field = put_field(field, &tid);
	if (type & PERF_SAMPLE_TIME)
		field = put_field(field, &sample.time);
	if (type & PERF_SAMPLE_ID)
		field = put_field(field, &id);
	if (type & PERF_SAMPLE_STREAM_ID)
		field = put_field(field, &event->id);
	if (type & PERF_SAMPLE_CPU)
		field = put_field(field, &cpu);
	if (type & PERF_SAMPLE_PERIOD)
		field = put_field(field, &sample.period);
	return type & PERF_SAMPLE_RAW ?
	       put_plain_raw(field, sample.raw, sample.raw_size) : field;
}

/*
 * Store the sample of @event, which is @top or inherited from it. The sample is
 * contiguous. Its fields are in the lower half of sample_type; the upper half
 * has PERF_SAMPLE_SIZE_AT_END.
 */
static __always_inline void *put_plain(void *addr, struct plain_sample sample,
				       struct perf_event *event,
				       struct perf_event *top)
{
	u32 type = event->attr.sample_type;

	if (likely(type == PLAIN_COMMON))
		return put_plain_fields(addr, sample, event, top,
					PLAIN_COMMON);
	return put_plain_fields(addr, sample, event, top, type);
}

/* Return a sample without its time: see perf_output_plain(). */
static __always_inline struct plain_sample
plain_sample(struct perf_event *event, u16 misc, u64 ip, u64 period,
	     const void *raw, u32 raw_size)
{
	u32 size = event->plain_size;

	if (event->attr.sample_type & PERF_SAMPLE_RAW)
		size += raw_size;
	return (struct plain_sample){
		.header.type = PERF_RECORD_SAMPLE,
		.header.misc = misc,
		.header.size = size,
		.ip = ip,
		.time = 0,
		.period = period,
		.raw = raw,
		.raw_size = raw_size,
	};
}

/* Take the time: before the sample is reserved, as in all other samples. */
static __always_inline u64 plain_time(struct perf_event *event)
{
	if (event->attr.sample_type & PERF_SAMPLE_TIME)
		return event->clock();
	return 0;
}

/* Write a sample that continues on another page, to a reserved record. */
void put_split_plain(struct perf_output_handle *handle,
		     const struct plain_sample *sample,
		     struct perf_event *event);

#endif /* _KERNEL_EVENTS_PLAIN_SAMPLE_H */
