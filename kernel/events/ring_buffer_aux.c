// SPDX-License-Identifier: GPL-2.0-only
/*
 * The AUX area of a perf ring: pages that a device or a driver fills with a raw trace.
 *
 *   data area	records, among them PERF_RECORD_AUX: "bytes [offset, offset + size) are new"
 *   AUX area	those bytes. The kernel does not look at them.
 *
 * A driver asks for room when its event is scheduled in (perf_aux_output_begin()), lets the device
 * write, and says how much there is when it is scheduled out (perf_aux_output_end()); in between it
 * may give up some room for alignment (perf_aux_output_skip()). One driver writes at a time, there
 * is no nesting.
 *
 *   full trace	mapped writable. aux_head counts all bytes; room is what the reader has given back
 *		by aux_tail.
 *   overwrite	mapped read-only. There is no tail; the driver tells where it stopped, an offset in
 *		the area, and that becomes aux_head.
 *
 * The size is a power of two of pages, which devices and drivers wrap by a mask; drivers that take
 * any number have PERF_PMU_CAP_AUX_ANY_SIZE. A count is at the offset that it is modulo the size.
 * Where that is no power of two the count must not wrap: nobody writes 2^64 bytes, but 2^32 are
 * soon there, so 32-bit kernels take no other sizes (takes_aux_pages()).
 *
 * Most devices that go round in the area tell where they stopped, but not how often they came by:
 * their drivers call all of it new. Those that count have PERF_PMU_CAP_AUX_WRITTEN and call new
 * what is, in both modes; then aux_written says how much that was since the area was mapped.
 *
 * The barriers are those of internal.h, with aux_head for data_head and aux_tail for data_tail.
 * (B) is the driver's: it alone knows how the device's stores are ordered.
 *
 * Two things keep the pages alive: the mapping, and a writer that is under way. Each has a
 * reference in aux_refcount. The mapping gives up its own last: perf_mmap_close() stops all writers
 * before, so the pages are always freed in task context.
 *
 * aux_tail is read from a page that its owner may scribble over: it decides only how much of the
 * owner's own trace is overwritten.
 */
#include <linux/gfp.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

#include "internal.h"

/*
 * Allocating and freeing
 *
 * Drivers that cannot gather pages, or do better with large ones, get runs of pages that are
 * contiguous. The first page of a run says how long it is: PagePrivate, and its order in private.
 * What is contiguous and of another length is described as several runs, the longest first.
 */

#define AUX_GFP		(GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN | __GFP_NORETRY)
#define AUX_CAP_RUNS	(PERF_PMU_CAP_AUX_NO_SG | PERF_PMU_CAP_AUX_PREFER_LARGE)

static void describe_run(struct page *page, int nr_pages)
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

/* The longest run to be had, up to 1 << @order pages. */
static struct page *alloc_run(int node, int order)
{
	struct page *page = NULL;

	for (order = min(order, MAX_PAGE_ORDER); order >= 0; order--) {
		page = alloc_pages_node(node, AUX_GFP, order);
		if (page)
			break;
	}
	if (page && order > 0) {
		split_page(page, order);
		describe_run(page, 1 << order);
	}
	return page;
}

/* How long a run is of use: a wake-up's worth, or all that one run can be. */
static int longest_run(struct perf_event *event, int nr_pages, unsigned long watermark,
		       bool overwrite)
{
	if (!(event->pmu->capabilities & AUX_CAP_RUNS))
		return 0;
	return overwrite ? ilog2(nr_pages) : get_order(watermark);
}

/* rb->aux_nr_pages counts what there is to free. */
static int alloc_pages_of(struct perf_buffer *rb, int node, int nr_pages, int max_order)
{
	while (rb->aux_nr_pages < nr_pages) {
		int left = nr_pages - rb->aux_nr_pages, i, nr;
		struct page *page = alloc_run(node, min(max_order, ilog2(left)));

		if (!page)
			return -ENOMEM;
		nr = PagePrivate(page) ? 1 << page_private(page) : 1;
		for (i = 0; i < nr; i++)
			rb->aux_pages[rb->aux_nr_pages++] = page_address(page + i);
	}
	return 0;
}

