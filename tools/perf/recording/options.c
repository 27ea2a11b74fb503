// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parse the options of perf record that need more than being stored, and the configuration.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <internal/lib.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include <subcmd/parse-options.h>
#include "options.h"
#include "recorder.h"
#include "recording/lib/compat.h"
#include "recording/lib/quantity.h"
#include "util/config.h"
#include "util/debug.h"
#include "util/evlist.h"
#include "util/record.h"
#include "util/synthetic-events.h"
#include "util/util.h"

int option__parse_size(const struct option *opt, const char *arg, int unset)
{
	u64 *size = opt->value;

	*size = unset ? 0 : quantity__parse_size(arg);
	if (unset || *size)
		return 0;
	pr_err("--%s=%s: not a size with a unit: B, K, M or G. Example: --%s=100M\n",
	       opt->long_name, arg, opt->long_name);
	return -1;
}

int option__parse_time(const struct option *opt, const char *arg, int unset)
{
	u64 *ns = opt->value;

	*ns = arg && !unset ? quantity__parse_time(arg) : 0;
	if (unset || !arg || *ns >= NSEC_PER_MSEC)
		return 0;
	pr_err("--%s=%s: not a time of 1ms or more with a unit: ms, s, m, h or d. Example: --%s=10s\n",
	       opt->long_name, arg, opt->long_name);
	return -1;
}

int option__parse_count(const struct option *opt, const char *arg, int unset)
{
	unsigned int *count = opt->value;
	unsigned long number = 0;

	if (!unset && (!quantity__parse_number(arg, INT_MAX, &number) ||
		       number < (unsigned long)opt->defval)) {
		pr_err("--%s=%s: not a number of %ld or more. Example: --%s=10\n", opt->long_name,
		       arg, (long)opt->defval, opt->long_name);
		return -1;
	}
	*count = number;
	return 0;
}

/* Refuse what atoi() would take for 0. */
int option__parse_frequency(const struct option *opt, const char *arg, int unset)
{
	unsigned long number;

	if (strcasecmp(arg, "max") &&
	    (!quantity__parse_number(arg, INT_MAX, &number) || !number)) {
		pr_err("-F %s: neither a number of samples per second nor 'max'. Example: -F 999\n",
		       arg);
		return -1;
	}
	return record__parse_freq(opt, arg, unset);
}

/* @pages: parsed from @arg, 0 if it is invalid. */
static int check_pages(unsigned long pages, const char *arg, const char *of, const char *example)
{
	unsigned int most = (INT_MAX / 2 + 1) / page_size;	/* struct perf_mmap counts in int */

	if (!pages)
		pr_err("-m %s: not a number of pages, or a size with a unit. Example: %s\n", arg,
		       example);
	else if (pages > most)
		pr_err("-m %s: %s has at most %u pages (%zu MB).\n", arg, of, most,
		       ((size_t)most * page_size) >> 20);
	else
		return 0;
	return -1;
}

/* Return: number of pages, 0 if @arg is neither a number nor a size with a unit. */
static unsigned long parse_pages(const char *arg)
{
	unsigned long bytes = quantity__parse_size(arg), pages = 0;

	if (bytes)
		return (bytes - 1) / page_size + 1;
	return quantity__parse_number(arg, ULONG_MAX, &pages) ? pages : 0;
}

/* util rounds up to a power of two. Check before: its messages about an error name no value. */
static int parse_data_pages(unsigned int *pages, const char *arg)
{
	if (check_pages(parse_pages(arg), arg, "a ring", "-m 1M"))
		return -1;
	return __evlist__parse_mmap_pages(pages, arg);
}

/* Do not round up yet: some drivers take any number of pages (aux__configure()). */
static int parse_aux_pages(unsigned int *pages, const char *arg)
{
	unsigned long nr = parse_pages(arg);

	*pages = nr;
	return check_pages(nr, arg, "an AUX area", "-m ,4M");
}

int option__parse_ring_pages(const struct option *opt, const char *arg, int unset __maybe_unused)
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

int option__parse_write_buffer(const struct option *opt, const char *arg, int unset __maybe_unused)
{
	u64 memory = (u64)sysconf(_SC_PHYS_PAGES) * page_size;
	u64 *size = opt->value;

	*size = quantity__parse_size(arg);
	if (*size < PIPELINE_MIN_BYTES)
		pr_err("--write-buffer=%s: not a size of 1M or more with a unit: M or G. "
		       "Example: --write-buffer=256M\n", arg);
	else if (*size > memory)
		pr_err("--write-buffer=%s: this machine has %" PRIu64 "M of memory.\n", arg,
		       memory >> 20);
	else
		return 0;
	return -1;
}

