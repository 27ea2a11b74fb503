/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Take records to the file, through one queue, or with compression (-z) through two.
 *
 *	pipeline__append()                                       pipeline__append_unit()
 *	     |                                                        |
 *	     v                                                        v
 *	raw queue ---> compressor --- PERF_RECORD_COMPRESSED ---> file queue ---> writer ---> file
 *	(only with -z)  in the raw queue's thread                             in the file queue's
 *	thread
 *
 * Without compression pipeline__append() appends to the file queue. The caller does not see which.
 *
 * Units (an AUXTRACE record with its data) are never compressed: readers find them by their
 * position in the file. With compression the records come to the file later than units appended
 * after them.
 */
#ifndef PERF_RECORDING_PIPELINE_H
#define PERF_RECORDING_PIPELINE_H

#include <pthread.h>
#include <stdbool.h>
#include <linux/types.h>
#include "recording/lib/records.h"
#include "compressor.h"
#include "queue.h"
#include "writer_kind.h"

struct writer;

#define PIPELINE_MIN_BYTES	(1ULL << 20)
#define PIPELINE_DEFAULT_BYTES	(128ULL << 20)

/* zstd compresses hundreds of MB a second up to this level, and a few at level 22. */
#define PIPELINE_FAST_LEVEL	3

/**
 * struct pipeline_ops - called once, in a thread of the pipeline, at the first error
 * @write_failed: writing failed with @err (negative errno): the file is good up to position @end
 * @compress_failed: compressing failed with @err (negative errno)
 */
struct pipeline_ops {
	void	(*write_failed)(void *arg, int err, u64 end);
	void	(*compress_failed)(void *arg, int err);
};

/**
 * struct pipeline
 * @level:	compression level (-z), 0 for none; set by the caller before pipeline__init()
 * @max_bytes:	bound of the memory of all queues (--write-buffer); set by the caller, too [bytes]
 * @shrinks:	take less than @max_bytes if there is no address space for four times as much; set
 *		by the caller, too
 * @io:		back end that writes regular files (--io); set by the caller, too
 * @ops:	the callbacks
 * @arg:	their argument
 * @raw_queue:	records to compress, if @level
 * @compressor:	what @raw_queue writes to; appends to @file_queue
 * @file_queue:	what to write to the file
 * @writer:	back end for regular files
 * @stream_writer: back end for pipes and devices
 * @read_back:	the file is read when it is complete; set by the caller before pipeline__open()
 * @start:	position of the first byte in the file [bytes]
 * @rescue:	names of tasks and maps that could not be written; valid when the file is closed.
 *		The caller may add to it after pipeline__flush() has returned an error.
 */
struct pipeline {
	int				 level;
	u64				 max_bytes;
	bool				 shrinks;
	struct writer_choice		 io;
	const struct pipeline_ops	*ops;
	void				*arg;
	struct write_queue		 raw_queue;
	struct compressor		 compressor;
	struct write_queue		 file_queue;
	struct writer			*writer;
	struct writer			*stream_writer;
	bool				 read_back;
	u64				 start;
	struct rescue			 rescue;
};

/**
 * pipeline__append_rescued - note that @rescue was written behind the end of the file
 *
 * Caller has called pipeline__close().
 */
void pipeline__append_rescued(struct pipeline *pipeline);

/**
 * pipeline__init - allocate the queues and start their threads
 * @pipeline:	zeroed but for the fields that the caller sets; @max_bytes gets smaller if it
 *		@shrinks
 *
 * Return: 0, or a negative errno. pipeline__exit() is needed in both cases.
 */
int pipeline__init(struct pipeline *pipeline, const struct pipeline_ops *ops, void *arg);

/** pipeline__exit - stop the threads and free everything. The file must have been closed. */
void pipeline__exit(struct pipeline *pipeline);

/**
 * pipeline__for_each_fast_thread - call @fn for threads of the pipeline, until it returns nonzero
 *
 * Leaves out a thread that compresses at a level above PIPELINE_FAST_LEVEL: at a real-time priority
 * it could take a CPU from all others for as long as the recording lasts.
 *
 * Return: 0, or what @fn returned last.
 */
