/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Call code that the kernel provides: the vdso function at the offset given as argument, and a
 * vsyscall. Without an argument, write the address of the vdso, 8 bytes, and its contents.
 */
#include "flow.h"

#define AT_SYSINFO_EHDR		33
#define VDSO_SIZE		0x2000
#define VSYSCALL_GETCPU		0xffffffffff600800

	start
	mov	(%rsp), %ebx		/* argc */
	mov	16(%rsp), %rsi		/* argv[1] */
	lea	8(%rsp), %rdi
	mov	$-1, %rcx
	xor	%eax, %eax
	repne scasq			/* to the end of the arguments */
	repne scasq			/* and of the environment */
1:	cmpq	$AT_SYSINFO_EHDR, (%rdi)
	lea	16(%rdi), %rdi
	jne	1b
	mov	-8(%rdi), %r12
	cmp	$1, %ebx
	je	write

2:	movzbl	(%rsi), %ecx		/* decimal */
	jrcxz	3f
	lea	(%rax, %rax, 4), %rax
	lea	-'0'(%rcx, %rax, 2), %rax
	inc	%rsi
	jmp	2b
3:	lea	(%r12, %rax), %r13
	mov	$20, %ebp
4:	lea	cpu(%rip), %rdi
	lea	node(%rip), %rsi
	xor	%edx, %edx
	call	*%r13
	pushf
	see_flags (%rsp)
	pop	%rax
	lea	cpu(%rip), %rdi
	xor	%esi, %esi
	mov	$VSYSCALL_GETCPU, %rax
	call	*%rax
	pushf
	see_flags (%rsp)
	pop	%rax
	dec	%ebp
	jnz	4b
	finish

write:	push	%r12
	mov	$1, %edi
	mov	%rsp, %rsi
	mov	$8, %edx
	call_kernel	__NR_write
	mov	$1, %edi
	mov	%r12, %rsi
	mov	$VDSO_SIZE, %edx
	call_kernel	__NR_write
	finish

	.bss
cpu:	.long	0
node:	.long	0
