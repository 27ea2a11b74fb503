/* SPDX-License-Identifier: GPL-2.0-only */
/* Call a function each time, not once: tests count the calls. */
#ifndef SHIM_LINUX_ONCE_LITE_H
#define SHIM_LINUX_ONCE_LITE_H

#define DO_ONCE_LITE(function, ...) ((void)function(__VA_ARGS__))

#endif
