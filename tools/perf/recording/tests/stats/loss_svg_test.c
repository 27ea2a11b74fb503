// SPDX-License-Identifier: GPL-2.0-only
/*
 * The picture of perf loss: its rows, escaped titles, and valid coordinates.
 * tags: fast parallel
 *
 * loss_svg_test [FILE.svg [CPUS]] writes the picture of a machine with CPUS CPUs. Prints KTAP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <perf/event.h>

#include "recording/stats/loss_svg.h"
#include "recording/stats/timeline.h"
#include "perf/tests/tap.h"

#define SECONDS		30
#define STEP		1000000ull		/* the ring is drained each ms */

struct evlist;

int evlist__parse_sample_timestamp(struct evlist *evlist, union perf_event *event, u64 *time)
{
	(void)evlist, (void)event, (void)time;
	return -1;
}

bool is_perf_data(const char *path)
{
	(void)path;
	return false;
}

/* Triangle wave between -1 and 1. */
static double wave(double t, double period)
{
	double phase = t / period - (u64)(t / period);

	return phase < 0.5 ? 4 * phase - 1 : 3 - 4 * phase;
}

/* Simulate a CPU with changing load. Events that do not fit into its ring of 512 kB are lost. */
static void simulate(struct ring_stats *stats, int cpu)
{
	const u64 begin = 1000000000000ull, size = 512 << 10;
	u64 time, from = 0;

	for (time = begin; time < begin + SECONDS * 1000 * STEP; time += STEP) {
		double t = (time - begin) / 1e9;
		double load = wave(t + cpu, 9 + cpu % 5) + 0.3 * wave(t, 0.7);
		u64 bytes = cpu % 16 == 15 ? 0 : (load > 0 ? load : 0) * 600000;
		u64 kept = bytes < size ? bytes : size;

		if (!kept)
			continue;
		timeline__add(stats->timeline, time, time + STEP, kept);
		timeline__fill(stats->timeline, time + STEP, kept, size);
		if (bytes > kept)
			ring_stats__lose(stats, (bytes - kept) / 100, from, time + STEP);
		from = time + STEP * kept / bytes;
		stats->records += kept / 100;
		stats->samples += kept / 100;
		stats->first = stats->first ?: time;
		stats->last = time + STEP;
	}
}

/* Draw the picture of @nr CPUs. Return: the file, to be freed. */
static char *draw(int nr)
{
	struct ring_stats *stats = calloc(nr, sizeof(*stats));
	struct loss_row *rows = calloc(nr, sizeof(*rows));
	struct loss_metric metric;
	char *svg = NULL;
	size_t len;
	int i;

	for (i = 0; i < nr; i++) {
		rows[i] = (struct loss_row){ .stats = &stats[i], .cpu = i, .tid = -1 };
		stats[i].timeline = calloc(1, sizeof(*stats[i].timeline));
		simulate(&stats[i], i);
	}
	loss_metric__compute(&metric, rows, nr);
	check(!loss_svg__write(open_memstream(&svg, &len), "a <b> & \"c\"\n\1", &metric, rows, nr),
	      "the picture is written");
	for (i = 0; i < nr; i++)
		free(stats[i].timeline);
	free(stats);
	free(rows);
	return svg;
}

static int count(const char *text, const char *what)
{
	int nr;

	for (nr = 0; (text = strstr(text, what)); nr++)
		text += strlen(what);
	return nr;
}

static bool is_svg(const char *text)
{
	size_t len = strlen(text);

	return !strncmp(text, "<svg ", 5) && len > 7 && !strcmp(text + len - 7, "</svg>\n") &&
	       !strstr(text, "nan") && !strstr(text, "inf");
}

/* Draw a ring with the largest numbers that a damaged file can have. Return: the file. */
static char *draw_extremes(void)
{
	struct timeline *timeline = calloc(1, sizeof(*timeline));
	struct ring_stats stats = {
		.records = ~0ull, .samples = ~0ull, .lost = ~0ull, .holes = 1, .hole_ns = ~0ull,
		.first = 1, .last = ~0ull - 1, .timeline = timeline,
	};
	struct loss_row row = { .stats = &stats, .cpu = -1, .tid = -1 };
	struct loss_metric metric;
	char *svg = NULL;
	size_t len;

	timeline__add(timeline, stats.first, stats.last, ~0ull);
	timeline__lose(timeline, stats.last - 1, stats.last, ~0ull);
	timeline__lose(timeline, stats.first, stats.last, ~0ull);
	loss_metric__compute(&metric, &row, 1);
	loss_svg__write(open_memstream(&svg, &len), "", &metric, &row, 1);
	free(timeline);
	return svg;
}

int main(int argc, char **argv)
{
	int nr = argc > 2 ? atoi(argv[2]) : 272;
	const char *path = argc > 1 ? argv[1] : "/dev/null";
	char *svg = draw(nr);
	FILE *file = fopen(path, "w");

	if (!file || fputs(svg, file) < 0 || fclose(file))
		return 1;
	check(is_svg(svg), "the file is one svg element, and all coordinates are numbers");
	check(count(svg, "class=\"plot\"") == nr - nr / 16, "each ring with samples has a row");
	check(count(svg, "class=\"hole\" d=") == nr - nr / 16,
	      "each ring with samples has its holes");
	check(strstr(svg, "<title>a &#60;b&#62; &#38; &#34;c&#34;?"), "any title is escaped");
	check(strlen(svg) < 8 << 20, "the file is not too large for a browser");
	free(svg);

	svg = draw(0);
	check(is_svg(svg), "a picture without rows is valid");
	free(svg);

	svg = draw_extremes();
	check(is_svg(svg) && count(svg, "class=\"plot\"") == 1,
	      "a picture of the largest numbers is valid");
	free(svg);
	return tap_end();
}
