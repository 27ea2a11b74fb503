/* SPDX-License-Identifier: GPL-2.0-only */
/* Execute all kinds of branches, repeated string instructions, and those that use flags. */
#include "flow.h"

	start
	mov	$90, %ebp
1:	mov	$7, %edi
	call	fibonacci
	call	indirect
	call	strings
	call	flags
	call	segments
	call	jumps
	dec	%ebp
	jnz	1b
	finish

/* Recursion: %edi -> %eax */
fibonacci:
	cmp	$2, %edi
	jae	1f
	mov	%edi, %eax
	ret
1:	push	%rdi
	dec	%edi
	call	fibonacci
	pop	%rdi
	push	%rax
	lea	-2(%rdi), %edi
	call	fibonacci
	pop	%rdx
	add	%edx, %eax
	ret

indirect:
	mov	%ebp, %eax
	and	$3, %eax
	call	*table(, %rax, 8)
	lea	one(%rip), %rcx
	call	*%rcx
	lea	2f(%rip), %rcx
	push	%rcx
	ret	$0
2:	lea	3f(%rip), %rcx
	jmp	*%rcx
	nop
3:	notrack jmp *4f(%rip)
	nop
4:	.quad	5f
5:	ret

one:	ret
two:	.byte	0xf2, 0xc3		# bnd ret; binutils 2.44 does not know bnd
three:	jmp	one
four:	data16 nop
	rep nop
	ret

strings:
	lea	buffer(%rip), %rdi
	lea	table(%rip), %rsi
	mov	$29, %ecx
	rep movsb
	lea	buffer(%rip), %rdi
	xor	%eax, %eax
	mov	$64, %ecx
	repne scasb
	lea	buffer(%rip), %rdi
	mov	$8, %ecx
	rep stosq
	xor	%ecx, %ecx
	rep stosb
	lodsb
	mov	$5, %ecx
6:	loop	6b
	mov	$2, %ecx
7:	dec	%ecx
	jrcxz	8f
	jmp	7b
8:	ret

flags:
	pushf
	see_flags (%rsp)
	popf
	pushfw
	see_flags (%rsp)
	popfw
	std
	pushf
	cld
	popf
	cld
	pushf
	pop	%rax
	see_flags %rax
	ret

/* A load of %ss inhibits the trap that would follow it. */
segments:
	mov	%ss, %eax
	mov	%eax, %ss
	pushf
	see_flags (%rsp)
	pop	%rdx
	mov	%eax, %ss
	nop
	mov	%eax, %ss
	jmp	9f
	nop
9:	mov	%eax, %ss
	call	one
	ret

/* Short and near, forward and backward, and to the next instruction. */
jumps:
	jmp	1f
	.skip	200, 0x90
1:	test	%ebp, %ebp
	jz	2f
	jnz	3f
	.skip	200, 0x90
2:	ret
3:	jp	4f
4:	jmp	5f
5:	.byte	0x0f, 0x85, 0, 0, 0, 0	/* jne to the next instruction */
	vzeroupper
	pxor	%xmm0, %xmm0
	ret

	.data
table:	.quad	one, two, three, four
	.bss
buffer:	.skip	128
