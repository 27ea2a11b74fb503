/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Execute a 32-bit program, the argument, which executes this one again (flow32_compat.S). Then
 * call the kernel by int $0x80, as that program does, from 64-bit code.
 */
#include "flow.h"

#define GETPID_32	20

	start
	mov	(%rsp), %ebx		/* argc */
	cmp	$2, %ebx
	jne	1f
	mov	8(%rsp), %rax		/* path of this program */
	mov	16(%rsp), %rdi		/* path of the 32-bit one */
	mov	%rdi, arguments(%rip)
	mov	%rax, arguments + 8(%rip)
	lea	arguments(%rip), %rsi
	xor	%edx, %edx
	call_kernel	__NR_execve
	ud2
1:	shl	$TF_SHIFT - 1, %ebx	/* argc is 1, or 3 if the 32-bit program saw TF */
	or	%rbx, %r15
	call_kernel	__NR_getpid
	mov	%eax, %ebx
	mov	$20, %ebp
2:	mov	$GETPID_32, %eax
	int	$0x80
	pushf
	see_flags (%rsp)
	pop	%rcx
	cmp	%ebx, %eax
	jne	3f
	dec	%ebp
	jnz	2b
	finish
3:	ud2

	.data
arguments:
	.quad	0, 0, 0
