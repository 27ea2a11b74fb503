/* SPDX-License-Identifier: GPL-2.0-only */
/* Count preempt_disable() and the like, so that tests can check that they are balanced. */
#ifndef SHIM_LINUX_HARDIRQ_H
#define SHIM_LINUX_HARDIRQ_H

#include <linux/kernel.h>
#include "../shim.h"

#define preempt_disable()	do { shim.preempt++; barrier(); } while (0)
#define preempt_enable()	do { barrier(); shim.preempt--; } while (0)
#define rcu_read_lock()		do { shim.rcu++; barrier(); } while (0)
#define rcu_read_unlock()	do { barrier(); shim.rcu--; } while (0)
#define rcu_dereference(p)	READ_ONCE(p)
#define rcu_dereference_sched(p) READ_ONCE(p)
#define in_atomic()		(shim.preempt != 0)
/* Upstream stores it in event->pending_disable; ours stores 1 there. */
#define smp_processor_id()	1

static inline unsigned char interrupt_context_level(void)
{
	return 0;
}

#endif
