// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parse the options and the configuration of perf record, and run the recorder
 * (recording/recorder.h).
 *
 * The table of options below is the whole command line.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <internal/lib.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/string.h>
#include <perf/cpumap.h>
#include <subcmd/parse-options.h>
#include "builtin.h"
#include "recording/options.h"
#include "recording/recorder.h"
#include "recording/lib/compat.h"
#include "recording/lib/evsel.h"
#include "recording/recover/pinned.h"
#include "recording/sideband/build_id_probe.h"
#include "recording/snapshot/signals.h"
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
#include "util/evsel_config.h"
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

/* The status with which parse_options() exits. */
#define EXIT_USAGE	129

/* Default of proc_map_timeout [ms], and with build-ids. */
#define MAPS_TIMEOUT_MS			500
#define MAPS_TIMEOUT_BUILD_IDS_MS	10000

/*
 * Static because the table of options has its addresses; cmd_record() initializes it at each call.
 */
static struct recorder rec;

/* Options of the command line and the configuration that the recorder does not see. */
static struct {
	const char	*switch_output;
	const char	*threads;
	const char	*user;
	bool		 latency;
	bool		 data_mmap_set;
	bool		 switch_output_set;
	bool		 advise;
	u64		 advise_ns;
	const char	*keep_defaults;
	const char	*keep_file;
	bool		 keep_events;
	const char	*event, *filter;		/* from the configuration */
	const char	*trigger, *trigger_filter;
	struct trigger_limit limit;
	u64		 after_ns;
	bool		 conditions_configured;
	bool		 no_build_ids, no_build_ids_set;
	bool		 no_build_id_cache, no_build_id_cache_set;
	bool		 build_id_mmap_set;
	bool		 dry_run;
	const char	*setup_filter;
	const char	*unpin;
	struct perf_debuginfod debuginfod;
	struct evlist	**named_last;	/* the list whose last event --filter applies to */
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

/* Mainline has this function in util/. */
int __weak record_opts__parse_callchain(struct record_opts *opts, struct callchain_param *callchain,
					const char *arg, bool unset)
{
	int err;

	callchain->enabled = !unset;
	if (unset) {
		callchain->record_mode = CALLCHAIN_NONE;
		return 0;
	}
	if (strstr(arg, ",defer")) {
		pr_err("--call-graph %s: the perf of Linux 6.12 cannot read deferred user stacks.\n",
		       arg);
		return -EOPNOTSUPP;
	}
	err = parse_callchain_record_opt(arg, callchain);
	/* Unwinding a copied stack needs data maps, see choose_data() for those of perf record. */
	if (!err && callchain->record_mode == CALLCHAIN_DWARF && opts != &rec.opts)
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
	/* The parser of events would point at the slash as unrecognized input. */
	if (strstr(arg, "}/")) {
		pr_err("-e %s: a group has no terms. Give them to each event. Example: "
		       "-e '{page-faults/overwrite/,cs/overwrite/}'\n", arg);
		return -1;
	}
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

/* System-wide recordings exclude perf anyway; --no-exclude-perf includes it. */
static int parse_exclude_perf(const struct option *opt __maybe_unused, const char *arg, int unset)
{
	const struct option named_last = { .value = args.named_last };

	rec.include_self = unset;
	return unset ? 0 : exclude_perf(&named_last, arg, unset);
}

static int parse_keep_share(const struct option *opt, const char *arg, int unset)
{
	bool *enabled = opt->value;

	*enabled = !unset;
	if (unset || !strcmp(arg, "cgroup"))
		return 0;
	pr_err("--keep-share=%s: must be cgroup.\n", arg);
	return -1;
}

static int parse_keep(const struct option *opt, const char *arg, int unset)
{
	struct keep *keep = opt->value;

	if (!unset)
		return keep__parse(keep, arg, args.keep_defaults);
	keep->max_bytes = 0;
	return 0;
}

static int parse_advise(const struct option *opt, const char *arg, int unset)
{
	args.advise = !unset;
	return option__parse_time(opt, arg, unset);
}

/* Conditions of the command line replace those of the configuration. */
static int parse_condition(const struct option *opt, const char *arg, int unset __maybe_unused)
{
	struct when *when = opt->value;

	if (args.conditions_configured)
		when__clear(when);
	args.conditions_configured = false;
	return when__add(when, "--switch-output-when", arg);
}

static int parse_threads(const struct option *opt __maybe_unused, const char *arg, int unset)
{
	rec.readers.no_threads = unset;
	args.threads = arg;
	return 0;
}

/* OPT_CALLBACK without --no-NAME, for callbacks that need their argument. */
#define OPT_CALLBACK_NONEG(s, l, v, a, h, f, ...)					\
	{ .type = OPTION_CALLBACK, .short_name = (s), .long_name = (l), .value = (v),	\
	  .argh = (a), .help = (h), .callback = (f), .flags = PARSE_OPT_NONEG, __VA_ARGS__ }

static struct option options[] = {
	OPT_GROUP("Event selection"),
	OPT_CALLBACK_NONEG('e', "event", &events_option, "event",
			   "event to record, see 'perf list'; EVENT/overwrite/ keeps only its last records",
			   parse_recorded_event),
#ifdef HAVE_LIBPFM
	OPT_CALLBACK_NONEG(0, "pfm-events", &rec.evlist, "event",
			   "event by its libpfm4 name, see 'perf list'",
			   parse_libpfm_events_option),
#endif
	OPT_CALLBACK_NONEG(0, "filter", NULL, "filter",
			   "condition for the last event before this option", parse_event_filter),
	OPT_CALLBACK_NOOPT(0, "exclude-perf", NULL, NULL,
			   "exclude perf itself from the last tracepoint before this option; with -a and -C "
			   "perf is excluded from all events, unless --no-exclude-perf",
			   parse_exclude_perf),
	OPT_BOOLEAN(0, "overwrite", &rec.opts.overwrite,
		    "record all events in overwrite mode, as with the term /overwrite/"),
	OPT_CALLBACK_NONEG(0, "bpf-ring", &rec.bpf_ring.mode, "auto|yes|no",
			   "let BPF programs write frequent events to rings of their own (default: auto)",
			   option__parse_bpf_ring),
	OPT_STRING(0, "pin", &rec.bpf_ring.pin, "name",
		   "let the events in overwrite mode that BPF programs write outlive a killed perf; the next "
		   "perf with this name goes on with them"),
	OPT_U64('c', "count", &rec.opts.user_interval, "sample once per this number of events"),
	OPT_CALLBACK_NONEG('F', "freq", &rec.opts, "n|max", "sample at this frequency [Hz]",
			   option__parse_frequency),
	OPT_BOOLEAN(0, "latency", &args.latency,
		    "record what perf report --latency needs: context switches (not system-wide)"),
	OPT_BOOLEAN(0, "strict-freq", &rec.opts.strict_freq,
		    "fail if the kernel does not allow the frequency"),
	OPT_BOOLEAN('n', "no-samples", &rec.opts.no_samples, "count events without sampling"),
	OPT_BOOLEAN_FLAG(0, "all-kernel", &rec.opts.all_kernel, "record kernel mode only",
			 PARSE_OPT_EXCLUSIVE),
	OPT_BOOLEAN_FLAG(0, "all-user", &rec.opts.all_user, "record user mode only",
			 PARSE_OPT_EXCLUSIVE),

	OPT_GROUP("Target selection"),
	OPT_BOOLEAN('a', "all-cpus", &rec.opts.target.system_wide, "record all tasks on all CPUs"),
	OPT_STRING('C', "cpu", &rec.opts.target.cpu_list, "cpus", "record all tasks on these CPUs"),
	OPT_STRING('p', "pid", &rec.opts.target.pid, "pids", "record these processes"),
	OPT_STRING('t', "tid", &rec.opts.target.tid, "tids", "record these threads"),
	OPT_STRING('u', "uid", &args.user, "user", "record the tasks of this user"),
	OPT_CALLBACK_NONEG('G', "cgroup", &rec.evlist, "name",
			   "record tasks of this cgroup (needs -a or -C)", parse_cgroups),
	OPT_BOOLEAN_SET('i', "no-inherit", &rec.opts.no_inherit, &rec.opts.no_inherit_set,
			"do not record tasks that recorded tasks start"),
	OPT_BOOLEAN(0, "per-thread", &rec.opts.target.per_thread,
		    "use one ring per thread instead of one per CPU"),

	OPT_GROUP("Contents of samples"),
	OPT_CALLBACK_NOOPT('g', NULL, &callchain_param, NULL, "sample the call graph",
			   &record_callchain_opt),
	OPT_CALLBACK(0, "call-graph", &rec.opts, "fp|dwarf[,bytes]|lbr",
		     record_callchain_help, &record_parse_callchain_opt),
	OPT_BOOLEAN(0, "kernel-callchains", &rec.opts.kernel_callchains,
		    "sample only the kernel part of call graphs"),
	OPT_BOOLEAN(0, "user-callchains", &rec.opts.user_callchains,
		    "sample only the user part of call graphs"),
	OPT_BOOLEAN('R', "raw-samples", &rec.opts.raw_samples, "sample the raw data of all events"),
	OPT_BOOLEAN('d', "data", &rec.opts.sample_address, "sample the data address"),
	OPT_BOOLEAN(0, "sample-mem-info", &rec.mem_info,
		    "sample the data source: the level of memory and the access (implied by -d)"),
	OPT_BOOLEAN(0, "phys-data", &rec.opts.sample_phys_addr, "sample the physical data address"),
	OPT_BOOLEAN(0, "data-page-size", &rec.opts.sample_data_page_size,
		    "sample the page size of the data address"),
	OPT_BOOLEAN(0, "code-page-size", &rec.opts.sample_code_page_size,
		    "sample the page size of the code address"),
	OPT_BOOLEAN_SET('T', "timestamp", &rec.opts.sample_time, &rec.opts.sample_time_set,
			"sample the time (default)"),
	OPT_BOOLEAN_SET('P', "period", &rec.opts.period, &rec.opts.period_set, "sample the period"),
	OPT_BOOLEAN(0, "sample-cpu", &rec.opts.sample_cpu, "sample the CPU"),
	OPT_BOOLEAN(0, "sample-identifier", &rec.opts.sample_identifier,
		    "sample the event's id at a fixed position"),
	OPT_CALLBACK_OPTARG('I', "intr-regs", &rec.opts.sample_intr_regs, NULL, "registers",
			    "sample registers at the event; '-I?' lists them", parse_intr_regs),
	OPT_CALLBACK_OPTARG(0, "user-regs", &rec.opts.sample_user_regs, NULL, "registers",
			    "sample user registers; '--user-regs=?' lists them", parse_user_regs),
	OPT_CALLBACK_NOOPT('b', "branch-any", &rec.opts.branch_stack, NULL,
			   "sample the last taken branches", parse_branch_stack),
	OPT_CALLBACK('j', "branch-filter", &rec.opts.branch_stack, "types",
		     "sample the last branches of these types", parse_branch_stack),
	OPT_BOOLEAN('W', "weight", &rec.opts.sample_weight,
		    "sample the weight, if the event has one"),
	OPT_BOOLEAN(0, "transaction", &rec.opts.sample_transaction, "sample transaction flags"),
	OPT_BOOLEAN(0, "running-time", &rec.opts.running_time,
		    "sample enabled and running times of read counters (:S)"),
	OPT_BOOLEAN('s', "stat", &rec.opts.inherit_stat, "record the counts of each thread"),
	OPT_CALLBACK_NONEG('k', "clockid", &rec.opts, "clock",
			   "clock for timestamps, see clock_gettime(2)", parse_clockid),

	OPT_GROUP("Side-band records and build-ids"),
	OPT_BOOLEAN_SET(0, "switch-events", &rec.opts.record_switch_events,
			&rec.opts.record_switch_events_set, "record context switches"),
	OPT_BOOLEAN_SET(0, "data-mmap", &rec.data_mmap, &args.data_mmap_set,
			"record the maps of data and code (default with -d and --call-graph dwarf)"),
	OPT_BOOLEAN(0, "namespaces", &rec.opts.record_namespaces, "record namespaces of tasks"),
	OPT_BOOLEAN(0, "all-cgroups", &rec.opts.record_cgroup, "record cgroups of tasks"),
	OPT_BOOLEAN(0, "off-cpu", &rec.off_cpu.wanted,
		    "record off-CPU time by stack, summed up by a BPF program"),
	OPT_CALLBACK_NONEG(0, "off-cpu-thresh", &rec.opts, "ms",
			   "with --off-cpu, record a sample for each time off the CPU of at least "
			   "<ms> (default: 500)", option__parse_off_cpu_thresh),
	OPT_BOOLEAN(0, "no-bpf-event", &rec.opts.no_bpf_event,
		    "do not record the loading of BPF programs"),
	OPT_CALLBACK(0, "synth", &rec.opts, "no|all|task|mmap|cgroup",
		     "records to synthesize for existing tasks (default: all)",
		     option__parse_synth),
	OPT_BOOLEAN(0, "tail-synthesize", &rec.opts.tail_synthesize,
		    "synthesize existing tasks at the end of the file"),
	OPT_UINTEGER(0, "proc-map-timeout", &proc_map_timeout,
		     "limit for reading the maps of a task [ms]"),
	OPT_BOOLEAN_SET('B', "no-buildid", &args.no_build_ids, &args.no_build_ids_set,
			"do not collect build-ids of binaries (default with --switch-output)"),
	OPT_BOOLEAN_SET('N', "no-buildid-cache", &args.no_build_id_cache,
			&args.no_build_id_cache_set,
			"do not copy binaries to the build-id cache (default with --switch-output)"),
	OPT_BOOLEAN(0, "buildid-all", &rec.output.all_build_ids,
		    "collect build-ids of all mapped binaries, hit by samples or not"),
	OPT_BOOLEAN_SET(0, "buildid-mmap", &rec.build_id_mmap, &args.build_id_mmap_set,
			"let the kernel put build-ids into mmap records (default where this does not "
			"affect other recorders)"),
	OPT_BOOLEAN(0, "timestamp-boundary", &rec.output.sample_times,
		    "store the times of the first and last sample in the header"),
	OPT_STRING(0, "vmlinux", &symbol_conf.vmlinux_name, "file",
		   "pathname of the kernel's vmlinux"),
	OPT_BOOLEAN(0, "kcore", &rec.output.kcore,
		    "copy the kernel's code as well; the output is a directory"),
	OPT_STRING_OPTARG_SET(0, "debuginfod", &args.debuginfod.urls, &args.debuginfod.set, "urls",
			      "fetch missing binaries from these debuginfod servers, or those in "
			      "$DEBUGINFOD_URLS", "system"),

	OPT_GROUP("Rings and threads"),
	OPT_CALLBACK_NONEG('m', "mmap-pages", &rec.opts, "size[,aux]",
			   "size of each ring and AUX area, in pages or with a unit (B, K, M, G)",
			   option__parse_ring_pages),
	OPT_CALLBACK('D', "delay", &rec, "ms|-1|ranges",
		     "enable events after this delay; -1: leave them disabled, see --control; "
		     "ranges: enable events in these ranges, such as 10-20,30-40",
		     option__parse_delay),
	OPT_CALLBACK_NONEG(0, "control", &rec.opts, "fd:n[,ack]|fifo:path[,ack]",
			   "accept commands: enable, disable, snapshot, stop, evlist, ping",
			   option__parse_control),
	OPT_BOOLEAN(0, "no-buffering", &rec.opts.no_buffering, "wake up at every event"),
	OPT_CALLBACK_OPTARG(0, "threads", NULL, NULL, "spec",
			    "drain the rings in one thread per cpu (default), core, package, numa node, "
			    "or CPUs/AFFINITY:...", parse_threads),
	OPT_CALLBACK('r', "realtime", &rec.readers.priority, "n",
		     "real-time priority of draining threads (default: 2, if permitted); "
		     "--no-realtime: none",
		     option__parse_priority),
	OPT_CALLBACK_NONEG(0, "affinity", &rec.readers.homes, "node|cpu",
			   "move a thread that drains several rings to the node or CPU of each ring",
			   option__parse_affinity),
	OPT_CALLBACK(0, "mmap-flush", &rec.readers.min_bytes, "bytes",
		     "drain a ring only when it holds this many bytes (default: 1)",
		     option__parse_mmap_flush),
	OPT_CALLBACK_NONEG(0, "num-thread-synthesize", &rec.opts.nr_threads_synthesize, "n",
			   "threads that synthesize existing tasks (default: 1)",
			   option__parse_count, .defval = 1),

	OPT_GROUP("AUX area tracing, such as intel_pt//"),
	OPT_STRING_OPTARG('S', "snapshot", &rec.opts.auxtrace_snapshot_opts, "[e][size]",
			  "overwrite the trace in memory, write it on SIGUSR2 and other triggers; "
			  "e: also at the end; size: limit of a snapshot", ""),
	OPT_STRING_OPTARG(0, "aux-sample", &rec.opts.auxtrace_sample_opts, "size",
			  "sample the last bytes of the trace with the events of its group", ""),

	OPT_GROUP("Output"),
	OPT_STRING('o', "output", &rec.output.data.path, "file",
		   "output file (default: perf.data); '-' for standard output"),
	OPT_CALLBACK_NONEG(0, "io", &rec.output.pipeline.io, "uring|aio|sync",
			   "write by io_uring, POSIX AIO or write(2) (default: uring, if the kernel allows io_uring)",
			   option__parse_io),
	OPT_CALLBACK_OPTARG(0, "aio", &rec.output.pipeline.io, NULL, "n",
			    "write by POSIX AIO with n control blocks (1 to 4, default: 1)",
			    option__parse_aio),
	OPT_CALLBACK_OPTARG('z', "compression-level", &rec.output.pipeline.level, NULL, "n",
			    "compress records with zstd at this level (1 to 22, default: 1)",
			    option__parse_compression),
	OPT_CALLBACK_OPTARG(0, "keep", &rec.keep, NULL, "time,memory",
			    "keep the records of this time, compressed, in this much memory; write them "
			    "when a snapshot is taken (default: 60s,256M)", parse_keep),
	OPT_STRING(0, "keep-file", &rec.keep.file, "file",
		   "keep the records of --keep in this file, which outlives perf; see perf inject "
		   "--recover-keep"),
	OPT_BOOLEAN(0, "keep-overlap", &rec.keep.overlap,
		    "write all kept records to each file, including those that the previous file has"),
	OPT_CALLBACK(0, "keep-share", &rec.keep.share.enabled, "cgroup",
		     "share the memory of --keep: the cgroup that has most of it loses its oldest "
		     "samples first", parse_keep_share),
	OPT_CALLBACK(0, "keep-split", &rec.keep.split_ns, "time",
		     "write a snapshot of --keep to several files, each with the records of this time",
		     option__parse_time),
	OPT_CALLBACK_OPTARG(0, "advise", &args.advise_ns, NULL, "time",
			    "measure without writing a file, and print which --keep or -m holds this time "
			    "(default: that of --keep, or 60s)", parse_advise),
	OPT_CALLBACK_NONEG(0, "write-buffer", &rec.output.pipeline.max_bytes, "size",
			   "memory for data that wait to be written (default: 128M)",
			   option__parse_write_buffer),
	OPT_STRING_OPTARG_SET(0, "switch-output", &args.switch_output, &args.switch_output_set,
			      "signal|size|time",
			      "take a snapshot and continue in a new file: on SIGUSR2, at this size, or "
			      "at this interval", "signal"),
	OPT_CALLBACK_NONEG(0, "switch-output-event", &trigger_option, "event",
			   "take a snapshot and continue in a new file when this event happens; the "
			   "event is not recorded", parse_trigger_event),
	OPT_CALLBACK_NONEG(0, "switch-output-when", &rec.triggers.when, "condition",
			   "take a snapshot and continue in a new file when something takes too long, such "
			   "as 'sched-delay>10ms' or 'syscall(fsync)>50ms'", parse_condition),
	OPT_CALLBACK(0, "after", &rec.triggers.after_ns, "time",
		     "delay each snapshot by this time after the signal, event or duration that requested it",
		     option__parse_time),
	OPT_CALLBACK(0, "cooldown", &rec.triggers.events.limit.cooldown_ns, "time",
		     "after a snapshot for --switch-output-event or --switch-output-when, take no other one for "
		     "this time",
		     option__parse_time),
	OPT_U64(0, "keep-first", &rec.triggers.events.limit.max,
		"take at most this number of snapshots for --switch-output-event and --switch-output-when"),
	OPT_STRING(0, "exec-snapshot", &rec.hook.command, "command",
		   "run this command for each completed file, with its name as argument"),
	OPT_CALLBACK(0, "switch-max-files", &rec.kept.max_nr, "n",
		     "keep only this number of completed files, those of earlier runs included",
		     option__parse_count),
	OPT_CALLBACK(0, "switch-max-size", &rec.kept.max_bytes, "size",
		     "delete the oldest completed files while all files together exceed this size",
		     option__parse_size),
	OPT_BOOLEAN(0, "fsync", &rec.fsync,
		    "sync each snapshot to the disk before acknowledging it (default)"),
	OPT_BOOLEAN(0, "timestamp-filename", &rec.timestamp_filename,
		    "append a timestamp to the name of the file"),
	OPT_CALLBACK(0, "max-size", &rec.output.max_bytes, "size",
		     "stop recording when all kept files together have this size",
		     option__parse_size),
	OPT_STRING_OPTARG(0, "loss-report", &rec.report.path, "file.svg",
			  "draw recorded and lost events over time", "loss.svg"),
	OPT_CALLBACK_NONEG(0, "summary", &rec.summary.json, "text|json",
			   "print what was recorded as text, or one JSON object per line",
			   option__parse_summary),
	OPT_STRING(0, "setup-filter", &args.setup_filter, "pin|unpin",
		   "as root: load or unload the BPF program that ordinary users need for --filter on "
		   "events that are not tracepoints; records nothing"),
	OPT_STRING(0, "unpin", &args.unpin, "name",
		   "write what --pin=NAME has kept since perf was killed to a file (-o), and remove it; records "
		   "nothing"),
	OPT_BOOLEAN(0, "dry-run", &args.dry_run, "check the options without recording"),
	OPT_INCR('v', "verbose", &verbose, "print more messages"),
	OPT_BOOLEAN('q', "quiet", &quiet, "print no messages"),

	OPT_END()
};
struct option *record_options = options;

/*
 * Configuration. -e and --filter of the command line replace the events and filters of it: keep
 * these until the command line has been read.
 */
static const struct option_variable variables[] = {
	{ "after",		  VARIABLE_OPTION, NULL },
	{ "aio",		  VARIABLE_OPTION, NULL },
	{ "bpf-ring",		  VARIABLE_OPTION, NULL },
	{ "compression-level",	  VARIABLE_OPTION, NULL },
	{ "cooldown",		  VARIABLE_OPTION, NULL },
	{ "debuginfod",		  VARIABLE_OPTION, NULL },
	{ "event",		  VARIABLE_STRING, &args.event },
	{ "exec-snapshot",	  VARIABLE_OPTION, NULL },
	{ "filter",		  VARIABLE_STRING, &args.filter },
	{ "fsync",		  VARIABLE_OPTION, NULL },
	{ "io",			  VARIABLE_OPTION, NULL },
	{ "keep",		  VARIABLE_STRING, &args.keep_defaults },
	{ "keep-events",	  VARIABLE_BOOL,   &args.keep_events },
	{ "keep-file",		  VARIABLE_STRING, &args.keep_file },
	{ "keep-first",		  VARIABLE_OPTION, NULL },
	{ "mmap-pages",		  VARIABLE_OPTION, NULL },
	{ "summary",		  VARIABLE_OPTION, NULL },
	{ "switch-max-files",	  VARIABLE_OPTION, NULL },
	{ "switch-max-size",	  VARIABLE_OPTION, NULL },
	{ "switch-output",	  VARIABLE_OPTION, NULL },
	{ "switch-output-event",  VARIABLE_STRING, &args.trigger },
	{ "switch-output-filter", VARIABLE_STRING, &args.trigger_filter },
	{ "write-buffer",	  VARIABLE_OPTION, NULL },
	{ }
};

/* Add the events of the configuration if the command line has none. */
static int add_configured(const char *option, const char *event, const char *filter)
{
	if (!options__set(options, option, event) &&
	    (!filter || !options__set(options, "filter", filter)))
		return 0;
	pr_err("The event %s%s%s is from the configuration: record.%s\n", event,
	       filter ? " with the filter " : "", filter ?: "", option);
	return -EINVAL;
}

static int add_configured_events(void)
{
	int err = 0;

	if (args.event && evlist__empty(rec.evlist))
		err = add_configured("event", args.event, args.filter);
	if (!err && args.trigger && !rec.triggers.events.evlist)
		err = add_configured("switch-output-event", args.trigger, args.trigger_filter);
	return err;
}

static int read_build_id(const char *value)
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

	for (i = 0; i < ARRAY_SIZE(build_id); i++) {
		if (strcmp(value, build_id[i].value))
			continue;
		*build_id[i].flag = build_id[i].set;
		args.build_id_mmap_set |= build_id[i].flag == &rec.build_id_mmap;
		return 0;
	}
	pr_err("record.build-id = %s: must be cache, no-cache, skip, mmap or no-mmap.\n", value);
	return -1;
}

static int read_config(const char *var, const char *value, void *cb)
{
	if (!strcmp(var, "record.call-graph"))
		return perf_default_config("call-graph.record-mode", value, cb);
	if (!strcmp(var, "record.build-id"))
		return read_build_id(value);
	/* A variable has one value: record.switch-output-when-NAME are further conditions. */
	if (strstarts(var, "record.switch-output-when")) {
		args.conditions_configured = true;
		return when__add(&rec.triggers.when, var, value);
	}
	if (!strstarts(var, "record."))
		return 0;
	return options__read_variable(variables, options, var + strlen("record."), value);
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
		pr_err("--setup-filter=%s failed: it needs root, /sys/fs/bpf mounted, and a perf built with "
		       "BPF skeletons.\n", what);
	return err ? -1 : 0;
}

static void set_defaults(void)
{
	memset(&args, 0, sizeof(args));
	args.named_last = &rec.evlist;
	rec = (struct recorder){
		.fsync = true,
		.output = {
			.reserve.fd	= -1,
			.error_fd	= -1,
			.pipeline = {
				.level	   = -1,
				.io.nr_aio = 1,
			},
		},
		.readers.priority = -1,
		.capture.wake_fd = -1,
		.capture.stop_fd = -1,
		.triggers.when.fd = -1,
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
	record_opts__set_off_cpu_thresh(&rec.opts, OFF_CPU_THRESH_NS);
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
	return 0;
}

/* Check here: the kernel's error for an event on a missing CPU names neither event nor CPU. */
static int check_cpus(const char *list)
{
	struct perf_cpu_map *wanted, *online;
	struct perf_cpu cpu;
	cpu_index_t i;
	int err = 0;

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

/* Each kernel has the software PMU. util silently adds no event for PMUs that it does not find. */
static int check_sysfs(void)
{
	if (perf_pmus__find("software"))
		return 0;
	pr_err("Cannot find the events of this machine in /sys/bus/event_source/devices: mount sysfs on /sys.\n");
	return -ENOENT;
}

/* The existing tasks are read from /proc. A command that is started needs it less. */
static int check_proc(struct target *target)
{
	if (target__none(target) || !access("/proc/self", F_OK))
		return 0;
	pr_err("Cannot read the running tasks in /proc: mount proc on /proc.\n");
	return -ENOENT;
}

/* perf fills the numbers of closed streams, for itself only. */
static bool is_stdout_closed(void)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFD);

	return flags < 0 || flags & FD_CLOEXEC;
}

/* A perf.data file is not written from begin to end, and writing to a FIFO may block for ever. */
static int check_output_name(const char *path)
{
	struct stat st;

	if (path && !*path) {
		pr_err("-o: the name of the output file is empty.\n");
		return -EINVAL;
	}
	if (path && !strcmp(path, "-") && is_stdout_closed()) {
		pr_err("Cannot write to -o -: standard output is closed.\n");
		return -EINVAL;
	}
	if (path && !stat(path, &st) && S_ISFIFO(st.st_mode)) {
		pr_err("Cannot write a file to -o %s: it is a FIFO. Use: -o - > %s\n", path, path);
		return -EINVAL;
	}
	return 0;
}

static int choose_latency(struct record_opts *opts)
{
	if (!args.latency)
		return 0;
	if (opts->target.system_wide) {
		pr_err("--latency is for commands and processes, not for all CPUs (-a, -u): give -p "
		       "or a command.\n");
		return -EINVAL;
	}
	opts->record_switch_events = true;
	return 0;
}

static void choose_data(const struct record_opts *opts)
{
	rec.mem_info |= opts->sample_address;
	if (!args.data_mmap_set)
		rec.data_mmap = opts->sample_address || (callchain_param.enabled &&
				callchain_param.record_mode == CALLCHAIN_DWARF);
}

/* Refuse what this kernel cannot record, instead of leaving it out silently. */
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
		pr_err("--kcore: cannot read /proc/kcore: %m. Run as root, on a kernel with CONFIG_PROC_KCORE "
		       "that is not locked down.\n");
		return err;
	}
	close(fd);
	rec.opts.text_poke |= perf_can_record_text_poke_events();
	return 0;
}

