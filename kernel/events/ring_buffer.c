// SPDX-License-Identifier: GPL-2.0-only
/*
 * Implement the data area of a perf ring buffer: allocate, reserve, commit.
 *
 * internal.h shows the layout, says who may write, and lists the barriers.
 *
 * A record is written in three steps:
 *
 *   reserve	Advance rb->head by one local atomic operation. A writer that
 *		interrupts this one reserves the space after it.
 *   write	Store the fields at handle->addr, up to handle->end and on in
 *		the next extents.
 *   commit	The outermost of the nested writers publishes rb->head as
 *		data_head. By then all of them have ended.
 *
 * The control page belongs to the process that mapped it. This process can
 * write to the page even if it mapped it read-only (mprotect). The kernel reads
 * back only data_tail, and uses only its low bits: a wrong value makes the
 * kernel overwrite records that the owner wanted to keep. No loop waits for
 * data_tail to settle.
 *
 *  Copyright (C) 2008 Linutronix GmbH, Thomas Gleixner <tglx@kernel.org>
 *  Copyright (C) 2008-2011 Red Hat, Inc., Ingo Molnar
 *  Copyright (C) 2008-2011 Red Hat, Inc., Peter Zijlstra
 *  Copyright  ©  2009 Paul Mackerras, IBM Corp. <paulus@au1.ibm.com>
 */
#include <linux/irq_work.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/once_lite.h>
#include <linux/perf_event.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "internal.h"
#include "plain_sample.h"

/*
 * Allocate and free
 */

#ifdef CONFIG_PERF_USE_VMALLOC

/* One mapping for the control page, and the data area as the only extent. */

static __always_inline unsigned long extent_size(struct perf_buffer *rb)
{
	return rb->size;
}

static __always_inline void *extent(struct perf_buffer *rb, unsigned long page)
{
	return (void *)rb->user_page + PAGE_SIZE;
}

static struct page *ring_page(struct perf_buffer *rb, unsigned long pgoff)
{
	return vmalloc_to_page((void *)rb->user_page + (pgoff << PAGE_SHIFT));
}

static void free_area(struct perf_buffer *rb)
{
	vfree(rb->user_page);
}

/* vmalloc_user() aligns the mapping to the cache colours (SHMLBA). */
static int alloc_area(struct perf_buffer *rb, int nr_pages, int node)
{
	rb->user_page = vmalloc_user((nr_pages + 1UL) << PAGE_SHIFT);
	if (!rb->user_page)
		return -ENOMEM;
	rb->nr_pages = nr_pages;
	return 0;
}

#else

/* Single pages, each of which is an extent. */

static __always_inline unsigned long extent_size(struct perf_buffer *rb)
{
	return PAGE_SIZE;
}

/* Return the address of page number @page, modulo the number of pages. */
static __always_inline void *extent(struct perf_buffer *rb, unsigned long page)
{
	return rb->pages[page & (rb->nr_pages - 1)];
}

static struct page *ring_page(struct perf_buffer *rb, unsigned long pgoff)
{
	void *addr = pgoff ? rb->pages[pgoff - 1] : rb->user_page;

	return virt_to_page(addr);
}

static void *alloc_ring_page(int node)
{
	struct page *page;

	page = alloc_pages_node(node, GFP_KERNEL | __GFP_ZERO, 0);
	return page ? page_address(page) : NULL;
}

static void free_ring_page(void *addr)
{
	__free_page(virt_to_page(addr));
}

static void free_area(struct perf_buffer *rb)
{
	int i;

	for (i = 0; i < rb->nr_pages; i++) {
		free_ring_page(rb->pages[i]);
		cond_resched();
	}
	kvfree(rb->pages);
	if (rb->user_page)
		free_ring_page(rb->user_page);
}

/* On failure, free_area() frees what was allocated. */
static int alloc_area(struct perf_buffer *rb, int nr_pages, int node)
{
	rb->user_page = alloc_ring_page(node);
	if (!rb->user_page)
		return -ENOMEM;
	if (!nr_pages)
		return 0;

	rb->pages = kvmalloc_node(array_size(nr_pages, sizeof(*rb->pages)),
				  GFP_KERNEL | __GFP_NOWARN, node);
	if (!rb->pages)
		return -ENOMEM;
	for (; rb->nr_pages < nr_pages; rb->nr_pages++) {
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
		rb->pages[rb->nr_pages] = alloc_ring_page(node);
		if (!rb->pages[rb->nr_pages])
			return -ENOMEM;
	}
	return 0;
}

