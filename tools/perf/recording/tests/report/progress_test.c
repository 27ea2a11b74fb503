// SPDX-License-Identifier: GPL-2.0-only
/*
 * Progress: a snapshot that takes long says now and then how far it is.
 * tags: fast parallel
 *
 * The clock is this test's. Standard error is a file. Prints KTAP.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "recording/report/progress.h"
#include "recording/report/summary.h"
#include "recording/report/summary_json.h"
#include "util/debug.h"
#include "perf/tests/tap.h"

static u64 now = 5000;
static char output[4096];

int clock_gettime(clockid_t clock, struct timespec *time)
{
	(void)clock;
	*time = (struct timespec){ .tv_sec = now / 1000000000, .tv_nsec = now % 1000000000 };
	return 0;
}

/* Instead of summary_json.c, which needs most of the recorder. */
void summary_json__progress(u64 number, u64 records, u64 all, u64 ns)
{
	fprintf(stderr, "object %llu %llu %llu %llu", (unsigned long long)number,
		(unsigned long long)records, (unsigned long long)all, (unsigned long long)ns);
}

/* Return: what the report printed, in @output. */
static const char *report_after(struct progress *progress, const struct summary *summary, u64 ns,
				u64 records)
{
	size_t len;

	now += ns;
	rewind(stderr);
	if (ftruncate(STDERR_FILENO, 0))
		return "cannot truncate";
	progress__report(progress, summary, records, 40000000);
	fflush(stderr);
	rewind(stderr);
	len = fread(output, 1, sizeof(output) - 1, stderr);
	output[len] = '\0';
	return output;
}

int main(void)
{
	struct summary summary = { .snapshots = 2 };
	struct progress progress = progress__begin();

	if (!freopen("/dev/null", "r", stdin) || dup2(fileno(tmpfile()), STDERR_FILENO) < 0)
		return 1;
	stderr = fdopen(STDERR_FILENO, "w+");
	check(!*report_after(&progress, &summary, PROGRESS_NS - 1, 4000000),
	      "a snapshot that does not take long is not mentioned");
	check(!strcmp(report_after(&progress, &summary, 1, 10000000),
		      "[ perf record: Writing snapshot 3: 25 % of 40000000 records, 5.0 million a second ]\n"),
	      "one that does is, with its speed");
	check(!*report_after(&progress, &summary, PROGRESS_NS / 2, 12000000), "not at each block");
	check(*report_after(&progress, &summary, PROGRESS_NS / 2, 12000000), "but again later");
	check(!*report_after(&progress, &summary, PROGRESS_NS, 40000000),
	      "and not when it is complete");
	summary.json = true;
	check(!strcmp(report_after(&progress, &summary, 500000000, 20000000),
		      "object 3 20000000 40000000 6500000000"), "as an object for programs");
	summary.json = false;
	quiet = true;
	check(!*report_after(&progress, &summary, PROGRESS_NS, 30000000), "not with -q");
	return tap_end();
}
