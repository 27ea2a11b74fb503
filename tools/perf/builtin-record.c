// SPDX-License-Identifier: GPL-2.0-only
/*
 * perf record: options. The recording itself is in recording/, see recording/recorder.h.
 *
 * The table below is the whole of the command line.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <locale.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <internal/lib.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/string.h>
#include <perf/cpumap.h>
#include <subcmd/parse-options.h>
#include "builtin.h"
#include "recording/recorder.h"
#include "util/bpf-filter.h"
#include "util/build-id.h"
#include "util/callchain.h"
#include "util/cgroup.h"
#include "util/clockid.h"
#include "util/config.h"
#include "util/debug.h"
#include "util/event.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/parse-branch-options.h"
#include "util/parse-events.h"
#include "util/parse-regs-options.h"
#include "util/perf_api_probe.h"
#include "util/pfm.h"
#include "util/pmu.h"
#include "util/pmus.h"
#include "util/record.h"
#include "util/symbol.h"
#include "util/synthetic-events.h"
#include "util/target.h"
#include "util/util.h"
#include "perf.h"

static const char * const record_usages[] = {
	"perf record [<options>] [<command>]",
	"perf record [<options>] -- <command> [<options>]",
	NULL
};
const char * const *record_usage = record_usages;

#ifdef HAVE_ZSTD_SUPPORT
#define COMPRESSION_MAX	22
#else
#define COMPRESSION_MAX	0
#endif

/* As of parse_options(). */
#define EXIT_USAGE	129

/* The table needs addresses that do not change; cmd_record() fills this in at each call. */
static struct recorder rec;

/* What is said on the command line or in the configuration, and does not concern the recorder. */
static struct {
	const char	*switch_output;
	const char	*threads;
	bool		 switch_output_set;
	bool		 no_build_ids, no_build_ids_set;
	bool		 no_build_id_cache, no_build_id_cache_set;
	bool		 dry_run;
	const char	*setup_filter;
	struct perf_debuginfod debuginfod;
	struct evlist	**named_last;	/* where --filter belongs */
} args;

static struct parse_events_option_args events_option = {
	.evlistp = &rec.evlist,
};

static struct parse_events_option_args trigger_option = {
	.evlistp = &rec.triggers.events.evlist,
};

/*
 * Call graphs: shared with perf top and perf trace
 */

const char record_callchain_help[] = CALLCHAIN_RECORD_HELP
	"\n\t\t\t\tDefault: fp";

int record_opts__parse_callchain(struct record_opts *opts, struct callchain_param *callchain,
				 const char *arg, bool unset)
{
	int err;

	callchain->enabled = !unset;
	if (unset) {
		callchain->record_mode = CALLCHAIN_NONE;
		return 0;
	}
	err = parse_callchain_record_opt(arg, callchain);
	/* Unwinding from a dumped stack needs the data maps. */
	if (!err && callchain->record_mode == CALLCHAIN_DWARF)
		opts->sample_address = true;
	return err;
}

int record_parse_callchain_opt(const struct option *opt, const char *arg, int unset)
{
	return record_opts__parse_callchain(opt->value, &callchain_param, arg, unset);
}

int record_callchain_opt(const struct option *opt, const char *arg __maybe_unused, int unset)
{
	struct callchain_param *callchain = opt->value;

	callchain->enabled = !unset;
	if (!unset && callchain->record_mode == CALLCHAIN_NONE)
		callchain->record_mode = CALLCHAIN_FP;
	return 0;
}

/*
 * Options that need more than being stored
 */

static int parse_recorded_event(const struct option *opt, const char *arg, int unset)
{
	args.named_last = &rec.evlist;
	return parse_events_option(opt, arg, unset);
}

static int parse_trigger_event(const struct option *opt, const char *arg, int unset)
{
	args.named_last = &rec.triggers.events.evlist;
	return parse_events_option_new_evlist(opt, arg, unset);
}

static int parse_event_filter(const struct option *opt __maybe_unused, const char *arg, int unset)
{
	const struct option named_last = { .value = args.named_last };

	return parse_filter(&named_last, arg, unset);
}

/* Where all tasks are recorded it is so anyway, and --no-exclude-perf says that it is not to be. */
static int parse_exclude_perf(const struct option *opt __maybe_unused, const char *arg, int unset)
{
	const struct option named_last = { .value = args.named_last };

	rec.include_self = unset;
	return unset ? 0 : exclude_perf(&named_last, arg, unset);
}

/* Digits and nothing else: neither "-1" nor "4x" is a number here. */
static bool parse_number(const char *arg, unsigned long *number)
{
	errno = 0;
	*number = strtoul(arg, NULL, 10);
	return *arg && strspn(arg, "0123456789") == strlen(arg) && !errno;
}

