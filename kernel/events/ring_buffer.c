// SPDX-License-Identifier: GPL-2.0-only
/*
 * The data area of a perf ring: allocate and free, reserve, commit.
 *
 * What it looks like, who may write it, and the barriers are in internal.h.
 *
 * A record is written in three steps:
 *
 *   reserve	room is taken in rb->head by one local atomic operation, so that a writer that
 *		interrupts this one takes the room behind
 *   write	the fields go to handle->addr, which only counts up: the area is mirrored
 *   commit	the outermost of nested writers publishes rb->head as data_head: all of them have
 *		ended by then
 *
 * The control page belongs to whoever mapped it, who may write to it, even where it was mapped
 * read-only (mprotect). Only data_tail is ever read back, and only its low bits matter: a wrong one
 * makes the kernel overwrite what its owner had wished to keep. No loop waits for it to settle.
 */
#include <linux/irq_work.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/perf_event.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "internal.h"

/* header.size is 16 bits wide, and lengths are multiples of 8. */
#define MAX_RECORD	round_down(U16_MAX, 8)

/*
 * Allocating and freeing
 */

static struct page *alloc_ring_page(int node)
{
	return alloc_pages_node(node, GFP_KERNEL | __GFP_ZERO, 0);
}

/* The fault handler of core.c leaves a mapping in pages that were mapped. */
static void free_ring_page(struct page *page)
{
	page->mapping = NULL;
	__free_page(page);
}

static void free_data(struct perf_buffer *rb)
{
	int i;

	vunmap(rb->data);
	for (i = 0; i < rb->nr_pages; i++)
		free_ring_page(rb->pages[i]);
	kvfree(rb->pages);
}

/* Each page twice, in the order in which vmap() wants them. */
static void *map_mirrored(struct page **pages, int nr)
{
	struct page **twice = kvmalloc_array(nr, 2 * sizeof(*twice), GFP_KERNEL | __GFP_NOWARN);
	void *data;

	if (!twice)
		return NULL;
	memcpy(twice, pages, nr * sizeof(*twice));
	memcpy(twice + nr, pages, nr * sizeof(*twice));
	data = vmap(twice, 2 * nr, VM_MAP, PAGE_KERNEL);
	kvfree(twice);
	return data;
}

/* rb->nr_pages counts what there is to free. */
static int alloc_data(struct perf_buffer *rb, int nr_pages, int node)
{
	if (!nr_pages)
		return 0;

	/* Twice the pages must be addressable, and their number an int. */
	if (nr_pages > INT_MAX / 2)
		return -ENOMEM;
	rb->pages = kvmalloc_node(array_size(nr_pages, sizeof(*rb->pages)),
				  GFP_KERNEL | __GFP_NOWARN, node);
	if (!rb->pages)
		return -ENOMEM;

	for (; rb->nr_pages < nr_pages; rb->nr_pages++) {
		rb->pages[rb->nr_pages] = alloc_ring_page(node);
		if (!rb->pages[rb->nr_pages])
			goto nomem;
	}
	rb->data = map_mirrored(rb->pages, nr_pages);
	if (!rb->data)
		goto nomem;
	rb->size = (unsigned long)nr_pages << PAGE_SHIFT;
	rb->max_record = min_t(unsigned long, rb->size, MAX_RECORD);
	return 0;
nomem:
	free_data(rb);
	return -ENOMEM;
}

static void rb_free_work(struct work_struct *work)
{
	struct perf_buffer *rb = container_of(work, struct perf_buffer, free_work);

	free_data(rb);
	free_ring_page(virt_to_page(rb->user_page));
	kfree(rb);
}

void rb_free(struct perf_buffer *rb)
{
	schedule_work(&rb->free_work);
}

struct perf_buffer *rb_alloc(int nr_pages, long watermark, int cpu, int flags)
{
	int node = cpu == -1 ? NUMA_NO_NODE : cpu_to_node(cpu);
	struct perf_buffer *rb;
	struct page *user_page;

	rb = kzalloc_node(sizeof(*rb), GFP_KERNEL, node);
	if (!rb)
		return NULL;
	user_page = alloc_ring_page(node);
	if (!user_page)
		goto free_rb;
	if (alloc_data(rb, nr_pages, node))
		goto free_user_page;

