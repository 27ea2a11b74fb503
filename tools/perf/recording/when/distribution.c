// SPDX-License-Identifier: GPL-2.0-only
#include <linux/kernel.h>
#include <linux/time64.h>
#include "distribution.h"

#define NSEC_PER_HOUR	(3600ULL * NSEC_PER_SEC)

/* Return: a duration that at most @nr durations are longer than. */
static u64 exceeded_by(const struct duration_distribution *distribution, u64 nr)
{
	u64 longer = 0;
	u32 bucket;

	for (bucket = DURATION_BUCKETS; bucket--;) {
		longer += distribution->counts[bucket];
		if (longer <= nr)
			continue;
		if (bucket == DURATION_BUCKETS - 1)
			return distribution->max_ns;
		return min((u64)duration_bucket_begin(bucket + 1), (u64)distribution->max_ns);
	}
	return 0;
}

struct when_quantiles when_quantiles__compute(const struct duration_distribution *distribution,
					      u64 measured_ns)
{
	struct when_quantiles quantiles = {
		.max_ns = distribution->max_ns, .nr_too_long = distribution->nr_too_long,
		.measured_ns = measured_ns,
	};
	u32 bucket;

	for (bucket = 0; bucket < DURATION_BUCKETS; bucket++)
		quantiles.nr += distribution->counts[bucket];
	quantiles.median_ns = exceeded_by(distribution, quantiles.nr / 2);
	quantiles.p99_ns = exceeded_by(distribution, quantiles.nr / 100);
	quantiles.p999_ns = exceeded_by(distribution, quantiles.nr / 1000);
	if (quantiles.nr && measured_ns >= NSEC_PER_HOUR)
		quantiles.hourly_ns = max(exceeded_by(distribution, measured_ns / NSEC_PER_HOUR),
					  (u64)1);
	return quantiles;
}