/* @pages: what was found in @arg, 0 if that makes no sense. */
static int check_pages(unsigned long pages, const char *arg, const char *of, const char *example)
{
	unsigned int most = (INT_MAX / 2 + 1) / page_size;	/* struct perf_mmap counts in int */

	if (!pages)
		pr_err("-m %s: not a number of pages, or a size with a unit. Example: %s\n", arg,
		       example);
	else if (pages > most)
		pr_err("-m %s: %s has at most %u pages.\n", arg, of, most);
	else
		return 0;
	return -1;
}

static int parse_data_pages(unsigned int *pages, const char *arg)
{
	*pages = 0;
	if (isdigit(*arg) && strtoul(arg, NULL, 10) && __evlist__parse_mmap_pages(pages, arg))
		return -1;
	return check_pages(*pages, arg, "a ring", "-m 1M");
}

/* Not rounded up yet: there are drivers that take any number (aux__configure()). */
static int parse_aux_pages(unsigned int *pages, const char *arg)
{
	unsigned long nr = DIV_ROUND_UP(rotation__parse_size(arg), page_size);

	if (!nr && !parse_number(arg, &nr))
		nr = 0;
	*pages = nr;
	return check_pages(nr, arg, "an AUX area", "-m ,4M");
}

static int parse_ring_pages(const struct option *opt, const char *arg, int unset __maybe_unused)
{
	struct record_opts *opts = opt->value;
	const char *comma = strchrnul(arg, ',');
	char *rings = strndup(arg, comma - arg);
	int err = -1;

	if (!rings)
		return -1;
	if (*rings || !*comma)
		err = parse_data_pages(&opts->mmap_pages, rings);
	if (*comma && (err == 0 || !*rings))
		err = parse_aux_pages(&opts->auxtrace_mmap_pages, comma + 1);
	free(rings);
	return err;
}

static int parse_max_size(const struct option *opt, const char *arg, int unset)
{
	u64 *size = opt->value;

	*size = unset ? 0 : rotation__parse_size(arg);
	if (unset || *size)
		return 0;
	pr_err("--max-size=%s: not a size with a unit: B, K, M or G. Example: --max-size=100M\n", arg);
	return -1;
}

static int parse_write_buffer(const struct option *opt, const char *arg, int unset __maybe_unused)
{
	u64 memory = (u64)sysconf(_SC_PHYS_PAGES) * page_size;
	u64 *size = opt->value;

	*size = rotation__parse_size(arg);
	if (*size < PIPELINE_MIN_BYTES)
		pr_err("--write-buffer=%s: not a size of 1M or more with a unit: M or G. "
		       "Example: --write-buffer=256M\n", arg);
	else if (*size > memory)
		pr_err("--write-buffer=%s: this machine has %" PRIu64 "M of memory.\n", arg, memory >> 20);
	else
		return 0;
	return -1;
}

static int parse_io(const struct option *opt, const char *arg, int unset __maybe_unused)
{
	if (!writer__parse(opt->value, arg))
		return 0;
	pr_err("--io=%s: must be uring, aio or sync.\n", arg);
	return -1;
}

static void use_aio(unsigned long nr)
{
	rec.output.pipeline.io.kind = WRITER_AIO;
	rec.output.pipeline.io.nr_aio = clamp(nr, 1UL, (unsigned long)WRITER_AIO_MAX);
	if (rec.output.pipeline.io.nr_aio != nr)
		pr_warning("AIO: %lu control blocks are not possible, 1 to %d are. Using %u.\n", nr,
			   WRITER_AIO_MAX, rec.output.pipeline.io.nr_aio);
}

static int parse_aio(const struct option *opt __maybe_unused, const char *arg, int unset)
{
	unsigned long nr = 1;

	if (arg && !parse_number(arg, &nr)) {
		pr_err("--aio=%s: not a number. Example: --aio=4\n", arg);
		return -1;
	}
	if (unset)
		rec.output.pipeline.io.kind = WRITER_BEST;
	else
		use_aio(nr);
	return 0;
}

/* More than there are tasks are as many as there are tasks. */
static int parse_synthesizers(const struct option *opt, const char *arg, int unset __maybe_unused)
{
	unsigned int *nr = opt->value;
	unsigned long number;

	if (!parse_number(arg, &number) || !number || number > INT_MAX) {
		pr_err("--num-thread-synthesize=%s: not a number of threads, 1 or more. Example: "
		       "--num-thread-synthesize=4\n", arg);
		return -1;
	}
	*nr = number;
	return 0;
}

