/* SPDX-License-Identifier: GPL-2.0-only */
/* libperf's reader of rings that overwrite themselves; its headers do not go with the kernel's. */
#ifndef LIBPERF_READER_H
#define LIBPERF_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/**
 * struct libperf_found - what a snapshot holds
 * @data:	the records, oldest first, without trailers; valid until the next call
 * @bytes:	their length
 * @malformed:	bytes that are no records
 */
struct libperf_found {
	void	*data;
	size_t	 bytes;
	size_t	 malformed;
};

/*
 * A snapshot of a ring whose data area is @data, of @size bytes, always the same; nothing of it was
 * taken before. @end: the position that writers had not passed when the copy was complete.
 */
struct libperf_found libperf_read(bool sized, u64 data_head, u64 end, const void *data,
				  size_t size);

#endif
