/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write the perf.data file: header, data section, features.
 *
 *	output__open()		write the header, without features: a file cut off here has no names
 *	output__write()		append whole records, any number of times
 *	output__close()		append build-ids and features, complete the header
 *
 *	output__next()		end the file: later records belong to the next file
 *	output__close_as()	complete the file and rename it
 *	output__reopen()	open the next file
 *
 * Records are copied, and written by the threads of the pipeline (pipeline.h). Any thread may
 * append, also between output__next() and output__reopen(), but not while the last file is being
 * closed. All other functions are called by the recorder's thread only.
 *
 * output__next() ends a file at one position of what all threads append. Records that the
 * recorder's thread appends between output__hold() and output__next() are the end of the first
 * file: other threads wait meanwhile. The data section begins at the same position in all files,
 * because they describe the same events. So the positions in the next file are known before that
 * exists.
 *
 * An error (disk full, file size limit, I/O) ends the recording, but the file stays readable: it is
 * cut behind the last whole record that was written, and output__close() completes it. Disk space
 * for the features is reserved from the start (reserve.h), so that a file can be completed when the
 * disk is full. The names of the last tasks go there, too (rescue.h). Where snapshots can be
 * spared, the caller goes on instead (@droppable): it drops a file that is one snapshot
 * (output__drop()), and cuts one behind its last whole snapshot (output__cut()).
 */
#ifndef PERF_RECORDING_OUTPUT_H
#define PERF_RECORDING_OUTPUT_H

#include <stdbool.h>
#include <linux/types.h>
#include "util/data.h"
#include "util/tool.h"
#include "recording/lib/records.h"
#include "recording/ring/drain.h"
#include "recording/stats/ring_stats.h"
#include "recording/write/pipeline.h"
#include "claim.h"
#include "reserve.h"
#include "span.h"

struct evlist;
struct machine;
struct perf_sample;
struct perf_session;
union perf_event;

/**
 * struct output
 * @sink:	writes records of streamed rings to the file
 * @data:	util's description of the file; @data.path is the name that the user knows
 * @session:	util's session, owned; knows the tasks and maps that were written
 * @tool:	callbacks of util: synthesized events come in through it (synthesize.h), and the
 *		file's own events when it is read back (tool.h)
 * @evlist:	the events that the header describes
 * @open:	records can be written: a file is open, or will be (output__next())
 * @droppable:	an error costs the file, or the end of it, not the recording: see output__drop() and
 *		output__cut(). Set by the caller.
 * @regular:	a regular file in the file format: it can be cut, read back, and removed
 * @has_whole:	@whole_bytes and @whole_span are set
 * @whole_bytes: length of the data that output__cut() leaves [bytes]
 * @whole_span:	times of the samples in them
 * @replaced:	a file of this name existed, and is now called .old
 * @max_bytes:	stop reading streams when output__kept() reaches this, 0 for never [bytes]
 * @max_file_bytes: wake the recorder when the file has this many bytes of data, 0 for never
 * @spans:	times of the samples in this file and the one before
 * @closed:	length of the data sections of all closed files, without deleted ones [bytes]
 * @removed:	of @closed, what this recorder has deleted since [bytes]
 * @pipeline:	takes records to the file; the caller sets its options (-z, --io, --write-buffer)
 * @kept_level:	compression level of what output__write_kept() gets, 0 for none; set by the caller
 * @kept_raw:	length of the records that output__write_kept() has got [bytes]
 * @kept_bytes:	what they were compressed to [bytes]
 * @error_fd:	readable once writing has failed
 * @err:	the first error, negative errno; nothing is written after it. Other threads may read
 *		it once a call has returned it.
 * @no_space:	space was missing in an error that was cleared; see output__no_space()
 * @claim:	keeps other recorders from the file
 * @fate:	of the file that was closed last
 * @deleted:	length of its data section if it was deleted, or 0 [bytes]
 * @reserve:	disk space for the features
 * @kcore:	make a directory, with a copy of the kernel's code beside the data (--kcore)
 * @build_ids:	write a table of the build-ids of DSOs that samples hit
 * @all_build_ids: collect those of all DSOs that were mapped (--buildid-all)
 * @cache_binaries: copy these DSOs to the build-id cache (not -N)
 * @sample_times: read the file back to store the exact times of the first and the last sample in
 *		the header
 */
