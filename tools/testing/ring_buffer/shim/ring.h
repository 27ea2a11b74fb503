/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Test support: an event, its ring, the user's mapping of it, numbered records, and readers.
 *
 * A numbered record is a PERF_RECORD_SAMPLE:
 *
 *      | header | number | fill ... | sample id, if with_id | trailer, if sized |
 *
 * where each u64 of the fill is made from the number and its place: a record that is torn, moved
 * or mixed with another is found out.
 *
 * Positions count the bytes of the stream, from 0 on, in the order in which they were written; in
 * backward rings too, where the byte with offset 0 of the record written last is at the end of its
 * room.
 */
#ifndef RING_H
#define RING_H

#include <linux/perf_event.h>
#include <linux/perf_event_trailer.h>

#include "shim.h"

#define RING_STREAMING	0x1	/* mapped writable; otherwise it overwrites itself */
#define RING_BACKWARD	0x2
#define RING_SIZED	0x4	/* PERF_SAMPLE_SIZE_AT_END */
#define RING_WITH_ID	0x8	/* sample_id_all, RING_ID_SIZE bytes of RING_ID_FILL */

#define RING_ID_SIZE	24
#define RING_ID_FILL	0x1d
#define RING_MAX_RECORD	65528	/* the largest multiple of 8 that header.size takes */

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

/* What a ring looks like from inside. */
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

/* The kernel's functions. begin() returns 0 or -ENOSPC. */
struct ring_impl {
	const char	*name;
	struct perf_buffer *(*alloc)(int nr_pages, long watermark, unsigned int flags);
	void		(*put)(struct perf_buffer *rb);
	struct page	*(*page)(struct perf_buffer *rb, unsigned long pgoff);
	void		(*pause)(struct perf_buffer *rb, bool pause);
	void		(*look)(struct perf_buffer *rb, struct ring_state *state);

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

/* Ours, and upstream's where that is linked. */
extern const struct ring_impl ring_impl, upstream_ring_impl;

/**
 * struct ring - a ring, the event that writes to it, and the user's view of it
 * @user:	the control page, mapped as the user has it
 * @data:	the data area, mapped once, right behind @user
 * @size:	its length [bytes]
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
 * Makes a ring of @nr_pages, a power of two or 0. NULL if memory was lacking (shim.fail_at). The
 * user's mapping is writable in any case.
 */
struct ring *ring_new(const struct ring_impl *impl, unsigned int flags, int nr_pages,
		      long watermark);
/* Gives up the reference, runs the work that this leaves, unmaps. */
void ring_delete(struct ring *ring);

/* The smallest record, and what of a record is not its own: id and trailer. */
unsigned int ring_min_record(const struct ring *ring);
unsigned int ring_record_tail(const struct ring *ring);

/* Writes a numbered record of @size bytes, a multiple of 8. Returns 0 or -ENOSPC. */
int ring_write(struct ring *ring, unsigned int size, u64 number);
/* The same in steps: what goes between impl->begin() and impl->end(). */
void ring_fill(struct ring *ring, struct perf_output_handle *handle, unsigned int size, u64 number);

/* What data_head says, as a position. */
u64 ring_head(const struct ring *ring);

/* Copies the bytes with positions [@begin, @begin + @len) in the order in which they lie. */
void ring_copy(const struct ring *ring, void *dst, u64 begin, size_t len);

/**
 * struct ring_record - one record that was read
 * @position:	of its first byte in forward rings, in backward ones of the end of its room
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
 * struct ring_records - those read, oldest first
 * @error:	why reading ended too early, or NULL
 */
struct ring_records {
	struct ring_record	*record;
	size_t			nr, allocated;
	const char		*error;
};

void ring_records_free(struct ring_records *records);

/* Whether they are samples numbered @first, @first + 1, ..., @last, and nothing else. */
bool ring_records_are(const struct ring_records *records, u64 first, u64 last);

/*
 * The readers append to @records, and set its error where a record is not what was written.
 *
 * ring_walk_up() reads records in @bytes from the first on; in a backward ring those are the
 * newest. At the end of a ring that overwrites itself there may be a part of one: @partial.
 *
 * ring_walk_trailers() reads sized records from the last on, to the first that is whole. @position
 * is that of the byte behind the last.
 */
void ring_walk_up(const struct ring *ring, const void *bytes, size_t len, u64 position,
		  bool partial, struct ring_records *records);
void ring_walk_trailers(const struct ring *ring, const void *bytes, size_t len, u64 position,
			struct ring_records *records);

/* Streaming: reads all records up to data_head, and gives their room back. */
void ring_consume(struct ring *ring, struct ring_records *records);

/**
 * struct ring_snapshot - copy of a ring that overwrites itself
 * @begin, @end: positions of the oldest byte that was valid and not in the snapshot before, and
 *		of the byte behind the newest
 * @first:	position of the first record that is whole, sized rings
 * @given_up:	bytes below data_head - size that were copied, but might be torn
 */
struct ring_snapshot {
	u64			begin, end, first;
	u64			given_up;
	struct ring_records	records;
};

/*
 * The snapshot protocol: data_head (C), copy, (F) data_reserved, drop, walk. Sized and backward
 * rings; of a plain forward one only the range is found. @since: @end of the snapshot before, or 0.
 */
void ring_snapshot(const struct ring *ring, u64 since, struct ring_snapshot *snapshot);
void ring_snapshot_free(struct ring_snapshot *snapshot);

#endif
