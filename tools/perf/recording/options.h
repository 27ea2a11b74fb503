/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parse the options of perf record that need more than being stored, and the configuration.
 *
 * The table of options in builtin-record.c names these callbacks. Each stores to @opt->value, and
 * returns 0, or a negative value after an error message.
 */
#ifndef PERF_RECORDING_OPTIONS_H
#define PERF_RECORDING_OPTIONS_H

struct option;

#ifdef HAVE_ZSTD_SUPPORT
#define COMPRESSION_MAX	22
#else
#define COMPRESSION_MAX	0
#endif

/** option__parse_size - parse a size with a unit to u64 [bytes]; 0 for --no-NAME */
int option__parse_size(const struct option *opt, const char *arg, int unset);

/**
 * option__parse_time - parse a time of 1 ms or more to u64 [ns]; 0 without one, and for --no-NAME
 */
int option__parse_time(const struct option *opt, const char *arg, int unset);

/** option__parse_count - parse @opt->defval to INT_MAX to unsigned int; 0 for --no-NAME */
int option__parse_count(const struct option *opt, const char *arg, int unset);

/*
 * Callbacks of one option each
 */

int option__parse_affinity(const struct option *opt, const char *arg, int unset);
int option__parse_aio(const struct option *opt, const char *arg, int unset);
int option__parse_bpf_ring(const struct option *opt, const char *arg, int unset);
int option__parse_compression(const struct option *opt, const char *arg, int unset);
int option__parse_control(const struct option *opt, const char *arg, int unset);
int option__parse_delay(const struct option *opt, const char *arg, int unset);
int option__parse_frequency(const struct option *opt, const char *arg, int unset);
int option__parse_io(const struct option *opt, const char *arg, int unset);
int option__parse_mmap_flush(const struct option *opt, const char *arg, int unset);
int option__parse_off_cpu_thresh(const struct option *opt, const char *arg, int unset);
int option__parse_priority(const struct option *opt, const char *arg, int unset);
int option__parse_ring_pages(const struct option *opt, const char *arg, int unset);
int option__parse_summary(const struct option *opt, const char *arg, int unset);
int option__parse_synth(const struct option *opt, const char *arg, int unset);
int option__parse_write_buffer(const struct option *opt, const char *arg, int unset);

/**
 * enum variable_kind - what a variable of the configuration sets
 * @VARIABLE_OPTION:	the option of the same name
 * @VARIABLE_STRING:	a const char *, with a copy
 * @VARIABLE_BOOL:	a bool
 */
enum variable_kind {
	VARIABLE_OPTION,
	VARIABLE_STRING,
	VARIABLE_BOOL,
};

/**
 * struct option_variable - a variable of the configuration
 * @key:	its name after "record."; NULL ends a table
 * @kind:	what it sets
 * @address:	where, unless @kind is VARIABLE_OPTION
 */
struct option_variable {
	const char	   *key;
	enum variable_kind  kind;
	void		   *address;
};

/**
 * options__read_variable - set what a variable of the configuration names
 * @key:	its name after "record."; ignored if it is not in @variables
 *
 * Return: 0, or a negative value after an error message.
 */
int options__read_variable(const struct option_variable *variables, const struct option *options,
			   const char *key, const char *value);

/**
 * options__set - set the option @name to @value, as the command line would
 *
 * Return: 0, or a negative value, perhaps after an error message.
 */
int options__set(const struct option *options, const char *name, const char *value);

#endif
