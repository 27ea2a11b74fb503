/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_PID_NAMESPACE_H
#define SHIM_LINUX_PID_NAMESPACE_H

struct pid_namespace { int unused; };

extern struct pid_namespace init_pid_ns;

#endif
