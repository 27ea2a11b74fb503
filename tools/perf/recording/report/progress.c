// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>
#include "util/debug.h"
#include "util/time-utils.h"
#include "progress.h"
#include "summary.h"
#include "summary_json.h"

struct progress progress__begin(void)
{
	u64 now = rdclock();

	return (struct progress){ .begun = now, .next = now + PROGRESS_NS };
}

void progress__report(struct progress *progress, const struct summary *summary, u64 records,
		      u64 all)
{
	u64 now = rdclock(), elapsed = now - progress->begun, number;

	if (now < progress->next || records >= all)
		return;
	progress->next = now + PROGRESS_NS;
	number = summary->snapshots + 1;
	if (summary->json)
		summary_json__progress(number, records, all, elapsed);
	else if (!quiet)
		fprintf(stderr, "[ perf record: Writing snapshot %" PRIu64 ": %d %% of %" PRIu64
			" records, %.1f million a second ]\n", number, (int)(100.0 * records / all),
			all, records * 1e3 / elapsed);
}
