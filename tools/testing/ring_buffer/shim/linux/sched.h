/* SPDX-License-Identifier: GPL-2.0-only */
/* Provide a current task and CPU whose numbers samples contain. */
#ifndef SHIM_LINUX_SCHED_H
#define SHIM_LINUX_SCHED_H

struct task_struct {
	int	pid;
	int	tgid;
};

extern struct task_struct shim_task;
#define current (&shim_task)

#endif
