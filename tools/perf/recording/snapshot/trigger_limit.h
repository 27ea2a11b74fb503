/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limit the snapshots of a storm of trigger events (--cooldown, --keep-first).
 */
#ifndef PERF_RECORDING_TRIGGER_LIMIT_H
#define PERF_RECORDING_TRIGGER_LIMIT_H

#include <stdbool.h>
#include <linux/types.h>

/**
 * struct trigger_limit
 * @cooldown_ns: after an event that passed, none passes for this time [ns]
 * @max:	how many may pass, 0 for any number
 * @last:	time of the event that passed last [ns]; valid if @nr_passed
 * @nr_passed:	events that passed
 * @nr_stopped:	events that did not
 */
struct trigger_limit {
	u64	cooldown_ns;
	u64	max;
	u64	last;
	u64	nr_passed;
	u64	nr_stopped;
};

/** trigger_limit__allows - may an event at @time [ns] take a snapshot? */
static inline bool trigger_limit__allows(const struct trigger_limit *limit, u64 time)
{
	return !(limit->max && limit->nr_passed >= limit->max) &&
	       !(limit->nr_passed && time < limit->last + limit->cooldown_ns);
}

/** trigger_limit__pass - count an event at @time [ns]. Return: may it take a snapshot? */
static inline bool trigger_limit__pass(struct trigger_limit *limit, u64 time)
{
	if (!trigger_limit__allows(limit, time)) {
		limit->nr_stopped++;
		return false;
	}
	limit->last = time;
	limit->nr_passed++;
	return true;
}

#endif
