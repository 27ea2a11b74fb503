/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Relate the clock of events to the time of day, by reading both at the same moment.
 *
 * No system call reads perf's own clock, which gives events their time unless -k selects another
 * one. Hence open an event for the names of this thread, set the name between two reads of
 * CLOCK_REALTIME, and take the time of the PERF_RECORD_COMM:
 *
 *	CLOCK_REALTIME	 before                 after
 *	-------------------|---------|------------|-----> time
 *	clock of events            record
 *
 * Why not a sample, such as that of a page fault: several events of one task share its sample in
 * most kernels, and with it the time. A recorder with another -k would get the time of our clock.
 *
 * perf_event_mmap_page has the parameters of this clock, too, but only where it depends on nothing
 * but the time stamp counter, which excludes most virtual machines.
 */
#ifndef PERF_RECORDING_CLOCK_PAIR_H
#define PERF_RECORDING_CLOCK_PAIR_H

#include <linux/types.h>

/**
 * struct clock_pair - one moment
 * @clock_ns:	on the clock of events [ns]
 * @tod_ns:	on CLOCK_REALTIME [ns]
 */
struct clock_pair {
	u64	clock_ns;
	u64	tod_ns;
};

/**
 * clock_pair__read - read both clocks now
 * @clockid:	the clock of events: of clock_gettime(2), or CLOCKID_PERF (util/clockid.h)
 *
 * Reads several times, and returns the pair that took least time to read. The difference of its
 * clocks is wrong by at most half of that time, which is about a microsecond for CLOCKID_PERF.
 *
 * For CLOCKID_PERF the caller needs the right to record events of itself, and 8 kB of locked
 * memory while this function runs.
 *
 * Return: 0, or a negative errno.
 */
int clock_pair__read(int clockid, struct clock_pair *pair);

/**
 * clock_pair__from_monotonic - convert a recent time of CLOCK_MONOTONIC to the clock of events
 * @clockid:	as above
 * @time:	[ns]; unchanged on failure
 *
 * Return: 0, or a negative errno.
 */
int clock_pair__from_monotonic(int clockid, u64 *time);

#endif