#endif

static void rb_free_work(struct work_struct *work)
{
	struct perf_buffer *rb = container_of(work, struct perf_buffer,
					      free_work);

	free_area(rb);
	kfree(rb);
}

/* Freeing a large ring takes long: do not delay the other work of this CPU. */
void rb_free(struct perf_buffer *rb)
{
	queue_work(system_dfl_wq, &rb->free_work);
}

struct perf_buffer *rb_alloc(int nr_pages, long watermark, int cpu, int flags)
{
	int node = cpu == -1 ? NUMA_NO_NODE : cpu_to_node(cpu);
	struct perf_buffer *rb;

	rb = kzalloc_node(sizeof(*rb), GFP_KERNEL, node);
	if (!rb)
		return NULL;
	if (alloc_area(rb, nr_pages, node)) {
		free_area(rb);
		kfree(rb);
		return NULL;
	}

	rb->size = (unsigned long)nr_pages << PAGE_SHIFT;
	rb->overwrite = !(flags & RING_BUFFER_WRITABLE);
	rb->backward = flags & RING_BUFFER_BACKWARD;
	rb->trailer = flags & RING_BUFFER_TRAILER;
	/*
	 * Set these bits before the ring is visible to others: several CPUs
	 * change other bits of the same word without a lock.
	 */
	rb->user_page->cap_data_reserved = IS_ENABLED(CONFIG_64BIT) &&
					   rb->overwrite;
	rb->user_page->cap_size_at_end = rb->trailer;
	rb->watermark = watermark > 0 ?
		min_t(unsigned long, watermark, rb->size) : rb->size / 2;
	rb_toggle_paused(rb, false);

	rb->mmap_user = get_current_user();
	refcount_set(&rb->mmap_count, 1);
	refcount_set(&rb->refcount, 1);
	INIT_WORK(&rb->free_work, rb_free_work);
	INIT_LIST_HEAD(&rb->event_list);
	spin_lock_init(&rb->event_lock);
	mutex_init(&rb->aux_mutex);
	return rb;
}

/*
 * The AUX area lies above the data area, see perf_mmap(). Do not look at its
 * fields for other pages: another process may just map or unmap it.
 */
struct page *perf_mmap_to_page(struct perf_buffer *rb, unsigned long pgoff)
{
	if (pgoff <= rb->nr_pages)
		return ring_page(rb, array_index_nospec(pgoff,
							rb->nr_pages + 1UL));
	return rb_aux_page(rb, pgoff);
}

/*
 * Commit
 */

/* Defer the wake-up to an irq_work: an NMI cannot take the locks it needs. */
void perf_output_wakeup(struct perf_output_handle *handle)
{
	struct perf_event *event = handle->event;

	atomic_set(&handle->rb->poll, (__force int)(EPOLLIN | EPOLLRDNORM));
	event->pending_wakeup = 1;
	if (*perf_event_fasync(event) && !event->pending_kill)
		event->pending_kill = POLL_IN;
	irq_work_queue(&event->pending_irq);
}

/*
 * Return the number of active writers, the calling one included.
 *
 * A writer that interrupts this one changes rb->nest, and restores the value
 * before this one continues: whatever the compiler makes of plain accesses, all
 * yield the same value. barrier() keeps their place.
 */
static __always_inline unsigned int active_writers(struct perf_buffer *rb)
{
	return data_race(rb->nest);	/* restored by interrupting writers */
}

/* Become an active writer: until writer_end(), interrupting writers nest. */
static __always_inline void writer_begin(struct perf_output_handle *handle,
					 struct perf_buffer *rb)
{
	/*
	 * Read rb->wakeup before incrementing rb->nest. A writer that
	 * interrupts in between is either outermost itself and wakes up
	 * readers, or this writer sees that rb->wakeup has changed.
	 */
	handle->wakeup = local_read(&rb->wakeup);
	barrier();
	data_race(rb->nest++);	/* see active_writers() */
	barrier();
}

