/* SPDX-License-Identifier: GPL-2.0-only */
/* Count cond_resched(), and let a fatal signal arrive at a chosen allocation. */
#ifndef SHIM_LINUX_SCHED_SIGNAL_H
#define SHIM_LINUX_SCHED_SIGNAL_H

#include "../../shim.h"

#define cond_resched()			((void)shim.reschedules++)
#define fatal_signal_pending(task)	(shim.kill_at && shim.allocations >= shim.kill_at)

#endif
