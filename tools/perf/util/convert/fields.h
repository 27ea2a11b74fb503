/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find out what an event means, and read fields of its samples.
 */
#ifndef PERF_CONVERT_FIELDS_H
#define PERF_CONVERT_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

struct conversion;
struct evsel;
struct perf_sample;
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
 * @converter:	what a converter notes; freed by fields__put_all()
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
	void			*converter;
};

/* Return: the fields of @evsel, or NULL if memory is short. Release them with fields__put_all(). */
const struct event_fields *fields__get(struct evsel *evsel);
void fields__put_all(struct conversion *conv);

/* Return: the integer in @field, or @missing if the sample does not have it. */
s64 fields__number(struct evsel *evsel, const struct perf_sample *sample,
		   struct tep_format_field *field, s64 missing);

/**
 * fields__array - find an array in a sample, be its size fixed or not
 * @element:	set to a field for its first element; add @element->size to the offset for the next
 *		one
 *
 * Return: the number of elements, 0 if the sample lacks it.
 */
unsigned int fields__array(struct evsel *evsel, const struct perf_sample *sample,
			   struct tep_format_field *field, struct tep_format_field *element);

/* Return: whether a field is a text. libtraceevent takes arrays of u8 for texts, too. */
bool fields__is_text(const struct tep_format_field *field);

/* Return: a text of at most @size bytes, or NULL if the sample does not have it. */
const char *fields__text(struct evsel *evsel, const struct perf_sample *sample,
			 struct tep_format_field *field, size_t *size);

/* Copy the text in @field, or an empty one if the sample does not have it. */
void fields__comm(const struct perf_sample *sample, const struct tep_format_field *field,
		  char comm[COMM_SIZE]);

/**
 * struct field_sink - where the fields of a sample go
 * @text:	of @size bytes, or up to a zero
 * @number:	an integer; if @hex is set, it is unsigned: an address, flags, or too large for s64
 */
struct field_sink {
	void (*text)(void *arg, const char *name, const char *text, size_t size);
	void (*number)(void *arg, const char *name, s64 number, bool hex);
};

/* Pass all fields of a sample of a tracepoint, but arrays, to the sink. */
void fields__pass(struct evsel *evsel, const struct perf_sample *sample,
		  const struct field_sink *sink, void *arg);

#endif
