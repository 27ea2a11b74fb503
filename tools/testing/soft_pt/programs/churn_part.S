/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code that churn.c maps at addresses where other such code was mapped before. PART is its
 * letter, NUMBER counts from 1: the addresses of its functions, and what they execute, differ for
 * each NUMBER. With PROGRAM defined it is a program, else a shared object whose first instruction
 * is the gate.
 *
 * A call of the gate calls one() 2 + NUMBER times and two() 20 - NUMBER times.
 */
#include <asm/unistd.h>

#define PASTE(a, b)	a ## b
#define JOIN(a, b)	PASTE(a, b)
#define NAME(name)	JOIN(PART, name)

	.macro	function name
	.type	\name, @function
\name:
	.endm

	.macro	end name
	.size	\name, . - \name
	.skip	16 * NUMBER, 0x90
	.endm

	.text
	.globl	NAME(_gate)
	function NAME(_gate)
	jmp	NAME(_enter)
	end	NAME(_gate)

	function NAME(_enter)
	push	%rbx
	mov	$(2 + NUMBER), %ebx
1:	call	NAME(_one)
	dec	%ebx
	jnz	1b
	mov	$(20 - NUMBER), %ebx
	lea	NAME(_two)(%rip), %rax
2:	call	*%rax
	dec	%ebx
	jnz	2b
	pop	%rbx
	ret
	end	NAME(_enter)

	function NAME(_two)
	test	$1, %bl
	jz	1f
	nop
1:	ret
	end	NAME(_two)

	function NAME(_one)
	mov	$NUMBER, %ecx
1:	dec	%ecx
	jnz	1b
	ret
	end	NAME(_one)

#ifdef PROGRAM
	.globl	_start
_start:	call	NAME(_gate)
	mov	$15, %edi		/* PR_SET_NAME */
	lea	again(%rip), %rsi
	mov	$__NR_prctl, %eax
	syscall
	call	NAME(_gate)
	xor	%edi, %edi
	mov	$__NR_exit_group, %eax
	syscall

	.section .rodata
	.irp	letter, PART
again:	.asciz	"again_\letter"
	.endr
#endif
