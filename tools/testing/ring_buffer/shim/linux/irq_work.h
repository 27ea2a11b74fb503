/* SPDX-License-Identifier: GPL-2.0-only */
/* Count how often irq_work was queued. */
#ifndef SHIM_LINUX_IRQ_WORK_H
#define SHIM_LINUX_IRQ_WORK_H

struct irq_work {
	unsigned long queued;
};

static inline void irq_work_queue(struct irq_work *work)
{
	work->queued++;
}

#endif
