// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <api/fs/fs.h>
#include <linux/kernel.h>
#include <linux/perf_event_trailer.h>
#include <linux/string.h>
#include <perf/cpumap.h>
#include <perf/threadmap.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "ui/util.h"
#include "util/bpf-filter.h"
#include "util/callchain.h"
#include "util/clockid.h"
#include "util/debug.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/symbol.h"
#include "util/target.h"
#include "exclude_self.h"
#include "internal.h"
#include "perf-sys.h"
#include "recorder.h"
#include "recording/lib/compat.h"
#include "recording/lib/evsel.h"

/* Only events on CPUs see the recorder. */
static bool excludes_self(struct recorder *rec)
{
	return !rec->include_self && target__has_cpu(&rec->opts.target);
}

static int add_tracking_event(struct recorder *rec)
{
	/* Tasks migrate: to name those seen on some CPUs, all CPUs must be tracked. */
	bool all_cpus = rec->opts.target.cpu_list != NULL;

	/* For an AUX event, util has added a tracking event already. */
	rec->tracking = evlist__get_tracking_event(rec->evlist);
	if (rec->opts.full_auxtrace && evsel__is_dummy_event(rec->tracking))
		return 0;

	rec->tracking = evlist__add_aux_dummy(rec->evlist, all_cpus);
	if (!rec->tracking)
		return -ENOMEM;
	evlist__set_tracking_event(rec->evlist, rec->tracking);
	return 0;
}

/* Decoders of a trace of the kernel need to know how its code was patched meanwhile. */
static int add_text_poke(struct recorder *rec)
{
	struct evsel *evsel;

	if (!rec->opts.text_poke)
		return 0;
	evsel = evlist__add_aux_dummy(rec->evlist, true);
	if (!evsel)
		return -ENOMEM;
	evsel->core.attr.text_poke = 1;
	evsel->core.attr.ksymbol = 1;
	evsel->immediate = true;
	evsel__set_sample_bit(evsel, TIME);
	return 0;
}

static void configure_tracking(struct recorder *rec)
{
	struct evsel *evsel = rec->tracking;

	evsel->core.attr.write_backward = 0;
	evsel->core.attr.mmap_data = rec->data_mmap;

	/*
	 * The tracking event is enabled at once: it must cover what happens while /proc is read,
	 * and during --delay.
	 */
	if (!target__none(&rec->opts.target))
		evsel->core.attr.disabled = 0;
	else if (rec->opts.target.initial_delay)
		evsel->core.attr.enable_on_exec = 1;
}

/* The fields of the sample id at the end of side-band records */
#define SAMPLE_ID_FIELDS	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |	\
				 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

/*
 * Give all events the sample id fields that any of them has. The live state (state.h) takes one
 * format. Some readers, such as that of hotspot, read all side-band records by the first event.
 */
static void unify_sample_ids(struct evlist *evlist)
{
	struct evsel *evsel;
	u64 fields = 0, bit;

	evlist__for_each_entry(evlist, evsel)
		fields |= evsel->core.attr.sample_type & SAMPLE_ID_FIELDS;
	evlist__for_each_entry(evlist, evsel) {
		for (bit = 1; bit <= fields; bit <<= 1) {
			if (fields & bit)
				__evsel__set_sample_bit(evsel, bit);
		}
	}
	evlist__set_id_pos(evlist);
}

/* Return: whether an event before @evsel writes the stacks of its samples to the same rings. */
static bool has_stack_output(struct evlist *evlist, const struct evsel *evsel)
{
	struct evsel *other;

	evlist__for_each_entry(evlist, other) {
		if (other == evsel)
			return false;
		if (evsel__defers(other) && evsel__channel(other) == evsel__channel(evsel) &&
		    other->cgrp == evsel->cgrp &&
		    perf_cpu_map__equal(other->core.cpus, evsel->core.cpus))
			return true;
	}
	return false;
}

/*
 * Let the kernel write deferred user stacks to the rings of their samples, so that an overwrite
 * ring keeps a stack as long as its sample. By default they go to the side-band rings. The kernel
 * writes stacks to an event on CPUs only if the event is on its list of side-band events: comm_exec
 * puts the event there, and has no other effect without comm.
 */
static void configure_deferred(struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		bool output = evsel__defers(evsel) && !has_stack_output(evlist, evsel);

		evsel__set_defer_output(evsel, output);
		if (output)
			evsel->core.attr.comm_exec = 1;
	}
}

