// SPDX-License-Identifier: GPL-2.0-only
#include <poll.h>
#include "util/bpf-event.h"
#include "util/debug.h"
#include "util/evlist.h"
#include "util/target.h"
#include "util/util.h"
#include "bpf_thread.h"
#include "recording/lib/compat.h"
#include "recording/lib/eventfd.h"
#include "recording/lib/fd.h"

void bpf_thread__start(struct bpf_thread *watch, struct perf_env *env)
{
	struct target everybody = { .system_wide = true, TARGET_NO_USER };

	watch->evlist = evlist__new();
	if (!watch->evlist)
		return;
	if (evlist__add_bpf_sb_event(watch->evlist, env)) {
		evlist__put(watch->evlist);
		watch->evlist = NULL;
		return;
	}
	watch->wake_fd = eventfd__new();
	if (watch->wake_fd >= 0)
		perf_evlist__add_pollfd(&watch->evlist->core, watch->wake_fd, NULL, POLLIN,
					fdarray_flag__nonfilterable);
	perf_set_multithreaded();	/* otherwise, util's locks do nothing */
	if (evlist__start_sb_thread(watch->evlist, &everybody)) {
		pr_debug("Cannot follow BPF programs: those loaded from now on will not be annotated.\n");
		watch->evlist = NULL;		/* util has deleted it */
		perf_set_singlethreaded();
		fd__close(&watch->wake_fd);
	}
}

void bpf_thread__stop(struct bpf_thread *watch)
{
	if (!watch->evlist)
		return;
	evlist__set_sb_thread_done(watch->evlist, 1);
	eventfd__signal(watch->wake_fd);
	evlist__stop_sb_thread(watch->evlist);
	perf_set_singlethreaded();
	fd__close(&watch->wake_fd);
	watch->evlist = NULL;
}
