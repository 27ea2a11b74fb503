// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <linux/compiler.h>
#ifdef HAVE_ZLIB_SUPPORT
#include <zlib.h>
#endif
#include "packets.h"

#define MAX_PENDING	(256 << 10)	/* readers want less than 512 kB in a compressed packet */

struct proto *packets__begin(struct packets *packets, unsigned int sequence, u64 time)
{
	struct proto *packet = &packets->packet;

	packet->len = 0;
	if (time)
		proto__number(packet, PACKET_TIMESTAMP, packets__time(packets, time));
	proto__number(packet, PACKET_SEQUENCE,
		      packets->machine.id << MACHINE_SEQUENCE_SHIFT | sequence);
	if (packets->machine.id)
		proto__number(packet, PACKET_MACHINE, packets->machine.id);
	return packet;
}

int packets__end(struct packets *packets)
{
	/* The file is a message whose only field is repeated. */
	proto__bytes(&packets->pending, TRACE_PACKET, packets->packet.data, packets->packet.len);
	if (!packets->err && (packets->packet.failed || packets->pending.failed))
		packets->err = -ENOMEM;
	return packets->pending.len >= MAX_PENDING ? packets__flush(packets) : packets->err;
}

#ifdef HAVE_ZLIB_SUPPORT
/* Replace the packets by one that has them. Return: 0 or -ENOMEM. */
static int compress_pending(struct packets *packets)
{
	struct proto *pending = &packets->pending, *packet = &packets->packet;
	uLongf len = compressBound(pending->len);
	unsigned char *data = malloc(len);
	int err = -ENOMEM;

	if (data && compress2(data, &len, pending->data, pending->len, Z_BEST_SPEED) == Z_OK) {
		packet->len = pending->len = 0;
		proto__bytes(packet, PACKET_COMPRESSED, data, len);
		proto__bytes(pending, TRACE_PACKET, packet->data, packet->len);
		err = packet->failed || pending->failed ? -ENOMEM : 0;
	}
	free(data);
	return err;
}
#else
static int compress_pending(struct packets *packets __maybe_unused)
{
	return 0;
}
#endif

int packets__flush(struct packets *packets)
{
	struct proto *pending = &packets->pending;

	if (!packets->err && pending->len)
		packets->err = compress_pending(packets);
	if (!packets->err && fwrite(pending->data, 1, pending->len, packets->file) != pending->len)
		packets->err = -errno ?: -EIO;
	pending->len = 0;
	return packets->err;
}

void packets__exit(struct packets *packets)
{
	proto__exit(&packets->packet);
	proto__exit(&packets->pending);
}
