// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include "packets.h"

struct proto *packets__begin(struct packets *packets, unsigned int sequence, u64 time)
{
	struct proto *packet = &packets->packet;

	packet->len = 0;
	if (time)
		proto__number(packet, PACKET_TIMESTAMP, time);
	proto__number(packet, PACKET_SEQUENCE, sequence);
	return packet;
}

/* The file is a message whose only field is repeated. */
int packets__end(struct packets *packets)
{
	struct proto *packet = &packets->packet;
	size_t len = packet->len;

	putc(TRACE_PACKET << 3 | 2, packets->file);
	for (; len >= 0x80; len >>= 7)
		putc((len & 0x7f) | 0x80, packets->file);
	putc(len, packets->file);
	fwrite(packet->data, 1, packet->len, packets->file);
	if (!packets->err && packet->failed)
		packets->err = -ENOMEM;
	if (!packets->err && ferror(packets->file))
		packets->err = -errno ?: -EIO;
	return packets->err;
}

void packets__exit(struct packets *packets)
{
	proto__exit(&packets->packet);
}
