/* SPDX-License-Identifier: GPL-2.0-only */
/* Count how often irq_work was queued. Run it at once, as if interrupts were enabled. */
#ifndef SHIM_LINUX_IRQ_WORK_H
#define SHIM_LINUX_IRQ_WORK_H

#include "shim.h"

struct irq_work {
	unsigned long	queued;
	void		(*func)(struct irq_work *work);	/* NULL: only counted */
};

#define DEFINE_IRQ_WORK(name, function) struct irq_work name = { .func = (function) }

static inline void irq_work_queue(struct irq_work *work)
{
	work->queued++;
	if (!work->func)
		return;
	shim.irq_work++;
	work->func(work);
	shim.irq_work--;
}

#endif