	rb->user_page = page_address(user_page);
	rb->overwrite = !(flags & RING_BUFFER_WRITABLE);
	rb->backward = flags & RING_BUFFER_BACKWARD;
	rb->trailer = flags & RING_BUFFER_TRAILER;
	/* Before anyone finds it: several CPUs change other bits of that word, without a lock. */
	rb->user_page->cap_data_reserved = IS_ENABLED(CONFIG_64BIT);
	rb->user_page->cap_size_at_end = rb->trailer;
	rb->watermark = watermark > 0 ? min_t(unsigned long, watermark, rb->size) : rb->size / 2;
	rb_toggle_paused(rb, false);

	refcount_set(&rb->refcount, 1);
	INIT_WORK(&rb->free_work, rb_free_work);
	INIT_LIST_HEAD(&rb->event_list);
	spin_lock_init(&rb->event_lock);
	mutex_init(&rb->aux_mutex);
	return rb;

free_user_page:
	__free_page(user_page);
free_rb:
	kfree(rb);
	return NULL;
}

struct page *perf_mmap_to_page(struct perf_buffer *rb, unsigned long pgoff)
{
	if (rb_has_aux(rb) && pgoff >= rb->aux_pgoff) {
		unsigned long idx = pgoff - rb->aux_pgoff;

		if (idx >= rb->aux_nr_pages)
			return NULL;
		return virt_to_page(rb->aux_pages[array_index_nospec(idx, rb->aux_nr_pages)]);
	}
	if (!pgoff)
		return virt_to_page(rb->user_page);
	if (pgoff > rb->nr_pages)
		return NULL;
	return rb->pages[array_index_nospec(pgoff - 1, rb->nr_pages)];
}

/*
 * Commit
 */

/* Waking up takes locks that an NMI cannot: an irq_work does it. */
void perf_output_wakeup(struct perf_output_handle *handle)
{
	struct perf_event *event = handle->event;

	atomic_set(&handle->rb->poll, (__force int)(EPOLLIN | EPOLLRDNORM));
	event->pending_wakeup = 1;
	if (*perf_event_fasync(event) && !event->pending_kill)
		event->pending_kill = POLL_IN;
	irq_work_queue(&event->pending_irq);
}

/* From here on this CPU writes; what interrupts it is nested. */
static __always_inline void writer_begin(struct perf_output_handle *handle,
					 struct perf_buffer *rb)
{
	/*
	 * Read before nest: of a writer that comes in between, either it is outermost itself and
	 * wakes up, or we see that rb->wakeup has changed.
	 */
	handle->wakeup = local_read(&rb->wakeup);
	barrier();
	rb->nest++;	/* an interrupt leaves it as it found it */
	barrier();
}

static __always_inline void publish(struct perf_buffer *rb, unsigned long head)
{
	WRITE_ONCE(rb->published, head);
	smp_wmb();	/* B, pairs with C */
	WRITE_ONCE(rb->user_page->data_head, rb->backward ? -head : head);
}

/*
 * The outermost writer publishes what all of them wrote. One that interrupts it after it has read
 * rb->head either sees nest > 0 and leaves the publishing to it, or comes after nest = 0 and
 * publishes itself. The former is why head is compared again.
 */
static __always_inline void writer_end(struct perf_output_handle *handle)
{
	struct perf_buffer *rb = handle->rb;
	unsigned long head;

	if (unlikely(rb->nest > 1)) {
		WRITE_ONCE(rb->nest, rb->nest - 1);
		preempt_enable();
		return;
	}
	for (;;) {
		head = local_read(&rb->head);
		publish(rb, head);
		barrier();	/* published, then no more under way: heads never go back */
		WRITE_ONCE(rb->nest, 0);
		barrier();	/* not under way, then compared: nothing is overlooked */
		if (likely(local_read(&rb->head) == head))
			break;
		WRITE_ONCE(rb->nest, 1);
		barrier();	/* under way again before head is read */
	}
	if (handle->wakeup != local_read(&rb->wakeup))
		perf_output_wakeup(handle);
	preempt_enable();
}

/*
 * Reserve
 */

/*
 * Nothing waits for a reader: room is there. It is announced before it is taken, so that
 * data_reserved covers all that is being written, whoever interrupts whom: the other order would
 * leave an interrupting writer's record uncovered, and so would a load and a store.
 */