static void choose_build_ids(void)
{
	if (!args.build_id_mmap_set) {
		rec.build_id_mmap = build_ids_are_harmless();
	} else if (rec.build_id_mmap && !perf_can_record_build_id()) {
		pr_warning("--buildid-mmap: this kernel does not put build-ids into mmap records. "
			   "Collecting them at the end instead.\n");
		rec.build_id_mmap = false;
	}
	/* Switching files must be fast: read no build-ids. */
	if (rec.rotation.enabled) {
		args.no_build_ids |= !args.no_build_ids_set;
		args.no_build_id_cache |= !args.no_build_id_cache_set;
	}
	rec.opts.build_id = rec.build_id_mmap;
	symbol_conf__set_buildid_mmap2(rec.build_id_mmap);
	/* Build-ids of existing maps are read from the binaries, perhaps from a slow disk. */
	if (rec.build_id_mmap && proc_map_timeout == MAPS_TIMEOUT_MS)
		proc_map_timeout = MAPS_TIMEOUT_BUILD_IDS_MS;
	/* Only decoding tells which binaries a trace has hit. */
	rec.output.all_build_ids |= rec.aux.itr != NULL;
	rec.output.build_ids = !args.no_build_ids && !rec.build_id_mmap;
	rec.output.cache_binaries = !args.no_build_ids && !args.no_build_id_cache;
	if (!rec.output.cache_binaries)
		disable_buildid_cache();
}

