/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals: sent to itself, by int3, and by what faults. Handlers look at the flags that were saved. */
#include "flow.h"

#define SIGILL		4
#define SIGTRAP		5
#define SIGSEGV		11
#define SIGUSR1		10
/* In the frame on the stack, which rdx points to (struct ucontext). */
#define UC_RIP		168
#define UC_EFLAGS	176

.macro handle sig, action
	mov	$\sig, %edi
	lea	\action(%rip), %rsi
	xor	%edx, %edx
	mov	$8, %r10d
	call_kernel	__NR_rt_sigaction
.endm

	start
	handle	SIGUSR1, look
	handle	SIGTRAP, look
	handle	SIGILL, skip_two
	handle	SIGSEGV, skip_two
	mov	$20, %ebp
1:	call_kernel	__NR_getpid
	mov	%eax, %edi
	mov	$SIGUSR1, %esi
	call_kernel	__NR_kill
	int3
	nop
	ud2
	xor	%eax, %eax
	mov	(%rax), %eax
	hlt
	nop
	mov	$20, %eax		/* getpid() of 32-bit programs; SIGSEGV where there are none */
	int	$0x80
	dec	%ebp
	jnz	1b
	finish

look_handler:
	see_flags UC_EFLAGS(%rdx)
	pushf
	see_flags (%rsp)
	pop	%rax
	ret

skip_two_handler:
	see_flags UC_EFLAGS(%rdx)
	addq	$2, UC_RIP(%rdx)
	ret

restorer:
	mov	$__NR_rt_sigreturn, %eax
	syscall

	.data
/* handler, SA_SIGINFO | SA_RESTORER; SA_NODEFER, or pt_truth's trap in the handler would be the end */
look:	.quad	look_handler, 0x44000004, restorer, 0
skip_two: .quad	skip_two_handler, 0x04000004, restorer, 0
