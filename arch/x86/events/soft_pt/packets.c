// SPDX-License-Identifier: GPL-2.0-only
/*
 * Encode Intel PT packets as defined in the Intel SDM, volume 3, chapter "Intel
 * Processor Trace".
 */
#include <linux/bitfield.h>
#include <linux/unaligned.h>
#include <asm/tsc.h>

#include "soft_pt.h"

#define EXT		0x02	/* first byte of the two-byte opcodes */
#define EXT_CBR		0x03
#define EXT_PSBEND	0x23
#define EXT_BEP		0x33
#define EXT_BBP		0x63
#define EXT_PSB		0x82	/* repeated eight times */
#define EXT_BEP_IP	0xb3	/* a FUP follows */
#define EXT_OVF		0xf3
#define TSC		0x19
#define MODE		0x99
#define MODE_EXEC_64	0x01
#define BIP		0x04	/* 8-byte payload; item in the upper 5 bits */

/* Packets with an address: its compression is in the upper three bits. */
#define TIP_PGD		0x01
#define TIP		0x0d
#define TIP_PGE		0x11
#define FUP		0x1d
#define IP_NONE		0
#define IP_LOW_16	1	/* the upper bits are those of the last IP */
#define IP_LOW_32	2
#define IP_SIGN_48	3
#define IP_FULL		6

#define TNT_MAX		6

static void put(struct soft_pt *pt, const u8 *packet, unsigned int size)
{
	soft_pt_area_write(pt, packet, size);
	pt->since_psb += size;
}

static void put_tnt(struct soft_pt *pt)
{
	u8 packet;

	if (!pt->nr_tnt)
		return;
	packet = (1 << (pt->nr_tnt + 1)) | pt->tnt << 1;
	pt->tnt = 0;
	pt->nr_tnt = 0;
	put(pt, &packet, 1);
}

static void put_ip(struct soft_pt *pt, u8 opcode, u64 ip)
{
	u64 differing = ip ^ pt->last_ip;
	unsigned int form, size;
	u8 packet[9];

	if (!(differing >> 16)) {
		form = IP_LOW_16;
		size = 2;
	} else if (!(differing >> 32)) {
		form = IP_LOW_32;
		size = 4;
	} else if ((s64)(ip << 16) >> 16 == (s64)ip) {
		form = IP_SIGN_48;
		size = 6;
	} else {
		form = IP_FULL;
		size = 8;
	}
	packet[0] = form << 5 | opcode;
	put_unaligned_le64(ip, packet + 1);
	put(pt, packet, 1 + size);
	pt->last_ip = ip;
}

/*
 * Write a TSC packet. Values are made unique, because perf distinguishes
 * snapshots by the TSC of their PSBs.
 */
void soft_pt_tsc(struct soft_pt *pt)
{
	u8 packet[9];

	if (!(pt->event->attr.config & SOFT_PT_TSC))
		return;
	put_tnt(pt);
	pt->tsc = max(rdtsc_ordered(), pt->tsc + 1);
	packet[0] = TSC;
	put_unaligned_le64(pt->tsc, packet + 1);
	put(pt, packet, 8);
}

bool soft_pt_psb_is_due(struct soft_pt *pt)
{
	const u64 config = pt->event->attr.config;

	return pt->since_psb >> (11 + FIELD_GET(SOFT_PT_PSB_PERIOD, config));
}

void soft_pt_psb(struct soft_pt *pt, bool enabled, u64 ip)
{
	static const u8 mode[] = { MODE, MODE_EXEC_64 };
	static const u8 end[] = { EXT, EXT_PSBEND };
	static const u8 ovf[] = { EXT, EXT_OVF };
	const u8 cbr[] = { EXT, EXT_CBR, soft_pt_ratio(), 0 };
	u8 psb[16];
	int i;

	for (i = 0; i < sizeof(psb); i += 2) {
		psb[i] = EXT;
		psb[i + 1] = EXT_PSB;
	}
	put_tnt(pt);
	put(pt, psb, sizeof(psb));
	pt->since_psb = 0;
	pt->last_ip = 0;
	soft_pt_tsc(pt);
	put(pt, cbr, sizeof(cbr));
	put(pt, mode, sizeof(mode));
	if (enabled)
		put_ip(pt, FUP, ip);
	put(pt, end, sizeof(end));
	if (!enabled && pt->area && pt->area->ovf_pending) {
		put(pt, ovf, sizeof(ovf));
		pt->area->ovf_pending = false;
	}
}

void soft_pt_tnt(struct soft_pt *pt, bool taken)
{
	pt->tnt = pt->tnt << 1 | taken;
	if (++pt->nr_tnt == TNT_MAX)
		put_tnt(pt);
}

void soft_pt_tip(struct soft_pt *pt, u64 ip)
{
	put_tnt(pt);
	put_ip(pt, TIP, ip);
}

void soft_pt_pge(struct soft_pt *pt, u64 ip)
{
	put_ip(pt, TIP_PGE, ip);
}

void soft_pt_pgd(struct soft_pt *pt)
{
	static const u8 packet = IP_NONE << 5 | TIP_PGD;

	put_tnt(pt);
	put(pt, &packet, 1);
}

void soft_pt_fup_pgd(struct soft_pt *pt, u64 ip)
{
	put_tnt(pt);
	put_ip(pt, FUP, ip);
	soft_pt_pgd(pt);
}

void soft_pt_bbp(struct soft_pt *pt, u8 type)
{
	const u8 packet[] = { EXT, EXT_BBP, type };

	put_tnt(pt);
	put(pt, packet, sizeof(packet));
}

void soft_pt_bip(struct soft_pt *pt, u8 id, u64 value)
{
	u8 packet[9];

	packet[0] = id << 3 | BIP;
	put_unaligned_le64(value, packet + 1);
	put(pt, packet, sizeof(packet));
}

void soft_pt_bep(struct soft_pt *pt, bool enabled, u64 ip)
{
	const u8 packet[] = { EXT, enabled ? EXT_BEP_IP : EXT_BEP };

	put(pt, packet, sizeof(packet));
	if (enabled)
		put_ip(pt, FUP, ip);
}
