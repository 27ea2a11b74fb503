/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Execute far jumps and returns: within 64-bit code, and to 32-bit code, after which the trace
 * begins again only when the kernel returns to 64-bit code. And execute system calls from 32-bit
 * code.
 */
#include "flow.h"

#define CS_32	0x23
#define CS_64	0x33
#define GETPID_32	20

	start
	lea	stack_end(%rip), %rsp	/* 32-bit code keeps only the lower 32 bits */
	handle	SIGILL, resume
	handle	SIGSEGV, resume
	mov	$20, %ebp
1:	push	$CS_64
	push	$2f
	untraced lretq
	nop
2:	untraced ljmp	*far_64(%rip)
	nop
3:	lea	4f(%rip), %rbx
	untraced ljmp	*far_32(%rip)
	nop
4:	lea	5f(%rip), %rbx
	push	$CS_32
	push	$jump_back
	untraced lretq
	nop
5:	lea	6f(%rip), %rbx
	mov	$GETPID_32, %eax	/* SIGSEGV if the kernel has no 32-bit system calls */
	int	$0x80
6:	lea	7f(%rip), %rbx
	mov	$GETPID_32, %eax
	push	%r15
	push	%rbp
	mov	%rsp, %rbp
	untraced sysenter		/* continues at an unspecified address in 32-bit code */
7:	lea	stack_end - 16(%rip), %rsp
	pop	%rbp
	pop	%rax
	or	%rax, %r15
	dec	%ebp
	jnz	1b
	finish

	.code32
code_32:
	untraced inc	%eax
	untraced jmp	8f
	nop
8:	faults	ud2

jump_back:
	untraced dec	%eax		/* would be a prefix in 64-bit code */
	untraced mov	$GETPID_32, %eax
	untraced int	$0x80
	untraced ljmp	$CS_64, $9f
	.code64
	/* Traced only after the next kernel entry, and an interrupt may come at any time. */
9:	faults	ud2

resume_handler:
	see_flags UC_EFLAGS(%rdx), UC_R15(%rdx)
	mov	%rbx, UC_RIP(%rdx)
	movw	$CS_64, UC_CS(%rdx)
	ret

	restorer
	action	resume, resume_handler

	.data
far_64:	.long	3b
	.word	CS_64
far_32:	.long	code_32
	.word	CS_32

	.bss
	.balign	16
stack:	.skip	16384
stack_end:
