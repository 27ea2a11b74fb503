/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For programs without libc, whose every instruction is to be found in the trace, but for those that
 * are marked. They exit with 0 if nothing showed them the trap flag: %r15 collects, bit 8, without a
 * branch that depends on it.
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
.macro see_flags from, to=%r15
	mov	\from, %r14
	or	%r14, \to
.endm

/* Executed, and not in the trace: it shows that user space is left before it, and entered behind it. */
.macro untraced insn:vararg
untraced_\@:
	\insn
.endm

/* Begun, and not executed. */
.macro faults insn:vararg
fault_\@:
	\insn
.endm

#define SIGILL		4
#define SIGTRAP		5
#define SIGUSR1		10
#define SIGSEGV		11
/* In the frame on the stack, which rdx points to (struct ucontext). */
#define UC_R15		96
#define UC_RIP		168
#define UC_EFLAGS	176
#define UC_CS		184

.macro handle sig, action
	mov	$\sig, %edi
	lea	\action(%rip), %rsi
	xor	%edx, %edx
	mov	$8, %r10d
	call_kernel	__NR_rt_sigaction
.endm

/* In a handler: its own flags, and those that were saved. What it has in registers is gone behind it. */
.macro handler_sees_flags
	see_flags UC_EFLAGS(%rdx), UC_R15(%rdx)
	pushf
	see_flags (%rsp), UC_R15(%rdx)
	pop	%rax
.endm

/* What an action of a signal is: SA_SIGINFO | SA_RESTORER; SA_NODEFER, or pt_truth's trap in the handler
   would be the end. */
.macro action name, handler, flags=0x04000004
	.data
\name:	.quad	\handler, \flags, restorer, 0
	.text
.endm
#define NODEFER		0x44000004

.macro restorer
restorer:
	mov	$__NR_rt_sigreturn, %eax
	syscall
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