int option__parse_io(const struct option *opt, const char *arg, int unset __maybe_unused)
{
	if (!writer__parse(opt->value, arg))
		return 0;
	pr_err("--io=%s: must be uring, aio or sync.\n", arg);
	return -1;
}

int option__parse_bpf_ring(const struct option *opt, const char *arg, int unset __maybe_unused)
{
	if (!bpf_ring__parse(opt->value, arg))
		return 0;
	pr_err("--bpf-ring=%s: must be auto, yes or no.\n", arg);
	return -1;
}

static void use_aio(struct writer_choice *io, unsigned long nr)
{
	io->kind = WRITER_AIO;
	io->nr_aio = clamp(nr, 1UL, (unsigned long)WRITER_AIO_MAX);
	if (io->nr_aio != nr)
		pr_warning("--aio: cannot use %lu control blocks, only 1 to %d. Using %u.\n", nr,
			   WRITER_AIO_MAX, io->nr_aio);
}

int option__parse_aio(const struct option *opt, const char *arg, int unset)
{
	struct writer_choice *io = opt->value;
	unsigned long nr = 1;

	if (arg && !quantity__parse_number(arg, ULONG_MAX, &nr)) {
		pr_err("--aio=%s: not a number. Example: --aio=4\n", arg);
		return -1;
	}
	if (unset)
		io->kind = WRITER_BEST;
	else
		use_aio(io, nr);
	return 0;
}

int option__parse_compression(const struct option *opt, const char *arg, int unset)
{
	unsigned long level = !unset;

	if (unset || !arg ? level <= COMPRESSION_MAX :
			    quantity__parse_number(arg, COMPRESSION_MAX, &level)) {
		*(int *)opt->value = level;
		return 0;
	}
	if (!COMPRESSION_MAX) {
		pr_err("-z: cannot compress: this perf was built without zstd.\n");
		return -1;
	}
	pr_err("-z %s: not a compression level, 0 to %d.\n", arg, COMPRESSION_MAX);
	return -1;
}

int option__parse_priority(const struct option *opt, const char *arg, int unset)
{
	unsigned long max = sched_get_priority_max(SCHED_FIFO), number = 0;
	int *priority = opt->value;

	if (!unset && !quantity__parse_number(arg, max, &number)) {
		pr_err("-r %s: not a priority from 1 to %lu, or 0 for the normal class.\n", arg,
		       max);
		return -1;
	}
	*priority = number;
	return 0;
}

int option__parse_affinity(const struct option *opt, const char *arg, int unset __maybe_unused)
{
	struct reader_spec *homes = opt->value;

	reader_spec__exit(homes);
	if (!strcmp(arg, "node"))
		return reader_spec__parse_online(homes, "numa");
	if (!strcmp(arg, "cpu"))
		return reader_spec__parse_online(homes, "cpu");
	pr_err("--affinity=%s: neither 'node' nor 'cpu'.\n", arg);
	return -1;
}

int option__parse_mmap_flush(const struct option *opt, const char *arg, int unset)
{
	size_t *min_bytes = opt->value;
	unsigned long bytes = unset ? 1 : quantity__parse_size(arg);

	if (bytes || (quantity__parse_number(arg, ULONG_MAX, &bytes) && bytes)) {
		*min_bytes = bytes;
		return 0;
	}
	pr_err("--mmap-flush=%s: not a number of bytes, or a size with a unit. Example: "
	       "--mmap-flush=16K\n", arg);
	return -1;
}

/* True also if there is none. */
static bool is_fifo(int fd)
{
	struct stat st;

	return fd < 0 || (!fstat(fd, &st) && S_ISFIFO(st.st_mode));
}

int option__parse_control(const struct option *opt, const char *arg, int unset __maybe_unused)
{
	struct record_opts *opts = opt->value;
	int err = evlist__parse_control(arg, &opts->ctl_fd, &opts->ctl_fd_ack, &opts->ctl_fd_close);

	/* A descriptor that is not open could become one of perf's own. */
	if (!err && (fcntl(opts->ctl_fd, F_GETFD) < 0 ||
		     (opts->ctl_fd_ack != -1 && fcntl(opts->ctl_fd_ack, F_GETFD) < 0)))
		err = -EBADF;
	if (!err && opts->ctl_fd_close && !(is_fifo(opts->ctl_fd) && is_fifo(opts->ctl_fd_ack))) {
		pr_err("--control=%s: not a FIFO. Create one by mkfifo(1).\n", arg);
		return -EINVAL;
	}
	if (err == -EINVAL)
		pr_err("--control=%s: neither descriptors nor names of FIFOs. Examples: "
		       "--control=fd:10,11 --control=fifo:ctl,ack\n", arg);
	else if (err)
		pr_err("--control=%s: %s\n", arg, strerror(-err));
	return err;
}

