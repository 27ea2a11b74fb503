/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Provide an event with a ring and its user mapping, numbered records, and reference readers.
 *
 * A numbered record is a PERF_RECORD_SAMPLE:
 *
 *      | header | number | fill ... | sample id (WITH_ID) | trailer (SIZED) |
 *
 * Each u64 of the fill is computed from the number and its offset in the record, so that a reader
 * detects records that are torn, moved or mixed up.
 *
 * A position is a number of bytes since the ring was made, in the order of reservation. It grows in
 * backward rings too: there a record with the reservation [p, p + size) begins at address -p - size
 * modulo the size of the ring, so its first byte is next to position p + size.
 */
#ifndef RING_H
#define RING_H

#include <linux/perf_event.h>
#include <linux/perf_event_trailer.h>

#include "shim.h"

#define RING_STREAMING	0x1	/* mapped writable; without it, an overwrite ring */
#define RING_BACKWARD	0x2
#define RING_SIZED	0x4	/* PERF_SAMPLE_SIZE_AT_END */
#define RING_WITH_ID	0x8	/* sample_id_all, RING_ID_SIZE bytes of RING_ID_FILL */

#define RING_ID_SIZE	24
#define RING_ID_FILL	0x1d
#define RING_MAX_RECORD	65528	/* the largest multiple of 8 that header.size can hold */

struct ring_lost_record {
	struct perf_event_header	header;
	u64				id;
	u64				lost;
};

struct ring_aux_record {
	struct perf_event_header	header;
	u64				offset;
	u64				size;
	u64				flags;
};

/* Internal state of a ring. */
struct ring_state {
	unsigned long	head, lost, wakeup, watermark;
	unsigned int	nest;
	int		poll;
	unsigned long	size;
	int		nr_pages;
	bool		paused;
	unsigned int	refcount;
	unsigned long	aux_head, aux_wakeup, aux_watermark;
	unsigned int	aux_nest;
	int		aux_nr_pages;
	void		**aux_pages;
	unsigned int	aux_refcount;
};

/* The functions of one ring_buffer.c. begin() returns 0 or -ENOSPC. */
struct ring_impl {
	const char	*name;
	struct perf_buffer *(*alloc)(int nr_pages, long watermark, unsigned int flags);
	void		(*put)(struct perf_buffer *rb);
	struct page	*(*page)(struct perf_buffer *rb, unsigned long pgoff);
	void		(*pause)(struct perf_buffer *rb, bool pause);
	void		(*get_state)(struct perf_buffer *rb, struct ring_state *state);

	int		(*begin)(struct perf_output_handle *handle, struct perf_sample_data *data,
				 struct perf_event *event, unsigned int size);
	int		(*begin_forward)(struct perf_output_handle *handle,
					 struct perf_sample_data *data, struct perf_event *event,
					 unsigned int size);
	int		(*begin_backward)(struct perf_output_handle *handle,
					  struct perf_sample_data *data, struct perf_event *event,
					  unsigned int size);
	void		(*put_u64)(struct perf_output_handle *handle, u64 value);
	unsigned int	(*copy)(struct perf_output_handle *handle, const void *buf,
				unsigned int len);
	unsigned int	(*skip)(struct perf_output_handle *handle, unsigned int len);
	void		(*output_id)(struct perf_event *event, struct perf_output_handle *handle,
				     struct perf_sample_data *data);
	void		(*end)(struct perf_output_handle *handle);

	int		(*alloc_aux)(struct perf_buffer *rb, struct perf_event *event,
				     int nr_pages, long watermark, unsigned int flags);
	void		(*close_aux)(struct perf_buffer *rb);
	void		*(*aux_begin)(struct perf_output_handle *handle, struct perf_event *event);
	void		(*aux_end)(struct perf_output_handle *handle, unsigned long size);
	int		(*aux_skip)(struct perf_output_handle *handle, unsigned long size);
	void		(*aux_flag)(struct perf_output_handle *handle, u64 flags);
	void		*(*get_aux)(struct perf_output_handle *handle);
	long		(*copy_aux)(struct perf_output_handle *aux_handle,
				    struct perf_output_handle *handle, unsigned long from,
				    unsigned long to);
};

/* Ours; and upstream's, in programs that are linked with it. */
extern const struct ring_impl ring_impl, upstream_ring_impl;