static int parse_compression(const struct option *opt, const char *arg, int unset)
{
	int *level = opt->value;
	char *end = NULL;

	*level = !unset;
	if (!unset && arg)
		*level = strtol(arg, &end, 10);
	if (*level >= 0 && *level <= COMPRESSION_MAX && (!end || (end != arg && !*end)))
		return 0;
	if (!COMPRESSION_MAX) {
		pr_err("-z: this perf was built without zstd, and does not compress.\n");
		return -1;
	}
	pr_err("-z %s: not a level of compression, 0 to %d.\n", arg, COMPRESSION_MAX);
	return -1;
}

static int parse_threads(const struct option *opt __maybe_unused, const char *arg, int unset)
{
	rec.readers.no_threads = unset;
	args.threads = arg;
	return 0;
}

static int parse_online(struct reader_spec *spec, const char *text)
{
	struct perf_cpu_map *online = perf_cpu_map__new_online_cpus();
	int err = online ? reader_spec__parse(spec, text, online) : -ENOMEM;

	perf_cpu_map__put(online);
	return err;
}

static int parse_priority(const struct option *opt, const char *arg, int unset)
{
	unsigned long most = sched_get_priority_max(SCHED_FIFO), number = 0;
	int *priority = opt->value;

	if (!unset && (!parse_number(arg, &number) || number > most)) {
		pr_err("-r %s: not a priority from 1 to %lu, or 0 for the normal class.\n", arg, most);
		return -1;
	}
	*priority = number;
	return 0;
}

static int parse_affinity(const struct option *opt, const char *arg, int unset __maybe_unused)
{
	struct reader_spec *homes = opt->value;

	reader_spec__exit(homes);
	if (!strcmp(arg, "node"))
		return parse_online(homes, "numa");
	if (!strcmp(arg, "cpu"))
		return parse_online(homes, "cpu");
	pr_err("--affinity=%s: neither 'node' nor 'cpu'.\n", arg);
	return -1;
}

static int parse_mmap_flush(const struct option *opt, const char *arg, int unset)
{
	size_t *min_bytes = opt->value;
	unsigned long bytes = unset ? 1 : rotation__parse_size(arg);

	if (bytes || (parse_number(arg, &bytes) && bytes)) {
		*min_bytes = bytes;
		return 0;
	}
	pr_err("--mmap-flush=%s: not a number of bytes, or a size with a unit. Example: "
	       "--mmap-flush=16K\n", arg);
	return -1;
}

static int parse_control(const struct option *opt, const char *arg, int unset __maybe_unused)
{
	struct record_opts *opts = opt->value;
	int err = evlist__parse_control(arg, &opts->ctl_fd, &opts->ctl_fd_ack, &opts->ctl_fd_close);

	/* A descriptor that is not open would become one of our own. */
	if (!err && (fcntl(opts->ctl_fd, F_GETFD) < 0 ||
		     (opts->ctl_fd_ack != -1 && fcntl(opts->ctl_fd_ack, F_GETFD) < 0)))
		err = -EBADF;
	if (err == -EINVAL)
		pr_err("--control=%s: neither descriptors nor names of FIFOs. Examples: "
		       "--control=fd:10,11 --control=fifo:ctl,ack\n", arg);
	else if (err)
		pr_err("--control=%s: %s\n", arg, strerror(-err));
	return err;
}

static int parse_delay(const struct option *opt, const char *arg, int unset)
{
	struct recorder *recorder = opt->value;
	int err = evlist__parse_event_enable_time(recorder->evlist, &recorder->opts, arg, unset);

	if (err)
		pr_err("-D %s: neither a number of milliseconds, nor -1, nor ranges that follow each "
		       "other. Example: -D 10-20,30-40\n", arg);
	return err;
}

static int parse_synth(const struct option *opt, const char *arg, int unset)
{
	struct record_opts *opts = opt->value;
	char *copy;

	opts->synth = PERF_SYNTH_ALL;
	if (unset || !arg)
		return 0;
	copy = strdup(arg);
	if (!copy)
		return -1;
	opts->synth = parse_synth_opt(copy);
	free(copy);
	return opts->synth < 0 ? -1 : 0;
}

/* As OPT_CALLBACK, but without --no-NAME, for callbacks that must have their argument. */
#define OPT_CALLBACK_NONEG(s, l, v, a, h, f)						\
	{ .type = OPTION_CALLBACK, .short_name = (s), .long_name = (l), .value = (v),	\
	  .argh = (a), .help = (h), .callback = (f), .flags = PARSE_OPT_NONEG }

