/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Measure the times of the samples in a file.
 */
#ifndef PERF_RECORDING_SPAN_H
#define PERF_RECORDING_SPAN_H

#include <pthread.h>
#include <linux/types.h>

/**
 * struct time_span - times of samples
 * @first:	[ns]; 0 if there are none
 * @last:	[ns]
 */
struct time_span {
	u64	first;
	u64	last;
};

/**
 * struct file_spans - times of the samples in the present file and the one before
 * @lock:	protects the others
 * @present:	of the file that is appended to. The span may be larger by one run of records of
 *		each ring, which was appended while files were switched.
 * @ended:	of the file that file_spans__end() has ended
 */
struct file_spans {
	pthread_mutex_t		lock;
	struct time_span	present;
	struct time_span	ended;
};

/**
 * file_spans__extend - records of this time were appended; ignored if @first is 0. In any thread
 */
void file_spans__extend(struct file_spans *spans, u64 first, u64 last);

/** file_spans__end - what is appended from now on belongs to the next file */
void file_spans__end(struct file_spans *spans);

#endif
