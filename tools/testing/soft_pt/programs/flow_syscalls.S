/* SPDX-License-Identifier: GPL-2.0-only */
/* Execute system calls that succeed or fail. The test pauses the trace at the labels. */
#include "flow.h"

	start
	mov	$50, %ebp
1:	call_kernel	__NR_getpid
	mov	$-1, %edi
	call_kernel	__NR_close
closed:	mov	$-1, %rdi
	mov	$8, %esi
	call_kernel	__NR_write
	call_kernel	__NR_sched_yield
yielded:
	call_kernel	100000
	mov	%cs, %eax
	push	%rax
	push	$2f
	untraced lretq		/* not followed, like a preemption here */
2:
	pushf
	see_flags (%rsp)
	pop	%rax
	dec	%ebp
again:	jnz	1b
	lea	delay(%rip), %rdi
	xor	%esi, %esi
	call_kernel	__NR_nanosleep
	finish

	.data
delay:	.quad	0, 20000000
