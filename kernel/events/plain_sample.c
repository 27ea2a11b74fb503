// SPDX-License-Identifier: GPL-2.0-only
/*
 * Plain samples: all fields have a size that is known when the event is opened,
 * and an overflow does nothing but output the sample.
 *
 * Most samples of tracepoints are plain. They need none of the steps that add
 * up the size of a sample, and remember which fields have been prepared: the
 * fields are stored one after the other.
 *
 * Whether an event is plain is decided when it is opened, from what does not
 * change later. perf_swevent_plain() in core.c checks the rest for each sample.
 */
#include <linux/perf_event.h>
#include <linux/pid_namespace.h>

#include "internal.h"
#include "plain_sample.h"

/* The fields that a plain sample may have, each of 8 bytes, and raw data. */
#define PLAIN_FIELDS							\
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |	\
	 PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |	\
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_SIZE_AT_END)

/*
 * Tell whether an overflow of @event has no effect but its sample, as far as
 * this does not change: see perf_swevent_plain() for the rest.
 */
static bool only_outputs(struct perf_event *event)
{
	struct perf_event_attr *attr = &event->attr;

	if (!is_sampling_event(event) || !is_default_overflow_handler(event))
		return false;
	if (attr->freq || attr->sigtrap || attr->aux_pause || attr->aux_resume)
		return false;
	/* Counts samples: perf_output_sample(). */
	return attr->watermark || !attr->wakeup_events;
}

u16 perf_plain_size(struct perf_event *event)
{
	u64 type = event->attr.sample_type;

	if (!only_outputs(event))
		return 0;
	if (type & ~(PLAIN_FIELDS | PERF_SAMPLE_RAW))
		return 0;
	/* Other namespaces have other numbers for a task. */
	if ((type & PERF_SAMPLE_TID) &&
	    plain_output_event(event)->ns != &init_pid_ns)
		return 0;
	return sizeof(struct perf_event_header) +
	       hweight64(type & PLAIN_FIELDS) * sizeof(u64) +
	       (type & PERF_SAMPLE_RAW ? sizeof(u32) : 0);
}

void put_split_plain(struct perf_output_handle *handle,
		     const struct plain_sample *sample,
		     struct perf_event *event)
{
	struct perf_event_header header = sample->header;
	struct perf_raw_record raw = {
		.frag.data = (void *)sample->raw,
		.frag.size = sample->raw_size,
		.size = sample->raw_size,
	};
	struct perf_sample_data data __uninitialized;

	data.type = event->attr.sample_type;
	data.sample_flags = data.type;
	data.id = plain_output_event(event)->id;
	data.ip = sample->ip;
	data.tid_entry.pid = current->tgid;
	data.tid_entry.tid = current->pid;
	data.time = sample->time;
	data.stream_id = event->id;
	data.cpu_entry.cpu = raw_smp_processor_id();
	data.cpu_entry.reserved = 0;
	data.period = sample->period;
	data.raw = &raw;
	perf_output_sample(handle, &header, &data, event);
}
