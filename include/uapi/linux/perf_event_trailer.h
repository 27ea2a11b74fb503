/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * PERF_SAMPLE_SIZE_AT_END: perf records that can be read from their end.
 *
 * A ring that is mapped read-only overwrites its oldest records. To find records in it, a reader
 * needs a place to start from and a way to go on. data_head is such a place, but what begins
 * there has not been written yet: from it one can only go back. Therefore every record of an event
 * with this bit ends with a trailer:
 *
 *      position                                                position + header.size
 *         |                                                              |
 *         v                                                              v
 *         | header | fields ...  | sample id (sample_id_all) | trailer   | next record
 *                                                            |           |
 *                                                        offset lo,hi  size
 *
 * The trailer is counted in header.size. Its last field repeats header.size, and is so the u16
 * right before the next record: a reader that stands on p steps to p - size. The offset is the
 * position of the record in the stream of bytes written since the ring was made, modulo 2^48: it
 * tells a record from payload that looks like one (Knuth's boundary tag, with a position).
 *
 * Who accepts the bit: trust it only where perf_event_open() took the attribute *and* the control
 * page has cap_size_at_end set. Another kernel may have given the bit another meaning.
 *
 * -EINVAL: with write_backward; on 32-bit kernels; with PERF_EVENT_IOC_SET_OUTPUT, if one event has
 * the bit and the other has not.
 */
#ifndef _UAPI_LINUX_PERF_EVENT_TRAILER_H
#define _UAPI_LINUX_PERF_EVENT_TRAILER_H

#include <linux/types.h>

/*
 * A bit of perf_event_attr.sample_type, far above the ones that are handed out in order.
 */
#define PERF_SAMPLE_SIZE_AT_END		(1ULL << 40)

/**
 * struct perf_event_trailer - the last 8 bytes of a record
 * @offset_lo:	low 32 bits of the record's position [bytes since the ring was made]
 * @offset_hi:	the next 16 bits of it
 * @size:	header.size once more: the length of the whole record [bytes]
 *
 * Written by the kernel, in any context, before data_head passes the record. Little or big endian,
 * as the machine is.
 */
struct perf_event_trailer {
	__u32	offset_lo;
	__u16	offset_hi;
	__u16	size;
};

/*
 * What the control page (struct perf_event_mmap_page) says of it:
 *
 * cap_size_at_end
 *	All records of this ring end with a struct perf_event_trailer.
 *
 * cap_data_reserved
 *	data_reserved is maintained: in a ring that overwrites itself it is the number of bytes for
 *	which room has been taken since the ring was made. It is increased before anything of a
 *	record is written, while data_head is increased after all of it is. So, after a copy of the
 *	ring, what lies below data_reserved - data_size may have been overwritten in the copy, and
 *	what lies above has not. (In a write_backward ring the same holds with -data_head.)
 */

#endif /* _UAPI_LINUX_PERF_EVENT_TRAILER_H */