/* All in one run; what that is longer than @nr_pages is given back. */
static int alloc_one_run(struct perf_buffer *rb, int node, int nr_pages)
{
	int order = get_order((unsigned long)nr_pages << PAGE_SHIFT), i;
	struct page *page = NULL;

	if (order <= MAX_PAGE_ORDER)
		page = alloc_pages_node(node, AUX_GFP, order);
	if (!page)
		return -ENOMEM;
	split_page(page, order);
	describe_run(page, nr_pages);
	for (i = 0; i < nr_pages; i++)
		rb->aux_pages[rb->aux_nr_pages++] = page_address(page + i);
	for (; i < 1 << order; i++)
		__free_page(page + i);
	return 0;
}

static void free_aux(struct perf_buffer *rb)
{
	int i;

	WARN_ON_ONCE(in_atomic());	/* see the top: a writer never has the last reference */

	if (rb->aux_priv)
		rb->free_aux(rb->aux_priv);
	rb->aux_priv = NULL;
	rb->free_aux = NULL;

	for (i = 0; i < rb->aux_nr_pages; i++) {
		struct page *page = virt_to_page(rb->aux_pages[i]);

		ClearPagePrivate(page);
		page->mapping = NULL;
		__free_page(page);
	}
	rb->aux_nr_pages = 0;
	kfree(rb->aux_pages);
	rb->aux_pages = NULL;
}

/*
 * Other CPUs change other bits of that word, without a lock, and may undo this one. Hence it is
 * looked at each time that something is published, and the word only stored if need be.
 */
static void tell_whether_counted(struct perf_buffer *rb)
{
	if (rb->user_page->cap_aux_written != rb->aux_counted)
		rb->user_page->cap_aux_written = rb->aux_counted;
}

int rb_alloc_aux(struct perf_buffer *rb, struct perf_event *event, pgoff_t pgoff, int nr_pages,
		 long watermark, int flags)
{
	int node = event->cpu == -1 ? NUMA_NO_NODE : cpu_to_node(event->cpu);
	bool overwrite = !(flags & RING_BUFFER_WRITABLE);
	bool one_run = overwrite && (event->pmu->capabilities & PERF_PMU_CAP_AUX_NO_SG);
	int err = -ENOMEM;

	if (!has_aux(event))
		return -EOPNOTSUPP;
	if (nr_pages <= 0)
		return -EINVAL;
	/* kcalloc_node() warns of sizes that it can never give. */
	if (get_order(nr_pages * sizeof(*rb->aux_pages)) > MAX_PAGE_ORDER)
		return -ENOMEM;

	/* Half of the area, so that one half is read while the other is filled. */
	if (overwrite)
		watermark = 0;
	else if (!watermark)
		watermark = min_t(u64, U32_MAX, (u64)nr_pages << (PAGE_SHIFT - 1));

	rb->aux_pages = kcalloc_node(nr_pages, sizeof(*rb->aux_pages), GFP_KERNEL, node);
	if (!rb->aux_pages)
		return -ENOMEM;
	/* Without gathering, what the device goes round in must be one run. */
	if (one_run ? alloc_one_run(rb, node, nr_pages) :
	    alloc_pages_of(rb, node, nr_pages, longest_run(event, nr_pages, watermark, overwrite)))
		goto free;

	rb->free_aux = event->pmu->free_aux;
	rb->aux_priv = event->pmu->setup_aux(event, rb->aux_pages, nr_pages, overwrite);
	if (!rb->aux_priv)
		goto free;

	rb->aux_overwrite = overwrite;
	rb->aux_watermark = watermark;
	rb->aux_pgoff = pgoff;
	rb->aux_written = 0;
	rb->user_page->aux_written = 0;
	/* Where another area ended that was here before need not be in this one. */
	if (overwrite) {
		rb->aux_head %= perf_aux_size(rb);
		rb->user_page->aux_head = rb->aux_head;
	}
	rb->aux_counted = event->pmu->capabilities & PERF_PMU_CAP_AUX_WRITTEN;
	tell_whether_counted(rb);
	smp_wmb();	/* G, pairs with H */
	refcount_set(&rb->aux_refcount, 1);
	return 0;
free:
	free_aux(rb);
	return err;
}

void rb_free_aux(struct perf_buffer *rb)
{
	if (refcount_dec_and_test(&rb->aux_refcount))
		free_aux(rb);
}

/*
 * Writing
 */

/* Whether aux_head has gone past a multiple of the watermark that it had not before. */
static bool wakeup_is_due(struct perf_buffer *rb)
{
	if (rb->aux_overwrite || rb->aux_head - rb->aux_wakeup < rb->aux_watermark)
		return false;
	rb->aux_wakeup = rounddown(rb->aux_head, rb->aux_watermark);
	return true;
}

