// SPDX-License-Identifier: GPL-2.0-only
/*
 * Provide the functions of core.c that a ring needs, and struct ring_impl.
 *
 * Compiled twice, against our internal.h and against upstream's; see upstream_names.h.
 */
#include <linux/perf_event.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include "internal.h"

#include "ring.h"

void perf_event_header__init(struct perf_event_header *header, struct perf_sample_data *data,
			     int type, int misc, size_t size, struct perf_event *event)
{
	header->type = type;
	header->misc = misc;
	header->size = size;
	if (event->attr.sample_id_all) {
		header->size += event->id_header_size;
		data->stream_id = event->id;
		data->time = 0;
	}
	if (event->attr.sample_type & PERF_SAMPLE_SIZE_AT_END)
		header->size += sizeof(struct perf_event_trailer);
}

void perf_event__output_id_sample(struct perf_event *event, struct perf_output_handle *handle,
				  struct perf_sample_data *data)
{
	u64 id;

	if (!event->attr.sample_id_all)
		return;
	memset(&id, data->id_fill, sizeof(id));
	for (unsigned int i = 0; i < event->id_header_size; i += sizeof(id))
		perf_output_put(handle, id);
}

#ifndef IMPL_IS_UPSTREAM
/* Output a sample field by field, in the order of the ABI. */
void perf_output_sample(struct perf_output_handle *handle, struct perf_event_header *header,
			struct perf_sample_data *data, struct perf_event *event)
{
	u64 type = data->type;

	perf_output_put(handle, *header);
	if (type & PERF_SAMPLE_IDENTIFIER)
		perf_output_put(handle, data->id);
	if (type & PERF_SAMPLE_IP)
		perf_output_put(handle, data->ip);
	if (type & PERF_SAMPLE_TID)
		perf_output_put(handle, data->tid_entry);
	if (type & PERF_SAMPLE_TIME)
		perf_output_put(handle, data->time);
	if (type & PERF_SAMPLE_ID)
		perf_output_put(handle, data->id);
	if (type & PERF_SAMPLE_STREAM_ID)
		perf_output_put(handle, data->stream_id);
	if (type & PERF_SAMPLE_CPU)
		perf_output_put(handle, data->cpu_entry);
	if (type & PERF_SAMPLE_PERIOD)
		perf_output_put(handle, data->period);
	if (type & PERF_SAMPLE_RAW) {
		u32 none[] = { sizeof(u32), 0 };

		if (data->raw) {
			perf_output_put(handle, data->raw->size);
			perf_output_copy(handle, data->raw->frag.data, data->raw->size);
		} else {
			perf_output_put(handle, none);
		}
	}
}

/* Handlers of events, which are only compared. */
void perf_event_output_forward(struct perf_event *event, struct perf_sample_data *data,
			       struct pt_regs *regs)
{
}

void perf_event_output_backward(struct perf_event *event, struct perf_sample_data *data,
				struct pt_regs *regs)
{
}

struct pid_namespace init_pid_ns;
struct task_struct shim_task = { .pid = 4712, .tgid = 4711 };
#endif

struct perf_buffer *ring_buffer_get(struct perf_event *event)
{
	struct perf_buffer *rb = event->parent ? event->parent->rb : event->rb;

	return rb && refcount_inc_not_zero(&rb->refcount) ? rb : NULL;
}

void ring_buffer_put(struct perf_buffer *rb)
{
	if (refcount_dec_and_test(&rb->refcount))
		rb_free(rb);
}

void perf_event_aux_event(struct perf_event *event, unsigned long head, unsigned long size,
			  u64 flags)
{
	struct perf_sample_data data = { .id_fill = RING_ID_FILL };
	struct perf_output_handle handle;
	struct ring_aux_record record = { .offset = head, .size = size, .flags = flags };

	perf_event_header__init(&record.header, &data, PERF_RECORD_AUX, 0, sizeof(record), event);
	if (perf_output_begin(&handle, &data, event, record.header.size))
		return;
	perf_output_put(&handle, record);
	perf_event__output_id_sample(event, &handle, &data);
	perf_output_end(&handle);
}

