/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Execute restartable sequences that are aborted: by a signal, and by a context switch while the
 * task sleeps. The kernel continues at the abort handler. The test looks for the named labels.
 *
 * System calls are not allowed in a sequence. Linux 7.3 does not abort one for them: then the task
 * sleeps SLEEPS times, and goes on.
 */
#include "flow.h"

#define SIGNATURE	0x53053053
#define RSEQ_SIZE	32
#define RSEQ_CS		8
#define SLEEPS		3

.macro begin sequence
	lea	\sequence(%rip), %rax
	mov	%rax, rseq + RSEQ_CS(%rip)
.endm

.macro sequence name, begin, end, abort
	.data
	.balign	32
\name:	.long	0, 0
	.quad	\begin, \end - \begin, \abort
	.text
.endm

/* The kernel requires this signature before an abort handler; the instruction is never executed. */
.macro signature
	.byte	0x0f, 0xb9, 0x3d	/* ud1 */
	.long	SIGNATURE
.endm

	start
	handle	SIGILL, look
	lea	rseq(%rip), %rdi
	mov	$RSEQ_SIZE, %esi
	xor	%edx, %edx
	mov	$SIGNATURE, %r10d
	call_kernel	__NR_rseq
	or	%rax, %r15
	test	%eax, %eax
	jnz	4f
	mov	$20, %ebp
1:	movl	$0, looked(%rip)
2:	begin	first
inside:	nop
	ud2
inside_end:
	signature
aborted:
	cmpl	$0, looked(%rip)	/* 0 if a context switch aborted it first */
	je	2b

	mov	$SLEEPS, %ebx
3:	begin	second
asleep:	lea	delay(%rip), %rdi
	xor	%esi, %esi
	mov	$__NR_nanosleep, %eax
	syscall
	nop
asleep_end:
	dec	%ebx
	jnz	3b
	jmp	5f
	signature
woken:	or	%r11, %r15
5:	dec	%ebp
	jnz	1b
4:	finish

look_handler:
	handler_sees_flags
	incl	looked(%rip)
	ret

	restorer
	action	look, look_handler
	sequence first, inside, inside_end, aborted
	sequence second, asleep, asleep_end, woken

	.data
delay:	.quad	0, 20000000
	.balign	32
rseq:	.skip	RSEQ_SIZE
looked:	.long	0
