// SPDX-License-Identifier: GPL-2.0-only
/*
 * Implement the AUX area of a perf ring buffer: pages that a device or a driver
 * fills with a raw trace.
 *
 *   data area	records, among them PERF_RECORD_AUX: "bytes [offset, offset +
 *		size) are new"
 *   AUX area	these bytes; the kernel does not interpret them
 *
 * A driver asks for space when its event is scheduled in
 * (perf_aux_output_begin()), lets the device write, and reports the number of
 * new bytes when the event is scheduled out (perf_aux_output_end()). In between
 * it may skip bytes for alignment (perf_aux_output_skip()). One driver writes
 * at a time; AUX writers do not nest.
 *
 *   full trace	The area is mapped writable. aux_head counts all bytes; the
 *		reader frees space by advancing aux_tail.
 *   overwrite	The area is mapped read-only. There is no tail. The driver
 *		reports where it stopped: an offset in the area or a count of
 *		bytes, which modulo the size is this offset. It becomes
 *		aux_head.
 *
 * The size is a power-of-two number of pages, because devices and drivers wrap
 * by a mask. Drivers that support any number of pages set
 * PERF_PMU_CAP_AUX_ANY_SIZE. Byte n of a full trace is at offset n modulo the
 * size. If the size is not a power of two, the byte count must not wrap: no
 * trace reaches 2^64 bytes, but one reaches 2^32 soon. 32-bit kernels therefore
 * accept no other sizes (valid_aux_nr_pages()).
 *
 * In overwrite mode some devices report where they stopped, but not how often
 * they wrapped. Their drivers report the whole area as new. Drivers that count
 * set PERF_PMU_CAP_AUX_WRITTEN and report exact numbers in both modes;
 * aux_written is then the number of bytes written since the area was mapped.
 * Documentation/userspace-api/perf_aux_snapshot.rst lists all drivers.
 *
 * The barriers are those of internal.h, with aux_head for data_head and
 * aux_tail for data_tail. The driver is responsible for (B): only the driver
 * knows how the stores of its device are ordered.
 *
 * The mapping and each active writer hold a reference in aux_refcount, which
 * keeps the pages. The reference of the mapping is dropped last:
 * perf_mmap_close() stops all writers first. The pages are therefore always
 * freed in task context.
 *
 * aux_tail is read from a page that its owner can overwrite: it only decides
 * how much of the owner's own trace is overwritten.
 *
 *  Copyright (C) 2008 Linutronix GmbH, Thomas Gleixner <tglx@kernel.org>
 *  Copyright (C) 2008-2011 Red Hat, Inc., Ingo Molnar
 *  Copyright (C) 2008-2011 Red Hat, Inc., Peter Zijlstra
 *  Copyright  ©  2009 Paul Mackerras, IBM Corp. <paulus@au1.ibm.com>
 */
#include <linux/gfp.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

#include "internal.h"

/*
 * Allocate and free
 *
 * Drivers without scatter-gather, and drivers that prefer large blocks, get
 * blocks of contiguous pages. The first page of a block describes it:
 * PagePrivate is set, and the order is in page->private. A contiguous range
 * whose size is not a power of two is described as several blocks, the largest
 * first.
 */

#define AUX_GFP		(GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN | __GFP_NORETRY)
#define AUX_CAP_BLOCKS	(PERF_PMU_CAP_AUX_NO_SG | PERF_PMU_CAP_AUX_PREFER_LARGE)

static void mark_blocks(struct page *page, int nr_pages)
{
	int order;

	for (; nr_pages; page += 1 << order, nr_pages -= 1 << order) {
		order = ilog2(nr_pages);
		if (order > 0) {
			SetPagePrivate(page);
			set_page_private(page, order);
		}
	}
}

/* Allocate the largest available block of up to 1 << @order pages. */
static struct page *alloc_block(int node, int order)
{
	struct page *page = NULL;

