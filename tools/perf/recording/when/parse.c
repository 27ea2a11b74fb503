// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "recording/lib/quantity.h"
#include "condition.h"

#define MAX_WORD	128

/**
 * struct parser
 * @text:	begin of the condition
 * @at:		what is parsed next
 * @error:	set by fail()
 * @out_of_memory: a string could not be copied
 */
struct parser {
	const char		*text;
	const char		*at;
	const struct when_names *names;
	struct when_condition	*condition;
	struct when_error	*error;
	bool			 out_of_memory;
};

static const char * const durations[] = {
	[DURATION_SCHED_DELAY] = "sched-delay",
	[DURATION_OFF_CPU]     = "off-cpu",
	[DURATION_ON_CPU]      = "on-cpu",
	[DURATION_SYSCALL]     = "syscall",
	[DURATION_IRQ]	       = "irq",
	[DURATION_SOFTIRQ]     = "softirq",
};

/* Note an error at @at. Return: false. */
static bool __printf(3, 4) fail(struct parser *parser, const char *at, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	parser->error->at = at - parser->text;
	vsnprintf(parser->error->text, sizeof(parser->error->text), format, args);
	va_end(args);
	return false;
}

static void skip_blanks(struct parser *parser)
{
	while (isblank((unsigned char)*parser->at))
		parser->at++;
}

/* Take @text if it comes next. */
static bool take(struct parser *parser, const char *text)
{
	skip_blanks(parser);
	if (strncmp(parser->at, text, strlen(text)))
		return false;
	parser->at += strlen(text);
	return true;
}

/* Characters of the names of durations, events, fields and system calls */
static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == ':';
}

/* Copy the next name to @word, which is empty if there is none. Return: false if it is too long. */
static bool take_word(struct parser *parser, char word[MAX_WORD])
{
	size_t len = 0;

	skip_blanks(parser);
	while (is_name(parser->at[len]))
		len++;
	if (len >= MAX_WORD)
		return fail(parser, parser->at, "a name has at most %d characters", MAX_WORD - 1);
	memcpy(word, parser->at, len);
	word[len] = '\0';
	parser->at += len;
	return true;
}

static char *copy(struct parser *parser, const char *text)
{
	char *string = strdup(text);

	parser->out_of_memory |= !string;
	return string;
}

/*
 * Durations
 */

static bool parse_states(struct parser *parser)
{
	struct duration_condition *judged = &parser->condition->judged;
	const char *letter;

	skip_blanks(parser);
	for (; *parser->at && *parser->at != ')'; parser->at++, skip_blanks(parser)) {
		letter = strchr(DURATION_STATE_LETTERS, *parser->at);
		if (!letter)
			return fail(parser, parser->at, "'%c' is no state of a task. There are: "
				    "R (preempted), S, D, T, t, P and I, as ps prints them",
				    *parser->at);
		if (strchr("XZ", *parser->at))
			return fail(parser, parser->at,
				    "a task in the state %c has exited, and never runs again",
				    *parser->at);
		judged->states |= 1 << (letter - DURATION_STATE_LETTERS);
	}
	if (!judged->states)
		return fail(parser, parser->at, "which state? Example: off-cpu(D)>200ms");
	return true;
}

static bool parse_syscall(struct parser *parser)
{
	struct duration_condition *judged = &parser->condition->judged;
	const char *begin, *similar;
	char name[MAX_WORD];
	int number;

	skip_blanks(parser);
	begin = parser->at;
	if (!take_word(parser, name))
		return false;
	if (!*name)
		return fail(parser, begin,
			    "which system call? Example: syscall(fsync,openat)>50ms");
	number = parser->names->syscall(name);
	if (number < 0) {
		similar = parser->names->similar_syscall(name);
		return fail(parser, begin, "no system call '%s'%s%s%s", name,
			    similar ? "; did you mean '" : "", similar ?: "", similar ? "'?" : "");
	}
	if (judged->nr_syscalls == DURATION_MAX_SYSCALLS)
		return fail(parser, begin, "a condition names at most %d system calls: give the "
			    "option once more", DURATION_MAX_SYSCALLS);
	judged->syscalls[judged->nr_syscalls++] = number;
	return true;
}

static bool parse_syscalls(struct parser *parser)
{
	do {
		if (!parse_syscall(parser))
			return false;
	} while (take(parser, ","));
	return true;
}

static bool parse_arguments(struct parser *parser, int kind)
{
	const char *begin;

	if (kind == DURATION_OFF_CPU)
		parser->condition->judged.states = DURATION_STATES_USUAL;
	skip_blanks(parser);
	begin = parser->at;
	if (!take(parser, "("))
		return true;
	if (kind == DURATION_OFF_CPU) {
		parser->condition->judged.states = 0;
		if (!parse_states(parser))
			return false;
	} else if (kind == DURATION_SYSCALL) {
		if (!parse_syscalls(parser))
			return false;
	} else {
		return fail(parser, begin, "%s has no arguments: only off-cpu(STATES) and "
			    "syscall(NAME,...) have", durations[kind]);
	}
	if (take(parser, ")"))
		return true;
	return fail(parser, parser->at, "')' is missing, which ends what began at column %d",
		    (int)(begin - parser->text) + 1);
}

