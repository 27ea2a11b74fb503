/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Define macros for programs without libc whose every instruction must be in the trace, unless it
 * is marked as untraced or faulting. Such a program exits with 0 if the trap flag was never
 * visible: %r15 collects the flags that it has seen, without a branch that depends on bit 8.
 */
#include <asm/unistd_64.h>

#define TF		0x100
#define TF_SHIFT	8

.macro call_kernel nr
	mov	$\nr, %eax
	syscall
	or	%r11, %r15
.endm

/* Collect flags: those stored by pushf, or from elsewhere. */
.macro see_flags from, to=%r15
	mov	\from, %r14
	or	%r14, \to
.endm

/* Executed, but shown in the trace as leaving user space before it and entering it after. */
.macro untraced insn:vararg
untraced_\@:
	\insn
.endm

/* Raises an exception, so it is not executed. */
.macro faults insn:vararg
fault_\@:
	\insn
.endm

#define SIGILL		4
#define SIGTRAP		5
#define SIGUSR1		10
#define SIGSEGV		11
/* Offsets in struct ucontext, which %rdx points to in a signal handler. */
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

/* In a signal handler: collect its own flags and the saved ones. Clobbers registers. */
.macro handler_sees_flags
	see_flags UC_EFLAGS(%rdx), UC_R15(%rdx)
	pushf
	see_flags (%rsp), UC_R15(%rdx)
	pop	%rax
.endm

/*
 * struct sigaction, with SA_SIGINFO | SA_RESTORER. A SIGTRAP handler also needs SA_NODEFER:
 * otherwise the single-step trap of pt_truth in the handler would kill the program.
 */
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