static int configure_recorded(struct recorder *rec)
{
	struct evlist *evlist = rec->evlist;
	bool overwrite = false;
	struct evsel *evsel;

	if (callchain_param.enabled && callchain_param.record_mode == CALLCHAIN_FP)
		record_opts__add_leaf_frames(&rec->opts);

	bpf_ring__choose_clock(&rec->bpf_ring, evlist, &rec->opts);
	evlist__config(evlist, &rec->opts, &callchain_param);
	configure_tracking(rec);
	configure_deferred(evlist);
	off_cpu__configure(&rec->off_cpu);
	/* Snapshots of AUX areas need the CPU on which a task was traced. */
	if (aux__takes_snapshots(&rec->aux))
		evsel__set_sample_bit(rec->tracking, CPU);
	/*
	 * util omits the time where all records come through one ring, in order. Here, side-band
	 * records have rings of their own.
	 */
	if (rec->opts.sample_time)
		evsel__set_sample_bit(rec->tracking, TIME);
	unify_sample_ids(evlist);

	evlist__for_each_entry(evlist, evsel) {
		overwrite |= evsel__channel(evsel) == CHANNEL_OVERWRITE;
		if (rec->mem_info)
			evsel__set_sample_bit(evsel, DATA_SRC);
	}
	if (overwrite && sizeof(long) < sizeof(u64)) {
		pr_err("Overwrite events need a 64-bit perf and kernel.\n");
		return -EOPNOTSUPP;
	}
	return 0;
}

static void explain_no_target(struct target *target, int err)
{
	const char *name = target->pid ?: target->tid ?: target__user(target);

	if (target__none(target))
		pr_err("The command exited before it was started: %s\n", strerror(err));
	else if (name)
		pr_err("Cannot attach to %s: %s\n", name, err == ENOENT || err == ESRCH ?
		       target__user(target) ? "this user has no process" :
					 "no such process, or not a number" : strerror(err));
	else
		pr_err("Cannot make the CPU map %s: %s\n", target->cpu_list ?: "", strerror(err));
}

int events__find_target(struct recorder *rec)
{
	struct target *target = &rec->opts.target;
	int err;

	if (evlist__create_maps(rec->evlist, target) < 0) {
		err = errno ? -errno : -EINVAL;
		explain_no_target(target, -err);
		return err;
	}
	if (target__has_task(target) && !perf_thread_map__nr(rec->evlist->core.threads)) {
		explain_no_target(target, ESRCH);
		return -ESRCH;
	}
	return off_cpu__prepare(&rec->off_cpu, &rec->output, &rec->opts) ?:
	       aux__configure(&rec->aux) ?: add_text_poke(rec) ?: add_tracking_event(rec);
}

int events__configure(struct recorder *rec)
{
	int err = configure_recorded(rec);

	if (!err)
		err = trigger_events__configure(&rec->triggers.events, rec->evlist, &rec->opts);
	return err;
}

