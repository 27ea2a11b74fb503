/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The perf.data file being written: header, data section, features.
 *
 *   output__open()  header without features          a file cut off here has no names in it
 *   output__write() whole records, any number
 *   output__close() build-ids, features, the header again with the sizes   a complete file
 *   output__next()  close, rename, open the next
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
#include "account.h"
#include "span.h"

struct evlist;
struct perf_session;

/**
 * struct output
 * @data:	util's description of the file; @data.path is the name that the user knows
 * @session:	util's session, owned; tasks and maps written are known to it
 * @tool:	what util calls back: synthesized events come in through it (sideband.h), and
 *		the file's own events when it is read back (features.h)
 * @evlist:	the events described in the header
 * @open:	between output__open() or output__reopen() and output__close()
 * @regular:	a regular file in the file format: can be cut, read back, and removed
 * @replaced:	a file of this name was there, and is .old now
 * @bytes:	length of the data section so far [bytes]
 * @total:	the same for all files of this recording [bytes]
 * @err:	the first error, negative errno; nothing is written after it
 * @reserve_fd:	unnamed file that keeps room for the features, or -1
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
	u64			 bytes;
	u64			 total;
	int			 err;
	int			 reserve_fd;
	bool			 build_ids;
	bool			 all_build_ids;
	bool			 sample_times;
};

/**
 * output__open - create the file (an existing one is kept as .old) and start it
 * @output:	@data.path, @evlist and the choices set
 *
 * Return: 0, or a negative errno after an error message.
 */
int output__open(struct output *output);

/**
 * output__write - append whole records
 * @account:	counts what was really written; may be NULL
 *
 * Resumes short writes. At the first error says what failed and how much is saved.
 *
 * Return: 0, or @output->err.
 */
int output__write(struct output *output, const struct span *span, struct account *account);

/** output__close - complete the file and close it. Return: 0, or @output->err */
int output__close(struct output *output);

/**
 * output__close_as - output__close(), then rename to path.SUFFIX
 * @name:	receives the new name, to be freed by the caller; suffixed further where it is taken.
 *		NULL if the file could not be renamed, which is warned of, and no error.
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
 * output__reopen - start the next file under the name that the user knows
 *
 * Return: 0, or @output->err after an error message.
 */
int output__reopen(struct output *output);

/** output__exit - free the session. The file must have been closed. */
void output__exit(struct output *output);

static inline bool output__is_pipe(const struct output *output)
{
	return output->data.is_pipe;
}

#endif
