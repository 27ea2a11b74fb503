/* SPDX-License-Identifier: GPL-2.0-only */
/* Spin in user space until killed: never enter the kernel by itself. */
#include "flow.h"

	start
1:	mov	$5, %ebp
2:	dec	%ebp
	jnz	2b
	jmp	1b
