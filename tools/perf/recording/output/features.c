// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <time.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "util/debug.h"
#include "util/evlist.h"
#include "util/header.h"
#include "util/session.h"
#include "util/trace-event.h"
#include "features.h"

/* perf without libtraceevent cannot record tracepoints. */
static bool has_tracepoints(struct evlist *evlist __maybe_unused)
{
#ifdef HAVE_LIBTRACEEVENT
	return have_tracepoints(&evlist->core.entries);
#else
	return false;
#endif
}

void features__init(struct perf_session *session, struct evlist *evlist, bool build_ids)
{
	struct perf_header *header = &session->header;
	int feat;

	for (feat = HEADER_FIRST_FEATURE; feat < HEADER_LAST_FEATURE; feat++)
		perf_header__set_feat(header, feat);

	/* Clear features that describe what this recording does not have. */
	if (!build_ids)
		perf_header__clear_feat(header, HEADER_BUILD_ID);
	if (!has_tracepoints(evlist))
		perf_header__clear_feat(header, HEADER_TRACING_DATA);
	if (!evlist__combined_branch_type(evlist))
		perf_header__clear_feat(header, HEADER_BRANCH_STACK);
	if (!evlist__nr_groups(evlist))
		perf_header__clear_feat(header, HEADER_GROUP_DESC);
	perf_header__clear_feat(header, HEADER_AUXTRACE);
	perf_header__clear_feat(header, HEADER_STAT);
	perf_header__clear_feat(header, HEADER_CLOCKID);
	perf_header__clear_feat(header, HEADER_CLOCK_DATA);
	perf_header__clear_feat(header, HEADER_DIR_FORMAT);
	perf_header__clear_feat(header, HEADER_COMPRESSED);
}

static u64 ns(const struct timespec *ts)
{
	return ts->tv_sec * NSEC_PER_SEC + ts->tv_nsec;
}

int features__init_clock(struct perf_session *session, const struct record_opts *opts)
{
	struct perf_env *env = &session->header.env;
	struct timespec clock, tod;

	if (!opts->use_clockid)
		return 0;
	if (clock_gettime(opts->clockid, &clock) || clock_gettime(CLOCK_REALTIME, &tod)) {
		int err = -errno;

		pr_err("Cannot read the clock of -k: %s\n", strerror(-err));
		return err;
	}
	env->clock.clockid	  = opts->clockid;
	env->clock.clockid_ns	  = ns(&clock);
	env->clock.clockid_res_ns = opts->clockid_res_ns;
	env->clock.tod_ns	  = ns(&tod);
	if (opts->clockid_res_ns)
		perf_header__set_feat(&session->header, HEADER_CLOCKID);
	perf_header__set_feat(&session->header, HEADER_CLOCK_DATA);
	return 0;
}
