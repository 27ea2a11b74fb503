// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <internal/lib.h>
#include <linux/bitmap.h>
#include <sys/stat.h>
#include "util/build-id.h"
#include "util/clockid.h"
#include "util/debug.h"
#include "util/evlist.h"
#include "util/header.h"
#include "util/session.h"
#include "util/trace-event.h"
#include "recording/lib/clock_pair.h"
#include "features.h"
#include "recording/lib/compat.h"

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
	perf_header__clear_unavailable(header);
}

/* Is there space for another page? Nothing is left of it. Return: 0, or a negative errno. */
static int probe_space(int fd)
{
	static const char page[4096];
	struct stat st;
	int err = 0;

	if (fstat(fd, &st) || lseek(fd, st.st_size, SEEK_SET) != st.st_size)
		return -errno;
	errno = 0;
	if (writen(fd, page, sizeof(page)) != sizeof(page))
		err = errno ? -errno : -ENOSPC;
	if (ftruncate(fd, st.st_size) && !err)
		err = -errno;
	return err;
}

/*
 * util copies binaries to the build-id cache while it writes the table of build-ids (until 6.19).
 * Without a directory it does not: they must not take the space for the other features.
 */
static int write_header(struct perf_session *session, struct evlist *evlist, int fd)
{
	const char first = buildid_dir[0];
	int err;

	errno = 0;
	buildid_dir[0] = '\0';
	err = perf_session__write_header(session, evlist, fd, true);
	buildid_dir[0] = first;
	return err ? (errno ? -errno : -EIO) : 0;
}

/* Print why util could not read the formats of tracepoints. Return: a negative errno. */
static int report_formats(void)
{
	int files[4], err = -ENOENT;	/* util has as many open at a time */
	size_t nr = 0;

	while (nr < ARRAY_SIZE(files) && (files[nr] = open("/", O_PATH | O_CLOEXEC)) >= 0)
		nr++;
	if (nr < ARRAY_SIZE(files))
		err = -errno;
	while (nr)
		close(files[--nr]);
	pr_err("Cannot read the formats of tracepoints: %s. Mount tracefs on /sys/kernel/tracing, "
	       "and allow enough open files (ulimit -Hn).\n", strerror(-err));
	return err;
}

/*
 * util leaves out features that it cannot write, and reports no error. No reader accepts a file
 * that has other features, but not the formats of its tracepoints.
 */
int features__write(struct perf_session *session, struct evlist *evlist, int fd, bool *incomplete)
{
	struct perf_header *header = &session->header;
	DECLARE_BITMAP(wanted, HEADER_FEAT_BITS);
	int err;

	memcpy(wanted, header->adds_features, sizeof(wanted));
	*incomplete = false;
	err = write_header(session, evlist, fd);
	if (!err && !bitmap_equal(wanted, header->adds_features, HEADER_FEAT_BITS)) {
		err = probe_space(fd);
		*incomplete = err;
		if (!err && test_bit(HEADER_TRACING_DATA, wanted) &&
		    !perf_header__has_feat(header, HEADER_TRACING_DATA))
			err = report_formats();
	}
	memcpy(header->adds_features, wanted, sizeof(wanted));
	return err;
}

int features__update_clock(struct perf_session *session)
{
	struct perf_env *env = &session->header.env;
	struct clock_pair pair;
	int err = clock_pair__read(env->clock.clockid, &pair);

	if (err) {
		pr_debug("Cannot read the clock of the events: %s\n", strerror(-err));
		return err;
	}
	env->clock.clockid_ns = pair.clock_ns;
	env->clock.tod_ns     = pair.tod_ns;
	perf_header__set_feat(&session->header, HEADER_CLOCK_DATA);
	return 0;
}

int features__init_clock(struct perf_session *session, const struct record_opts *opts)
{
	struct perf_env *env = &session->header.env;
	int err;

	env->clock.clockid	  = opts->use_clockid ? opts->clockid : CLOCKID_PERF;
	env->clock.clockid_res_ns = opts->clockid_res_ns;
	if (opts->clockid_res_ns)
		perf_header__set_feat(&session->header, HEADER_CLOCKID);
	err = features__update_clock(session);
	if (!err || !opts->use_clockid)
		return 0;
	pr_err("Cannot read the clock of -k: %s\n", strerror(-err));
	return err;
}