static struct option options[] = {
	OPT_GROUP("What to record"),
	OPT_CALLBACK_NONEG('e', "event", &events_option, "event",
		     "events, see 'perf list'; EVENT/overwrite/ keeps the last ones in memory",
		     parse_recorded_event),
#ifdef HAVE_LIBPFM
	OPT_CALLBACK_NONEG(0, "pfm-events", &rec.evlist, "event",
			   "events by the names that libpfm4 has for them, see 'perf list'",
			   parse_libpfm_events_option),
#endif
	OPT_CALLBACK_NONEG(0, "filter", NULL, "filter",
		     "condition on the event named last", parse_event_filter),
	OPT_CALLBACK_NOOPT(0, "exclude-perf", NULL, NULL,
			   "leave out tracepoints hit by perf itself; with -a and -C all events are "
			   "recorded so, unless --no-exclude-perf", parse_exclude_perf),
	OPT_BOOLEAN(0, "overwrite", &rec.opts.overwrite,
		    "all events as if with the term /overwrite/"),
	OPT_U64('c', "count", &rec.opts.user_interval, "sample every so many events"),
	OPT_CALLBACK_NONEG('F', "freq", &rec.opts, "n|max", "sample so often a second",
		     record__parse_freq),
	OPT_BOOLEAN(0, "strict-freq", &rec.opts.strict_freq,
		    "fail where the kernel does not allow the frequency"),
	OPT_BOOLEAN('n', "no-samples", &rec.opts.no_samples, "only count"),
	OPT_BOOLEAN_FLAG(0, "all-kernel", &rec.opts.all_kernel, "only what happens in the kernel",
			 PARSE_OPT_EXCLUSIVE),
	OPT_BOOLEAN_FLAG(0, "all-user", &rec.opts.all_user, "only what happens in user space",
			 PARSE_OPT_EXCLUSIVE),

	OPT_GROUP("Of whom"),
	OPT_BOOLEAN('a', "all-cpus", &rec.opts.target.system_wide, "all tasks on all CPUs"),
	OPT_STRING('C', "cpu", &rec.opts.target.cpu_list, "cpus", "all tasks on these CPUs"),
	OPT_STRING('p', "pid", &rec.opts.target.pid, "pids", "these processes"),
	OPT_STRING('t', "tid", &rec.opts.target.tid, "tids", "these threads"),
	OPT_STRING('u', "uid", &rec.opts.target.uid_str, "user", "the tasks of this user"),
	OPT_CALLBACK_NONEG('G', "cgroup", &rec.evlist, "name", "tasks of this cgroup, with -a",
		     parse_cgroups),
	OPT_BOOLEAN_SET('i', "no-inherit", &rec.opts.no_inherit, &rec.opts.no_inherit_set,
			"not the tasks that they will start"),
	OPT_BOOLEAN(0, "per-thread", &rec.opts.target.per_thread,
		    "a ring for each thread instead of each CPU"),

	OPT_GROUP("What a sample holds"),
	OPT_CALLBACK_NOOPT('g', NULL, &callchain_param, NULL, "the call graph",
			   &record_callchain_opt),
	OPT_CALLBACK(0, "call-graph", &rec.opts, "fp|dwarf[,bytes]|lbr",
		     record_callchain_help, &record_parse_callchain_opt),
	OPT_BOOLEAN(0, "kernel-callchains", &rec.opts.kernel_callchains,
		    "its kernel part only"),
	OPT_BOOLEAN(0, "user-callchains", &rec.opts.user_callchains, "its user part only"),
	OPT_BOOLEAN('R', "raw-samples", &rec.opts.raw_samples, "raw data of all events"),
	OPT_BOOLEAN('d', "data", &rec.opts.sample_address, "the data address"),
	OPT_BOOLEAN(0, "phys-data", &rec.opts.sample_phys_addr, "its physical address"),
	OPT_BOOLEAN(0, "data-page-size", &rec.opts.sample_data_page_size,
		    "the page size of the data address"),
	OPT_BOOLEAN(0, "code-page-size", &rec.opts.sample_code_page_size,
		    "the page size of the code address"),
	OPT_BOOLEAN_SET('T', "timestamp", &rec.opts.sample_time, &rec.opts.sample_time_set,
			"the time"),
	OPT_BOOLEAN_SET('P', "period", &rec.opts.period, &rec.opts.period_set, "the period"),
	OPT_BOOLEAN(0, "sample-cpu", &rec.opts.sample_cpu, "the CPU"),
	OPT_BOOLEAN(0, "sample-identifier", &rec.opts.sample_identifier,
		    "the event's id, at a fixed place"),
	OPT_CALLBACK_OPTARG('I', "intr-regs", &rec.opts.sample_intr_regs, NULL, "registers",
			    "registers at the event; '-I?' lists them", parse_intr_regs),
	OPT_CALLBACK_OPTARG(0, "user-regs", &rec.opts.sample_user_regs, NULL, "registers",
			    "user registers; '--user-regs=?' lists them", parse_user_regs),
	OPT_CALLBACK_NOOPT('b', "branch-any", &rec.opts.branch_stack, NULL,
			   "the last taken branches", parse_branch_stack),
	OPT_CALLBACK('j', "branch-filter", &rec.opts.branch_stack, "kinds",
		     "the last branches of these kinds", parse_branch_stack),
	OPT_BOOLEAN('W', "weight", &rec.opts.sample_weight, "the weight, where the event has one"),
	OPT_BOOLEAN(0, "transaction", &rec.opts.sample_transaction, "transaction flags"),
	OPT_BOOLEAN(0, "running-time", &rec.opts.running_time,
		    "time enabled and running, of counters that are read (:S)"),
	OPT_BOOLEAN('s', "stat", &rec.opts.inherit_stat, "counts of each thread"),
	OPT_CALLBACK_NONEG('k', "clockid", &rec.opts, "clock", "times of this clock, see clock_gettime(2)",
		     parse_clockid),

