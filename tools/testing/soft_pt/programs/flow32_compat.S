/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Take known branches in 32-bit code: the program that flow_compat executes. It prints how it called the kernel, gets signals,
 * and executes its argument: with no further argument, or with two if the trap flag was visible.
 */
#include <asm/unistd_32.h>

#define TF		0x100
#define AT_SYSINFO	32
#define SIGILL		4
#define SIGTRAP		5
#define SIGUSR1		10
/* Offsets in the signal frames: struct sigcontext_32, struct ucontext_ia32. */
#define SC_EFLAGS	64
#define UC_EIP		76
#define UC_EFLAGS	84

.macro see_flags from:vararg
	mov	\from, %eax
	or	%eax, seen
.endm

.macro see_own_flags
	pushf
	see_flags (%esp)
	pop	%eax
.endm

.macro call_kernel nr
	mov	$\nr, %eax
	int	$0x80
	see_own_flags
.endm

.macro say text, size
	mov	$2, %ebx		/* stderr */
	mov	$\text, %ecx
	mov	$\size, %edx
.endm

.macro handle sig, action
	mov	$\sig, %ebx
	mov	$\action, %ecx
	xor	%edx, %edx
	mov	$8, %esi
	call_kernel	__NR_rt_sigaction
.endm

/* SA_RESTORER, with or without SA_SIGINFO */
.macro action name, handler, restorer, flags
	.data
\name:	.long	\handler, \flags, \restorer, 0, 0
	.text
.endm

	.globl	_start
	.text
_start:
	see_own_flags
	mov	8(%esp), %eax
	mov	%eax, arguments
	mov	(%esp), %ecx
	lea	8(%esp, %ecx, 4), %edi
	xor	%eax, %eax
	mov	$-1, %ecx
	repne scasl			/* to the end of the environment */
1:	cmpl	$AT_SYSINFO, (%edi)
	lea	8(%edi), %edi
	jne	1b
	mov	-4(%edi), %eax
	mov	%eax, sysinfo

	handle	SIGUSR1, old_frame
	handle	SIGTRAP, new_frame
	handle	SIGILL, new_frame_skip
	mov	$20, %ebp
2:	call_kernel	__NR_getpid
	mov	%eax, %ebx
	mov	$SIGUSR1, %ecx
	call_kernel	__NR_kill
	int3
	ud2
	mov	$__NR_getpid, %eax
	call	*sysinfo
	see_own_flags
	dec	%ebp
	jnz	2b

	say	by_interrupt, "by_interrupt_end - by_interrupt"
	call_kernel	__NR_write
	say	by_sysinfo, "by_sysinfo_end - by_sysinfo"
	mov	$__NR_write, %eax
	call	*sysinfo
	see_own_flags

	testl	$TF, seen
	jz	3f
	mov	arguments, %eax
	mov	%eax, arguments + 4
	mov	%eax, arguments + 8
3:	mov	arguments, %ebx
	mov	$arguments, %ecx
	xor	%edx, %edx
	call_kernel	__NR_execve
	ud2

old_handler:
	see_flags 8 + SC_EFLAGS(%esp)
	see_own_flags
	ret

old_restorer:
	pop	%eax
	mov	$__NR_sigreturn, %eax
	int	$0x80

skip_handler:
	mov	12(%esp), %edx
	addl	$2, UC_EIP(%edx)
new_handler:
	mov	12(%esp), %edx
	see_flags UC_EFLAGS(%edx)
	see_own_flags
	ret

new_restorer:
	mov	$__NR_rt_sigreturn, %eax
	int	$0x80

	/* SA_NODEFER, as in flow.h */
	action	old_frame, old_handler, old_restorer, 0x44000000
	action	new_frame, new_handler, new_restorer, 0x44000004
	action	new_frame_skip, skip_handler, new_restorer, 0x44000004

	.data
by_interrupt:
	.ascii	"32 bits, by int 0x80\n"
by_interrupt_end:
by_sysinfo:
	.ascii	"32 bits, by AT_SYSINFO\n"
by_sysinfo_end:

	.bss
seen:	.long	0
sysinfo:
	.long	0
arguments:
	.skip	16
