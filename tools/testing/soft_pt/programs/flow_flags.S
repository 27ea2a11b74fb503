/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Set TF in every possible way: the program is not traced while it is set, and gets its signals.
 * And read the flags after a load of %ss, which inhibits the trap.
 */
#include "flow.h"

#define ROUNDS	20
#define TRAPS	21		/* in each round */

/* Five instructions that trap. */
.macro clear_tf
	untraced nop
	untraced nop
	untraced pushf
	untraced andl	$~TF, (%rsp)
	untraced popf
.endm

.macro iret_to label, flags
	mov	%rsp, %rcx
	mov	%ss, %eax
	push	%rax
	push	%rcx
	pushf
	orl	$\flags, (%rsp)
	mov	%cs, %eax
	push	%rax
	push	$\label
	untraced iretq
.endm

	start
	handle	SIGTRAP, count
	handle	SIGILL, set
	mov	$ROUNDS, %ebp
1:	mov	%ss, %edx
	mov	$__NR_getpid, %eax
	mov	%edx, %ss
	syscall
	or	%r11, %r15
	mov	%edx, %ss
	int3
	pushf
	orl	$TF, (%rsp)
	popf
	clear_tf
	pushf
	orl	$TF, (%rsp)
	mov	%edx, %ss
	popf
	clear_tf
	iret_to	2f, 0
	nop
2:	iret_to	3f, TF
	nop
3:	clear_tf
	mov	%ss, %edx
	mov	%edx, %ss
	faults	ud2
	clear_tf
	dec	%ebp
	jnz	1b
	xor	%eax, %eax
	cmpl	$ROUNDS * TRAPS, traps(%rip)
	setne	%ah			/* bit 8 */
	or	%rax, %r15
	finish

count_handler:
	incl	traps(%rip)
	pushf
	see_flags (%rsp), UC_R15(%rdx)
	pop	%rax
	ret

set_handler:
	addq	$2, UC_RIP(%rdx)
	orl	$TF, UC_EFLAGS(%rdx)
	ret

	restorer
	action	count, count_handler
	action	set, set_handler

	.bss
traps:	.long	0