int option__parse_delay(const struct option *opt, const char *arg, int unset)
{
	struct recorder *recorder = opt->value;
	int err = evlist__parse_event_enable_time(recorder->evlist, &recorder->opts, arg, unset);

	if (err)
		pr_err("-D %s: neither a number of milliseconds, nor -1, nor ascending "
		       "ranges. Example: -D 10-20,30-40\n", arg);
	return err;
}

int option__parse_off_cpu_thresh(const struct option *opt, const char *arg,
				 int unset __maybe_unused)
{
	unsigned long ms;

	if (!quantity__parse_number(arg, UINT_MAX, &ms)) {
		pr_err("--off-cpu-thresh=%s: not a number of milliseconds. Example: "
		       "--off-cpu-thresh=100\n", arg);
		return -1;
	}
	if (!record_opts__set_off_cpu_thresh(opt->value, ms * NSEC_PER_MSEC))
		return 0;
	pr_err("--off-cpu-thresh: the BPF program of the perf of Linux 6.12 has no threshold, and "
	       "only adds up times.\n");
	return -1;
}

int option__parse_summary(const struct option *opt, const char *arg, int unset __maybe_unused)
{
	bool *json = opt->value;

	*json = !strcmp(arg, "json");
	if (*json || !strcmp(arg, "text"))
		return 0;
	pr_err("--summary=%s: neither text nor json.\n", arg);
	return -1;
}

int option__parse_synth(const struct option *opt, const char *arg, int unset)
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
	if (opts->synth >= 0)
		return 0;
	pr_err("--synth=%s: must be no, all, or a list of task, mmap and cgroup.\n", arg);
	return -1;
}

/*
 * Configuration
 */

static const struct option *find_option(const struct option *options, const char *name)
{
	while (options->type != OPTION_END &&
	       (!options->long_name || strcmp(options->long_name, name)))
		options++;
	return options;
}

/* Options of other types are strings. Copy them: the configuration is freed. */
int options__set(const struct option *options, const char *name, const char *value)
{
	const struct option *opt = find_option(options, name);
	unsigned long number;
	char *copy;

	if (opt->set)
		*opt->set = true;
	if (opt->type == OPTION_CALLBACK)
		return opt->callback(opt, value, 0);
	if (opt->type == OPTION_BOOLEAN) {
		*(bool *)opt->value = perf_config_bool(name, value);
		return 0;
	}
	if (opt->type == OPTION_U64) {
		if (!quantity__parse_number(value, ULONG_MAX, &number))
			return -EINVAL;
		*(u64 *)opt->value = number;
		return 0;
	}
	copy = strdup(value);
	*(const char **)opt->value = copy;
	return copy ? 0 : -ENOMEM;
}

static int set_variable(const struct option_variable *variable, const struct option *options,
			const char *value)
{
	switch (variable->kind) {
	case VARIABLE_STRING:
		*(const char **)variable->address = strdup(value);
		return *(const char **)variable->address ? 0 : -ENOMEM;
	case VARIABLE_BOOL:
		*(bool *)variable->address = perf_config_bool(variable->key, value);
		return 0;
	case VARIABLE_OPTION:
	default:
		return options__set(options, variable->key, value);
	}
}

static bool is_flag(const struct option_variable *variable, const struct option *options)
{
	return variable->kind == VARIABLE_BOOL ||
	       (variable->kind == VARIABLE_OPTION &&
		find_option(options, variable->key)->type == OPTION_BOOLEAN);
}

/* util takes other words for true. */
static bool is_bool(const char *value)
{
	static const char * const words[] = { "", "true", "yes", "on", "false", "no", "off" };
	unsigned long number;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		if (!strcasecmp(value, words[i]))
			return true;
	}
	return quantity__parse_number(value, INT_MAX, &number);
}

int options__read_variable(const struct option_variable *variables, const struct option *options,
			   const char *key, const char *value)
{
	const struct option_variable *variable = variables;
	int err;

	while (variable->key && strcmp(key, variable->key))
		variable++;
	if (!variable->key)
		return 0;
	if (is_flag(variable, options) && !is_bool(value)) {
		pr_err("record.%s = %s: must be true or false.\n", key, value);
		return -EINVAL;
	}
	err = set_variable(variable, options, value);
	if (err)
		pr_err("record.%s = %s: not a value of --%s.\n", key, value, key);
	return err;
}
