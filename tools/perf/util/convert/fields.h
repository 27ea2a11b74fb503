/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find out what an event means for the picture, and read fields of its samples.
 */
#ifndef PERF_CHROME_TRACE_FIELDS_H
#define PERF_CHROME_TRACE_FIELDS_H

#include <stdbool.h>
#include <linux/types.h>

struct evsel;
struct chrome_events;
struct perf_sample;
struct perf_session;
struct tep_format_field;

enum sample_kind {
	SAMPLE_OTHER,		/* a point in time */
	SAMPLE_SWITCH,
	SAMPLE_WAKEUP,
	SAMPLE_SYSCALL_ENTER,
	SAMPLE_SYSCALL_EXIT,
	SAMPLE_SNAPSHOT,	/* why perf record took a snapshot */
};

#define COMM_SIZE	16	/* of the kernel, with the final zero */

/**
 * struct event_fields - what is known of an event; evsel->priv
 * @kind:	meaning of its samples
 * @syscall:	name of the system call, if the event stands for one
 * @pid:	task that a wake-up or a switch is about
 * @comm:	its name
 * @prev_pid:	task that leaves the CPU
 * @prev_state:	its state
 * @id:		number of the system call
 * @ret:	what the system call returned
 */
struct event_fields {
	enum sample_kind	 kind;
	const char		*syscall;
	struct tep_format_field	*pid;
	struct tep_format_field	*comm;
	struct tep_format_field	*prev_pid;
	struct tep_format_field	*prev_state;
	struct tep_format_field	*id;
	struct tep_format_field	*ret;
};

/* Return: the fields of @evsel, or NULL if memory is short. Release them with fields__put(). */
const struct event_fields *fields__get(struct evsel *evsel);
void fields__put(struct evsel *evsel);

/* Return: the integer in @field, or @missing if the sample does not have it. */
s64 fields__number(struct evsel *evsel, const struct perf_sample *sample,
		   struct tep_format_field *field, s64 missing);

/* Copy the text in @field, or an empty one if the sample does not have it. */
void fields__comm(const struct perf_sample *sample, const struct tep_format_field *field,
		  char comm[COMM_SIZE]);

/* Add all fields of a sample of a tracepoint to the arguments of the current event. */
void fields__write(struct chrome_events *events, struct evsel *evsel,
		   const struct perf_sample *sample);

#endif