static bool check_event(struct parser *parser, const char *at, const char *event)
{
	const char *colon = strchr(event, ':');

	if (colon && colon > event && colon[1] && !strchr(colon + 1, ':'))
		return true;
	return fail(parser, at,
		    "'%s' is no event: SYSTEM:NAME, as perf list prints tracepoints and "
		    "probes", event);
}

/* @begin_at: where the first event begins */
static bool parse_pair(struct parser *parser, const char *begin_at, const char *begin)
{
	struct when_condition *condition = parser->condition;
	char end[MAX_WORD];
	const char *end_at;

	skip_blanks(parser);
	end_at = parser->at;
	if (!take_word(parser, end))
		return false;
	if (!*end)
		return fail(parser, end_at, "which event ends the duration? Example: "
			    "block:block_rq_issue..block:block_rq_complete>50ms by sector");
	if (!check_event(parser, begin_at, begin) || !check_event(parser, end_at, end))
		return false;
	condition->judged.kind = DURATION_PAIR;
	condition->begin = copy(parser, begin);
	condition->end = copy(parser, end);
	return true;
}

static bool parse_duration(struct parser *parser)
{
	const char *begin;
	char name[MAX_WORD];
	size_t kind;

	skip_blanks(parser);
	begin = parser->at;
	if (!take_word(parser, name))
		return false;
	if (take(parser, ".."))
		return parse_pair(parser, begin, name);
	for (kind = 0; kind < ARRAY_SIZE(durations); kind++) {
		if (strcmp(name, durations[kind]))
			continue;
		parser->condition->judged.kind = kind;
		return parse_arguments(parser, kind);
	}
	if (strchr(name, ':'))
		return fail(parser, parser->at,
			    "an event has no duration: '..' and the event that ends "
			    "it are missing");
	return fail(parser, begin, "%s%s%s. There are: sched-delay, off-cpu, on-cpu, syscall, irq, "
		    "softirq, and EVENT..EVENT",
		    *name ? "no duration is called '" : "a duration is missing", name,
		    *name ? "'" : "");
}

/*
 * Thresholds
 */

static bool take_time(struct parser *parser, u64 *ns)
{
	const char *problem;

	skip_blanks(parser);
	problem = quantity__take_time(&parser->at, ns);
	return problem ? fail(parser, parser->at, "%s", problem) : true;
}

static bool parse_threshold(struct parser *parser)
{
	bool greater = take(parser, ">");
	u64 ns;

	if (*parser->at == '=' || *parser->at == '<')
		return fail(parser, parser->at, "only '>' compares durations");
	if (!greater)
		return fail(parser, parser->at,
			    "'>' and a time are missing here. Example: sched-delay>10ms");
	if (!take_time(parser, &ns))
		return false;
	parser->condition->judged.threshold_ns = ns;
	return true;
}

/*
 * Filters
 */

/* Copy a value, without quotes and blanks around it. */
static bool take_value(struct parser *parser, char *value, size_t size)
{
	const char *begin, *end;
	bool quoted = take(parser, "\"");

	begin = parser->at;
	end = begin + strcspn(begin, quoted ? "\"" : ",");
	parser->at = end;
	if (quoted && *end != '"')
		return fail(parser, begin - 1, "the quote is not closed");
	parser->at += quoted;
	while (!quoted && end > begin && isblank((unsigned char)end[-1]))
		end--;
	if (end == begin)
		return fail(parser, begin, "a value is missing");
	if (!quoted && (memmem(begin, end - begin, "==", 2) || memmem(begin, end - begin, "!=", 2)))
		return fail(parser, begin,
			    "a comma must separate two filters. A value with == or != is put in "
			    "double quotes");
	if ((size_t)(end - begin) >= size)
		return fail(parser, begin, "the value is longer than %zu bytes", size - 1);
	memcpy(value, begin, end - begin);
	value[end - begin] = '\0';
	return true;
}

static bool parse_comm(struct parser *parser)
{
	char value[DURATION_COMM_LEN] = "";

	if (!take_value(parser, value, sizeof(value)))
		return false;
	memcpy(parser->condition->judged.comm, value, sizeof(value));
	return true;
}

static bool parse_pid(struct parser *parser)
{
	char value[16], *end;
	const char *begin;
	unsigned long pid;

	skip_blanks(parser);
	begin = parser->at;
	if (!take_value(parser, value, sizeof(value)))
		return false;
	pid = strtoul(value, &end, 10);
	if (!isdigit((unsigned char)*value) || *end || !pid || pid > INT_MAX)
		return fail(parser, begin, "'%s' is no process id", value);
	parser->condition->judged.pid = pid;
	return true;
}

