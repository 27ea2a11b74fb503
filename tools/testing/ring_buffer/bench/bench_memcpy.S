/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Build both variants of the kernel's memcpy(): __memcpy, which is rep movsb, and memcpy_orig. The
 * kernel patches itself to use the one that suits the CPU.
 */
#define SYM_FUNC_START_LOCAL(name)	SYM_START(name, SYM_L_GLOBAL, SYM_A_ALIGN)
#define memcpy				bench_memcpy_unused	/* libc's stays */

#include "lib/memcpy_64.S"

	.section .note.GNU-stack, "", @progbits
