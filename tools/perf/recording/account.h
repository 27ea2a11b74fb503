/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What went by, and what was lost: counted from the records themselves on their way to the file.
 */
#ifndef PERF_RECORDING_ACCOUNT_H
#define PERF_RECORDING_ACCOUNT_H

#include <stdbool.h>
#include <linux/types.h>
#include "span.h"

/**
 * struct account
 * @records:	all records, side-band included
 * @samples:	PERF_RECORD_SAMPLE
 * @lost:	events that the kernel had no room for, as told by PERF_RECORD_LOST
 * @lost_samples: samples that the hardware lost, as told by PERF_RECORD_LOST_SAMPLES
 * @throttles:	times that the kernel throttled an event
 * @bytes:	length of all records
 */
struct account {
	u64	records;
	u64	samples;
	u64	lost;
	u64	lost_samples;
	u64	throttles;
	u64	bytes;
};

/**
 * account__add - count the whole records among the first @len bytes of @span
 *
 * Return: their length [bytes]: less than @len if a record is cut off there, or if a header made no
 * sense.
 */
size_t account__add(struct account *account, const struct span *span, size_t len);

/** account__merge - add the figures of @from to @account */
void account__merge(struct account *account, const struct account *from);

#endif
