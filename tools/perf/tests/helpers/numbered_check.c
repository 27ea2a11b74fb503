// SPDX-License-Identifier: GPL-2.0-only
/*
 * Check that a recording has every call of numbered, once and in order.
 *
 * Read the text of raw_syscalls:sys_enter from standard input, as perf script prints it. Only the
 * parenthesis with the six arguments matters: any -F with 'trace' will do. A line "# file NAME"
 * begins the next file. Calls missing between the last number of a file and the first of the next
 * one are counted apart from those missing inside a file.
 *
 * A bitmap of the numbers seen makes the counts of missing, repeated and disordered calls exact in
 * any order.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numbered.h"

#define MAX_GAPS_SHOWN	20
/* No run issues nearly as many calls: a larger number is a damaged record. */
#define MAX_NUMBER	(1ul << 33)
#define WORD_BITS	(8 * sizeof(unsigned long))

struct thread {
	unsigned long	tag;
	unsigned long	*seen;		/* bitmap, one bit for each number */
	size_t		words;
	unsigned long	first, low, high;	/* first to arrive, smallest, largest */
	unsigned long	distinct, repeated, disordered;
	unsigned long	inside, boundary;	/* missing when the next number arrived */
	unsigned long	file;		/* file of the last arrival */
	bool		expected;
	unsigned long	expected_last;
	struct thread	*next;
};

struct list {
	unsigned long	*values;
	size_t		nr, room;
};

static struct thread *threads;
static unsigned long gaps_shown;
static unsigned long files, files_with_calls;	/* file 0: before any "# file" line */
static const char *file_name = "stdin";
/* Calls missing between two files, of all threads: what a snapshot lost. */
static struct list boundaries;

static struct {
	bool		quiet;
	bool		from_start;
	const char	*expect;
	const char	*result;
	const char	*suffix;
} opt = { .suffix = "" };

static void *check_alloc(void *p)
{
	if (!p) {
		perror("numbered_check");
		exit(2);
	}
	return p;
}

static struct thread *thread__get(unsigned long tag)
{
	struct thread **link = &threads;

	while (*link && (*link)->tag < tag)
		link = &(*link)->next;
	if (!*link || (*link)->tag != tag) {
		struct thread *t = check_alloc(calloc(1, sizeof(*t)));

		t->tag = tag;
		t->next = *link;
		*link = t;
	}
	return *link;
}

/* Mark number @n as seen. Return whether it had been seen before. */
static bool thread__mark(struct thread *t, unsigned long n)
{
	size_t word = n / WORD_BITS;
	unsigned long bit = 1ul << (n % WORD_BITS);
	bool before;

	if (word >= t->words) {
		size_t words = 2 * word + 1024;

		t->seen = check_alloc(realloc(t->seen, words * sizeof(*t->seen)));
		memset(t->seen + t->words, 0, (words - t->words) * sizeof(*t->seen));
		t->words = words;
	}
	before = t->seen[word] & bit;
	t->seen[word] |= bit;
	return before;
}

static void list__set(struct list *l, size_t i, unsigned long add)
{
	if (i >= l->room) {
		size_t room = 2 * i + 64;

		l->values = check_alloc(realloc(l->values, room * sizeof(*l->values)));
		memset(l->values + l->room, 0, (room - l->room) * sizeof(*l->values));
		l->room = room;
	}
	if (i >= l->nr)
		l->nr = i + 1;
	l->values[i] += add;
}

static void gap(struct thread *t, unsigned long n)
{
	unsigned long missing = n - t->high - 1;
	bool boundary = t->file != files;

	if (boundary) {
		t->boundary += missing;
		list__set(&boundaries, files, missing);
	} else {
		t->inside += missing;
	}
	if (!opt.quiet && gaps_shown++ < MAX_GAPS_SHOWN)
		printf("thread %lu: %lu missing, %lu to %lu, %s %s\n", t->tag, missing, t->high + 1,
		       n - 1, boundary ? "before" : "inside", file_name);
}

static void call(unsigned long n, unsigned long tag)
{
	struct thread *t = thread__get(tag);

	if (!t->distinct) {
		t->first = n;
		t->low = n;
		t->high = n;
	} else if (n > t->high + 1) {
		gap(t, n);
	}
	if (thread__mark(t, n)) {
		t->repeated++;
	} else {
		t->distinct++;
		if (n < t->high)
			t->disordered++;
	}
	if (n > t->high)
		t->high = n;
	if (n < t->low)
		t->low = n;
	t->file = files;
}

static void next_file(char *name)
{
	static char *kept;

	name[strcspn(name, "\n")] = '\0';
	free(kept);
	kept = check_alloc(strdup(name));
	file_name = kept;
	files++;
	if (files > 1)
		list__set(&boundaries, files, 0);
}

static void read_trace(FILE *in)
{
	unsigned long counted = -1ul;	/* last file known to hold calls */
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, in) > 0) {
		unsigned long n, tag;
		char *p, *end;

		if (!strncmp(line, "# file ", 7)) {
			next_file(line + 7);
			continue;
		}
		p = strrchr(line, '(');
		if (!p)
			continue;
		n = strtoul(p + 1, &end, 16);
		if (*end != ',')
			continue;
		tag = strtoul(end + 1, &end, 16);
		if (*end != ',' || strtoul(end + 1, NULL, 16) != NUMBERED_MAGIC)
			continue;
		if (!n || n > MAX_NUMBER) {
			fprintf(stderr, "numbered_check: damaged record in %s: %s", file_name,
				line);
			exit(1);
		}
		call(n, tag);
		if (counted != files) {
			counted = files;
			files_with_calls++;
		}
	}
	free(line);
}