	for (order = min(order, MAX_PAGE_ORDER); order >= 0; order--) {
		page = alloc_pages_node(node, AUX_GFP, order);
		if (page)
			break;
	}
	if (page && order > 0) {
		split_page(page, order);
		mark_blocks(page, 1 << order);
	}
	return page;
}

/*
 * Return the largest useful order of a block: the watermark in a full trace,
 * the whole area in overwrite mode.
 */
static int max_block_order(struct perf_event *event, int nr_pages,
			   unsigned long watermark, bool overwrite)
{
	if (!(event->pmu->capabilities & AUX_CAP_BLOCKS))
		return 0;
	return overwrite ? ilog2(nr_pages) : get_order(watermark);
}

/*
 * Allocate @nr_pages in blocks and store their addresses in @pages. Return the
 * number of pages allocated, which is smaller if out of memory.
 */
static int alloc_blocks(void **pages, int node, int nr_pages, int max_order)
{
	int nr = 0, i, block;

	for (; nr < nr_pages; nr += block) {
		struct page *page;

		page = alloc_block(node, min(max_order, ilog2(nr_pages - nr)));
		if (!page)
			break;
		block = PagePrivate(page) ? 1 << page_private(page) : 1;
		for (i = 0; i < block; i++)
			pages[nr + i] = page_address(page + i);
	}
	return nr;
}

/*
 * Allocate @nr_pages contiguously, from the next larger power of two. Free the
 * pages beyond @nr_pages. Return @nr_pages, or 0 if out of memory.
 */
static int alloc_contiguous(void **pages, int node, int nr_pages)
{
	int order = get_order((unsigned long)nr_pages << PAGE_SHIFT), i;
	struct page *page = NULL;

	if (order <= MAX_PAGE_ORDER)
		page = alloc_pages_node(node, AUX_GFP, order);
	if (!page)
		return 0;
	split_page(page, order);
	mark_blocks(page, nr_pages);
	for (i = 0; i < nr_pages; i++)
		pages[i] = page_address(page + i);
	for (; i < 1 << order; i++)
		__free_page(page + i);
	return nr_pages;
}

static void free_aux_pages(void **pages, int nr_pages)
{
	int i;

	for (i = 0; i < nr_pages; i++) {
		struct page *page = virt_to_page(pages[i]);

		ClearPagePrivate(page);
		__free_page(page);
	}
	kfree(pages);
}

static void free_aux(struct perf_buffer *rb)
{
	/* A writer never drops the last reference, see the file comment. */
	WARN_ON_ONCE(in_atomic());

	rb->free_aux(rb->aux_priv);
	free_aux_pages(rb->aux_pages, rb->aux_nr_pages);
	WRITE_ONCE(rb->aux_nr_pages, 0);
	rb->aux_pages = NULL;
	rb->aux_priv = NULL;
	rb->free_aux = NULL;
}

