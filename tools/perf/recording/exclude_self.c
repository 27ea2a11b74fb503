// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#ifdef HAVE_LIBBPF_SUPPORT
#include <bpf/bpf.h>
#include <linux/filter.h>
#endif
#include "perf-sys.h"
#include "util/bpf-filter.h"
#include "util/debug.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/strbuf.h"
#include "recording/ring/bpf_ring.h"
#include "recording/ring/channel.h"
#include "exclude_self.h"
#include "own_tids.h"

static bool concerns_others(struct evsel *evsel)
{
	const char *name = evsel__name(evsel);

	return evsel->tracking || evsel__is_dummy_event(evsel) || !strncmp(name, "sched:", 6);
}

static bool is_tracepoint(const struct evsel *evsel)
{
	return evsel->core.attr.type == PERF_TYPE_TRACEPOINT;
}

static bool is_streamed(const struct evsel *evsel)
{
	return evsel__channel(evsel) == CHANNEL_STREAM;
}

/*
 * Tracepoints
 */

bool exclude_self__defers_filter(struct evsel *evsel)
{
	return is_tracepoint(evsel) && is_streamed(evsel) && !concerns_others(evsel);
}

/* An event has one filter for all its life: try this one on an event of this thread. */
int exclude_self__check_filter(struct evsel *evsel)
{
	struct perf_event_attr attr = evsel->core.attr;
	int fd, err;

	if (!evsel->filter)
		return 0;
	attr.disabled = 1;
	fd = sys_perf_event_open(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = ioctl(fd, PERF_EVENT_IOC_SET_FILTER, evsel->filter) ? -errno : 0;
	close(fd);
	return err;
}

/*
 * Add a range for each run of ids to @filter, so that all tasks pass but those of @own. Other tasks
 * may have got ids in between.
 */
static int add_ranges(struct strbuf *filter, const struct own_tids *own)
{
	int first, last, err = 0;

	for (first = 0; first < own->nr && !err; first = last + 1) {
		for (last = first; last + 1 < own->nr; last++) {
			if (own->tids[last + 1] != own->tids[last] + 1)
				break;
		}
		err = strbuf_addf(filter, "%s(common_pid < %d || common_pid > %d)",
				  first ? " && " : "", own->tids[first], own->tids[last]);
	}
	return err;
}

/* Interrupts concern others, whichever task they hit: TRACE_FLAG_HARDIRQ, SOFTIRQ and NMI pass. */
static int make_filter(struct strbuf *filter, const struct own_tids *own)
{
	return strbuf_addstr(filter, "(") ?: add_ranges(filter, own) ?:
	       strbuf_addstr(filter, ") || common_flags & 0x58");
}

static int set_filter(struct evsel *evsel, const char *filter)
{
	int err = evsel__append_tp_filter(evsel, filter);

	if (!err)
		err = perf_evsel__apply_filter(&evsel->core, evsel->filter) ? -errno : 0;
	if (err)
		pr_err("Cannot set the filter \"%s\" on %s: %s\n", evsel->filter,
		       evsel__name(evsel), strerror(-err));
	return err;
}

int exclude_self__filter(struct evlist *evlist)
{
	struct strbuf filter = STRBUF_INIT;
	struct own_tids own;
	struct evsel *evsel;
	int err = own_tids__find(&own);

	if (!err)
		err = make_filter(&filter, &own);
	if (err) {
		pr_err("Cannot exclude the recorder from tracepoints: its thread ids are unknown: %s.\n"
		       "Use --no-exclude-perf to record it as well.\n", strerror(-err));
		goto out;
	}
	pr_debug2("Filter that excludes the recorder: %s\n", filter.buf);
	evlist__for_each_entry(evlist, evsel) {
		if (exclude_self__defers_filter(evsel))
			err = set_filter(evsel, filter.buf);
		if (err)
			break;
	}
out:
	own_tids__free(&own);
	strbuf_release(&filter);
	return err;
}

/*
 * Other samples
 */

/*
 * A BPF filter is the event's overflow handler: it takes the place of the program, and does its
 * work.
 */
static bool has_bpf_filter(const struct evsel *evsel)
{
	return !list_empty(&evsel->bpf_filters);
}

static int append_bpf_filter(struct evsel *evsel, pid_t process)
{
	char filter[32];

	scnprintf(filter, sizeof(filter), "pid != %d", process);
	return perf_bpf_filter__parse(&evsel->bpf_filters, filter);
}

#ifdef HAVE_LIBBPF_SUPPORT
/* return bpf_get_current_pid_tgid() >> 32 != @process; */
static int load_program(pid_t process)
{
	const struct bpf_insn insns[] = {
		BPF_EMIT_CALL(BPF_FUNC_get_current_pid_tgid),
		BPF_ALU64_IMM(BPF_RSH, BPF_REG_0, 32),
		BPF_MOV64_REG(BPF_REG_1, BPF_REG_0),
		BPF_MOV64_IMM(BPF_REG_0, 0),
		BPF_JMP_IMM(BPF_JEQ, BPF_REG_1, process, 1),
		BPF_MOV64_IMM(BPF_REG_0, 1),
		BPF_EXIT_INSN(),
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "perf_self", "GPL", insns,
			       ARRAY_SIZE(insns), NULL);

	return fd < 0 ? -errno : fd;
}
#else
static int load_program(pid_t process __maybe_unused)
{
	return -EOPNOTSUPP;
}
#endif

/* The event holds references to the program: its descriptor can be closed. */
static int attach_program(struct evsel *evsel, pid_t process)
{
	int program = load_program(process), cpu_idx, thread, fd, err = 0;

	if (program < 0)
		return program;
	evsel__for_each_fd(evsel, cpu_idx, thread, fd) {
		if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program))
			err = -errno;
	}
	close(program);
	return err;
}