	OPT_GROUP("What else to record"),
	OPT_BOOLEAN_SET(0, "switch-events", &rec.opts.record_switch_events,
			&rec.opts.record_switch_events_set, "context switches"),
	OPT_BOOLEAN(0, "namespaces", &rec.opts.record_namespaces, "namespaces of tasks"),
	OPT_BOOLEAN(0, "all-cgroups", &rec.opts.record_cgroup, "cgroups of tasks"),
	OPT_BOOLEAN(0, "off-cpu", &rec.off_cpu.wanted,
		    "how long tasks did not run, by stack, summed up by a BPF program"),
	OPT_BOOLEAN(0, "no-bpf-event", &rec.opts.no_bpf_event, "not the loading of BPF programs"),
	OPT_CALLBACK(0, "synth", &rec.opts, "no|all|task|mmap|cgroup",
		     "what is noted of tasks that already run (default: all)", parse_synth),
	OPT_BOOLEAN(0, "tail-synthesize", &rec.opts.tail_synthesize,
		    "note it at the end of a file instead of the beginning"),
	OPT_UINTEGER(0, "proc-map-timeout", &proc_map_timeout,
		     "give up on a task's maps after so many ms"),
	OPT_BOOLEAN_SET('B', "no-buildid", &args.no_build_ids, &args.no_build_ids_set,
			"not the build-ids of binaries (default with --switch-output)"),
	OPT_BOOLEAN_SET('N', "no-buildid-cache", &args.no_build_id_cache,
			&args.no_build_id_cache_set,
			"do not copy binaries to the build-id cache (default with --switch-output)"),
	OPT_BOOLEAN(0, "buildid-all", &rec.output.all_build_ids,
		    "build-ids of all binaries, hit by a sample or not"),
	OPT_BOOLEAN(0, "buildid-mmap", &rec.build_id_mmap,
		    "let the kernel put build-ids into the map records"),
	OPT_BOOLEAN(0, "timestamp-boundary", &rec.output.sample_times,
		    "the times of the first and the last sample, in the header"),
	OPT_STRING(0, "vmlinux", &symbol_conf.vmlinux_name, "file", "the kernel's binary"),
	OPT_BOOLEAN(0, "kcore", &rec.output.kcore,
		    "copy the kernel's code, too; the output is a directory"),
	OPT_STRING_OPTARG_SET(0, "debuginfod", &args.debuginfod.urls, &args.debuginfod.set, "urls",
			      "ask debuginfod for binaries that are not here: of these servers, or of "
			      "$DEBUGINFOD_URLS", "system"),

	OPT_GROUP("How"),
	OPT_CALLBACK_NONEG('m', "mmap-pages", &rec.opts, "size[,aux]",
		     "size of each ring, and of each AUX area, in pages or with a unit (B, K, M, G)",
		     parse_ring_pages),
	OPT_CALLBACK('D', "delay", &rec, "ms|-1|ranges",
		     "begin so late; -1: disabled, see --control; ranges: 10-20,30-40", parse_delay),
	OPT_CALLBACK_NONEG(0, "control", &rec.opts, "fd:n[,ack]|fifo:path[,ack]",
		     "take commands: enable, disable, snapshot, stop, evlist, ping", parse_control),
	OPT_BOOLEAN(0, "no-buffering", &rec.opts.no_buffering, "wake up at every event"),
	OPT_CALLBACK_OPTARG(0, "threads", NULL, NULL, "spec",
			    "threads that read the rings: one for each cpu (default), core, package, numa "
			    "node, or CPUs/AFFINITY:...", parse_threads),
	OPT_CALLBACK('r', "realtime", &rec.readers.priority, "n",
		     "their real-time priority (default: 2, where allowed); --no-realtime: none",
		     parse_priority),
	OPT_CALLBACK_NONEG(0, "affinity", &rec.readers.homes, "node|cpu",
			   "a thread that reads several rings moves to where each is filled",
			   parse_affinity),
	OPT_CALLBACK(0, "mmap-flush", &rec.readers.min_bytes, "bytes",
		     "read a ring when it holds this much (default: 1)", parse_mmap_flush),
	OPT_CALLBACK_NONEG(0, "num-thread-synthesize", &rec.opts.nr_threads_synthesize, "n",
			   "threads that note the tasks which already run (default: 1)",
			   parse_synthesizers),

