// SPDX-License-Identifier: GPL-2.0-only
/*
 * The AUX area.
 *
 * What takes a step makes sure first that there is room for all packets that it may need: none is
 * written in part or left out. A full trace that finds no more room is ended with what is kept for
 * that, and its event disabled; the reader enables it again when it has made room.
 */
#include <linux/slab.h>

#include "soft_pt.h"

void *soft_pt_setup_aux(struct perf_event *event, void **pages, int nr_pages, bool overwrite)
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
	pt->at = pt->pos % pt->area->size;
	pt->written = 0;
	pt->room = pt->area->overwrite ? ULONG_MAX : pt->handle.size;
	return true;
}

void soft_pt_area_end(struct soft_pt *pt)
{
	if (!pt->area)
		return;
	if (pt->area->overwrite)
		pt->handle.head = pt->at;
	smp_wmb();	/* B of kernel/events/internal.h */
	perf_aux_output_end(&pt->handle, pt->written);
	pt->area = NULL;
}

/* What was written is published, which may wake up the reader; it may have made room. */
static void publish(struct soft_pt *pt)
{
	soft_pt_area_end(pt);
	soft_pt_area_begin(pt);
}

bool soft_pt_area_has_room(struct soft_pt *pt)
{
	if (!pt->area)
		return false;
	if (pt->area->overwrite)
		return true;
	if (pt->room < SOFT_PT_ROOM || (long)(pt->pos - pt->handle.wakeup) >= 0)
		publish(pt);
	return pt->area && pt->room >= SOFT_PT_ROOM;
}

void soft_pt_area_truncate(struct soft_pt *pt)
{
	if (!pt->area)
		return;
	pt->area->lost = true;
	perf_aux_output_flag(&pt->handle, PERF_AUX_FLAG_TRUNCATED);
	soft_pt_area_end(pt);
}

void soft_pt_area_write(struct soft_pt *pt, const u8 *packet, unsigned int size)
{
	unsigned long at = pt->at;
	unsigned int i;

	if (!pt->area || WARN_ON_ONCE(size > pt->room))
		return;
	for (i = 0; i < size; i++) {
		((u8 *)pt->area->pages[at >> PAGE_SHIFT])[offset_in_page(at)] = packet[i];
		if (++at == pt->area->size)
			at = 0;
	}
	pt->at = at;
	pt->pos += size;
	pt->written += size;
	if (!pt->area->overwrite)
		pt->room -= size;
}

long soft_pt_snapshot_aux(struct perf_event *event, struct perf_output_handle *handle,
			  unsigned long size)
{
	struct soft_pt *pt = this_cpu_ptr(&soft_pt_cpu);

	if (pt->event != event || !pt->area)
		return 0;
	size = min(size, pt->area->size);
	return size ? perf_output_copy_aux(&pt->handle, handle, pt->at - size, pt->at) : 0;
}