static __always_inline void publish(struct perf_buffer *rb, unsigned long head)
{
	WRITE_ONCE(rb->published, head);
	smp_wmb();	/* B, pairs with C */
	WRITE_ONCE(rb->user_page->data_head, rb->backward ? -head : head);
}

/*
 * Commit: the outermost writer publishes the records of all nested writers.
 *
 * A writer that interrupts it after it has read rb->head either sees nest > 0
 * and leaves the publishing to the outermost writer, or it runs after nest = 0
 * and publishes itself. Because of the former case, compare head again.
 */
static __always_inline void outermost_end(struct perf_buffer *rb)
{
	unsigned long head;

	for (;;) {
		head = local_read(&rb->head);
		publish(rb, head);
		/* Publish before nest = 0: data_head never goes backward. */
		barrier();
		WRITE_ONCE(rb->nest, 0);
		/* nest = 0 before comparing: no nested record is missed. */
		barrier();
		if (likely(local_read(&rb->head) == head))
			break;
		WRITE_ONCE(rb->nest, 1);
		/* nest = 1 before reading head again. */
		barrier();
	}
}

static __always_inline void writer_end(struct perf_output_handle *handle)
{
	struct perf_buffer *rb = handle->rb;

	if (unlikely(active_writers(rb) > 1)) {
		WRITE_ONCE(rb->nest, active_writers(rb) - 1);
		preempt_enable();
		return;
	}
	outermost_end(rb);
	if (handle->wakeup != local_read(&rb->wakeup))
		perf_output_wakeup(handle);
	preempt_enable();
}

/*
 * Reserve
 */

/*
 * Tell readers that @size more bytes may be overwritten, by the writer at
 * @depth. Readers of 32-bit kernels are not told: positions have 64 bits.
 */
static __always_inline void announce(struct perf_buffer *rb, unsigned int depth,
				     long size)
{
	if (!IS_ENABLED(CONFIG_64BIT))
		return;
	rb->reserved[depth] += size;
	WRITE_ONCE(rb->user_page->data_reserved[depth], rb->reserved[depth]);
}

/*
 * Reserve in an overwrite ring, as the outermost writer. This never fails: no
 * writer waits for a reader.
 *
 * Announce before advancing head. The opposite order would leave the record of
 * an interrupting writer, which is reserved after this one, uncovered.
 */
static __always_inline unsigned long reserve_overwrite(struct perf_buffer *rb,
						       unsigned int size)
{
	announce(rb, 0, size);
	smp_wmb();	/* E, pairs with F */
	return local_add_return(size, &rb->head) - size;
}

/*
 * Reserve in an overwrite ring, as a writer that interrupted another one.
 *
 * Fail unless data_reserved has a word for this depth, and unless all
 * unpublished records fit in the ring together with this one: the interrupted
 * writers have not finished, and must not write into newer records. Here head
 * must not change between the check and the update. On failure, take the
 * announcement back: no byte was written.
 */
static noinline bool reserve_nested(struct perf_buffer *rb, unsigned int size,
				    unsigned long *begin)
{
	unsigned int depth = active_writers(rb) - 1;

	if (depth >= PERF_RING_DEPTHS)
		return false;
	announce(rb, depth, size);
	smp_wmb();	/* E, pairs with F */
	*begin = local_read(&rb->head);
	while (*begin + size - READ_ONCE(rb->published) <= rb->size) {
		if (local_try_cmpxchg(&rb->head, (long *)begin, *begin + size))
			return true;
	}
	announce(rb, depth, -(long)size);
	return false;
}

/*
 * Reserve in a streaming ring, up to data_tail. One byte always stays free, so
 * that a full ring differs from an empty one.
 */
static __always_inline bool reserve_streaming(struct perf_buffer *rb,
					      unsigned int size, bool backward,
					      unsigned long *begin)
{
	long head = local_read(&rb->head);
	unsigned long tail;

	do {
		tail = READ_ONCE(rb->user_page->data_tail);
		if (backward)
			tail = -tail;
		if (((tail - head - 1) & (rb->size - 1)) < size)
			return false;
		/* A, pairs with D: stores of the record depend on tail */
	} while (!local_try_cmpxchg(&rb->head, &head, head + size));

	*begin = head;
	return true;
}

