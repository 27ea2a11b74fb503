// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <traceevent/event-parse.h>
#include "util/bpf_skel/event_ring.h"
#include "bpf_filter.h"

/*
 * Fields of a sample in front of the raw data, and the size of these: struct sample and struct raw
 */
#define RAW_DATA	60

#define MAX_NAME	64
#define MAX_TEXT	16	/* of a string that is compared */
#define MAX_DEPTH	16	/* of parentheses */

/**
 * struct jumps - what is not known yet of a parsed part: where it goes to with each result
 * @when_true:	bit 2 * n stands for the if_true of comparison n, bit 2 * n + 1 for its if_false
 * @when_false:	likewise
 */
struct jumps {
	unsigned int	when_true;
	unsigned int	when_false;
};

/**
 * struct parser
 * @filter:	the result
 * @event:	has the fields
 * @at:		rest of the text
 * @nr:		comparisons so far
 * @depth:	of parentheses
 */
struct parser {
	struct ring_filter	*filter;
	const struct tep_event	*event;
	const char		*at;
	int			 nr;
	int			 depth;
};

/* A field that can be compared */
struct field {
	unsigned int	offset;		/* in the memory of the program */
	unsigned int	size;
	bool		is_signed;
	bool		is_text;
};

static void skip_blanks(struct parser *parser)
{
	while (isspace((unsigned char)*parser->at))
		parser->at++;
}

/* Return: whether the text goes on with @token, which is skipped. */
static bool take(struct parser *parser, const char *token)
{
	skip_blanks(parser);
	if (strncmp(parser->at, token, strlen(token)))
		return false;
	parser->at += strlen(token);
	return true;
}

static int take_name(struct parser *parser, char *name)
{
	int len = 0;

	skip_blanks(parser);
	while (isalnum((unsigned char)*parser->at) || *parser->at == '_') {
		if (len == MAX_NAME - 1)
			return -EOPNOTSUPP;
		name[len++] = *parser->at++;
	}
	name[len] = '\0';
	return len ? 0 : -EOPNOTSUPP;
}

/*
 * Fields
 */

static const struct tep_format_field *find(const struct tep_format_field *field, const char *name)
{
	while (field && strcmp(field->name, name))
		field = field->next;
	return field;
}

static int describe(const struct tep_format_field *format, struct field *field)
{
	*field = (struct field){
		.offset = RAW_DATA + format->offset, .size = format->size,
		.is_signed = format->flags & TEP_FIELD_IS_SIGNED,
		.is_text = format->flags & TEP_FIELD_IS_ARRAY,
	};
	if (format->flags & (TEP_FIELD_IS_DYNAMIC | TEP_FIELD_IS_RELATIVE))
		return -EOPNOTSUPP;
	if (field->is_text)
		return strncmp(format->type, "char", 4) || field->size > MAX_TEXT ? -EOPNOTSUPP : 0;
	switch (field->size) {
	case 1: case 2: case 4: case 8:
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

/* The order of precedence is that of the kernel's trace_find_event_field(). */
static int find_field(const struct parser *parser, const char *name, struct field *field)
{
	const struct tep_format_field *format = find(parser->event->format.fields, name);

	if (format)
		return describe(format, field);
	if (!strcmp(name, "comm") || !strcmp(name, "COMM")) {
		*field = (struct field){ .offset = RING_FILTER_COMM, .size = MAX_TEXT,
					 .is_text = true };
		return 0;
	}
	if (!strcmp(name, "cpu") || !strcmp(name, "CPU")) {
		*field = (struct field){ .offset = RING_FILTER_CPU, .size = 4, .is_signed = true };
		return 0;
	}
	format = find(parser->event->format.common_fields, "common_pid");
	if (strcmp(name, "common_pid") || !format)
		return -EOPNOTSUPP;
	return describe(format, field);
}

/*
 * Comparisons
 */

/* The kernel compares up to the end of the constant, which is within the field or ends it. */
static int take_text(struct parser *parser, const struct field *field,
		     struct ring_comparison *comparison)
{
	unsigned char value[MAX_TEXT] = { 0 }, mask[MAX_TEXT] = { 0 };
	unsigned int len = 0;
	char quote;

	skip_blanks(parser);
	quote = *parser->at++;
	if (quote != '"' && quote != '\'')
		return -EOPNOTSUPP;
	for (; *parser->at && *parser->at != quote; parser->at++) {
		if (len == field->size)
			return -EOPNOTSUPP;
		value[len++] = *parser->at;
	}
	if (!*parser->at++)
		return -EOPNOTSUPP;
	memset(mask, 0xff, min(len + 1, field->size));
	memcpy(comparison->value, value, sizeof(comparison->value));
	memcpy(comparison->mask, mask, sizeof(comparison->mask));
	return 0;
}

/* A constant is cast to the type of the field, as in the kernel. */
static void cast(const struct field *field, unsigned long long value,
		 struct ring_comparison *comparison)
{
	value <<= comparison->shift;
	comparison->value[0] = field->is_signed ?
			       (unsigned long long)((long long)value >> comparison->shift) :
			       value >> comparison->shift;
}

static int take_number(struct parser *parser, const struct field *field,
		       struct ring_comparison *comparison)
{
	unsigned long long value;
	char *end;

	skip_blanks(parser);
	if (!isdigit((unsigned char)*parser->at) && !(field->is_signed && *parser->at == '-'))
		return -EOPNOTSUPP;
	errno = 0;
	value = field->is_signed ? (unsigned long long)strtoll(parser->at, &end, 0) :
				   strtoull(parser->at, &end, 0);
	if (errno || end == parser->at || isalnum((unsigned char)*end) || *end == '_')
		return -EOPNOTSUPP;
	parser->at = end;
	cast(field, value, comparison);
	return 0;
}

static const struct {
	const char	*token;
	enum ring_operator operator;
	bool		 negated;	/* the result is the opposite */
	bool		 of_text;	/* texts have it as well */
} operators[] = {
	{ "==", RING_EQUALS, false, true },
	{ "!=", RING_EQUALS, true, true },
	{ "<=", RING_IS_GREATER, true, false },
	{ ">=", RING_IS_LESS, true, false },
	{ "<", RING_IS_LESS, false, false },
	{ ">", RING_IS_GREATER, false, false },
	{ "&", RING_HAS_BITS, false, false },
};

static int take_operator(struct parser *parser)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(operators); i++) {
		if (take(parser, operators[i].token))
			return i;
	}
	return -EOPNOTSUPP;
}

