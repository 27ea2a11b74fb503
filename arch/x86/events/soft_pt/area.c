// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write packets to the AUX area.
 *
 * Before each step, space for all packets that it may need is checked, so that
 * no packet is written in part or left out. When a full-trace area has no such
 * space left, the packets that disable packet generation go to the reserved
 * rest, and the event is disabled. The reader enables it again after it has
 * made space.
 */
#include <linux/slab.h>

#include "soft_pt.h"

void *soft_pt_setup_aux(struct perf_event *event, void **pages, int nr_pages,
			bool overwrite)
{
	struct soft_pt_area *area = kzalloc(sizeof(*area), GFP_KERNEL);

	if (!area)
		return NULL;
	area->pages = pages;
	area->size = (unsigned long)nr_pages << PAGE_SHIFT;
	area->overwrite = overwrite;
	return area;
}

void soft_pt_free_aux(void *aux)
{
	kfree(aux);
}

bool soft_pt_area_begin(struct soft_pt *pt)
{
	pt->area = perf_aux_output_begin(&pt->handle, pt->event);
	if (!pt->area)
		return false;
	pt->pos = pt->handle.head;
	pt->offset = pt->pos % pt->area->size;
	pt->written = 0;
	pt->space = pt->area->overwrite ? ULONG_MAX : pt->handle.size;
	return true;
}

void soft_pt_area_end(struct soft_pt *pt)
{
	if (!pt->area)
		return;
	if (pt->area->overwrite)
		pt->handle.head = pt->offset;
	smp_wmb();	/* B of kernel/events/internal.h */
	perf_aux_output_end(&pt->handle, pt->written);
	pt->area = NULL;
}

/*
 * Publish what was written, which may wake up the reader, and begin again with
 * the space that the reader has made.
 */
static void publish(struct soft_pt *pt)
{
	soft_pt_area_end(pt);
	soft_pt_area_begin(pt);
}

bool soft_pt_area_has_space(struct soft_pt *pt)
{
	if (!pt->area)
		return false;
	if (pt->area->overwrite)
		return true;
	if (pt->space < SOFT_PT_STEP_BYTES ||
	    (long)(pt->pos - pt->handle.wakeup) >= 0)
		publish(pt);
	return pt->area && pt->space >= SOFT_PT_STEP_BYTES;
}

void soft_pt_area_truncate(struct soft_pt *pt)
{
	if (!pt->area)
		return;
	pt->area->ovf_pending = true;
	perf_aux_output_flag(&pt->handle, PERF_AUX_FLAG_TRUNCATED);
	soft_pt_area_end(pt);
}

void soft_pt_area_write(struct soft_pt *pt, const u8 *packet,
			unsigned int size)
{
	unsigned long offset = pt->offset;
	unsigned int i;

	if (!pt->area || WARN_ON_ONCE(size > pt->space))
		return;
	for (i = 0; i < size; i++) {
		u8 *page = pt->area->pages[offset >> PAGE_SHIFT];

		page[offset_in_page(offset)] = packet[i];
		if (++offset == pt->area->size)
			offset = 0;
	}
	pt->offset = offset;
	pt->pos += size;
	pt->written += size;
	if (!pt->area->overwrite)
		pt->space -= size;
}

long soft_pt_snapshot_aux(struct perf_event *event,
			  struct perf_output_handle *handle,
			  unsigned long size)
{
	struct soft_pt *pt = this_cpu_ptr(&soft_pt_cpu);

	if (pt->event != event || !pt->area)
		return 0;
	size = min(size, pt->area->size);
	if (!size)
		return 0;
	return perf_output_copy_aux(&pt->handle, handle, pt->offset - size,
				    pt->offset);
}