	OPT_GROUP("AUX areas: raw traces, such as intel_pt//"),
	OPT_STRING_OPTARG('S', "snapshot", &rec.opts.auxtrace_snapshot_opts, "[e][size]",
			  "keep only the last of the trace, and write it at SIGUSR2 and the like; "
			  "e: at the end, too; size: no more than that", ""),
	OPT_STRING_OPTARG(0, "aux-sample", &rec.opts.auxtrace_sample_opts, "size",
			  "put the last of the trace into the samples of the events in its group", ""),

	OPT_GROUP("Where to"),
	OPT_STRING('o', "output", &rec.output.data.path, "file",
		   "the file (default: perf.data); '-' is standard output"),
	OPT_CALLBACK_NONEG(0, "io", &rec.output.pipeline.io, "uring|aio|sync",
			   "how to write (default: uring, where the kernel allows it)", parse_io),
	OPT_CALLBACK_OPTARG(0, "aio", NULL, NULL, "n",
			    "write by POSIX AIO, n at a time (1 to 4, default: 1)", parse_aio),
	OPT_CALLBACK_OPTARG('z', "compression-level", &rec.output.pipeline.level, NULL, "n",
			    "compress the records, by zstd (1 to 22, default: 1)",
			    parse_compression),
	OPT_CALLBACK_NONEG(0, "write-buffer", &rec.output.pipeline.max_bytes, "size",
			   "memory for what waits to be written (default: 128M)", parse_write_buffer),
	OPT_STRING_OPTARG_SET(0, "switch-output", &args.switch_output, &args.switch_output_set,
			      "signal|size|time",
			      "snapshot and go on in a new file: at SIGUSR2, at this size, "
			      "after this time", "signal"),
	OPT_CALLBACK_NONEG(0, "switch-output-event", &trigger_option, "event",
			   "snapshot and go on in a new file when this event happens; it is not "
			   "recorded itself", parse_trigger_event),
	OPT_INTEGER(0, "switch-max-files", &rec.rotation.max_files,
		    "keep only so many closed files"),
	OPT_BOOLEAN(0, "timestamp-filename", &rec.timestamp_filename,
		    "append the time to the file's name"),
	OPT_CALLBACK(0, "max-size", &rec.output.max_bytes, "size", "stop at this size", parse_max_size),
	OPT_STRING_OPTARG(0, "loss-report", &rec.report.path, "file.svg",
			  "draw when how much was recorded and lost", "loss.svg"),
	OPT_STRING(0, "setup-filter", &args.setup_filter, "pin|unpin",
		   "record nothing; as root: load what other users need for --filter of events that are no "
		   "tracepoints"),
	OPT_BOOLEAN(0, "dry-run", &args.dry_run, "check the options, record nothing"),
	OPT_INCR('v', "verbose", &verbose, "say more"),
	OPT_BOOLEAN('q', "quiet", &quiet, "say nothing"),

	OPT_END()
};
struct option *record_options = options;

/*
 * From the command line to a recorder
 */

static int read_config(const char *var, const char *value, void *cb)
{
	const struct {
		const char	*value;
		bool		*flag;
		bool		 set;
	} build_id[] = {
		{ "cache",    &args.no_build_id_cache, false },
		{ "no-cache", &args.no_build_id_cache, true },
		{ "skip",     &args.no_build_ids,      true },
		{ "mmap",     &rec.build_id_mmap,      true },
		{ "no-mmap",  &rec.build_id_mmap,      false },
	};
	size_t i;

	if (!strcmp(var, "record.debuginfod")) {
		args.debuginfod.urls = strdup(value);
		args.debuginfod.set = true;
		return args.debuginfod.urls ? 0 : -ENOMEM;
	}
	if (!strcmp(var, "record.call-graph"))
		return perf_default_config("call-graph.record-mode", value, cb);
	if (!strcmp(var, "record.aio")) {
		unsigned long nr;

		if (parse_number(value, &nr)) {
			use_aio(nr);
			return 0;
		}
		pr_err("record.aio = %s: not a number. 1 to %d are possible.\n", value, WRITER_AIO_MAX);
		return -1;
	}
	if (!strcmp(var, "record.io")) {
		if (!writer__parse(&rec.output.pipeline.io, value))
			return 0;
		pr_err("record.io = %s: must be uring, aio or sync.\n", value);
		return -1;
	}
	if (strcmp(var, "record.build-id"))
		return 0;

	for (i = 0; i < ARRAY_SIZE(build_id); i++) {
		if (strcmp(value, build_id[i].value))
			continue;
		*build_id[i].flag = build_id[i].set;
		return 0;
	}
	pr_err("record.build-id = %s: must be cache, no-cache, skip, mmap or no-mmap.\n", value);
	return -1;
}