static __always_inline bool reserve(struct perf_buffer *rb, unsigned int size,
				    bool backward, bool nested,
				    unsigned long *begin)
{
	if (!rb->overwrite)
		return reserve_streaming(rb, size, backward, begin);
	if (nested)
		return reserve_nested(rb, size, begin);
	*begin = reserve_overwrite(rb, size);
	return true;
}

/*
 * Advance rb->wakeup after a reservation up to @end.
 *
 * An interrupting writer may find the same wake-up due; the compare and
 * exchange makes it count once. The record of that writer may lie after this
 * one, and rb->wakeup may be ahead of @end already: compare the difference as a
 * signed number. Records larger than the watermark must not let rb->wakeup fall
 * behind by more and more: beyond LONG_MAX the difference would be negative.
 */
static __always_inline void advance_wakeup(struct perf_buffer *rb,
					   unsigned long end)
{
	long wakeup = local_read(&rb->wakeup);
	long due = end - wakeup - rb->watermark;

	if (unlikely(due > 0))
		(void)local_try_cmpxchg(&rb->wakeup, &wakeup,
					wakeup + max_t(long, due, rb->watermark));
}

/*
 * Return the offset of the reservation [@begin, @end) in the data area, modulo
 * the size of the area.
 */
static __always_inline unsigned long reserved_at(unsigned long begin,
						 unsigned long end,
						 bool backward)
{
	return backward ? -end : begin;
}

/*
 * Write the trailer of the record of @size bytes with one store, at its last 8
 * bytes @addr.
 */
static __always_inline void put_trailer(void *addr, u64 position, u16 size)
{
	struct perf_event_trailer trailer = {
		.offset_lo = position,
		.offset_hi = position >> 32,
		.size = size,
	};

	memcpy(addr, &trailer, sizeof(trailer));
}

/*
 * Let the caller write a record that continues in another extent. Sizes and
 * positions are multiples of 8, so no trailer is split; mask the low bits, for
 * no store to leave the extent if a size is wrong.
 */
static noinline void start_split_record(struct perf_output_handle *handle,
					unsigned long at, u64 position,
					u16 size)
{
	struct perf_buffer *rb = handle->rb;
	unsigned long mask = extent_size(rb) - 1;
	unsigned int len = size, part;

	if (rb->trailer) {
		unsigned long last;

		len -= sizeof(struct perf_event_trailer);
		last = round_down(at + len, sizeof(struct perf_event_trailer));
		put_trailer(extent(rb, last >> PAGE_SHIFT) + (last & mask),
			    position, size);
	}
	part = min_t(unsigned long, len, mask + 1 - (at & mask));
	handle->page = at >> PAGE_SHIFT;
	handle->end = handle->addr + part;
	handle->rest = len - part;
}

/*
 * Let the caller write the record of @size bytes at offset @at, except for its
 * trailer. Write the trailer now: all of it is known.
 */
static __always_inline void start_record(struct perf_output_handle *handle,
					 unsigned long at, u64 position,
					 u16 size)
{
	struct perf_buffer *rb = handle->rb;
	unsigned long offset = at & (extent_size(rb) - 1);

	handle->addr = extent(rb, at >> PAGE_SHIFT) + offset;
	if (unlikely(offset + size > extent_size(rb))) {
		start_split_record(handle, at, position, size);
		return;
	}
	handle->end = handle->addr + size;
	handle->rest = 0;
	if (rb->trailer) {
		handle->end -= sizeof(struct perf_event_trailer);
		put_trailer(handle->end, position, size);
	}
}

/*
 * Report once that the fields of a record disagree with its size. The writer
 * may be an NMI: an irq_work prints the warning, and names the writer, as the
 * backtrace shows the irq_work only.
 */
static unsigned long wrong_writer;

static void warn_wrong_size(struct irq_work *work)
{
	WARN(true, "perf: %pS writes a record of another size than it reserves\n",
	     (void *)READ_ONCE(wrong_writer));
}

static DEFINE_IRQ_WORK(wrong_size_work, warn_wrong_size);

