/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_POLL_H
#define SHIM_LINUX_POLL_H

#define EPOLLIN		0x0001
#define EPOLLRDNORM	0x0040
#define POLL_IN		1

#endif