int pipeline__for_each_fast_thread(const struct pipeline *pipeline,
				   int (*fn)(void *arg, pthread_t thread), void *arg);

/**
 * pipeline__open - write to a file what is appended from now on, or was since pipeline__next()
 * @fd:		the file; stays the caller's
 * @pos:	where to begin in it, the same for all files of a recording [bytes]
 * @regular:	a regular file
 */
void pipeline__open(struct pipeline *pipeline, int fd, u64 pos, bool regular);

/** pipeline__resume - after pipeline__reset(): open the same file again, and continue at @pos */
void pipeline__resume(struct pipeline *pipeline, int fd, u64 pos, bool regular);

/** pipeline__writer_name - name of the back end that writes regular, or other, files */
const char *pipeline__writer_name(const struct pipeline *pipeline, bool regular);

/**
 * pipeline__append - append whole records; in any thread
 *
 * Return: 0 when they are copied, or the negative errno of an earlier failure.
 */
int pipeline__append(struct pipeline *pipeline, const struct records *records);

/**
 * pipeline__append_unit - append a record together with the data that it announces; in any thread
 * @pos:	receives the position of the record in the file
 *
 * Return: as pipeline__append().
 */
int pipeline__append_unit(struct pipeline *pipeline, const struct records *unit, u64 *pos);

/** pipeline__hold - block all other threads in pipeline__append() until pipeline__release() */
void pipeline__hold(struct pipeline *pipeline);

void pipeline__release(struct pipeline *pipeline);

/**
 * pipeline__flush - wait until everything is written that was appended before the call
 *
 * Return: 0, or a negative errno.
 */
int pipeline__flush(struct pipeline *pipeline);

/**
 * pipeline__error - has a callback reported an error? Does not wait
 *
 * Return: 0, or a negative errno.
 */
int pipeline__error(struct pipeline *pipeline);

/**
 * pipeline__next - end the file: what is appended from now on belongs to the next one
 *
 * To be followed by pipeline__close(), and by pipeline__open() or pipeline__drop_next(). No effect
 * after an error.
 */
void pipeline__next(struct pipeline *pipeline);

/** pipeline__has_next - between pipeline__next() and pipeline__open() or pipeline__drop_next()? */
bool pipeline__has_next(const struct pipeline *pipeline);

/** pipeline__drop_next - after pipeline__next(): drop the next file's records, because of @err */
void pipeline__drop_next(struct pipeline *pipeline, int err);

/** pipeline__close - flush, and let go of the file. Nothing happens if no file is open. */
void pipeline__close(struct pipeline *pipeline);

/**
 * pipeline__cut - after an error and pipeline__close(): find where the last whole chunk ends
 * @end:	receives the position at which the file is to be cut, if it is not cut there already
 *
 * Return: true if the caller has to cut the file at @end.
 */
bool pipeline__cut(struct pipeline *pipeline, u64 *end);

/**
 * pipeline__reset - after an error and pipeline__close(): forget the file, so that another can be
 * opened, or this one again
 *
 * Drops the next file's records, if any. No thread appends.
 */
void pipeline__reset(struct pipeline *pipeline);

/**
 * pipeline__forget_file - after pipeline__close(): count the next file only in pipeline__bytes()
 */
void pipeline__forget_file(struct pipeline *pipeline);

/** pipeline__bytes - data so far of the file that is appended to [bytes] */
u64 pipeline__bytes(const struct pipeline *pipeline);

/** pipeline__file_bytes - data of the file that is being closed; after pipeline__close() [bytes] */
u64 pipeline__file_bytes(const struct pipeline *pipeline);

/** pipeline__ratio - how many times smaller compressed records are, or 0 if none were compressed */
u64 pipeline__ratio(const struct pipeline *pipeline);

/** pipeline__unused_memory - part of the file queue's pool that took no memory so far [bytes] */
u64 pipeline__unused_memory(const struct pipeline *pipeline);

/** pipeline__log - print with -v what the queues have cost; when no thread appends any more */
void pipeline__log(const struct pipeline *pipeline);

/** pipeline__unsaved - records that were appended, but not written; after pipeline__close() */
struct unsaved pipeline__unsaved(const struct pipeline *pipeline);

#endif