static struct perf_buffer *impl_alloc(int nr_pages, long watermark, unsigned int flags)
{
	int rb_flags = flags & RING_STREAMING ? RING_BUFFER_WRITABLE : 0;

#ifndef IMPL_IS_UPSTREAM
	if (flags & RING_BACKWARD)
		rb_flags |= RING_BUFFER_BACKWARD;
	if (flags & RING_SIZED)
		rb_flags |= RING_BUFFER_TRAILER;
#endif
	return rb_alloc(nr_pages, watermark, 0, rb_flags);
}

/* Use the macro as core.c does, with a size known at compile time. */
static void impl_put_u64(struct perf_output_handle *handle, u64 value)
{
	perf_output_put(handle, value);
}

static void impl_pause(struct perf_buffer *rb, bool pause)
{
	rb_toggle_paused(rb, pause);
}

static void impl_get_state(struct perf_buffer *rb, struct ring_state *state)
{
	*state = (struct ring_state){
		.head = local_read(&rb->head),
		.lost = local_read(&rb->lost),
		.wakeup = local_read(&rb->wakeup),
		.watermark = rb->watermark,
		.nest = rb->nest,
		.poll = atomic_read(&rb->poll),
		.size = perf_data_size(rb),
		.nr_pages = data_page_nr(rb),
#ifdef IMPL_IS_UPSTREAM
		.paused = rb->paused,
#else
		.paused = !rb->max_record,
#endif
		.refcount = refcount_read(&rb->refcount),
		.aux_head = rb->aux_head,
		.aux_wakeup = rb->aux_wakeup,
		.aux_watermark = rb->aux_watermark,
		.aux_nest = rb->aux_nest,
		.aux_nr_pages = rb->aux_nr_pages,
		.aux_pages = rb->aux_pages,
		.aux_refcount = rb->aux_nr_pages ? refcount_read(&rb->aux_refcount) : 0,
	};
}

/* Linux 6.12 counts mappings in an atomic_t. */
#define set_count(count, value) _Generic((count), \
	atomic_t *: atomic_set, refcount_t *: refcount_set)(count, value)

static int impl_alloc_aux(struct perf_buffer *rb, struct perf_event *event, int nr_pages,
			  long watermark, unsigned int flags)
{
	int err = rb_alloc_aux(rb, event, data_page_nr(rb) + 1, nr_pages, watermark,
			       flags & RING_STREAMING ? RING_BUFFER_WRITABLE : 0);

	if (!err)
		set_count(&rb->aux_mmap_count, 1);
	return err;
}

/* The part of perf_mmap_close() that follows stopping all writers. */
static void impl_close_aux(struct perf_buffer *rb)
{
	set_count(&rb->aux_mmap_count, 0);
	rb_free_aux(rb);
}

#ifndef IMPL_IS_UPSTREAM
void *ring_addr(const struct ring *ring, unsigned long offset)
{
#ifdef CONFIG_PERF_USE_VMALLOC
	return (void *)ring->rb->user_page + PAGE_SIZE + offset;
#else
	return ring->rb->pages[offset >> PAGE_SHIFT] + offset_in_page(offset);
#endif
}
#endif

const struct ring_impl ring_impl = {
#ifdef IMPL_IS_UPSTREAM
	.name = "upstream",
#else
	.name = "ours",
#endif
	.alloc = impl_alloc,
	.put = ring_buffer_put,
	.page = perf_mmap_to_page,
	.pause = impl_pause,
	.get_state = impl_get_state,
	.begin = perf_output_begin,
	.begin_forward = perf_output_begin_forward,
	.begin_backward = perf_output_begin_backward,
	.put_u64 = impl_put_u64,
	.copy = perf_output_copy,
	.skip = perf_output_skip,
	.output_id = perf_event__output_id_sample,
	.end = perf_output_end,
	.alloc_aux = impl_alloc_aux,
	.close_aux = impl_close_aux,
	.aux_begin = perf_aux_output_begin,
	.aux_end = perf_aux_output_end,
	.aux_skip = perf_aux_output_skip,
	.aux_flag = perf_aux_output_flag,
	.get_aux = perf_get_aux,
	.copy_aux = perf_output_copy_aux,
};