/* Return whether the kernel opens @evsel with its own clock, though not with that of -k. */
static bool is_clock_refused(const struct evsel *evsel)
{
	struct perf_event_attr attr = evsel->core.attr;
	pid_t pid = perf_thread_map__pid(evsel->core.threads, 0);
	int cpu = perf_cpu_map__cpu(evsel->core.cpus, 0).cpu, fd;

	attr.use_clockid = 0;
	attr.clockid = 0;
	fd = sys_perf_event_open(&attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/*
 * Tell a filter from the kernel's own refusal: the kernel checks the flags first, and returns
 * EINVAL for unknown ones, whatever this process may do.
 */
static bool explain_seccomp(void)
{
	if (syscall(__NR_perf_event_open, NULL, 0, 0, -1, -1UL) != -1 ||
	    (errno != EPERM && errno != EACCES))
		return false;
	pr_err("Hint:\tA seccomp filter of the container or service refuses perf_event_open(2), whatever the capabilities\n"
	       "\tand perf_event_paranoid are. Allow the call: docker run --cap-add PERFMON, or\n"
	       "\t--security-opt seccomp=PROFILE; SystemCallFilter=perf_event_open of a service.\n");
	return true;
}

/* util explains perf_event_paranoid, which does not matter for tasks of other users. */
static bool explain_other_user(const struct evsel *evsel)
{
	struct perf_thread_map *threads = evsel->core.threads;
	char path[32];
	struct stat st;
	int i, tid;

	for (i = 0; i < perf_thread_map__nr(threads); i++) {
		tid = perf_thread_map__pid(threads, i);
		snprintf(path, sizeof(path), "/proc/%d", tid);
		if (tid <= 0 || stat(path, &st) || st.st_uid == geteuid())
			continue;
		pr_err("Hint:\tTask %d belongs to user %u. This user, %u, may not record it, whatever "
		       "perf_event_paranoid is:\n\t"
		       "run as root, or with CAP_PERFMON.\n", tid, st.st_uid, geteuid());
		return true;
	}
	return false;
}

/* Return: the highest perf_event_paranoid at which any user may record this tracepoint. */
static int needed_paranoid(const char *tracepoint, struct target *target)
{
	if (target__has_cpu(target))
		return -1;
	if (strstarts(tracepoint, "syscalls:"))
		return 2;
	return strstarts(tracepoint, "raw_syscalls:") ? 1 : -1;
}

static void explain_tracepoint(struct evsel *evsel, struct target *target)
{
	int paranoid, needed = needed_paranoid(evsel__name(evsel), target);

	if (evsel->core.attr.type != PERF_TYPE_TRACEPOINT ||
	    sysctl__read_int("kernel/perf_event_paranoid", &paranoid) || paranoid <= needed)
		return;
	pr_err("Hint:\t%s needs root or CAP_PERFMON in the initial user namespace, or "
	       "kernel.perf_event_paranoid\n\tat %d (now %d).\n",
	       evsel__name(evsel), needed, paranoid);
}

/*
 * Let util change an event that the kernel refused: for a user who may not sample the kernel, util
 * excludes the kernel and appends "u" to the name. A tracepoint keeps its name, by which util finds
 * its format. Of the tracepoints, only those of syscalls have hits that count as user space.
 */
static bool fall_back(struct evsel *evsel, struct target *target, int err, char *msg, size_t size)
{
	char *name;

	if (evsel->core.attr.type != PERF_TYPE_TRACEPOINT)
		return evsel__fallback(evsel, target, err, msg, size);
	if (!strstarts(evsel__name(evsel), "syscalls:"))
		return false;
	name = strdup(evsel->name);
	if (!name || !evsel__fallback(evsel, target, err, msg, size)) {
		free(name);
		return false;
	}
	free(evsel->name);
	evsel->name = name;
	return true;
}

#define REFUSED_AS_SIZED	1

/* Return: 0, a negative errno after an error message, or REFUSED_AS_SIZED. */
static int open_event(struct recorder *rec, struct evlist *evlist, struct evsel **pevsel)
{
	struct evsel *evsel = *pevsel;
	char msg[BUFSIZ];

	while (evsel__open(evsel, evsel->core.cpus, evsel->core.threads) < 0) {
		int err = errno;

		if (fall_back(evsel, &rec->opts.target, err, msg, sizeof(msg))) {
			if (verbose > 0)
				ui__warning("%s\n", msg);
			continue;
		}
		if ((err == EINVAL || err == EBADF) && evsel->weak_group &&
		    evsel->core.leader != &evsel->core) {
			evsel = evlist__reset_weak_group(evlist, evsel, true);
			*pevsel = evsel;
			continue;
		}
		if (err == EINVAL && evsel->core.attr.sample_type & PERF_SAMPLE_SIZE_AT_END)
			return REFUSED_AS_SIZED;
		if (err == ESRCH) {
			explain_no_target(&rec->opts.target, err);
			return -err;
		}
		if (err == EINVAL && rec->opts.use_clockid && is_clock_refused(evsel)) {
			pr_err("Cannot record %s with clock %d, %s: the kernel does not accept "
			       "this clock for this event. All events accept -k monotonic and "
			       "-k monotonic_raw; perf script -F +tod prints the time of day.\n",
			       evsel__name(evsel), rec->opts.clockid,
			       clockid_name(rec->opts.clockid));
			return -err;
		}
		evsel__open_strerror(evsel, &rec->opts.target, err, msg, sizeof(msg));
		ui__error("%s\n", msg);
		if ((err == EACCES || err == EPERM) && !explain_seccomp() &&
		    !explain_other_user(evsel))
			explain_tracepoint(evsel, &rec->opts.target);
		return err ? -err : -EINVAL;
	}
	evsel->supported = true;
	return 0;
}

static bool config_overwrite(struct evlist *evlist, enum perf_overwrite_kind kind)
{
	struct evsel *evsel;
	bool any = false;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel__channel(evsel) != CHANNEL_OVERWRITE)
			continue;
		perf_overwrite__config(&evsel->core.attr, kind);
		any = true;
	}
	return any;
}