static __always_inline unsigned long reserve_overwrite(struct perf_buffer *rb, unsigned int size)
{
#ifdef CONFIG_64BIT
	local_add(size, (local_t *)&rb->user_page->data_reserved);
	smp_wmb();	/* E, pairs with F */
#endif
	return local_add_return(size, &rb->head) - size;
}

/*
 * A nested writer takes room only while all that is not published fits into the ring: those that it
 * interrupted have still to write, and must not do so into what came after them. Here head has to
 * be what was checked; what is announced and not taken is taken back.
 */
static noinline bool reserve_nested(struct perf_buffer *rb, unsigned int size,
				    unsigned long *begin)
{
#ifdef CONFIG_64BIT
	local_t *reserved = (local_t *)&rb->user_page->data_reserved;

	local_add(size, reserved);
	smp_wmb();	/* E, pairs with F */
#endif
	*begin = local_read(&rb->head);
	while (*begin + size - READ_ONCE(rb->published) <= rb->size) {
		if (local_try_cmpxchg(&rb->head, (long *)begin, *begin + size))
			return true;
	}
#ifdef CONFIG_64BIT
	local_sub(size, reserved);
#endif
	return false;
}

/* Room up to what the reader has given back; one byte less, so that full is not empty. */
static __always_inline bool reserve_streaming(struct perf_buffer *rb, unsigned int size,
					      bool backward, unsigned long *begin)
{
	long head = local_read(&rb->head);
	unsigned long tail;

	do {
		tail = READ_ONCE(rb->user_page->data_tail);
		if (backward)
			tail = -tail;
		if (((tail - head - 1) & (rb->size - 1)) < size)
			return false;
		/* A, pairs with D: the stores of the record depend on tail */
	} while (!local_try_cmpxchg(&rb->head, &head, head + size));

	*begin = head;
	return true;
}

static __always_inline bool reserve(struct perf_buffer *rb, unsigned int size, bool backward,
				    bool nested, unsigned long *begin)
{
	if (!rb->overwrite)
		return reserve_streaming(rb, size, backward, begin);
	if (nested)
		return reserve_nested(rb, size, begin);
	*begin = reserve_overwrite(rb, size);
	return true;
}

/* The room is taken, from @begin to @end. */
static __always_inline void enter_room(struct perf_output_handle *handle, struct perf_buffer *rb,
				       unsigned long begin, unsigned long end, bool backward)
{
	long wakeup = local_read(&rb->wakeup);

	handle->addr = rb->data + ((backward ? -end : begin) & (rb->size - 1));
	/*
	 * A writer that interrupts us may find the same wake-up due: it counts once. Its record may
	 * lie behind ours, so that the wake-up is ahead of @end already: the difference is signed.
	 */
	if (unlikely((long)(end - wakeup) > (long)rb->watermark))
		(void)local_try_cmpxchg(&rb->wakeup, &wakeup, wakeup + rb->watermark);
}

/* The trailer is known as soon as the record has a place. It is one store. */
static __always_inline void put_trailer(void *record, u64 position, u16 size)
{
	struct perf_event_trailer trailer = {
		.offset_lo = position,
		.offset_hi = position >> 32,
		.size = size,
	};

	memcpy(record + size - sizeof(trailer), &trailer, sizeof(trailer));
}

struct lost_record {
	struct perf_event_header	header;
	u64				id;
	u64				lost;
};

/* As perf_event_header__init() will count it. */
static unsigned int lost_record_size(struct perf_event *event)
{
	unsigned int size = sizeof(struct lost_record);

	if (event->attr.sample_id_all)
		size += event->id_header_size;
	if (has_size_at_end(event))
		size += sizeof(struct perf_event_trailer);
	return size;
}

/* Goes before the first record that fits again. Leaves handle->addr behind it. */
static void put_lost(struct perf_output_handle *handle, struct perf_sample_data *data,
		     struct perf_event *event, u64 position)
{
	struct lost_record record = {
		.id = event->id,
		.lost = local_xchg(&handle->rb->lost, 0),
	};
	void *begin = handle->addr;

	perf_event_header__init(&record.header, data, PERF_RECORD_LOST, 0, sizeof(record), event);
	perf_output_put(handle, record);
	perf_event__output_id_sample(event, handle, data);
	if (handle->rb->trailer)
		put_trailer(begin, position, record.header.size);
	handle->addr = begin + record.header.size;
}