/*
 * Can the work of the recorder cause samples of @evsel? A profile has samples at its own rate. It
 * must not have a program: while another one runs on a CPU, or is preempted in an operation on a
 * map, the kernel drops the samples of an event with a program, whichever task they are of.
 */
static bool is_caused_by_tasks(const struct evsel *evsel)
{
	const struct perf_event_attr *attr = &evsel->core.attr;

	if (attr->type == PERF_TYPE_SOFTWARE)
		return attr->config != PERF_COUNT_SW_CPU_CLOCK &&
		       attr->config != PERF_COUNT_SW_TASK_CLOCK;
	return attr->type == PERF_TYPE_BREAKPOINT;
}

static bool takes_program(struct evsel *evsel)
{
	return is_streamed(evsel) && is_caused_by_tasks(evsel) && !concerns_others(evsel) &&
	       !evsel__is_bpf_output(evsel) && evsel->core.attr.sample_period;
}

static int attach(struct evsel *evsel)
{
	struct own_tids own;
	int err = own_tids__find_process(&own);

	if (err)
		return err;
	return has_bpf_filter(evsel) ? append_bpf_filter(evsel, own.process) :
				       attach_program(evsel, own.process);
}

/* Do events that the recorder causes go into a ring that is drained all the time? */
static bool records_self(struct evsel *evsel)
{
	if (evsel->core.attr.context_switch)
		return true;
	if (evsel__channel(evsel) == CHANNEL_BPF_STREAM)
		return !bpf_ring__excludes_own(evsel);
	return is_streamed(evsel) && !exclude_self__defers_filter(evsel) &&
	       (is_tracepoint(evsel) || is_caused_by_tasks(evsel));
}

bool exclude_self__attach(struct evlist *evlist)
{
	bool complete = true;
	struct evsel *evsel;
	int err;

	evlist__for_each_entry(evlist, evsel) {
		if (!takes_program(evsel)) {
			complete &= !records_self(evsel);
			continue;
		}
		err = attach(evsel);
		if (err)
			pr_debug("%s: cannot exclude the recorder: %s\n", evsel__name(evsel),
				 strerror(-err));
		complete &= !err;
	}
	return complete;
}
