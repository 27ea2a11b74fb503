/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's memcpy(), both ways, of which the kernel patches in the one that suits the CPU:
 * __memcpy, a rep movsb, and memcpy_orig.
 */
#define SYM_FUNC_START_LOCAL(name)	SYM_START(name, SYM_L_GLOBAL, SYM_A_ALIGN)
#define memcpy				bench_memcpy_unused	/* libc's stays */

#include "lib/memcpy_64.S"

	.section .note.GNU-stack, "", @progbits