static void negate(struct jumps *jumps)
{
	*jumps = (struct jumps){ jumps->when_false, jumps->when_true };
}

static int parse_comparison(struct parser *parser, struct jumps *jumps)
{
	struct ring_comparison *comparison;
	char name[MAX_NAME];
	struct field field;
	int operator, err;

	if (parser->nr == MAX_RING_COMPARISONS)
		return -EOPNOTSUPP;
	comparison = &parser->filter->comparisons[parser->nr];
	err = take_name(parser, name) ?: find_field(parser, name, &field);
	if (err)
		return err;
	operator = take_operator(parser);
	if (operator < 0 || (field.is_text && !operators[operator].of_text))
		return -EOPNOTSUPP;
	*comparison = (struct ring_comparison){
		.offset = field.offset,
		.shift = field.is_text ? 0 : 64 - 8 * field.size,
		.is_signed = field.is_signed,
		.operator = field.is_text ? RING_IS_TEXT : operators[operator].operator,
	};
	err = field.is_text ? take_text(parser, &field, comparison) :
			      take_number(parser, &field, comparison);
	*jumps = (struct jumps){ 1U << 2 * parser->nr, 2U << 2 * parser->nr };
	if (operators[operator].negated)
		negate(jumps);
	parser->nr++;
	return err;
}

/*
 * Logic
 */

static int parse_any(struct parser *parser, struct jumps *jumps);

/* Let @jumps, a set of bits, go to the comparison @target, or to a result. */
static void resolve(struct parser *parser, unsigned int jumps, unsigned char target)
{
	int i;

	for (i = 0; i < parser->nr; i++) {
		if (jumps & 1U << 2 * i)
			parser->filter->comparisons[i].if_true = target;
		if (jumps & 2U << 2 * i)
			parser->filter->comparisons[i].if_false = target;
	}
}

static int parse_one(struct parser *parser, struct jumps *jumps)
{
	int err;

	if (take(parser, "!")) {
		if (++parser->depth > MAX_DEPTH)
			return -EOPNOTSUPP;
		err = parse_one(parser, jumps);
		parser->depth--;
		negate(jumps);
		return err;
	}
	if (!take(parser, "("))
		return parse_comparison(parser, jumps);
	if (++parser->depth > MAX_DEPTH)
		return -EOPNOTSUPP;
	err = parse_any(parser, jumps);
	parser->depth--;
	if (!err && !take(parser, ")"))
		err = -EOPNOTSUPP;
	return err;
}

static int parse_all(struct parser *parser, struct jumps *jumps)
{
	struct jumps next;
	int err = parse_one(parser, jumps);

	while (!err && take(parser, "&&")) {
		resolve(parser, jumps->when_true, parser->nr);
		err = parse_one(parser, &next);
		if (err)
			break;
		jumps->when_true = next.when_true;
		jumps->when_false |= next.when_false;
	}
	return err;
}

static int parse_any(struct parser *parser, struct jumps *jumps)
{
	struct jumps next;
	int err = parse_all(parser, jumps);

	while (!err && take(parser, "||")) {
		resolve(parser, jumps->when_false, parser->nr);
		err = parse_all(parser, &next);
		if (err)
			break;
		jumps->when_false = next.when_false;
		jumps->when_true |= next.when_true;
	}
	return err;
}

int bpf_filter__compile(struct ring_filter *filter, const struct tep_event *event, const char *text)
{
	struct parser parser = { .filter = filter, .event = event, .at = text };
	struct jumps jumps = { 0 };
	int err;

	memset(filter, 0, sizeof(*filter));
	err = parse_any(&parser, &jumps);
	if (err)
		return err;
	skip_blanks(&parser);
	if (*parser.at)
		return -EOPNOTSUPP;
	resolve(&parser, jumps.when_true, RING_ACCEPTS);
	resolve(&parser, jumps.when_false, RING_REJECTS);
	return 0;
}
