/* SPDX-License-Identifier: GPL-2.0-only */
/* Execute itself once. */
#include "flow.h"

	start
	pushf
	see_flags (%rsp)
	pop	%rax
	cmpl	$1, (%rsp)
	jne	1f
	lea	name(%rip), %rdi
	lea	arguments(%rip), %rsi
	xor	%edx, %edx
	call_kernel	__NR_execve
	ud2
1:	finish

	.data
name:	.asciz	"/proc/self/exe"
arguments:
	.quad	name, name, 0
