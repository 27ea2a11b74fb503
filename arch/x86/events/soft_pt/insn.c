// SPDX-License-Identifier: GPL-2.0-only
/* Classify an instruction by its effect on the control flow of 64-bit code. */
#include <linux/uaccess.h>
#include <asm/insn.h>

#include "soft_pt.h"

/*
 * Read up to MAX_INSN_SIZE bytes at @ip: fewer if the next page cannot be read.
 * Returns the number of bytes, 0 if none can be read.
 */
static unsigned int read_bytes(u8 *bytes, u64 ip)
{
	const void __user *from = (const void __user *)ip;
	unsigned int size = PAGE_SIZE - offset_in_page(ip);

	if (!copy_from_user_nofault(bytes, from, MAX_INSN_SIZE))
		return MAX_INSN_SIZE;
	if (size < MAX_INSN_SIZE && !copy_from_user_nofault(bytes, from, size))
		return size;
	return 0;
}

static bool has_prefix(struct insn *insn, u8 prefix)
{
	int i;

	for (i = 0; i < insn->prefixes.nbytes && i < 4; i++) {
		if (insn->prefixes.bytes[i] == prefix)
			return true;
	}
	return false;
}

static bool has_rep(struct insn *insn)
{
	return has_prefix(insn, 0xf2) || has_prefix(insn, 0xf3);
}

static enum soft_pt_kind two_byte_kind(struct insn *insn)
{
	switch (insn->opcode.bytes[1]) {
	case 0x05:		/* syscall */
		return SOFT_PT_SYSCALL;
	case 0x80 ... 0x8f:	/* jcc */
		return SOFT_PT_COND;
	case 0x0b:		/* ud2 */
	case 0xb9:		/* ud1 */
	case 0xff:		/* ud0 */
	case 0x07:		/* sysret */
	case 0x34:		/* sysenter */
	case 0x35:		/* sysexit */
	case 0xaa:		/* rsm */
		return SOFT_PT_UNKNOWN;
	case 0xb2:		/* lss */
		return SOFT_PT_SHADOW;
	}
	return SOFT_PT_PLAIN;
}

static enum soft_pt_kind one_byte_kind(struct insn *insn)
{
	u8 reg = X86_MODRM_REG(insn->modrm.value);

	switch (insn->opcode.bytes[0]) {
	case 0x70 ... 0x7f:	/* jcc */
	case 0xe0 ... 0xe3:	/* loop, jrcxz */
		return SOFT_PT_COND;
	case 0xe8:		/* call */
	case 0xe9:		/* jmp */
	case 0xeb:
		return SOFT_PT_DIRECT;
	case 0xc2:		/* ret */
	case 0xc3:
		return SOFT_PT_INDIRECT;
	case 0xff:
		if (reg == 2 || reg == 4)	/* call, jmp */
			return SOFT_PT_INDIRECT;
		/* Far jumps and calls may switch to 32-bit code. */
		return reg == 3 || reg == 5 ? SOFT_PT_UNKNOWN : SOFT_PT_PLAIN;
	case 0xca:		/* far ret */
	case 0xcb:
		return SOFT_PT_UNKNOWN;
	case 0xcf:
		return SOFT_PT_IRET;
	case 0xc7:		/* xbegin: single-stepping aborts it */
		return insn->modrm.value == 0xf8 ? SOFT_PT_UNKNOWN :
						   SOFT_PT_PLAIN;
	case 0xcd:		/* int */
		return insn->immediate.value == (s8)0x80 ? SOFT_PT_INT80 :
							   SOFT_PT_UNKNOWN;
	case 0xcc:		/* int3 */
	case 0xf1:		/* int1 */
		return SOFT_PT_TRAP;
	case 0x9c:
		return SOFT_PT_PUSHF;
	case 0x9d:
		return SOFT_PT_POPF;
	case 0x8e:		/* mov to a segment register */
		return reg == 2 ? SOFT_PT_SHADOW : SOFT_PT_PLAIN;
	case 0x90:		/* pause inhibits #DB in QEMU */
		return has_rep(insn) ? SOFT_PT_SHADOW : SOFT_PT_PLAIN;
	case 0x6c ... 0x6f:	/* ins, outs */
	case 0xa4 ... 0xa7:	/* movs, cmps */
	case 0xaa ... 0xaf:	/* stos, lods, scas */
		return has_rep(insn) ? SOFT_PT_REP : SOFT_PT_PLAIN;
	}
	return SOFT_PT_PLAIN;
}

void soft_pt_insn_read(struct soft_pt_insn *out, u64 ip)
{
	u8 bytes[MAX_INSN_SIZE];
	struct insn insn;

	out->kind = SOFT_PT_UNKNOWN;
	if (insn_decode(&insn, bytes, read_bytes(bytes, ip), INSN_MODE_64))
		return;

	/* A VEX, EVEX or XOP prefix: no such instruction branches. */
	if (insn.vex_prefix.value || insn.opcode.nbytes > 2)
		out->kind = SOFT_PT_PLAIN;
	else if (insn.opcode.nbytes == 2)
		out->kind = two_byte_kind(&insn);
	else
		out->kind = one_byte_kind(&insn);
	out->next = ip + insn.length;
	out->target = out->next + insn.immediate.value;
	out->pushed = has_prefix(&insn, 0x66) &&
		      !X86_REX_W(insn.rex_prefix.value) ? 2 : 8;
}