static noinline void report_wrong_size(unsigned long writer)
{
	WRITE_ONCE(wrong_writer, writer);
	DO_ONCE_LITE(irq_work_queue, &wrong_size_work);
}

/*
 * Tell whether the record was filled. The code that outputs a field must write
 * or skip as many bytes as the header counts for it, even if the data cannot be
 * read: perf_output_copy_aux() and perf_raw_frag.copy leave that to their
 * callers.
 */
static __always_inline bool is_filled(struct perf_output_handle *handle)
{
	return handle->addr == handle->end && !handle->rest;
}

static __always_inline void check_filled(struct perf_output_handle *handle)
{
	if (unlikely(!is_filled(handle)))
		report_wrong_size(_RET_IP_);
}

/* Out of line, for perf_output_end() to need no stack frame. */
static noinline void end_wrong_size(struct perf_output_handle *handle,
				    unsigned long writer)
{
	report_wrong_size(writer);
	writer_end(handle);
}

struct lost_record {
	struct perf_event_header	header;
	u64				id;
	u64				lost;
};

/* Return header.size as perf_event_header__init() will compute it. */
static unsigned int lost_record_size(struct perf_event *event)
{
	unsigned int size = sizeof(struct lost_record);

	if (event->attr.sample_id_all)
		size += event->id_header_size;
	if (has_size_at_end(event))
		size += sizeof(struct perf_event_trailer);
	return size;
}

/*
 * Write a LOST record of @size bytes at offset @at, in front of the first record
 * that fits again. @data is that of the latter: of an inherited event, which has
 * a stream_id of its own, and its time may be that of the hardware.
 */
static void put_lost_record(struct perf_output_handle *handle,
			    struct perf_sample_data *data,
			    struct perf_event *event, unsigned long at,
			    u64 position, unsigned int size)
{
	struct lost_record record = {
		.id = event->id,
		.lost = local_xchg(&handle->rb->lost, 0),
	};
	u64 stream_id = data->stream_id, time = data->time;

	start_record(handle, at, position, size);
	perf_event_header__init(&record.header, data, PERF_RECORD_LOST, 0,
				sizeof(record), event);
	perf_output_put(handle, record);
	perf_event__output_id_sample(event, handle, data);
	check_filled(handle);
	data->stream_id = stream_id;
	data->time = time;
}

/*
 * Count the lost event; nothing was reserved. A ring without a data area does
 * not count.
 */
static noinline int output_lost(struct perf_output_handle *handle)
{
	if (handle->rb->nr_pages) {
		local_inc(&handle->rb->lost);
		atomic64_inc(&handle->event->lost_samples);
	}
	writer_end(handle);
	return -ENOSPC;
}

/*
 * Handle the rare cases of output_begin(): a nested writer, lost events, a
 * pause, an oversized record. Out of line, and always a tail call.
 */
static noinline int output_begin_slow(struct perf_output_handle *handle,
				      struct perf_sample_data *data,
				      struct perf_event *event,
				      unsigned int size, bool backward)
{
	struct perf_buffer *rb = handle->rb;
	unsigned int lost_size;
	unsigned long begin, at;

	/*
	 * A record larger than the ring would overwrite itself. A ring without
	 * a data area is always paused.
	 */
	lost_size = local_read(&rb->lost) ? lost_record_size(event) : 0;
	if (size > READ_ONCE(rb->max_record) || lost_size + size > rb->size ||
	    !reserve(rb, lost_size + size, backward, active_writers(rb) > 1,
		     &begin))
		return output_lost(handle);

	advance_wakeup(rb, begin + lost_size + size);
	at = reserved_at(begin, begin + lost_size + size, backward);
	if (lost_size)
		put_lost_record(handle, data, event, at, begin, lost_size);
	start_record(handle, at + lost_size, begin + lost_size, size);
	return 0;
}

