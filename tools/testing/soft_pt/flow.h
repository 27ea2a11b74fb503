/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For programs without libc, whose every instruction is to be found in the trace. They exit with 0 if
 * nothing showed them the trap flag: %r15 collects, bit 8, without a branch that depends on it.
 */
#include <asm/unistd_64.h>

#define TF		0x100
#define TF_SHIFT	8

.macro call_kernel nr
	mov	$\nr, %eax
	syscall
	or	%r11, %r15
.endm

/* After pushf, or of flags from elsewhere. */
.macro see_flags from
	mov	\from, %r14
	or	%r14, %r15
.endm

.macro start
	.globl	_start
	.text
_start:
	xor	%r15d, %r15d
.endm

.macro finish
	mov	%r15, %rdi
	shr	$TF_SHIFT, %rdi
	and	$1, %edi
	mov	$__NR_exit_group, %eax
	syscall
	ud2
.endm