static int setup_filter(const char *what)
{
	int err;

	if (!strcmp(what, "pin")) {
		err = perf_bpf_filter__pin();
	} else if (!strcmp(what, "unpin")) {
		err = perf_bpf_filter__unpin();
	} else {
		pr_err("--setup-filter=%s: neither 'pin' nor 'unpin'.\n", what);
		return EXIT_USAGE;
	}
	if (err)
		pr_err("--setup-filter=%s failed. It takes root, /sys/fs/bpf mounted, and a perf that is "
		       "built with BPF skeletons.\n", what);
	return err ? -1 : 0;
}

static void set_defaults(void)
{
	memset(&args, 0, sizeof(args));
	args.named_last = &rec.evlist;
	rec = (struct recorder){
		.output = {
			.reserve.fd	= -1,
			.error_fd	= -1,
			.pipeline = {
				.max_bytes = PIPELINE_DEFAULT_BYTES,
				.io.nr_aio = 1,
			},
		},
		.readers.priority = -1,
		.capture.wake_fd = -1,
		.capture.stop_fd = -1,
		.opts = {
			.target = {
				.default_per_cpu = true,
				.uses_mmap	 = true,
			},
			.ctl_fd			= -1,
			.ctl_fd_ack		= -1,
			.freq			= 4000,
			.mmap_pages		= UINT_MAX,
			.nr_threads_synthesize	= 1,
			.sample_time		= true,
			.synth			= PERF_SYNTH_ALL,
			.user_freq		= UINT_MAX,
			.user_interval		= ULLONG_MAX,
		},
	};
}

static int check_target(struct target *target)
{
	char msg[BUFSIZ];
	int err;

	err = target__validate(target);
	if (err) {
		target__strerror(target, err, msg, sizeof(msg));
		pr_warning("%s\n", msg);
	}
	err = target__parse_uid(target);
	if (err) {
		target__strerror(target, err, msg, sizeof(msg));
		pr_err("%s\n", msg);
		return -EINVAL;
	}
	return 0;
}

/* The kernel's answer to an event on a CPU that is not there names neither. */
static int check_cpus(const char *list)
{
	struct perf_cpu_map *wanted, *online;
	struct perf_cpu cpu;
	int i, err = 0;

	if (!list)
		return 0;
	if (!*list) {
		pr_err("-C: the list of CPUs is empty. Example: -C 0,2-3\n");
		return -EINVAL;
	}
	wanted = reader_spec__is_list(list) ? perf_cpu_map__new(list) : NULL;
	online = perf_cpu_map__new_online_cpus();
	if (!wanted || !online) {
		pr_err("-C %s: not a list of CPUs. Example: -C 0,2-3\n", list);
		err = -EINVAL;
	}
	perf_cpu_map__for_each_cpu(cpu, i, wanted) {
		if (err || perf_cpu_map__has(online, cpu))
			continue;
		pr_err("-C %s: CPU %d is offline or does not exist. See "
		       "/sys/devices/system/cpu/online.\n", list, cpu.cpu);
		err = -ENODEV;
	}
	perf_cpu_map__put(wanted);
	perf_cpu_map__put(online);
	return err;
}

/* What this kernel cannot record is better said now than found missing later. */
static int check_side_band(const struct record_opts *opts)
{
	if (opts->record_cgroup && !perf_can_record_cgroup()) {
		pr_err("--all-cgroups: this kernel does not record cgroups.\n");
		return -EOPNOTSUPP;
	}
	if (opts->record_switch_events && !perf_can_record_switch_events()) {
		pr_err("--switch-events: this kernel does not record context switches.\n");
		return -EOPNOTSUPP;
	}
	return 0;
}

static int check_kcore(void)
{
	int fd, err;

	if (!rec.output.kcore)
		return 0;
	fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		pr_err("--kcore: cannot read /proc/kcore: %m. Root may, on kernels with CONFIG_PROC_KCORE "
		       "that are not locked down.\n");
		return err;
	}
	close(fd);
	rec.opts.text_poke |= perf_can_record_text_poke_events();
	return 0;
}

