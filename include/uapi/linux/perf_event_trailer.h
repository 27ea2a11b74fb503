/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * Define PERF_SAMPLE_SIZE_AT_END: perf records that can be read backward.
 *
 * A ring buffer that is mapped read-only overwrites its oldest records. A
 * reader that looks for records in it needs a place to start from, and a way to
 * step from record to record. data_head is a place to start from, but no record
 * begins there yet: a reader can only go backward from it. Therefore every
 * record of an event with this bit ends with a trailer:
 *
 *  position                                            position + header.size
 *     |                                                           |
 *     v                                                           v
 *     | header | fields ... | sample id (sample_id_all) | trailer | next record
 *                                                       |         |
 *                                                  offset lo,hi  size
 *
 * header.size includes the trailer. The last field of the trailer repeats
 * header.size: it is the u16 directly before the next record. A reader at
 * position p steps back to p - size. The offset is the position of the record:
 * the number of bytes written to the ring before the record, modulo 2^48. By
 * the offset a reader distinguishes a record from payload that looks like one
 * (Knuth's boundary tag, with a position).
 *
 * Detection: use the bit only if perf_event_open() accepts the attribute *and*
 * cap_size_at_end is set in the control page. Another kernel may have given the
 * bit another meaning.
 *
 * perf_event_open() returns -EINVAL if the bit is used with write_backward or
 * on a 32-bit kernel. PERF_EVENT_IOC_SET_OUTPUT returns -EINVAL if only one of
 * the two events has the bit.
 */
#ifndef _UAPI_LINUX_PERF_EVENT_TRAILER_H
#define _UAPI_LINUX_PERF_EVENT_TRAILER_H

#include <linux/types.h>

/*
 * Bit of perf_event_attr.sample_type, far above the bits that are assigned in
 * order.
 */
#define PERF_SAMPLE_SIZE_AT_END		(1ULL << 40)

/**
 * struct perf_event_trailer - last 8 bytes of a record
 * @offset_lo:	low 32 bits of the position of the record [bytes]
 * @offset_hi:	bits 32 to 47 of the position
 * @size:	repeats header.size, the size of the whole record [bytes]
 *
 * The kernel writes the trailer before data_head passes the record. The fields
 * have the byte order of the machine.
 */
struct perf_event_trailer {
	__u32	offset_lo;
	__u16	offset_hi;
	__u16	size;
};

/*
 * Fields of the control page (struct perf_event_mmap_page):
 *
 * cap_size_at_end
 *	All records of this ring end with a struct perf_event_trailer.
 *
 * cap_data_reserved
 *	data_reserved is maintained: this is an overwrite ring. In a streaming
 *	ring the bit is clear, because records are not overwritten.
 *
 * data_reserved[4]
 *	The sum of these words, modulo 2^64, is the number of bytes reserved
 *	since the ring was created. A reader adds all four up.
 *
 *	Word n counts the bytes reserved by writers at nesting depth n. A writer
 *	that interrupts no other one has depth 0, a writer that interrupts it
 *	has depth 1, and so on. A record of depth 4 or more is not written, but
 *	counted as lost.
 *
 *	The kernel stores a word before it writes any byte of the record, and
 *	advances data_head after it has written all of the record. After a
 *	reader has copied the ring, bytes below sum - data_size may have been
 *	overwritten during the copy; bytes above have not. (In a write_backward
 *	ring the same holds with -data_head.) The reader loads the words after
 *	the copy, in any order: each of them may be too high for the time of
 *	another load, never too low.
 *
 *	While no record is written, the sum is equal to data_head.
 *
 *	A 32-bit task loads each 64-bit field in two halves, which may belong to
 *	different values: load the high half again after the low half, and
 *	start over if it has changed.
 */

#endif /* _UAPI_LINUX_PERF_EVENT_TRAILER_H */
