// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write the trace of a built-in loop that no task executes. It begins at
 * SYNTH_IP and never ends:
 *
 *	400000:	83 e9 01	1: sub $1, %ecx
 *	400003:	75 fb		   jne 1b	taken five times, then not
 *	400005:	b9 06 00 00 00	   mov $6, %ecx
 *	40000a:	ff e0		   jmp *%rax	to 1b
 *
 * Tests use it to wrap, fill and read areas at exact byte positions.
 */
#include "soft_pt.h"

#define SYNTH_IP	0x400000
#define SYNTH_ROUND	6

void soft_pt_synth(struct soft_pt *pt, unsigned long size)
{
	unsigned long end = pt->pos + size;
	int i;

	if (!soft_pt_area_has_space(pt))
		goto truncate;
	soft_pt_psb(pt, false, 0);
	soft_pt_pge(pt, SYNTH_IP);
	while ((long)(end - pt->pos) > 0) {
		for (i = 1; i <= SYNTH_ROUND; i++)
			soft_pt_tnt(pt, i < SYNTH_ROUND);
		soft_pt_tip(pt, SYNTH_IP);
		if (soft_pt_psb_is_due(pt))
			soft_pt_psb(pt, true, SYNTH_IP);
		if (!soft_pt_area_has_space(pt))
			break;
	}
	soft_pt_fup_pgd(pt, SYNTH_IP);
	if ((long)(end - pt->pos) <= 0)
		return;
truncate:
	soft_pt_area_truncate(pt);
}