/* There is no room, and none was taken. */
static noinline int output_lost(struct perf_output_handle *handle)
{
	local_inc(&handle->rb->lost);
	atomic64_inc(&handle->event->lost_samples);
	perf_output_end(handle);
	return -ENOSPC;
}

/* All that output_begin() does not expect; out of its way, and called as the last it does. */
static noinline int output_begin_rare(struct perf_output_handle *handle,
				      struct perf_sample_data *data, struct perf_event *event,
				      unsigned int size, bool backward)
{
	struct perf_buffer *rb = handle->rb;
	unsigned int lost_size = local_read(&rb->lost) ? lost_record_size(event) : 0;
	unsigned long begin;

	if (!rb->nr_pages) {
		perf_output_end(handle);
		return -ENOSPC;
	}
	/* What is larger than the ring would run past the end of the second mapping. */
	if (READ_ONCE(rb->paused) || size > rb->max_record || lost_size + size > rb->size ||
	    !reserve(rb, lost_size + size, backward, rb->nest > 1, &begin))
		return output_lost(handle);

	enter_room(handle, rb, begin, begin + lost_size + size, backward);
	if (lost_size)
		put_lost(handle, data, event, begin);
	if (rb->trailer)
		put_trailer(handle->addr, begin + lost_size, size);
	return 0;
}

static __always_inline int output_begin(struct perf_output_handle *handle,
					struct perf_sample_data *data, struct perf_event *event,
					unsigned int size, bool backward)
{
	struct perf_buffer *rb;
	unsigned long begin;

	preempt_disable();		/* as good as rcu_read_lock() */
	if (event->parent)		/* inherited: all output goes to the one that was opened */
		event = event->parent;
	rb = rcu_dereference_sched(event->rb);	/* which is not marked __rcu: sparse minds */
	if (unlikely(!rb)) {
		preempt_enable();
		return -ENOSPC;
	}
	handle->rb = rb;
	handle->event = event;
	handle->flags = 0;
	writer_begin(handle, rb);

	if (unlikely(rb->nest > 1 || local_read(&rb->lost) || READ_ONCE(rb->paused) ||
		     size > rb->max_record))
		return output_begin_rare(handle, data, event, size, backward);
	if (!reserve(rb, size, backward, false, &begin))
		return output_lost(handle);

	enter_room(handle, rb, begin, begin + size, backward);
	if (rb->trailer)
		put_trailer(handle->addr, begin, size);
	return 0;
}

/**
 * perf_output_begin - take room for a record
 * @handle:	to be filled; lives until perf_output_end()
 * @data:	the sample, for the id fields of a LOST record
 * @event:	who writes
 * @size:	length of one record, a multiple of 8, its trailer included [bytes]
 *
 * Any context, NMI included. On success preemption stays disabled, which RCU waits for, until
 * perf_output_end(), and exactly @size bytes are to be written in between.
 *
 * Return: 0; -ENOSPC if the event has no ring, or there is no room for so much, or @size is more
 * than 16 bits hold: the loss is counted.
 */
int perf_output_begin(struct perf_output_handle *handle, struct perf_sample_data *data,
		      struct perf_event *event, unsigned int size)
{
	return output_begin(handle, data, event, size, is_write_backward(event));
}

/* The same where the direction is known. */
int perf_output_begin_forward(struct perf_output_handle *handle, struct perf_sample_data *data,
			      struct perf_event *event, unsigned int size)
{
	return output_begin(handle, data, event, size, false);
}

int perf_output_begin_backward(struct perf_output_handle *handle, struct perf_sample_data *data,
			       struct perf_event *event, unsigned int size)
{
	return output_begin(handle, data, event, size, true);
}

/**
 * perf_output_end - the record is written
 * @handle:	from perf_output_begin()
 *
 * Any context; ends what perf_output_begin() began.
 */
void perf_output_end(struct perf_output_handle *handle)
{
	writer_end(handle);
}

/* perf_output_copy - write @len bytes of the record. Return: bytes not written, always 0 */
unsigned int perf_output_copy(struct perf_output_handle *handle, const void *buf, unsigned int len)
{
	return __output_copy(handle, buf, len);
}

/* perf_output_skip - leave @len bytes of the record as they are */
unsigned int perf_output_skip(struct perf_output_handle *handle, unsigned int len)
{
	return __output_skip(handle, NULL, len);
}
