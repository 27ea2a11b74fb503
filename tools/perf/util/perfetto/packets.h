/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write packets, of which a trace of Perfetto consists, to a file.
 *
 * 256 kB of them are compressed at a time, as one packet, if perf is built with zlib.
 */
#ifndef PERF_PERFETTO_PACKETS_H
#define PERF_PERFETTO_PACKETS_H

#include <stdio.h>
#include "proto.h"
#include "schema.h"

/* Packets that share no interned data have the same sequence; each event has one of its own. */
#define SEQUENCE_COMMON		1
#define SEQUENCE_OF_EVENT	2	/* plus the index of the event */

/**
 * struct packets
 * @file:	output; the caller's
 * @packet:	the packet that was begun
 * @pending:	packets that are not written yet
 * @err:	negative errno of the first failure, or 0
 */
struct packets {
	FILE		*file;
	struct proto	 packet;
	struct proto	 pending;
	int		 err;
};

/**
 * packets__begin - begin a packet
 * @time:	[ns]; 0 if the packet has none
 *
 * Return: where to add enum packet_fields.
 */
struct proto *packets__begin(struct packets *packets, unsigned int sequence, u64 time);

/** packets__end - end the packet. Return: @packets->err */
int packets__end(struct packets *packets);

/** packets__flush - write the packets that are pending. Return: @packets->err */
int packets__flush(struct packets *packets);
void packets__exit(struct packets *packets);

#endif