static bool parse_cgroup(struct parser *parser)
{
	char value[PATH_MAX];
	const char *begin;

	skip_blanks(parser);
	begin = parser->at;
	if (!take_value(parser, value, sizeof(value)))
		return false;
	if (!parser->names->cgroup(value))
		return fail(parser, begin,
			    "no cgroup (v2) '%.100s': a path as in /proc/PID/cgroup, such as "
			    "/system.slice/ssh.service", value);
	parser->condition->cgroup = copy(parser, value);
	return true;
}

static bool parse_filter(struct parser *parser)
{
	static const struct {
		const char	*name;
		u32		 is, is_not;
		bool		 (*parse)(struct parser *parser);
	} filters[] = {
		{ "comm",   DURATION_IF_COMM,   DURATION_UNLESS_COMM,   parse_comm },
		{ "cgroup", DURATION_IF_CGROUP, DURATION_UNLESS_CGROUP, parse_cgroup },
		{ "pid",    DURATION_IF_PID,    DURATION_UNLESS_PID,    parse_pid },
	};
	u32 *set = &parser->condition->judged.filters;
	char name[MAX_WORD];
	const char *begin;
	bool is_not;
	size_t i;

	skip_blanks(parser);
	begin = parser->at;
	if (!take_word(parser, name))
		return false;
	for (i = 0; i < ARRAY_SIZE(filters) && strcmp(name, filters[i].name);)
		i++;
	if (i == ARRAY_SIZE(filters))
		return fail(parser, begin,
			    "a filter is one of comm==NAME, cgroup==PATH and pid==NUMBER");
	if (*set & (filters[i].is | filters[i].is_not))
		return fail(parser, begin,
			    "a condition compares %s once: give the option once more", name);
	is_not = take(parser, "!=");
	if (!is_not && !take(parser, "=="))
		return fail(parser, parser->at, "'==' or '!=' is missing after %s", name);
	*set |= is_not ? filters[i].is_not : filters[i].is;
	return filters[i].parse(parser);
}

/* Take @word if it comes next, and is no longer word. */
static bool take_keyword(struct parser *parser, const char *word)
{
	const char *begin = parser->at;

	if (take(parser, word) && !is_name(*parser->at))
		return true;
	parser->at = begin;
	return false;
}

static bool parse_field(struct parser *parser, const char *begin)
{
	char name[MAX_WORD];

	if (parser->condition->judged.kind != DURATION_PAIR)
		return fail(parser, begin,
			    "'by' belongs to EVENT..EVENT: all other durations are those of a "
			    "thread or a CPU");
	skip_blanks(parser);
	begin = parser->at;
	if (!take_word(parser, name))
		return false;
	if (!*name || strpbrk(name, ":-"))
		return fail(parser, begin, "a field that both events have is missing. Example: "
			    "block:block_rq_issue..block:block_rq_complete>50ms by sector");
	parser->condition->field = copy(parser, name);
	return true;
}

static bool parse(struct parser *parser)
{
	const char *begin;

	if (!parse_duration(parser) || !parse_threshold(parser))
		return false;
	skip_blanks(parser);
	begin = parser->at;
	if (take_keyword(parser, "by") && !parse_field(parser, begin))
		return false;
	if (take_keyword(parser, "if")) {
		do {
			if (!parse_filter(parser))
				return false;
		} while (take(parser, ","));
	}
	skip_blanks(parser);
	if (!*parser->at)
		return true;
	return fail(parser, parser->at,
		    "the condition should end here. After the time, only %s'if' may "
		    "follow", parser->condition->judged.kind == DURATION_PAIR ? "'by' and " : "");
}

int when_condition__parse(struct when_condition *condition, const char *text,
			  const struct when_names *names, struct when_error *error)
{
	struct parser parser = {
		.text = text, .at = text, .names = names, .condition = condition, .error = error,
	};
	const char *begin = text + strspn(text, " \t");
	size_t len = strlen(begin);
	bool parsed;

	*condition = (struct when_condition){ 0 };
	*error = (struct when_error){ 0 };
	parsed = parse(&parser);
	while (len && isblank((unsigned char)begin[len - 1]))
		len--;
	if (parsed)
		condition->text = strndup(begin, len);
	if (parsed && condition->text && !parser.out_of_memory)
		return 0;
	when_condition__exit(condition);
	return parsed ? -ENOMEM : -EINVAL;
}

void when_condition__exit(struct when_condition *condition)
{
	zfree(&condition->text);
	zfree(&condition->cgroup);
	zfree(&condition->begin);
	zfree(&condition->end);
	zfree(&condition->field);
}