/*
 * A ring whose AUX area is there and will stay. The order of the checks is perf_mmap_close()'s,
 * which stops whoever found the area mapped before it gives up its reference.
 */
static struct perf_buffer *get_aux(struct perf_event *event)
{
	struct perf_buffer *rb = ring_buffer_get(event);

	if (!rb)
		return NULL;
	if (atomic_read(&rb->aux_mmap_count) && refcount_inc_not_zero(&rb->aux_refcount)) {
		smp_rmb();	/* H, pairs with G */
		return rb;
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
 * perf_aux_output_begin - take room in the AUX area
 * @handle:	to be filled; lives until perf_aux_output_end(). On success @handle->head is where
 *		to write, modulo the size of the area, and @handle->size how much [bytes]; 0 in
 *		overwrite mode, where it is all.
 * @event:	who writes; its pmu is the caller
 *
 * From pmu::start(), or an interrupt of the device. Interrupts or NMIs may be off.
 *
 * Return: what setup_aux() returned; NULL without an AUX area, or without room. Then the reader is
 * woken up and the event disabled.
 */
void *perf_aux_output_begin(struct perf_output_handle *handle, struct perf_event *event)
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
	if (handle->size)	/* A, pairs with D: what is written depends on aux_tail */
		return rb->aux_priv;

	perf_event_disable_inatomic(event);	/* the reader enables it again */
	perf_output_wakeup(handle);
	handle->event = NULL;
	WRITE_ONCE(rb->aux_nest, 0);
put:
	put_aux(rb);
	return NULL;
}
EXPORT_SYMBOL_GPL(perf_aux_output_begin);

/* A record is written only if it tells something: new bytes, or that something went wrong. */
static bool worth_a_record(struct perf_output_handle *handle, unsigned long size)
{
	const u64 silent = PERF_AUX_FLAG_OVERWRITE | PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK;

	return size || (handle->aux_flags & ~silent);
}

/* Who sees aux_head (C) sees what was written up to there, or more. */
static void publish_aux(struct perf_buffer *rb)
{
	tell_whether_counted(rb);
	WRITE_ONCE(rb->user_page->aux_written, rb->aux_written);
	smp_wmb();	/* B, pairs with C */
	WRITE_ONCE(rb->user_page->aux_head, rb->aux_head);
}

/**
 * perf_aux_output_end - what was written is there to be read
 * @handle:	from perf_aux_output_begin()
 * @size:	new bytes; of drivers with PERF_PMU_CAP_AUX_WRITTEN in overwrite mode, too, where it
 *		may be more than the area holds
 *
 * All stores of the device must be visible before (B). In overwrite mode @handle->head says where
 * it stopped, an offset in the area. Context as perf_aux_output_begin(); must come from pmu::stop()
 * at the latest.
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

	if (worth_a_record(handle, size))
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
 * perf_aux_output_skip - give up room, for alignment
 * @handle:	from perf_aux_output_begin()
 * @size:	bytes from @handle->head on; they count as written
 *
 * Return: 0, or -ENOSPC if that is more than there is.
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
 * perf_aux_output_flag - say something about what is being written
 * @handle:	from perf_aux_output_begin()
 * @flags:	PERF_AUX_FLAG_*; not PERF_AUX_FLAG_OVERWRITE, which depends on the mapping
 */
void perf_aux_output_flag(struct perf_output_handle *handle, u64 flags)
{
	if (WARN_ON_ONCE(flags & PERF_AUX_FLAG_OVERWRITE))
		return;
	handle->aux_flags |= flags;
}
EXPORT_SYMBOL_GPL(perf_aux_output_flag);

/* perf_get_aux - what setup_aux() returned, between begin and end; else NULL */
void *perf_get_aux(struct perf_output_handle *handle)
{
	return handle->event ? handle->rb->aux_priv : NULL;
}
EXPORT_SYMBOL_GPL(perf_get_aux);

/**
 * perf_output_copy_aux - copy from the AUX area into a record (PERF_SAMPLE_AUX)
 * @aux_handle:	of the AUX writer
 * @handle:	of the record
 * @from:	position of the first byte; @to less so many bytes, even if that is below 0
 * @to:		position behind the last, an offset in the area or a count. What is copied ends
 *		there, and is as long as they are apart, modulo the size of the area: all of it
 *		if that is nothing.
 *
 * Return: bytes copied, or -EFAULT.
 */
long perf_output_copy_aux(struct perf_output_handle *aux_handle, struct perf_output_handle *handle,
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
