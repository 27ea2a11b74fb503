/* SPDX-License-Identifier: GPL-2.0-only */
/* Simulate user memory that faults after shim.user_readable bytes. */
#ifndef SHIM_LINUX_UACCESS_H
#define SHIM_LINUX_UACCESS_H

#include <linux/hardirq.h>

#define pagefault_disable()	(shim.pagefault++)
#define pagefault_enable()	(shim.pagefault--)

static inline unsigned long __copy_from_user_inatomic(void *dst, const void *src, unsigned long n)
{
	unsigned long readable = min(n, shim.user_readable);

	memcpy(dst, src, readable);
	return n - readable;
}

#endif