static __always_inline int output_begin(struct perf_output_handle *handle,
					struct perf_sample_data *data,
					struct perf_event *event,
					unsigned int size, bool backward)
{
	struct perf_buffer *rb;
	unsigned long begin;

	/* Implies an RCU read-side critical section. */
	preempt_disable();
	/* An inherited event writes to the ring of its parent. */
	if (event->parent)
		event = event->parent;
	/* sparse complains: event->rb is not marked __rcu. */
	rb = rcu_dereference_sched(event->rb);
	if (unlikely(!rb)) {
		preempt_enable();
		return -ENOSPC;
	}
	handle->rb = rb;
	handle->event = event;
	handle->flags = 0;
	writer_begin(handle, rb);

	if (unlikely(active_writers(rb) > 1 || local_read(&rb->lost) ||
		     size > READ_ONCE(rb->max_record)))
		return output_begin_slow(handle, data, event, size, backward);
	if (!reserve(rb, size, backward, false, &begin))
		return output_lost(handle);

	advance_wakeup(rb, begin + size);
	start_record(handle, reserved_at(begin, begin + size, backward), begin,
		     size);
	return 0;
}

/**
 * perf_output_begin - reserve a record
 * @handle:	initialized here; must stay valid until perf_output_end()
 * @data:	the sample; provides the id fields of a LOST record
 * @event:	the event that writes
 * @size:	size of one record with its trailer, a multiple of 8 [bytes]
 *
 * Context: any, including NMI. On success preemption stays disabled until
 * perf_output_end(), which keeps the ring alive (RCU). In between the caller
 * must write exactly @size bytes, or 8 bytes less if the ring has trailers: the
 * trailer is written here.
 *
 * Return: 0; -ENOSPC if the event has no ring, or if the ring has no data area;
 * -ENOSPC, with the loss counted, if the free space is too small, if the ring
 * is paused, or if @size exceeds the ring or 65,528 bytes.
 */
int perf_output_begin(struct perf_output_handle *handle,
		      struct perf_sample_data *data,
		      struct perf_event *event, unsigned int size)
{
	return output_begin(handle, data, event, size,
			    is_write_backward(event));
}

/* perf_output_begin() for events that are known not to write backward. */
int perf_output_begin_forward(struct perf_output_handle *handle,
			      struct perf_sample_data *data,
			      struct perf_event *event, unsigned int size)
{
	return output_begin(handle, data, event, size, false);
}

/* perf_output_begin() for events that are known to write backward. */
int perf_output_begin_backward(struct perf_output_handle *handle,
			       struct perf_sample_data *data,
			       struct perf_event *event, unsigned int size)
{
	return output_begin(handle, data, event, size, true);
}

/**
 * perf_output_end - commit a record
 * @handle:	initialized by perf_output_begin()
 *
 * Report once if less was written than reserved.
 *
 * Context: the same as the matching perf_output_begin(). Enables preemption.
 */
void perf_output_end(struct perf_output_handle *handle)
{
	if (unlikely(!is_filled(handle)))
		end_wrong_size(handle, _RET_IP_);	/* a tail call */
	else
		writer_end(handle);
}

/*
 * Report a field of @writer that does not fit in its record, and drop all later
 * ones.
 */
static void output_overrun(struct perf_output_handle *handle,
			   unsigned long writer)
{
	report_wrong_size(writer);
	handle->addr = handle->end;
	handle->rest = 0;
}

static void next_extent(struct perf_output_handle *handle)
{
	struct perf_buffer *rb = handle->rb;
	unsigned int part = min_t(unsigned long, handle->rest, extent_size(rb));

	handle->page++;
	handle->addr = extent(rb, handle->page);
	handle->end = handle->addr + part;
	handle->rest -= part;
}

unsigned long perf_output_split(struct perf_output_handle *handle,
				perf_copy_f copy, const void *buf,
				unsigned long len)
{
	unsigned long done = 0, left = 0, part;

	if (len > output_room(handle) + handle->rest) {
		output_overrun(handle, _RET_IP_);
		return len;
	}
	while (done < len && !left) {
		if (handle->addr == handle->end)
			next_extent(handle);
		part = min(len - done, output_room(handle));
		left = copy(handle->addr, buf, done, part);
		handle->addr += part - left;
		done += part - left;
	}
	return len - done;
}

/*
 * perf_output_skip - leave the next @len bytes of the record unchanged
 *
 * Return: 0, or @len if they do not fit in the record.
 */
unsigned int perf_output_skip(struct perf_output_handle *handle,
			      unsigned int len)
{
	return __output_skip(handle, NULL, len);
}