struct output {
	struct record_sink	 sink;
	struct perf_data	 data;
	struct perf_session	*session;
	struct perf_tool	 tool;
	struct evlist		*evlist;
	bool			 open;
	bool			 droppable;
	bool			 regular;
	bool			 has_whole;
	u64			 whole_bytes;
	struct time_span	 whole_span;
	bool			 replaced;
	u64			 max_bytes;
	u64			 max_file_bytes;
	struct file_spans	 spans;
	u64			 closed;
	u64			 removed;
	struct pipeline		 pipeline;
	int			 kept_level;
	u64			 kept_raw;
	u64			 kept_bytes;
	int			 error_fd;
	int			 err;
	bool			 no_space;
	struct claim		 claim;
	enum file_fate		 fate;
	u64			 deleted;
	struct reserve		 reserve;
	bool			 kcore;
	bool			 build_ids;
	bool			 all_build_ids;
	bool			 cache_binaries;
	bool			 sample_times;
};

/**
 * output__init - start the threads that will write
 * @output:	options of @pipeline set; @error_fd and @reserve.fd -1
 *
 * Return: 0, or a negative errno after an error message.
 */
int output__init(struct output *output);

/** output__will_be_pipe - before output__open(): is @data.path, or the default, standard output? */
bool output__will_be_pipe(const struct output *output);

/**
 * output__open - create the file and write its header; an existing file is renamed to .old
 * @output:	@data.path, @evlist and the options set
 *
 * Return: 0, or a negative errno after an error message.
 */
int output__open(struct output *output);

/**
 * output__write - append whole records; in any thread
 * @stats:	counts the records; may be NULL. Records that turn out later to be impossible to
 *		write stay counted there: output__unsaved() returns how many they are.
 *
 * Returns as soon as the records are copied: at once, unless all of --write-buffer waits to be
 * written. With compression the records come to the file later than units appended after them.
 *
 * Return: 0, or @output->err.
 */
int output__write(struct output *output, const struct records *records, struct ring_stats *stats);

/** output__write_data - as output__write(), with @len bytes in one piece; a callback for writers */
static inline int output__write_data(void *output, const void *data, size_t len)
{
	const struct records records = records__of(data, len);

	return output__write(output, &records, NULL);
}

/**
 * output__write_kept - append records that were kept in memory
 * @records:	the records, or PERF_RECORD_COMPRESSED records of them, in frames of their own
 * @raw_len:	length of the records, not compressed [bytes]
 * @span:	their times
 *
 * Return: as output__write().
 */
int output__write_kept(struct output *output, const struct records *records, u64 raw_len,
		       const struct time_span *span);

/**
 * output__write_unit - append a record together with the data that it announces; in any thread
 * @unit:	the record and its data; the length of both is a multiple of 8
 * @pos:	receives the position of the record in the file
 *
 * Return: as output__write().
 */
int output__write_unit(struct output *output, const struct records *unit, u64 *pos);

/**
 * output__answer - return what a thread that drains rings is to do after it has appended: 0, or an
 * enum sink_answer; in any thread
 */
int output__answer(const struct output *output);

/**
 * output__flush - wait until everything is written that was appended before the call
 *
 * The first error is reported with how much of the file is saved.
 *
 * Return: 0, or @output->err.
 */
int output__flush(struct output *output);

/**
 * output__mark - append a record that is only a header: PERF_RECORD_FINISHED_ROUND and the like
 *
 * Return: as output__write().
 */
int output__mark(struct output *output, unsigned int type);

/**
 * output__write_synthesized - append a record that util has synthesized; a perf_event__handler_t
 * @tool:	@output->tool
 *
 * Leaves out records that an older perf cannot skip.
 *
 * Return: as output__write().
 */
int output__write_synthesized(const struct perf_tool *tool, union perf_event *event,
			      struct perf_sample *sample, struct machine *machine);

