/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bound the memory of the recorder, and compute how much another time would need.
 */
#ifndef PERF_RECORDING_KEEP_BUDGET_H
#define PERF_RECORDING_KEEP_BUDGET_H

#include <linux/types.h>

struct keep;

/** keep__begin - note the memory that the recorder needs before it keeps anything */
void keep__begin(struct keep *keep);

/**
 * keep__check_limit - warn if the cgroup of this process may not use what perf may need
 * @ring_bytes:	memory of rings that counts in the cgroup as well: that of BPF maps
 */
void keep__check_limit(const struct keep *keep, u64 ring_bytes);

/** keep__measure - measure the memory of the recorder, and drop blocks if there is too little */
void keep__measure(struct keep *keep);

/** keep__other_bytes - return the memory of the recorder beside the blocks [bytes] */
u64 keep__other_bytes(struct keep *keep);

/** keep__growth_limit - return by how much the recorder may grow beside the blocks [bytes] */
u64 keep__growth_limit(const struct keep *keep);

/**
 * keep__needed_instead - return the memory that @max_ns needs if @max_bytes were full after @ns
 * [bytes]
 */
u64 keep__needed_instead(const struct keep *keep, u64 ns);

/**
 * keep__needed_bytes - return the --keep memory that a time needs [bytes]
 * @bytes:	memory that the records of @ns have taken, and the tasks that they refer to [bytes]
 */
u64 keep__needed_bytes(const struct keep *keep, u64 bytes, u64 ns, u64 wanted_ns);

/** keep__reserve - leave this memory to the output, which does not use it yet [bytes] */
void keep__reserve(struct keep *keep, u64 bytes);

#endif
