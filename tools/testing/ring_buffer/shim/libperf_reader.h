/* SPDX-License-Identifier: GPL-2.0-only */
/* Wrap libperf's reader of overwrite rings: its headers conflict with those of the kernel. */
#ifndef RING_BUFFER_LIBPERF_READER_H
#define RING_BUFFER_LIBPERF_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/**
 * struct libperf_records - contents of a snapshot
 * @data:	the records, oldest first, without trailers; valid until the next call
 * @bytes:	their length
 * @malformed:	bytes that are not part of a valid record
 */
struct libperf_records {
	void	*data;
	size_t	 bytes;
	size_t	 malformed;
};

/*
 * Take the first snapshot of a ring with the data area @data. @size must be the same in all calls.
 * @end: the position that writers had not passed when the copy was complete.
 */
struct libperf_records libperf_read(bool sized, u64 data_head, u64 end, const void *data,
				    size_t size);

#endif