/** output__error - has writing failed? Does not wait. Return: 0, or @output->err */
int output__error(struct output *output);

/**
 * output__no_space - return whether an error since output__init() was a lack of space: the disk was
 * full, or a quota or the limit of the size of a file was reached
 */
bool output__no_space(const struct output *output);

/** output__unsaved - records that were counted, but not written; valid when the file is closed */
struct unsaved output__unsaved(const struct output *output);

/** output__hold - block all other threads in output__write() until output__release() */
void output__hold(struct output *output);

void output__release(struct output *output);

/**
 * output__next - end the file: records appended from now on belong to the next file
 *
 * Close the file and call output__reopen() soon: until then the next file's records fill
 * --write-buffer. No effect after an error.
 */
void output__next(struct output *output);

/** output__bytes - length of the data section so far of the file that is appended to [bytes] */
u64 output__bytes(const struct output *output);

/** output__total - length of the data sections so far of all files of this recording [bytes] */
u64 output__total(const struct output *output);

/** output__kept - as output__total(), without files that this recorder has deleted [bytes] */
u64 output__kept(const struct output *output);

/** output__add_removed - closed files with @bytes of data were deleted; in the main thread */
void output__add_removed(struct output *output, u64 bytes);

/**
 * output__begin_rescue - let @sink keep the names of tasks and maps for the end of the file
 *
 * For the last records of the side-band rings when writing has failed and no other thread appends.
 * output__close() writes them in the space that was reserved, behind those from the queue.
 */
void output__begin_rescue(struct output *output);

/**
 * output__close - complete the file and close it
 *
 * After an error there is no next file: records appended for it are dropped.
 *
 * Return: 0, or @output->err. A file that was deleted meanwhile is no error, see @output->fate.
 */
int output__close(struct output *output);

/**
 * output__close_as - output__close(), then rename the file to path.SUFFIX
 * @name:	receives the new name, with another suffix where it is taken; the caller frees it.
 *		NULL if no file was open, or if the file was not renamed.
 *
 * A file that was moved or deleted meanwhile is not renamed, nor is another that has its name now.
 * Nor is a device: the system needs its /dev/null.
 *
 * Return: 0, @output->err, or a negative errno after an error message: then the recording can go on
 * in the next file.
 */
int output__close_as(struct output *output, const char *suffix, char **name);

/**
 * output__sync - wait until the disk has a file that is complete, or complete up to here
 * @name:	of the file: output__close_as(), or @data.path after output__flush()
 *
 * May take seconds if the disk is busy. A file that was moved meanwhile is no error, nor is a pipe
 * or a device.
 *
 * Return: 0, or a negative errno after an error message.
 */
int output__sync(const struct output *output, const char *name);

/**
 * output__discard - remove the file, instead of output__close()
 *
 * The file that was renamed to .old gets its name back.
 */
void output__discard(struct output *output);

/**
 * output__drop - after an error: remove the file, if one is open, and forget the error
 *
 * No other thread appends. Continue with output__reopen(), at any later time. Until then records
 * that are appended are refused with -EBADF.
 */
void output__drop(struct output *output);

/**
 * output__set_whole - the file is whole up to here; after output__flush(), if no other thread
 * appends
 */
void output__set_whole(struct output *output);

/**
 * output__cut - after an error: cut the file where it was whole, and forget the error
 *
 * Only if @output->has_whole. No other thread appends. The file stays open.
 *
 * Return: 0, or a negative errno after an error message.
 */
int output__cut(struct output *output);

/**
 * output__reopen - create the next file under the name that the user knows
 *
 * Called after output__next() and output__close_as(), or after output__drop().
 *
 * Return: 0, or @output->err after an error message.
 */
int output__reopen(struct output *output);

/** output__exit - stop the threads and free the session. The file must have been closed. */
void output__exit(struct output *output);

static inline bool output__is_pipe(const struct output *output)
{
	return output->data.is_pipe;
}

/** output__name - the name of the open output for messages; it may have none for a pipe */
static inline const char *output__name(const struct output *output)
{
	return output__is_pipe(output) ? "standard output" : output->data.path;
}

#endif