static void read_expected(void)
{
	unsigned long tag, last, found = 0;
	FILE *in = fopen(opt.expect, "r");
	char *line = NULL;
	size_t room = 0;

	if (!in) {
		perror(opt.expect);
		exit(2);
	}
	while (getline(&line, &room, in) > 0) {
		struct thread *t;

		if (sscanf(line, "thread %lu tid %*d cpu %*d last %lu", &tag, &last) != 2)
			continue;
		t = thread__get(tag);
		t->expected = true;
		t->expected_last = last;
		found++;
	}
	if (!found) {
		fprintf(stderr, "numbered_check: no 'thread' line of numbered in %s\n", opt.expect);
		exit(2);
	}
	free(line);
	fclose(in);
}

static int compare(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

	return x < y ? -1 : x > y;
}

static void result(const char *name, unsigned long value)
{
	printf("RESULT %s-%s%s %lu records\n", opt.result, name, opt.suffix, value);
}

/* Print the verdict. Return the number of faults: calls missing, repeated or out of order. */
static unsigned long report(void)
{
	unsigned long total = 0, missing = 0, inside = 0, boundary = 0;
	unsigned long repeated = 0, disordered = 0;
	unsigned long *b = boundaries.values, nr_b = 0, median = 0, max = 0;

	for (struct thread *t = threads; t; t = t->next) {
		unsigned long absent, before = 0, after = 0;

		absent = t->distinct ? t->high - t->low + 1 - t->distinct : 0;
		if (opt.from_start && t->distinct)
			before = t->low - 1;
		if (t->expected && t->high < t->expected_last)
			after = t->expected_last - t->high;
		if (t->expected && t->high > t->expected_last) {
			printf("thread %lu: number %lu was never issued, %lu was the last\n",
			       t->tag, t->high, t->expected_last);
			disordered++;
		}
		total += t->distinct + t->repeated;
		missing += absent + before + after;
		inside += t->inside;
		boundary += t->boundary;
		repeated += t->repeated;
		disordered += t->disordered;
		if (opt.quiet)
			continue;
		printf("thread %lu: first %lu last %lu, %lu missing ", t->tag, t->first, t->high,
		       absent + before + after);
		printf("(%lu inside files, %lu between files", t->inside, t->boundary);
		if (opt.from_start)
			printf(", %lu before the first", before);
		if (t->expected)
			printf(", %lu after the last", after);
		printf("), %lu repeated, %lu out of order\n", t->repeated, t->disordered);
	}
	if (!opt.quiet && gaps_shown > MAX_GAPS_SHOWN)
		printf("(%lu more gaps are not shown)\n", gaps_shown - MAX_GAPS_SHOWN);

	/* The first boundary is the one before file 2. */
	if (boundaries.nr > 2) {
		b += 2;
		nr_b = boundaries.nr - 2;
		qsort(b, nr_b, sizeof(*b), compare);
		median = b[nr_b / 2];
		max = b[nr_b - 1];
	}
	printf("%lu records in %lu files (%lu of them hold some): ", total, files ? files : 1,
	       files_with_calls);
	printf("%lu missing, %lu repeated, %lu out of order; ", missing, repeated, disordered);
	printf("between files: median %lu, max %lu missing\n", median, max);
	if (opt.result) {
		result("seen", total);
		result("missing", missing);
		result("missing-inside", inside);
		result("missing-between", boundary);
		result("boundary-median", median);
		result("boundary-max", max);
		result("repeated", repeated);
		result("disordered", disordered);
	}
	if (!total) {
		printf("no numbered call\n");
		return 1;
	}
	return missing + repeated + disordered;
}

static void usage(FILE *out)
{
	fprintf(out,
		"usage: { echo '# file NAME'; perf script -F trace -i NAME; ... } |\n"
		"           numbered_check [options]\n"
		"Check that the files have every call of numbered, once and in order.\n\n"
		"  -e, --expect FILE   output of numbered: each thread must reach its last number\n"
		"  -s, --from-start    each thread must start at 1 (default: at the first number seen)\n"
		"  -R, --result NAME   also print lines \"RESULT NAME-FIGURE<suffix> VALUE records\"\n"
		"  -S, --suffix TEXT   suffix of those names (default: none)\n"
		"  -q, --quiet         print only the line of totals\n"
		"  -h, --help          print this text and exit\n\n"
		"Exit status: 0 all calls are there; 1 calls are missing, repeated or out of order, or\n"
		"there is none; 2 cannot check.\n");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "expect",	required_argument, NULL, 'e' },
		{ "from-start",	no_argument,	   NULL, 's' },
		{ "result",	required_argument, NULL, 'R' },
		{ "suffix",	required_argument, NULL, 'S' },
		{ "quiet",	no_argument,	   NULL, 'q' },
		{ "help",	no_argument,	   NULL, 'h' },
		{ }
	};
	int c;

	while ((c = getopt_long(argc, argv, "e:sR:S:qh", options, NULL)) != -1) {
		switch (c) {
		case 'e': opt.expect = optarg; break;
		case 's': opt.from_start = true; break;
		case 'R': opt.result = optarg; break;
		case 'S': opt.suffix = optarg; break;
		case 'q': opt.quiet = true; break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (optind < argc) {
		usage(stderr);
		return 2;
	}
	if (opt.expect)
		read_expected();
	read_trace(stdin);
	return report() ? 1 : 0;
}
