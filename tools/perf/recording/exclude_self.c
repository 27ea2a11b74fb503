// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <internal/xyarray.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#ifdef HAVE_LIBBPF_SUPPORT
#include <bpf/bpf.h>
#include <linux/filter.h>
#endif
#include "util/bpf-filter.h"
#include "util/debug.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "recording/ring/channel.h"
#include "exclude_self.h"

static bool concerns_others(struct evsel *evsel)
{
	const char *name = evsel__name(evsel);

	return evsel->tracking || evsel__is_dummy_event(evsel) || !strncmp(name, "sched:", 6);
}

static bool is_tracepoint(const struct evsel *evsel)
{
	return evsel->core.attr.type == PERF_TYPE_TRACEPOINT;
}

/*
 * A BPF filter is the event's overflow handler: it takes the place of the program, and does its
 * work.
 */
static bool has_bpf_filter(const struct evsel *evsel)
{
	return !list_empty(&evsel->bpf_filters);
}

static int append_bpf_filter(struct evsel *evsel)
{
	char filter[32];

	scnprintf(filter, sizeof(filter), "pid != %d", getpid());
	return perf_bpf_filter__parse(&evsel->bpf_filters, filter);
}

static struct exclude_self_name name_of_threads(void)
{
	struct exclude_self_name name;

	scnprintf(name.text, sizeof(name.text), "perf-%d", getpid());
	return name;
}

int exclude_self__filter(struct evlist *evlist, const char *workers)
{
	const struct exclude_self_name name = name_of_threads();
	struct evsel *evsel;
	char filter[128];

	scnprintf(filter, sizeof(filter), "common_pid != %d && COMM != \"%s\" && COMM != \"%s\"",
		  getpid(), name.text, workers);
	evlist__for_each_entry(evlist, evsel) {
		int err = 0;

		if (is_tracepoint(evsel) && !concerns_others(evsel))
			err = evsel__append_tp_filter(evsel, filter);
		else if (has_bpf_filter(evsel))
			err = append_bpf_filter(evsel);
		if (err) {
			pr_err("Not enough memory for a filter on %s.\n", evsel__name(evsel));
			return -ENOMEM;
		}
	}
	return 0;
}

void exclude_self__name_threads(struct exclude_self_name *saved)
{
	const struct exclude_self_name name = name_of_threads();

	prctl(PR_GET_NAME, saved->text);
	prctl(PR_SET_NAME, name.text);
}

void exclude_self__rename(const struct exclude_self_name *saved)
{
	prctl(PR_SET_NAME, saved->text);
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

static int attach(struct evsel *evsel, int program)
{
	int cpu_idx, thread;

	evsel__for_each_fd(evsel, cpu_idx, thread) {
		int fd = *(int *)xyarray__entry(evsel->core.fd, cpu_idx, thread);

		if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_BPF, program))
			return -errno;
	}
	return 0;
}

/* The events hold references to the program: its descriptor can be closed. */
void exclude_self__attach(struct evlist *evlist)
{
	int program = -1, err;
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (is_tracepoint(evsel) || concerns_others(evsel) || evsel__is_bpf_output(evsel) ||
		    has_bpf_filter(evsel) || evsel->needs_auxtrace_mmap || !evsel->core.attr.sample_period)
			continue;
		if (program < 0)
			program = load_program(getpid());
		err = program < 0 ? program : attach(evsel, program);
		if (err)
			pr_debug("%s: cannot exclude the recorder: %s\n", evsel__name(evsel),
				 strerror(-err));
	}
	if (program >= 0)
		close(program);
}