static void stream_all_events(struct evlist *evlist)
{
	struct evsel_config_term *term;
	struct evsel *evsel;

	rec.opts.overwrite = false;
	evlist__for_each_entry(evlist, evsel) {
		list_for_each_entry(term, &evsel->config_terms, list) {
			if (term->type == EVSEL__CONFIG_TERM_OVERWRITE)
				term->val.overwrite = false;
		}
	}
}

/*
 * Stream and keep all events without a file, whatever the other options say about files and
 * snapshots: so --advise can be added to any command line.
 */
static int choose_advise(void)
{
	if (!args.advise)
		return 0;
	if (rec.opts.target.initial_delay) {
		pr_err("--advise measures from the start: leave out -D.\n");
		return -EINVAL;
	}
	if (!keep__enabled(&rec.keep) && keep__parse(&rec.keep, NULL, args.keep_defaults))
		return -EINVAL;
	rec.advice.wanted_ns = args.advise_ns ?: rec.keep.max_ns ?: KEEP_DEFAULT_NS;
	rec.keep.max_ns = rec.advice.wanted_ns;
	rec.keep.overlap = false;
	rec.keep.share.enabled = false;
	rec.keep.file = args.keep_file = NULL;
	stream_all_events(rec.evlist);

	rec.output.data.path = "/dev/null";
	rec.output.kcore = false;
	rec.output.max_bytes = 0;
	rec.timestamp_filename = false;
	rec.hook.command = NULL;
	args.switch_output = NULL;
	rec.kept = (struct kept_files){ 0 };
	evlist__put(rec.triggers.events.evlist);
	rec.triggers.events = (struct trigger_events){ 0 };
	rec.triggers.when.measures = true;
	rec.triggers.after_ns = 0;
	return 0;
}