/**
 * struct ring - a ring, the event that writes to it, and its user mapping
 * @user:	user mapping of the control page
 * @data:	user mapping of the data area, which follows @user
 * @size:	of the data area [bytes]
 */
struct ring {
	const struct ring_impl		*impl;
	unsigned int			flags;
	struct perf_event		event;
	struct pmu			pmu;
	struct perf_buffer		*rb;
	struct perf_event_mmap_page	*user;
	unsigned char			*data;
	unsigned long			size;
};

/*
 * Make a ring of @nr_pages, a power of two or 0. Returns NULL if an allocation failed
 * (shim.fail_at). The user mapping is always writable.
 */
struct ring *ring_new(const struct ring_impl *impl, unsigned int flags, int nr_pages,
		      long watermark);
/* Drop the reference to the ring, run the work item that frees it, and unmap it. */
void ring_delete(struct ring *ring);

/* Return the address that the kernel writes to for @offset of the data area; in our ring only. */
void *ring_addr(const struct ring *ring, unsigned long offset);

/* The size of the smallest numbered record, and that of sample id and trailer [bytes] */
unsigned int ring_min_record(const struct ring *ring);
unsigned int ring_record_tail(const struct ring *ring);

/* Write a numbered record of @size bytes, a multiple of 8. Returns 0 or -ENOSPC. */
int ring_write(struct ring *ring, unsigned int size, u64 number);
/* Write the contents of a numbered record; between impl->begin() and impl->end(). */
void ring_fill(struct ring *ring, struct perf_output_handle *handle, unsigned int size, u64 number);

/* Read data_head (C) and convert it to a position. */
u64 ring_head(const struct ring *ring);

/* Read data_reserved: the sum of its words. */
u64 ring_reserved(const struct ring *ring);

/* Copy the bytes of positions [@begin, @begin + @len), in address order. */
void ring_copy(const struct ring *ring, void *dst, u64 begin, size_t len);

/**
 * struct ring_record - one record that was read
 * @position:	where its reservation begins in a forward ring, where it ends in a backward ring
 * @number:	of a numbered record
 * @lost:	of a PERF_RECORD_LOST
 */
struct ring_record {
	u64		position;
	unsigned int	type, size;
	u64		number;
	u64		lost;
};

/**
 * struct ring_records - records that were read, oldest first
 * @error:	the reason why reading stopped early, or NULL
 */
struct ring_records {
	struct ring_record	*record;
	size_t			nr, allocated;
	const char		*error;
};

void ring_records_free(struct ring_records *records);

/* Whether @records are exactly the samples numbered @first, @first + 1, ..., @last. */
bool ring_records_are(const struct ring_records *records, u64 first, u64 last);

/*
 * Readers. They append to @records, and set its error if a record is not what was written.
 *
 * ring_walk_up() follows headers from the start of @bytes; in a backward ring the newest record is
 * there. @position: of the first record, see struct ring_record. @partial: the last record may be
 * incomplete, as at the end of an overwrite ring.
 *
 * ring_walk_trailers() follows trailers from the end of @bytes, which has @position, down to the
 * oldest complete record.
 */
void ring_walk_up(const struct ring *ring, const void *bytes, size_t len, u64 position,
		  bool partial, struct ring_records *records);
void ring_walk_trailers(const struct ring *ring, const void *bytes, size_t len, u64 position,
			struct ring_records *records);

/* Streaming rings: read all records up to data_head, and set data_tail (D). */
void ring_consume(struct ring *ring, struct ring_records *records);

/**
 * struct ring_snapshot - copy of an overwrite ring
 * @begin:	position of the oldest byte that is valid and not in the previous snapshot
 * @end:	position behind the newest byte: data_head
 * @first:	position of the first complete record, in sized rings
 * @dropped:	bytes above data_head - size that were copied but may have been overwritten
 */
struct ring_snapshot {
	u64			begin, end, first;
	u64			dropped;
	struct ring_records	records;
};

/*
 * Take a snapshot: read data_head (C), copy, read data_reserved (F), drop, walk. In a plain forward
 * ring no records are found, only the valid range. @since: @end of the previous snapshot, or 0
 */
void ring_snapshot(const struct ring *ring, u64 since, struct ring_snapshot *snapshot);
void ring_snapshot_free(struct ring_snapshot *snapshot);

#endif