static void choose_build_ids(void)
{
	/* Where the kernel notes build-ids itself, the file need not be read back for them. */
	if (rec.build_id_mmap && !perf_can_record_build_id()) {
		pr_warning("This kernel does not put build-ids into map records: collecting them "
			   "at the end instead.\n");
		rec.build_id_mmap = false;
	}
	/* Between two files nothing is read: that should not take long. */
	if (rec.rotation.enabled) {
		args.no_build_ids |= !args.no_build_ids_set;
		args.no_build_id_cache |= !args.no_build_id_cache_set;
	}
	rec.opts.build_id = rec.build_id_mmap;
	symbol_conf.buildid_mmap2 = rec.build_id_mmap;
	/* What a trace hits is not known until it is decoded. */
	rec.output.all_build_ids |= rec.aux.itr != NULL;
	rec.output.build_ids = !args.no_build_ids && !rec.build_id_mmap;
	if (args.no_build_id_cache || !rec.output.build_ids)
		disable_buildid_cache();
}

static int choose_rotation(void)
{
	const char *when = args.switch_output ?: rec.triggers.events.evlist ? "signal" : NULL;
	u64 rings = (u64)perf_event_mlock_kb_in_pages() * page_size;

	if (rec.opts.mmap_pages != UINT_MAX)
		rings = (u64)rec.opts.mmap_pages * page_size;
	rings *= sysconf(_SC_NPROCESSORS_ONLN);
	if (rec.rotation.max_files < 0) {
		pr_err("--switch-max-files=%d: cannot be negative.\n", rec.rotation.max_files);
		return -EINVAL;
	}
	return when ? rotation__parse(&rec.rotation, when, rings) : 0;
}

static int prepare_recorder(void)
{
	struct record_opts *opts = &rec.opts;
	int err;

	err = check_target(&opts->target) ?: check_cpus(opts->target.cpu_list);
	if (err)
		return err;

	if (evlist__empty(rec.evlist) && parse_event(rec.evlist, "cycles:P"))
		return -ENOMEM;
	if (!rec.readers.no_threads && parse_online(&rec.readers.spec, args.threads))
		return -EINVAL;
	err = aux__init(&rec.aux, rec.evlist, opts) ?: check_side_band(opts) ?: check_kcore() ?:
	      choose_rotation();
	if (err)
		return err;
	evlist__warn_user_requested_cpus(rec.evlist, opts->target.cpu_list);
	evlist__uniquify_name(rec.evlist);

	/* Threads come and go between reading /proc and attaching to them. */
	opts->ignore_missing_thread = opts->target.pid || opts->target.uid != UINT_MAX;
	/* -t means that thread, not those that it starts, unless asked otherwise. */
	if (opts->target.tid && !opts->no_inherit_set)
		opts->no_inherit = true;
	if (record_opts__config(opts))
		return -EINVAL;

	choose_build_ids();
	rec.output.tool.namespace_events = opts->record_namespaces;
	rec.output.tool.cgroup_events = opts->record_cgroup;
	symbol_conf.lazy_load_kernel_maps = true;
	return symbol__validate_sym_arguments() || symbol__init(NULL) < 0 ? -EINVAL : 0;
}

int cmd_record(int argc, const char **argv)
{
	int status = -1;

	setlocale(LC_ALL, "");
	set_defaults();
	rec.evlist = evlist__new();
	if (!rec.evlist)
		return status;
	if (perf_config(read_config, NULL))
		goto out;

	argc = parse_options(argc, argv, options, record_usage, PARSE_OPT_STOP_AT_NON_OPTION);
	if (quiet)
		perf_quiet_option();
	if (args.setup_filter) {
		status = setup_filter(args.setup_filter);
		goto out;
	}
	perf_debuginfod_setup(&args.debuginfod);
	if (!argc && target__none(&rec.opts.target))
		rec.opts.target.system_wide = true;
	if (nr_cgroups && !rec.opts.target.system_wide) {
		pr_err("-G needs -a: a cgroup is watched on all CPUs.\n");
		goto out;
	}
	status = prepare_recorder();
	if (status) {
		status = status == -EINVAL ? EXIT_USAGE : -1;
		goto out;
	}
	status = args.dry_run ? 0 : recorder__run(&rec, argc, argv);
out:
	aux__exit(&rec.aux);
	symbol__exit();
	evlist__close_control(rec.opts.ctl_fd, rec.opts.ctl_fd_ack, &rec.opts.ctl_fd_close);
	reader_spec__exit(&rec.readers.spec);
	reader_spec__exit(&rec.readers.homes);
	evlist__delete(rec.evlist);
	evlist__delete(rec.triggers.events.evlist);
	return status;
}