static int check_trigger_limits(void)
{
	const struct trigger_limit *limit = &rec.triggers.events.limit;

	if ((!limit->cooldown_ns && !limit->max) || rec.triggers.events.evlist ||
	    rec.triggers.when.nr ||
	    (limit->cooldown_ns == args.limit.cooldown_ns && limit->max == args.limit.max))
		return 0;
	pr_err("--cooldown and --keep-first limit snapshots of --switch-output-event and "
	       "--switch-output-when: add one of these options.\n");
	return -EINVAL;
}

/* The shell would execute the file instead. */
static int check_hook(void)
{
	const char *command = rec.hook.command;

	if (!command || command[strspn(command, " \t\n")])
		return 0;
	pr_err("--exec-snapshot: the command is empty. Example: --exec-snapshot 'logger -t perf'\n");
	return -EINVAL;
}

static int choose_rotation(void)
{
	bool triggered = rec.triggers.events.evlist ||
			 (rec.triggers.when.nr && !rec.triggers.when.measures);
	const char *when = args.switch_output ?: triggered ? "signal" : NULL;
	u64 rings = (u64)perf_event_mlock_kb_in_pages() * page_size;

	if (rec.opts.mmap_pages != UINT_MAX)
		rings = (u64)rec.opts.mmap_pages * page_size;
	rings *= sysconf(_SC_NPROCESSORS_ONLN);
	if ((rec.kept.max_nr || rec.kept.max_bytes) && !when && !rec.timestamp_filename)
		pr_warning("--switch-max-files and --switch-max-size have no effect without "
			   "--switch-output.\n");
	return when ? rotation__parse(&rec.rotation, when, rings) : 0;
}

