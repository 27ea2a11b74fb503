/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __PERF_KERNEL_SYMBOLS_H
#define __PERF_KERNEL_SYMBOLS_H

#include <linux/types.h>

/**
 * struct kernel_symbols - what the kernel maps of a machine are created from
 * @start_name:		the relocation reference, "_text" or "_stext"; points to a constant
 * @start:		its address
 * @end:		address of "_edata", else of "_etext"; ~0ULL if there is neither
 * @entry_trampoline:	the kernel may have entry trampolines, which need maps of their own
 */
struct kernel_symbols {
	const char	*start_name;
	u64		start;
	u64		end;
	bool		entry_trampoline;
};

int kernel_symbols__read(struct kernel_symbols *symbols, const char *filename);

#endif /* __PERF_KERNEL_SYMBOLS_H */