/* A dummy event in the place of one that BPF writes: its descriptors have ids, and cost nothing. */
static int open_placeholder(struct recorder *rec, struct evlist *evlist, struct evsel *evsel)
{
	const struct perf_event_attr recorded = evsel->core.attr;
	int err;

	evsel->core.attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .size = recorded.size,
		.disabled = 1, .read_format = recorded.read_format,
	};
	err = open_event(rec, evlist, &evsel);
	evsel->core.attr = recorded;
	return err;
}

static int open_all(struct recorder *rec, struct evlist *evlist)
{
	struct evsel *evsel;
	int err;

	evlist__for_each_entry(evlist, evsel) {
		err = evsel__is_bpf_written(evsel) ? open_placeholder(rec, evlist, evsel) :
						     open_event(rec, evlist, &evsel);
		if (err)
			return err;
	}
	return 0;
}

/*
 * All events of a ring must be of one kind: if the kernel refuses a trailer for one, none can have
 * it.
 */
static int open_sized(struct recorder *rec)
{
	const struct perf_missing_features before = perf_missing_features;
	struct evlist *evlist = rec->evlist;
	struct perf_event_attr *attrs = calloc(evlist->core.nr_entries, sizeof(*attrs));
	struct evsel *evsel;
	int err;

	if (!attrs)
		return -ENOMEM;
	evlist__for_each_entry(evlist, evsel)
		attrs[evsel->core.idx] = evsel->core.attr;

	config_overwrite(evlist, PERF_OVERWRITE_SIZED);
	err = open_all(rec, evlist);
	if (err == REFUSED_AS_SIZED) {
		pr_debug("PERF_SAMPLE_SIZE_AT_END is refused for an event: write_backward for all.\n");
		evlist__close(evlist);
		/* util has taken the refusal for other missing features. */
		perf_missing_features = before;
		evlist__for_each_entry(evlist, evsel)
			evsel->core.attr = attrs[evsel->core.idx];
	}
	free(attrs);
	return err;
}

/* Leave the attributes as the file describes them: there, records have no trailers. */
static int open_of_best_kind(struct recorder *rec)
{
	bool any = config_overwrite(rec->evlist, PERF_OVERWRITE_BACKWARD);
	int err;

	if (any && perf_overwrite__probe() == PERF_OVERWRITE_SIZED) {
		rec->overwrite = PERF_OVERWRITE_SIZED;
		err = open_sized(rec);
		config_overwrite(rec->evlist, PERF_OVERWRITE_BACKWARD);
		if (err != REFUSED_AS_SIZED)
			return err;
	}
	rec->overwrite = PERF_OVERWRITE_BACKWARD;
	return open_all(rec, rec->evlist);
}

static int apply_filter(struct recorder *rec, struct evsel *evsel)
{
	errno = 0;
	if (evsel__is_bpf_written(evsel) ||
	    (excludes_self(rec) && exclude_self__defers_filter(evsel)))
		return exclude_self__check_filter(evsel);
	if (evsel->filter && perf_evsel__apply_filter(&evsel->core, evsel->filter))
		return errno ? -errno : -EINVAL;
	if (!list_empty(&evsel->bpf_filters) &&
	    perf_bpf_filter__prepare(evsel, &rec->opts.target))
		return errno ? -errno : -EINVAL;
	return 0;
}

/* Filters of other events than tracepoints are BPF programs. */
static const char *filter_hint(const struct evsel *evsel, int err)
{
	if (list_empty(&evsel->bpf_filters) || !geteuid() || (err != -EPERM && err != -EACCES &&
							      err != -ENOENT))
		return "";
	return "\nAn ordinary user can filter the samples of its own processes once root has run "
	       "'perf record --setup-filter pin'.";
}