/* The kept records are compressed in memory; what goes to the file passes no other compression. */
static int choose_keep(void)
{
	struct pipeline *pipeline = &rec.output.pipeline;
	int level = pipeline->level;

	/* Without -z, the level is -1. Without --write-buffer, its size is 0. */
	pipeline->level = max(level, 0);
	pipeline->shrinks = !pipeline->max_bytes;
	if (pipeline->shrinks)
		pipeline->max_bytes = keep__enabled(&rec.keep) ? KEEP_WRITE_BUFFER_BYTES :
								 PIPELINE_DEFAULT_BYTES;
	if (!keep__enabled(&rec.keep)) {
		if (!rec.keep.overlap && !rec.keep.file && !rec.keep.split_ns &&
		    !rec.keep.share.enabled)
			return 0;
		pr_err("%s needs --keep.\n", rec.keep.file ? "--keep-file" :
					     rec.keep.overlap ? "--keep-overlap" :
					     rec.keep.split_ns ? "--keep-split" : "--keep-share");
		return -EINVAL;
	}
	if ((rec.keep.overlap || rec.keep.split_ns) && !rec.rotation.enabled) {
		pr_err("%s needs a file for each snapshot: add --switch-output.\n",
		       rec.keep.overlap ? "--keep-overlap" : "--keep-split");
		return -EINVAL;
	}
	rec.keep.level = level < 0 ? min(1, COMPRESSION_MAX) : level;
	if (rec.keep.share.enabled && !rec.keep.level) {
		pr_err("--keep-share needs compressed records: its thread shares the memory. Remove -z0.\n");
		return -EINVAL;
	}
	rec.opts.record_cgroup |= rec.keep.share.enabled;
	pipeline->level = 0;
	return rec.keep.file ? 0 : keep__set_file(&rec.keep, args.keep_file);
}