/*
 * perf_output_copy - write the next @len bytes of the record
 *
 * Return: 0, or @len if they do not fit in the record; nothing is written then.
 */
unsigned int perf_output_copy(struct perf_output_handle *handle,
			      const void *buf, unsigned int len)
{
	return __output_copy(handle, buf, len);
}

/*
 * Plain samples
 */

/* Write a reserved sample that continues in another extent. */
static noinline void put_plain_across(struct perf_buffer *rb,
				      const struct plain_sample *sample,
				      struct perf_event *event,
				      unsigned long at, u64 position)
{
	struct perf_output_handle handle = {
		.rb = rb,
		.event = plain_output_event(event),
	};

	start_record(&handle, at, position, sample->header.size);
	put_split_plain(&handle, sample, event);
	check_filled(&handle);
}

static noinline void wakeup_plain(struct perf_buffer *rb,
				  struct perf_event *top)
{
	struct perf_output_handle handle = { .rb = rb, .event = top };

	perf_output_wakeup(&handle);
}

/*
 * Reserve, write and commit as the outermost writer of an overwrite ring:
 * perf_output_begin() and perf_output_end() without a handle, and without what
 * other rings and nested writers need. Interrupts are disabled: the ring stays
 * alive, and only NMIs nest.
 */
static __always_inline void write_plain(struct perf_buffer *rb,
					struct plain_sample sample,
					struct perf_event *event,
					struct perf_event *top)
{
	unsigned long begin, at, offset;
	unsigned int size = sample.header.size;
	void *addr, *end;
	long wakeup;

	sample.time = plain_time(event);
	wakeup = local_read(&rb->wakeup);	/* before nest: writer_begin() */
	barrier();
	WRITE_ONCE(rb->nest, 1);
	barrier();
	begin = reserve_overwrite(rb, size);
	advance_wakeup(rb, begin + size);
	at = reserved_at(begin, begin + size, rb->backward);

	offset = at & (extent_size(rb) - 1);
	if (unlikely(offset + size > extent_size(rb))) {
		struct plain_sample split = sample;

		put_plain_across(rb, &split, event, at, begin);
	} else {
		addr = extent(rb, at >> PAGE_SHIFT) + offset;
		end = addr + size;
		if (rb->trailer) {
			end -= sizeof(struct perf_event_trailer);
			put_trailer(end, begin, size);
		}
		if (unlikely(put_plain(addr, sample, event, top) != end))
			report_wrong_size(_RET_IP_);
	}

	outermost_end(rb);
	if (unlikely(wakeup != local_read(&rb->wakeup)))
		wakeup_plain(rb, top);
}

/* perf_output_plain() for any ring, and for nested writers */
static noinline void output_any_plain(struct perf_event *event, u16 misc,
				      u64 ip, u64 period, const void *raw,
				      u32 raw_size)
{
	struct plain_sample sample = plain_sample(event, misc, ip, period, raw,
						  raw_size);
	struct perf_output_handle handle __uninitialized;
	struct perf_sample_data data __uninitialized;

	sample.time = plain_time(event);
	data.sample_flags = 0;		/* for a LOST record */
	if (perf_output_begin(&handle, &data, event, sample.header.size))
		return;
	if (likely(!handle.rest)) {
		handle.addr = put_plain(handle.addr, sample, event,
					plain_output_event(event));
	} else {
		struct plain_sample split = sample;

		put_split_plain(&handle, &split, event);
	}
	perf_output_end(&handle);
}

/* perf_output_plain - output a plain sample, see internal.h */
void perf_output_plain(struct perf_event *event, u16 misc, u64 ip, u64 period,
		       const void *raw, u32 raw_size)
{
	struct plain_sample sample = plain_sample(event, misc, ip, period, raw,
						  raw_size);
	struct perf_event *top = plain_output_event(event);
	struct perf_buffer *rb;

	/* sparse complains: event->rb is not marked __rcu. */
	rb = rcu_dereference_sched(top->rb);
	if (likely(rb && rb->overwrite &&
		   sample.header.size <= READ_ONCE(rb->max_record) &&
		   !(active_writers(rb) | local_read(&rb->lost))))
		write_plain(rb, sample, event, top);
	else
		output_any_plain(event, misc, ip, period, raw, raw_size);
}
