/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The perf.data file being written: header, data section, features.
 *
 *   output__open()  header without features          a file cut off here has no names in it
 *   output__write() whole records, any number
 *   output__close() build-ids, features, the header again with the sizes   a complete file
 *   output__next()  what is written from now on belongs to the next file
 *   output__close_as(), output__reopen()  complete the one, rename it, open the next
 *
 * Records are copied, and written in the queue's thread (queue.h). Any thread may write some, also between
 * output__next() and output__reopen(), but not while the last file is closed; all else is the recorder's
 * thread's.
 *
 * Where a file ends, and the next begins, is one position in what all threads write: output__next(). What
 * the recorder's thread writes while output__hold() keeps the others away is the end of the first. All
 * files begin their data at the same position, as they describe the same events: so the next file's
 * position is known before it is there.
 *
 * An error (disk full, file size limit, I/O) ends the recording, not the file: what was written
 * goes back to the end of the last whole record, and output__close() makes a readable file of it.
 * So that there is room left for the features when the disk is full, some is set aside from the
 * start in an unnamed file beside the output.
 */
#ifndef PERF_RECORDING_OUTPUT_H
#define PERF_RECORDING_OUTPUT_H

#include <stdbool.h>
#include <linux/types.h>
#include "util/data.h"
#include "util/tool.h"
#include "recording/stats/ring_stats.h"
#include "recording/write/compressor.h"
#include "recording/lib/records.h"
#include "recording/write/queue.h"
#include "recording/write/writer_kind.h"
#include "reserve.h"

struct evlist;
struct perf_session;

#define WRITE_BUFFER_MIN	(1ULL << 20)
#define WRITE_BUFFER_DEFAULT	(128ULL << 20)

/**
 * struct output
 * @data:	util's description of the file; @data.path is the name that the user knows
 * @session:	util's session, owned; tasks and maps written are known to it
 * @tool:	what util calls back: synthesized events come in through it (synthesize.h), and
 *		the file's own events when it is read back (tool.h)
 * @evlist:	the events described in the header
 * @open:	there is a file, or will be, for what is written
 * @regular:	a regular file in the file format: can be cut, read back, and removed
 * @replaced:	a file of this name was there, and is .old now
 * @start:	where the data section begins in the file [bytes]
 * @closed:	length of the data sections of all files that are closed [bytes]
 * @queue:	what is on its way to the file
 * @io:		what is to write regular files (--io)
 * @writer:	that writer
 * @stream_writer: the one for everything else
 * @level:	of compression (-z), 0 for none
 * @raw:	with compression: what is on its way to @compressor, which writes to @queue
 * @compressor:	compresses
 * @write_buffer: bound of that (--write-buffer) [bytes]
 * @worker_name: of the threads that io_uring, which chooses it, has for the queue's
 * @error_fd:	readable once writing has failed
 * @err:	the first error, negative errno; nothing is written after it. In other threads
 *		valid once a call has returned it.
 * @reserve:	disk space for the features
 * @kcore:	the file is a directory, with a copy of the kernel's code beside the data (--kcore)
 * @build_ids:	collect the build-ids of what was hit (not -B)
 * @all_build_ids: of everything mapped, hit or not (--buildid-all)
 * @sample_times: note the times of first and last sample in the header, by reading the file
 */
struct output {
	struct perf_data	 data;
	struct perf_session	*session;
	struct perf_tool	 tool;
	struct evlist		*evlist;
	bool			 open;
	bool			 regular;
	bool			 replaced;
	u64			 start;
	u64			 closed;
	struct write_queue		 queue;
	struct writer_choice	 io;
	struct writer		*writer;
	struct writer		*stream_writer;
	int			 level;
	struct write_queue		 raw;
	struct compressor	 compressor;
	u64			 write_buffer;
	char			 worker_name[24];
	int			 error_fd;
	int			 err;
	struct reserve		 reserve;
	bool			 kcore;
	bool			 build_ids;
	bool			 all_build_ids;
	bool			 sample_times;
};

/**
 * output__init - start the thread that will write
 * @output:	@write_buffer and @io set; @error_fd -1
 *
 * Return: 0, or a negative errno after an error message.
 */
int output__init(struct output *output);

/**
 * output__open - create the file (an existing one is kept as .old) and start it
 * @output:	@data.path, @evlist and the choices set
 *
 * Return: 0, or a negative errno after an error message.
 */
int output__open(struct output *output);

/**
 * output__write - append whole records; in any thread
 * @stats:	counts them; may be NULL. What cannot be written after all is counted by
 *		output__unsaved() in the end.
 *
 * With compression the records come to the file later than what output__write_unit() appends.
 *
 * Returns when they are copied, which is at once unless the disk is behind by @write_buffer.
 *
 * Return: 0, or @output->err.
 */
int output__write(struct output *output, const struct records *records, struct ring_stats *stats);

/**
 * output__write_unit - append a record together with the data that it announces; in any thread
 * @unit:	the record and its data; the length of both is a multiple of 8
 * @pos:	receives the position of the record in the file
 *
 * Return: as output__write().
 */
int output__write_unit(struct output *output, const struct records *unit, u64 *pos);

/**
 * output__drain - wait until all is written
 *
 * At the first error says what failed and how much is saved.
 *
 * Return: 0, or @output->err.
 */
int output__drain(struct output *output);

/** output__error - has writing failed? Return: 0, or @output->err; nothing is waited for */
int output__error(struct output *output);

/** output__unsaved - records that were counted, and could not be written; when the file is closed */
struct unsaved output__unsaved(const struct output *output);

/** output__hold - no other thread writes until output__release() */
void output__hold(struct output *output);

void output__release(struct output *output);

/**
 * output__next - what is written from now on belongs to the next file
 *
 * The file is to be closed, and the next to be opened by output__reopen(), soon: until then what is
 * written waits in @write_buffer. Without effect after an error.
 */
void output__next(struct output *output);

/** output__bytes - length of the data section so far, of the file that is written to [bytes] */
u64 output__bytes(const struct output *output);

/** output__total - the same for all files of this recording [bytes] */
u64 output__total(const struct output *output);

/**
 * output__close - complete the file and close it
 *
 * After an error there is no next file: what waits for it is given up.
 *
 * Return: 0, or @output->err.
 */
int output__close(struct output *output);

/**
 * output__close_as - output__close(), then rename to path.SUFFIX
 * @name:	receives the new name, to be freed by the caller; suffixed further where it is taken.
 *		NULL if the file could not be renamed, which is warned of, and no error; or there is none.
 *
 * Return: 0, @output->err, or -ENOMEM.
 */
int output__close_as(struct output *output, const char *suffix, char **name);

/**
 * output__discard - instead of output__close(): remove the file
 *
 * The one that was there before, and was kept as .old, gets its name back.
 */
void output__discard(struct output *output);

/**
 * output__reopen - after output__next() and output__close_as(): start the next file under the name that the
 * user knows
 *
 * Return: 0, or @output->err after an error message.
 */
int output__reopen(struct output *output);

/** output__exit - end the thread, free the session. The file must have been closed. */
void output__exit(struct output *output);

static inline bool output__is_pipe(const struct output *output)
{
	return output->data.is_pipe;
}

#endif