int rb_alloc_aux(struct perf_buffer *rb, struct perf_event *event,
		 pgoff_t pgoff, int nr_pages, long watermark, int flags)
{
	int node = event->cpu == -1 ? NUMA_NO_NODE : cpu_to_node(event->cpu);
	bool no_sg = event->pmu->capabilities & PERF_PMU_CAP_AUX_NO_SG;
	bool overwrite = !(flags & RING_BUFFER_WRITABLE);
	void **pages, *priv = NULL;
	int nr, order;

	if (!has_aux(event))
		return -EOPNOTSUPP;
	if (nr_pages <= 0)
		return -EINVAL;
	/* kcalloc_node() warns about sizes that are always too large. */
	if (get_order(nr_pages * sizeof(*pages)) > MAX_PAGE_ORDER)
		return -ENOMEM;

	/*
	 * Default to half of the area: the reader copies one half while the
	 * device fills the other.
	 */
	if (overwrite)
		watermark = 0;
	else if (!watermark)
		watermark = min_t(u64, U32_MAX,
				  (u64)nr_pages << (PAGE_SHIFT - 1));

	pages = kcalloc_node(nr_pages, sizeof(*pages), GFP_KERNEL, node);
	if (!pages)
		return -ENOMEM;
	/*
	 * A device without scatter-gather wraps within one contiguous range in
	 * overwrite mode.
	 */
	if (overwrite && no_sg) {
		nr = alloc_contiguous(pages, node, nr_pages);
	} else {
		order = max_block_order(event, nr_pages, watermark, overwrite);
		nr = alloc_blocks(pages, node, nr_pages, order);
	}
	if (nr == nr_pages)
		priv = event->pmu->setup_aux(event, pages, nr_pages, overwrite);
	if (!priv) {
		free_aux_pages(pages, nr);
		return -ENOMEM;
	}

	rb->aux_pmu = event->pmu;
	rb->aux_priv = priv;
	rb->free_aux = event->pmu->free_aux;
	rb->aux_pages = pages;
	rb->aux_overwrite = overwrite;
	rb->aux_watermark = watermark;
	rb->aux_pgoff = pgoff;
	rb->aux_written = 0;
	rb->user_page->aux_written = 0;
	/* aux_head of an earlier, larger area may lie outside of this one. */
	if (overwrite) {
		rb->aux_head %= (unsigned long)nr_pages << PAGE_SHIFT;
		rb->user_page->aux_head = rb->aux_head;
	}
	rb->user_page->aux_capabilities = 0;
	rb->user_page->cap_aux_written =
		!!(event->pmu->capabilities & PERF_PMU_CAP_AUX_WRITTEN);
	smp_store_release(&rb->aux_nr_pages, nr_pages);	/* I, pairs with J */
	smp_wmb();	/* G, pairs with H */
	refcount_set(&rb->aux_refcount, 1);
	return 0;
}

void rb_free_aux(struct perf_buffer *rb)
{
	if (refcount_dec_and_test(&rb->aux_refcount))
		free_aux(rb);
}

struct page *rb_aux_page(struct perf_buffer *rb, unsigned long pgoff)
{
	unsigned long idx;

	if (!rb_has_aux(rb))
		return NULL;
	idx = pgoff - rb->aux_pgoff;
	if (idx >= rb->aux_nr_pages)
		return NULL;
	idx = array_index_nospec(idx, rb->aux_nr_pages);
	return virt_to_page(rb->aux_pages[idx]);
}

/*
 * Write
 */

/*
 * Tell whether aux_head has passed a multiple of the watermark since the last
 * wake-up, and advance aux_wakeup to it.
 */
static bool wakeup_is_due(struct perf_buffer *rb)
{
	if (rb->aux_overwrite ||
	    rb->aux_head - rb->aux_wakeup < rb->aux_watermark)
		return false;
	rb->aux_wakeup = rounddown(rb->aux_head, rb->aux_watermark);
	return true;
}

/*
 * Get the ring of @event with a reference to its AUX area, or NULL. Check
 * aux_mmap_count first: perf_mmap_close() clears it, then stops the writers
 * that found the area mapped, then drops the reference of the mapping.
 *
 * Events of several PMUs can be redirected to the ring of one without AUX data.
 * The area belongs to one of these PMUs: aux_priv means nothing to the others.
 */
static struct perf_buffer *get_aux(struct perf_event *event)
{
	struct perf_buffer *rb = ring_buffer_get(event);

	if (!rb)
		return NULL;
	if (refcount_read(&rb->aux_mmap_count) &&
	    refcount_inc_not_zero(&rb->aux_refcount)) {
		smp_rmb();	/* H, pairs with G */
		if (rb->aux_pmu == event->pmu)
			return rb;
		rb_free_aux(rb);
	}
	ring_buffer_put(rb);
	return NULL;
}

static void put_aux(struct perf_buffer *rb)
{
	rb_free_aux(rb);
	ring_buffer_put(rb);
}

