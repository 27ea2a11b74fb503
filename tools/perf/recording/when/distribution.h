/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Say how long durations took, from the counts of the BPF programs (--advise).
 */
#ifndef PERF_RECORDING_WHEN_DISTRIBUTION_H
#define PERF_RECORDING_WHEN_DISTRIBUTION_H

#include <linux/types.h>
#include "util/bpf_skel/durations.h"

/**
 * struct when_quantiles - of one condition; a quantile is at most 6 % too long
 * @nr:		number of durations
 * @nr_too_long: number of those longer than the threshold
 * @median_ns, @p99_ns, @p999_ns: half, 99 % and 99.9 % of the durations were not longer [ns]
 * @max_ns:	the longest [ns]
 * @hourly_ns:	a threshold that at most one duration an hour was longer than [ns]; 0: none is
 *		known, as less than an hour was measured
 * @measured_ns: how long the durations were counted
 */
struct when_quantiles {
	u64	nr;
	u64	nr_too_long;
	u64	median_ns;
	u64	p99_ns;
	u64	p999_ns;
	u64	max_ns;
	u64	hourly_ns;
	u64	measured_ns;
};

/**
 * when_quantiles__compute - compute all figures
 * @measured_ns: how long the durations were counted
 */
struct when_quantiles when_quantiles__compute(const struct duration_distribution *distribution,
					      u64 measured_ns);

#endif
