/* SPDX-License-Identifier: GPL-2.0-only */
/* Get signals: sent to itself, by int3, and by faults. Handlers check the saved flags. */
#include "flow.h"

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
	faults	ud2
	xor	%eax, %eax
	faults	mov	(%rax), %eax
	faults	hlt
	nop
	dec	%ebp
	jnz	1b
	finish

look_handler:
	handler_sees_flags
	ret

skip_two_handler:
	handler_sees_flags
	addq	$2, UC_RIP(%rdx)
	ret

	restorer
	action	look, look_handler, NODEFER
	action	skip_two, skip_two_handler
