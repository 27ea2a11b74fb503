/* SPDX-License-Identifier: GPL-2.0-only */
/* System calls that do or fail to do something. Where it has labels the test pauses the trace. */
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
	untraced lretq		/* as little is known of it as of what is preempted */
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