/**
 * perf_aux_output_begin - start writing to the AUX area
 * @handle:	initialized here; must stay valid until perf_aux_output_end().
 *		On success @handle->head is the position at which to write,
 *		modulo the size of the area. @handle->size is the free space
 *		[bytes]; 0 in overwrite mode, where all of the area is free.
 * @event:	the event that writes; its PMU is the caller
 *
 * Context: pmu::start(), or an interrupt of the device. Interrupts and NMIs may
 * be disabled.
 *
 * Return: the value that setup_aux() returned; NULL if there is no AUX area or
 * no free space. Without free space, the reader is woken up and the event is
 * disabled.
 */
void *perf_aux_output_begin(struct perf_output_handle *handle,
			    struct perf_event *event)
{
	struct perf_buffer *rb = get_aux(event);
	unsigned long used;

	handle->event = NULL;
	if (!rb)
		return NULL;
	if (WARN_ON_ONCE(READ_ONCE(rb->aux_nest)))
		goto put;
	WRITE_ONCE(rb->aux_nest, 1);

	handle->rb = rb;
	handle->event = event;
	handle->aux_flags = 0;
	handle->head = rb->aux_head;
	handle->size = 0;
	if (rb->aux_overwrite)
		return rb->aux_priv;

	handle->wakeup = rb->aux_wakeup + rb->aux_watermark;
	used = rb->aux_head - READ_ONCE(rb->user_page->aux_tail);
	if (used < perf_aux_size(rb))
		handle->size = perf_aux_size(rb) - 1 - used;
	/* A, pairs with D: whether the driver writes depends on aux_tail */
	if (handle->size)
		return rb->aux_priv;

	/* The reader enables the event again. */
	perf_event_disable_inatomic(event);
	perf_output_wakeup(handle);
	handle->event = NULL;
	WRITE_ONCE(rb->aux_nest, 0);
put:
	put_aux(rb);
	return NULL;
}
EXPORT_SYMBOL_GPL(perf_aux_output_begin);

/* Write a record only for new bytes, or for flags that report a problem. */
static bool needs_aux_record(struct perf_output_handle *handle,
			     unsigned long size)
{
	const u64 silent = PERF_AUX_FLAG_OVERWRITE |
			   PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK;

	return size || (handle->aux_flags & ~silent);
}

/*
 * Publish aux_head. A reader that loads aux_head and passes (C) sees the trace
 * and aux_written up to this position, or newer ones.
 */
static void publish_aux(struct perf_buffer *rb)
{
	WRITE_ONCE(rb->user_page->aux_written, rb->aux_written);
	smp_wmb();	/* B, pairs with C */
	WRITE_ONCE(rb->user_page->aux_head, rb->aux_head);
}

/**
 * perf_aux_output_end - publish what was written to the AUX area
 * @handle:	initialized by perf_aux_output_begin()
 * @size:	number of new bytes. With PERF_PMU_CAP_AUX_WRITTEN it is exact
 *		in overwrite mode, too, and may exceed the size of the area.
 *
 * The caller makes sure that all stores of the device are visible before (B).
 * In overwrite mode the caller sets @handle->head to where the device stopped:
 * an offset in the area, or a count that modulo the size is this offset.
 *
 * Context: as perf_aux_output_begin(); at the latest from pmu::stop().
 */
