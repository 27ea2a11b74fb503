/* SPDX-License-Identifier: GPL-2.0-only */
/* Add atomic64_t to the header of tools/include. */
#ifndef SHIM_LINUX_ATOMIC_H
#define SHIM_LINUX_ATOMIC_H

#include_next <linux/atomic.h>

typedef struct { long counter; } atomic64_t;

static inline void atomic64_inc(atomic64_t *v)
{
	__atomic_fetch_add(&v->counter, 1, __ATOMIC_RELAXED);
}

#endif
