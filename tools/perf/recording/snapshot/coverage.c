// SPDX-License-Identifier: GPL-2.0-only
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/time64.h>
#include "coverage.h"

#define MAX_RING_BYTES	(1ULL << 62)

void coverage__add(struct coverage *coverage, const struct coverage_ring *ring, u64 newest,
		   u64 overwritten)
{
	coverage->newest = max(coverage->newest, newest);
	if (!coverage->reaching.oldest || ring->oldest < coverage->reaching.oldest)
		coverage->reaching = *ring;
	if (overwritten && ring->oldest > coverage->limiting.oldest)
		coverage->limiting = *ring;
}

void coverage__lose(struct coverage *coverage, const struct coverage_ring *ring)
{
	if (!coverage->reaching.oldest || ring->oldest <= coverage->reaching.oldest ||
	    ring->oldest <= coverage->limiting.oldest)
		return;
	coverage->limiting = *ring;
	coverage->limiting.lost = true;
}

/* Times of nested records may be out of order: never return a negative length. */
static u64 reach(const struct coverage *coverage, const struct coverage_ring *ring)
{
	return coverage->newest - min(ring->oldest, coverage->newest);
}

u64 coverage__ns(const struct coverage *coverage)
{
	return reach(coverage,
		     coverage->limiting.oldest ? &coverage->limiting : &coverage->reaching);
}

u64 coverage__longest_ns(const struct coverage *coverage)
{
	return reach(coverage, &coverage->reaching);
}

double coverage__rate(const struct coverage *coverage)
{
	u64 ns = coverage__ns(coverage);

	return ns ? (double)coverage->limiting.bytes * NSEC_PER_SEC / ns : 0;
}

u64 coverage__round_size(double bytes)
{
	return bytes < MAX_RING_BYTES ? roundup_pow_of_two((u64)bytes) : 0;
}

u64 coverage__ring_size(const struct coverage *coverage)
{
	u64 ns = coverage__ns(coverage);

	if (!coverage->limiting.oldest || coverage->limiting.lost || !ns)
		return 0;
	return coverage__round_size((double)coverage->limiting.size *
				    coverage__longest_ns(coverage) / ns);
}
