// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <api/fs/fs.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "condition.h"
#include "constants.h"
#include "setup.h"

/*
 * Below this threshold of a duration between events of the scheduler, the programs read the clock.
 * rq->clock is right to some 10 us.
 */
#define EXACT_BELOW_NS	NSEC_PER_MSEC

#ifdef __x86_64__
#define COMPAT_STATUS	0x0002		/* TS_COMPAT */
#else
#define COMPAT_STATUS	0
#endif

static void want_calls(struct duration_constants *constants,
		       const struct duration_condition *judged)
{
	unsigned int i;

	if (!judged->nr_syscalls)
		memset(constants->calls_wanted, 0xff, sizeof(constants->calls_wanted));
	for (i = 0; i < judged->nr_syscalls; i++) {
		if (judged->syscalls[i] < DURATION_MAX_CALL_NUMBER)
			constants->calls_wanted[judged->syscalls[i] / 64] |=
				1ULL << (judged->syscalls[i] % 64);
	}
}

void when_constants__fill(struct duration_constants *constants,
			  const struct when_condition *conditions, unsigned int nr,
			  const struct when_setup *setup)
{
	__u64 *min_ns = constants->min_ns;
	unsigned int i;

	memset(constants, 0, sizeof(*constants));
	memset(min_ns, 0xff, sizeof(constants->min_ns));
	constants->own_tgid = setup->own_tgid;
	constants->measures = setup->measures;
	constants->nr_conditions = nr;
	constants->compat_status = COMPAT_STATUS;
	for (i = 0; i < nr; i++) {
		const struct duration_condition *judged = &conditions[i].judged;

		constants->conditions[i] = *judged;
		min_ns[judged->kind] = setup->measures ? 0 :
				       min(min_ns[judged->kind], judged->threshold_ns);
		if (judged->kind == DURATION_SYSCALL)
			want_calls(constants, judged);
	}
	constants->exact = min_ns[DURATION_SCHED_DELAY] < EXACT_BELOW_NS ||
			   min_ns[DURATION_OFF_CPU] < EXACT_BELOW_NS ||
			   min_ns[DURATION_ON_CPU] < EXACT_BELOW_NS;
	/* One tick, and one more for a tick that is late */
	if (setup->tick_ns && min_ns[DURATION_SYSCALL] != (u64)-1 &&
	    min_ns[DURATION_SYSCALL] > 2 * setup->tick_ns)
		constants->short_call_ns = min_ns[DURATION_SYSCALL] - 2 * setup->tick_ns;
}

/* The file is " (null)", or empty, where all CPUs have ticks. */
static bool has_nohz_full(void)
{
	char *list;
	size_t len;
	bool found;

	if (sysfs__read_str("devices/system/cpu/nohz_full", &list, &len))
		return false;
	found = strpbrk(list, "0123456789");
	free(list);
	return found;
}

u64 when_constants__tick(void)
{
	struct timespec tick;

	if (has_nohz_full() || clock_getres(CLOCK_MONOTONIC_COARSE, &tick) || tick.tv_sec)
		return 0;
	return tick.tv_nsec;
}