static bool takes_snapshots(void)
{
	struct evsel *evsel;

	evlist__for_each_entry(rec.evlist, evsel) {
		if (evsel__will_overwrite(evsel, &rec.opts))
			return true;
	}
	return keep__enabled(&rec.keep) || aux__takes_snapshots(&rec.aux);
}

static int check_after(void)
{
	const u64 after_ns = rec.triggers.after_ns;

	if (!after_ns || after_ns == args.after_ns || rec.rotation.on_signal || takes_snapshots())
		return 0;
	pr_err("--after delays snapshots, and this recording takes none: add --switch-output, --keep, -S or "
	       "/overwrite/.\n");
	return -EINVAL;
}

static int prepare_recorder(void)
{
	struct record_opts *opts = &rec.opts;
	int err;

	err = check_output_name(rec.output.data.path) ?: check_sysfs() ?:
	      check_proc(&opts->target) ?: check_target(&opts->target) ?:
	      check_cpus(opts->target.cpu_list);
	if (err)
		return err;

	err = add_configured_events();
	if (err)
		return err;
	if (evlist__empty(rec.evlist) && parse_event(rec.evlist, "cycles:P"))
		return -ENOMEM;
	err = target__select_user(&opts->target, rec.evlist, args.user);
	if (err)
		return err;
	choose_data(opts);
	err = choose_latency(opts);
	if (err)
		return err;
	if (!rec.readers.no_threads && reader_spec__parse_online(&rec.readers.spec, args.threads))
		return -EINVAL;
	err = aux__init(&rec.aux, rec.evlist, opts) ?: check_side_band(opts) ?: check_kcore() ?:
	      choose_advise() ?: check_trigger_limits() ?: check_hook() ?: choose_rotation() ?:
	      choose_keep() ?: check_after();
	if (err)
		return err;
	if (opts->auxtrace_mmap_pages && !rec.aux.itr)
		pr_warning("-m ,SIZE has no effect: no event has an AUX area.\n");
	evlist__warn_user_requested_cpus(rec.evlist, opts->target.cpu_list);
	evlist__uniquify_name(rec.evlist);

	/* Threads may exit between reading /proc and attaching to them. */
	opts->ignore_missing_thread = opts->target.pid || target__user(&opts->target);
	/*
	 * -t records the thread without the tasks that it starts, unless -i was negated. For -p,
	 * target__validate() has set tid as well.
	 */
	if (opts->target.tid && !opts->target.pid && !opts->no_inherit_set)
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

	signals__claim();
	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C");	/* programs read JSON, SVG, acks, and the text of samples */
	set_defaults();
	rec.evlist = evlist__new();
	if (!rec.evlist)
		goto out;
	if (perf_config(read_config, NULL) ||
	    (args.keep_events && keep__parse(&rec.keep, NULL, args.keep_defaults))) {
		status = EXIT_USAGE;
		goto out;
	}
	/*
	 * Limits of triggers in the configuration have no effect in a recording without triggers.
	 */
	args.limit = rec.triggers.events.limit;
	args.after_ns = rec.triggers.after_ns;

	argc = parse_options(argc, argv, options, record_usage, PARSE_OPT_STOP_AT_NON_OPTION);
	if (quiet)
		perf_quiet_option();
	if (args.setup_filter) {
		status = setup_filter(args.setup_filter);
		goto out;
	}
	if (args.unpin) {
		status = pinned__save(args.unpin, rec.output.data.path) ? -1 : 0;
		goto out;
	}
	perf_debuginfod_setup(&args.debuginfod);
	if (!argc && target__none(&rec.opts.target) && !args.user)
		rec.opts.target.system_wide = true;
	if (nr_cgroups && !target__has_cpu(&rec.opts.target)) {
		pr_err("-G needs -a or -C: a cgroup is recorded on whole CPUs.\n");
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
	evlist__put(rec.evlist);
	evlist__put(rec.triggers.events.evlist);
	when__clear(&rec.triggers.when);
	return status;
}
