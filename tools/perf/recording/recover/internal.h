/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Define the data of a recovery, for its parts; recover.h explains the whole.
 */
#ifndef PERF_RECORDING_RECOVER_INTERNAL_H
#define PERF_RECORDING_RECOVER_INTERNAL_H

#include <stdbool.h>
#include <linux/types.h>
#include "recording/keep/box_read.h"
#include "recording/lib/records.h"
#include "image.h"

struct evlist;
struct keep_unpacker;
struct perf_session;
struct perf_tool;
union perf_event;

/**
 * struct sideband_record - a side-band record
 * @time:	of the record [ns]
 * @pos:	where it begins in @data of struct recovered_sideband
 * @order:	position among all, as they were drained
 */
struct sideband_record {
	u64	time;
	size_t	pos;
	size_t	order;
};

/**
 * struct recovered_sideband - side-band records, by time
 * @data:	@len bytes in memory of @space
 * @records:	@nr in memory of @max
 * @next:	the first @next are written
 */
struct recovered_sideband {
	void			*data;
	size_t			 len;
	size_t			 space;
	struct sideband_record	*records;
	size_t			 nr;
	size_t			 max;
	size_t			 next;
};

struct rings_entry;

/**
 * struct ring_record
 * @sum:	checksum of the record
 * @is_written:	the box had it as well
 */
struct ring_record {
	u64	sum;
	bool	is_written;
};

/**
 * struct saved_rings - what the guard has written (keep/guard.h)
 * @data:	the file, @bytes long, owned
 * @entries:	@nr in it
 * @records:	@nr_records, by checksum
 * @nr_added:	how many the box did not have
 * @oldest:	time of the oldest record [ns]
 * @lost_since:	time of the first record after a loss whose begin is unknown [ns], or 0
 * @end_time:	the rings have lost nothing up to this time [ns]; UINT64_MAX: up to the end; 0:
 *		unknown
 */
struct saved_rings {
	void				*data;
	size_t				 bytes;
	const struct rings_entry	*entries;
	size_t				 nr;
	struct ring_record		*records;
	size_t				 nr_records;
	u64				 nr_added;
	u64				 oldest;
	u64				 lost_since;
	u64				 end_time;
};

/**
 * struct recovery
 * @path:	of the file or the image, the caller's
 * @pid:	of the recorder in an image; 0: any
 * @fd:		the file, locked; of an image: a copy
 * @image:	@fd -1: @path is the file itself
 * @session_fd:	a file in memory with the session
 * @input:	its name
 * @reader:	of the file
 * @evlist:	events of the session
 * @packed, @raw: memory for one block, and for its records
 * @unpacker:	restores the records of packed blocks
 * @sideband:	side-band records
 * @rings:	what nobody had read
 * @tool, @write: where records go
 * @session:	perf inject's
 * @same_boot:	the machine was not started again since
 * @records, @samples: written so far, without side-band
 * @first, @last: times of the oldest and the newest record [ns]
 * @broken:	records up to this time may be missing because of damage [ns]
 * @damaged:	blocks that are left out, in whole or in part
 * @damaged_sideband: extents of side-band records, likewise
 */
struct recovery {
	const char		 *path;
	u64			  pid;
	int			  fd;
	struct image_box	  image;
	int			  session_fd;
	char			  input[32];
	struct box_reader	  reader;
	struct evlist		 *evlist;
	void			 *packed;
	void			 *raw;
	struct keep_unpacker	 *unpacker;
	struct recovered_sideband sideband;
	struct saved_rings	  rings;
	const struct perf_tool	 *tool;
	int			(*write)(const struct perf_tool *tool, union perf_event *event);
	struct perf_session	 *session;
	bool			  same_boot;
	u64			  records;
	u64			  samples;
	u64			  first;
	u64			  last;
	u64			  broken;
	u64			  damaged;
	u64			  damaged_sideband;
};

/*
 * blocks.c
 */

/**
 * recovery__read_block - read the records of a slot; they are valid until the next call
 * @records:	receives those that are intact
 *
 * Return: are all of them intact?
 */
bool recovery__read_block(struct recovery *recovery, const struct box_slot *slot,
			  struct records *records);

/** recovery__time - return the time of a record [ns], or 0 */
u64 recovery__time(const struct recovery *recovery, union perf_event *event);

/** recovery__write_record - write a record, and count it. Return: the value of @recovery->write */
int recovery__write_record(struct recovery *recovery, union perf_event *event);

/*
 * rings.c
 */

/**
 * recovery__load_rings - wait for the guard, and read its file, if there is one. Return: 0, or
 * -ENOMEM
 */
int recovery__load_rings(struct recovery *recovery);

/**
 * recovery__note_written - the box had this record, which may be in a ring as well; @time: of it
 * [ns]
 */
void recovery__note_written(struct recovery *recovery, const union perf_event *event, u64 time);

/**
 * recovery__read_ring_sideband - pass the side-band records that the box did not have to @add
 * @add:	returns 0 or a negative errno; -ENOMEM ends the reading
 *
 * Return: 0 or -ENOMEM.
 */
int recovery__read_ring_sideband(struct recovery *recovery,
				 int (*add)(struct recovery *recovery, union perf_event *event));

/**
 * recovery__write_rings - write other records that the box did not have. Return: 0, or the value of
 * @recovery->write
 */
int recovery__write_rings(struct recovery *recovery);

void recovery__free_rings(struct saved_rings *rings);

/*
 * sideband.c
 */

/**
 * recovery__load_sideband - read all side-band records, also of recovery__load_rings(). Return: 0,
 * or -ENOMEM
 */
int recovery__load_sideband(struct recovery *recovery);

/**
 * recovery__write_sideband - write those up to @time [ns] that are not written yet
 *
 * Return: 0, or the value of @recovery->write.
 */
int recovery__write_sideband(struct recovery *recovery, u64 time);

/** recovery__free_sideband - harmless if they were never loaded */
void recovery__free_sideband(struct recovered_sideband *sideband);

#endif