static int apply_filters(struct recorder *rec, struct evlist *evlist)
{
	struct evsel *evsel;
	int err;

	evlist__for_each_entry(evlist, evsel) {
		err = apply_filter(rec, evsel);
		if (!err)
			continue;
		pr_err("Cannot set the filter \"%s\" on %s: %s%s\n", evsel->filter ?: "BPF",
		       evsel__name(evsel), strerror(-err), filter_hint(evsel, err));
		return err;
	}
	return 0;
}

/* Return: as exclude_self__attach() */
static bool exclude_self(struct recorder *rec)
{
	bool complete;

	if (!excludes_self(rec))
		return !rec->include_self;
	complete = exclude_self__attach(rec->evlist);
	if (rec->triggers.events.evlist)
		exclude_self__attach(rec->triggers.events.evlist);
	return complete;
}

int events__exclude_threads(struct recorder *rec)
{
	struct evlist *triggers = rec->triggers.events.evlist;
	int err = 0;

	if (!excludes_self(rec))
		return 0;
	err = exclude_self__filter(rec->evlist);
	if (!err && triggers)
		err = exclude_self__filter(triggers);
	return err;
}

/*
 * With inherit_stat, a task that exits writes its counts to the rings of all CPUs, from its own
 * CPU. If a local writer is active in such a ring, the ring's nesting count may stay raised: then
 * nothing is published in it any more.
 */
static void warn_of_inherit_stat(struct record_opts *opts)
{
	struct target *target = &opts->target;

	if (!opts->inherit_stat || opts->no_inherit || target->per_thread ||
	    target__has_cpu(target) ||
	    sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return;
	pr_warning("-s: this kernel may stop the rings of other CPUs when a task exits: their events are lost "
		   "from then on. See BUGS in perf-record(1).\n");
}

int events__open(struct recorder *rec)
{
	struct evlist *evlist = rec->evlist, *triggers = rec->triggers.events.evlist;
	int err = bpf_ring__add_events(&rec->bpf_ring, evlist, &rec->opts,
				       excludes_self(rec) ? getpid() : 0);

	if (!err)
		err = task_contexts__pin(&rec->contexts, evlist, &rec->opts, rec->bpf_ring.marker);
	if (!err)
		err = open_of_best_kind(rec);
	if (!err && triggers)
		err = open_all(rec, triggers);
	if (err)
		return err;
	warn_of_inherit_stat(&rec->opts);
	if (callchain_param__defers(&callchain_param) && !evlist__defers(evlist))
		pr_warning("--call-graph fp,defer: this kernel cannot defer user stacks (Linux 6.19 "
			   "and later can): they are recorded with the samples.\n");
	rec->self_excluded = exclude_self(rec);
	if (symbol_conf.kptr_restrict && !evlist__exclude_kernel(evlist))
		pr_warning("Kernel addresses are hidden from this user: kernel samples will not\n"
			   "resolve. See /proc/sys/kernel/kptr_restrict and perf_event_paranoid.\n");

	err = apply_filters(rec, evlist);
	if (!err && triggers)
		err = apply_filters(rec, triggers);
	return err;
}

/*
 * CPUs that come or go
 */

/* List the CPUs of @cpus that are not in @others, as "1,2,3". Return: whether there are any. */
static bool list_others(struct perf_cpu_map *cpus, struct perf_cpu_map *others, char *list,
			size_t size)
{
	struct perf_cpu cpu;
	size_t len = 0;
	cpu_index_t i;

	list[0] = '\0';
	perf_cpu_map__for_each_cpu(cpu, i, cpus) {
		if (!perf_cpu_map__has(others, cpu))
			len += scnprintf(list + len, size - len, "%s%d", len ? "," : "", cpu.cpu);
	}
	return len;
}

void events__warn_of_hotplug(const struct recorder *rec)
{
	struct perf_cpu_map *recorded = rec->evlist->core.user_requested_cpus, *online;
	char list[200];

	if (perf_cpu_map__has_any_cpu_or_is_empty(recorded))
		return;
	online = perf_cpu_map__new_online_cpus();
	if (!rec->opts.target.cpu_list && list_others(online, recorded, list, sizeof(list)))
		pr_warning("CPUs came online during the recording, which does not have their "
			   "events: %s\n", list);
	if (online && list_others(recorded, online, list, sizeof(list)))
		pr_warning("CPUs went offline during the recording, which ends early for them: "
			   "%s\n", list);
	perf_cpu_map__put(online);
}
