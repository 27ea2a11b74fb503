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

#define MACHINE_SEQUENCE_SHIFT	20	/* sequences of a machine begin at its number << this */
#define MACHINE_UUID_SHIFT	56	/* likewise, uuids of its tracks */

/**
 * struct trace_machine - which machine of several the trace is of; all zero if there is one only
 * @id:		1 to 255, 0 for the only machine
 * @shift:	what is added to all times [ns]
 * @bound:	how wrong the clock may be then [ns]
 * @name:	shown to users; the caller's
 */
struct trace_machine {
	unsigned int	 id;
	s64		 shift;
	u64		 bound;
	const char	*name;
};

/**
 * struct packets
 * @file:	output; the caller's
 * @machine:	where the records are from
 * @packet:	the packet that was begun
 * @pending:	packets that are not written yet
 * @err:	negative errno of the first failure, or 0
 */
struct packets {
	FILE		*file;
	struct trace_machine machine;
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

/** packets__time - return the time of a record as it is written */
static inline u64 packets__time(const struct packets *packets, u64 time)
{
	return time + packets->machine.shift;
}

/** packets__end - end the packet. Return: @packets->err */
int packets__end(struct packets *packets);

/** packets__flush - write the packets that are pending. Return: @packets->err */
int packets__flush(struct packets *packets);
void packets__exit(struct packets *packets);

#endif