void perf_aux_output_end(struct perf_output_handle *handle, unsigned long size)
{
	bool truncated = handle->aux_flags & PERF_AUX_FLAG_TRUNCATED;
	struct perf_event *event = handle->event;
	struct perf_buffer *rb = handle->rb;
	unsigned long begin;

	if (rb->aux_overwrite) {
		handle->aux_flags |= PERF_AUX_FLAG_OVERWRITE;
		begin = handle->head;
		rb->aux_head = begin;
	} else {
		handle->aux_flags &= ~PERF_AUX_FLAG_OVERWRITE;
		begin = rb->aux_head;
		rb->aux_head = begin + size;
	}
	rb->aux_written += size;

	if (needs_aux_record(handle, size))
		perf_event_aux_event(event, begin, size, handle->aux_flags);
	publish_aux(rb);

	if (wakeup_is_due(rb) || truncated) {
		if (truncated)
			perf_event_disable_inatomic(event);
		perf_output_wakeup(handle);
	}
	handle->event = NULL;
	WRITE_ONCE(rb->aux_nest, 0);
	put_aux(rb);
}
EXPORT_SYMBOL_GPL(perf_aux_output_end);

/**
 * perf_aux_output_skip - skip free space, for alignment
 * @handle:	initialized by perf_aux_output_begin()
 * @size:	bytes to skip from @handle->head on; they count as written
 *
 * Return: 0; -ENOSPC if @size exceeds the free space.
 */
int perf_aux_output_skip(struct perf_output_handle *handle, unsigned long size)
{
	struct perf_buffer *rb = handle->rb;

	if (size > handle->size)
		return -ENOSPC;

	rb->aux_head += size;
	rb->aux_written += size;
	publish_aux(rb);
	if (wakeup_is_due(rb)) {
		perf_output_wakeup(handle);
		handle->wakeup = rb->aux_wakeup + rb->aux_watermark;
	}
	handle->head = rb->aux_head;
	handle->size -= size;
	return 0;
}
EXPORT_SYMBOL_GPL(perf_aux_output_skip);

/**
 * perf_aux_output_flag - set flags of the next PERF_RECORD_AUX
 * @handle:	initialized by perf_aux_output_begin()
 * @flags:	PERF_AUX_FLAG_*, except PERF_AUX_FLAG_OVERWRITE, which depends
 *		on the mapping
 */
void perf_aux_output_flag(struct perf_output_handle *handle, u64 flags)
{
	if (WARN_ON_ONCE(flags & PERF_AUX_FLAG_OVERWRITE))
		return;
	handle->aux_flags |= flags;
}
EXPORT_SYMBOL_GPL(perf_aux_output_flag);

/*
 * perf_get_aux - get the value that setup_aux() returned
 *
 * Return: this value between begin and end of @handle, else NULL.
 */
void *perf_get_aux(struct perf_output_handle *handle)
{
	return handle->event ? handle->rb->aux_priv : NULL;
}
EXPORT_SYMBOL_GPL(perf_get_aux);

/**
 * perf_output_copy_aux - copy from the AUX area into a record (PERF_SAMPLE_AUX)
 * @aux_handle:	handle of the AUX writer
 * @handle:	handle of the record
 * @from:	start of the range; may be @to minus a length even if the
 *		result is below 0
 * @to:		end of the range: an offset in the area, or a count of bytes
 *
 * The length of the copy is @to - @from modulo the size of the area; if that is
 * 0, the whole area is copied. The copy ends at @to modulo the size.
 *
 * Return: number of bytes copied, or -EFAULT.
 */
long perf_output_copy_aux(struct perf_output_handle *aux_handle,
			  struct perf_output_handle *handle,
			  unsigned long from, unsigned long to)
{
	struct perf_buffer *rb = aux_handle->rb;
	unsigned long size = perf_aux_size(rb), length, at, done, n;

	if ((long)(to - from) > 0)
		length = (to - from - 1) % size + 1;
	else
		length = size - (from - to) % size;

	at = (to % size + size - length) % size;
	for (done = 0; done < length; done += n) {
		void *page = rb->aux_pages[at >> PAGE_SHIFT];

		n = min(length - done, PAGE_SIZE - offset_in_page(at));
		if (perf_output_copy(handle, page + offset_in_page(at), n))
			return -EFAULT;
		at += n;
		if (at == size)
			at = 0;
	}
	return length;
}
EXPORT_SYMBOL_GPL(perf_output_copy_aux);
