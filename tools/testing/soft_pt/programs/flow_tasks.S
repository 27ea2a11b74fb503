/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Start threads and children, which check their flags first. There are four threads: each runs a
 * loop of 1,000 iterations, then forks four children and waits for each.
 */
#include "flow.h"

#define THREADS		4
#define STACK		4096
/* CLONE_VM, FS, FILES, SIGHAND, THREAD, SYSVSEM */
#define CLONE_THREAD	0x50f00
#define SIGCHLD		17

	start
	mov	$THREADS, %ebp
	lea	stacks(%rip), %rbx
1:	add	$STACK, %rbx
	mov	$CLONE_THREAD, %edi
	mov	%rbx, %rsi
	xor	%edx, %edx
	xor	%r10d, %r10d
	xor	%r8d, %r8d
	call_kernel	__NR_clone
	test	%eax, %eax
	jz	thread
	dec	%ebp
	jnz	1b
2:	call_kernel	__NR_sched_yield
	cmpl	$THREADS, done(%rip)
	jne	2b
	or	seen(%rip), %r15
	finish

thread:
	pushf
	see_flags (%rsp)
	pop	%rax
	mov	$1000, %ebp
3:	dec	%ebp
	jnz	3b
	mov	$4, %ebp
4:	mov	$SIGCHLD, %edi
	xor	%esi, %esi
	xor	%edx, %edx
	xor	%r10d, %r10d
	xor	%r8d, %r8d
	call_kernel	__NR_clone
	test	%eax, %eax
	jz	child
	mov	%eax, %edi
	push	$0
	mov	%rsp, %rsi
	mov	$0x40000000, %edx	/* __WALL */
	xor	%r10d, %r10d
	call_kernel	__NR_wait4
	pop	%rax
	or	%rax, %r15		/* exit status in bits 8 to 15 */
	dec	%ebp
	jnz	4b
	lock or	%r15, seen(%rip)
	lock incl done(%rip)
	xor	%edi, %edi
	mov	$__NR_exit, %eax
	syscall

child:
	pushf
	see_flags (%rsp)
	pop	%rax
	finish

	.bss
	.align	16
stacks:	.skip	THREADS * STACK
seen:	.quad	0
done:	.long	0
