/* SPDX-License-Identifier: GPL-2.0-only */
/* Queue work items until shim_run_work() runs them. */
#ifndef SHIM_LINUX_WORKQUEUE_H
#define SHIM_LINUX_WORKQUEUE_H

#include <linux/kernel.h>

struct work_struct {
	void			(*func)(struct work_struct *work);
	struct work_struct	*next;
};

#define INIT_WORK(work, function) ((work)->func = (function))

void schedule_work(struct work_struct *work);
#define queue_work(queue, work)	schedule_work(work)

#endif
