/* SPDX-License-Identifier: GPL-2.0-only */
/* Add to tools/include what it lacks of <linux/kernel.h>. */
#ifndef SHIM_LINUX_KERNEL_H
#define SHIM_LINUX_KERNEL_H

#include_next <linux/kernel.h>

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <linux/kconfig.h>
#include <linux/list.h>
#include <linux/types.h>

#define U16_MAX			((u16)~0U)
#define U32_MAX			((u32)~0U)
#define rounddown(x, y)		((x) - (x) % (y))
#define sizeof_field(type, member) sizeof(((type *)0)->member)
#define order_base_2(n)		((n) > 1 ? ilog2((n) - 1) + 1 : 0)
#define EXPORT_SYMBOL_GPL(name)	extern typeof(name) name
#define data_race(expression)	(expression)
#define __uninitialized		__attribute__((__uninitialized__))

/* Count warnings; a test fails on any warning that it does not expect. */
#define WARN_ON_ONCE(condition)						\
	({								\
		bool warn_ = (condition);				\
									\
		if (unlikely(warn_))					\
			shim_warn(__FILE__, __LINE__, #condition);	\
		warn_;							\
	})

/* The message is not printed. */
#define WARN(condition, ...) WARN_ON_ONCE(condition)

void shim_warn(const char *file, int line, const char *condition);

#endif
