// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "util/data.h"
#include "util/utf8.h"
#include "loss_svg.h"
#include "timeline.h"

/* Lengths are in units of the picture: pixels, unless it is scaled. */
#define LEFT		120
#define PLOT		860
#define RIGHT		220
#define WIDTH		(LEFT + PLOT + RIGHT)
#define LOST_X		(LEFT + PLOT + 80)
#define SHARE_X		(LEFT + PLOT + 140)
#define HOLES_X		(WIDTH - 10)
#define TOP		128
#define BOTTOM		48
#define MIN_MARK	3		/* least height of a hole, so that it is visible */
#define MAX_CELLS	16384		/* of all rows; more make browsers slow */

/**
 * struct picture
 * @file:	file that is written
 * @metric:	sums, and the times at the left and at the right end
 * @nr:		number of rows drawn
 * @has_fill:	at least one row has fill levels
 * @row_height:	height of a row with the gap below it
 * @height:	height of the upper part of a row, with rate and holes
 * @fill_height: height of the lower part, with the fill level; 0 if no row has any
 * @y:		top of the current row
 * @full_rate:	rate that is as high as @height [bytes/s]
 */
struct picture {
	FILE				*file;
	const struct loss_metric	*metric;
	int				 nr;
	bool				 has_fill;
	int				 row_height;
	int				 height;
	int				 fill_height;
	int				 y;
	double				 full_rate;
};

#define for_each_drawn(row, rows, nr)							\
	for ((row) = (rows); (row) < (rows) + (nr); (row)++)				\
		if (loss_row__counts(row) && (row)->stats->timeline &&		\
		    (row)->stats->timeline->shift)

static const char style[] =
	"<style>\n"
	"text { font: 12px system-ui, sans-serif; fill: #222 }\n"
	".title { font-size: 18px }\n"
	".small { font-size: 10px; fill: #666 }\n"
	".right { text-anchor: end }\n"
	".middle { text-anchor: middle }\n"
	".page { fill: #fff }\n"
	".plot { fill: #f1f3f5 }\n"
	".grid { stroke: #888; stroke-opacity: .35 }\n"
	".rate { fill: #4c8ed0 }\n"
	".hole { fill: #d62728; fill-opacity: .75 }\n"
	".fill { fill: #e0a030 }\n"
	".cell { fill: transparent }\n"
	".cell:hover { fill: #888; fill-opacity: .35 }\n"
	"@media (prefers-color-scheme: dark) {\n"
	"text { fill: #ddd } .small { fill: #aaa } .page { fill: #16181c }\n"
	".plot { fill: #23272e } .rate { fill: #3d77b3 } .hole { fill: #ff5a52 }\n"
	".fill { fill: #c08828 }\n"
	"}\n"
	"</style>\n";

/*
 * Elements
 */

static void put_escaped(FILE *file, const char *text)
{
	size_t len;

	for (; *text; text += len ?: 1) {
		len = utf8__len(text, strlen(text));
		if (!len || (unsigned char)*text < ' ')
			fputc('?', file);
		else if (strchr("<>&\"'", *text))
			fprintf(file, "&#%d;", *text);
		else
			fwrite(text, 1, len, file);
	}
}

/* @format: needs no escaping */
static void __printf(5, 6) put_text(const struct picture *picture, const char *class, double x,
				    int y, const char *format, ...)
{
	va_list args;

	fprintf(picture->file, "<text class=\"%s\" x=\"%.1f\" y=\"%d\">", class, x, y);
	va_start(args, format);
	vfprintf(picture->file, format, args);
	va_end(args);
	fputs("</text>\n", picture->file);
}

/* Put a rectangle, but leave its tag open: the caller ends it with "/>" or ">...</rect>". */
static void put_rect(const struct picture *picture, const char *class, double x, int y,
		     double width, int height)
{
	fprintf(picture->file,
		"<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"", class, x, y,
		width, height);
}

static void put_box(const struct picture *picture, const char *class, double x, int y, double width,
		    int height)
{
	put_rect(picture, class, x, y, width, height);
	fputs("/>\n", picture->file);
}

/*
 * Numbers and coordinates
 */

/* Return: the smallest of @steps times a power of ten that is not below @value. */
static double round_number(double value, const double *steps)
{
	double power = 1;

	if (value <= 0)
		return 1;
	while (power > value)
		power /= 10;
	while (power * 10 <= value)
		power *= 10;
	while (power * *steps < value * 0.999999)
		steps++;
	return power * *steps;
}

static const double tick_steps[] = { 1, 2, 5, 10 };
static const double scale_steps[] = { 1, 1.5, 2, 3, 4, 5, 6, 8, 10 };

/* Format a number of bytes with three digits and a unit. */
static const char *bytes_text(char *text, size_t size, double bytes)
{
	static const char * const units[] = { "B", "kB", "MB", "GB", "TB" };
	size_t unit = 0;

	for (; bytes >= 1000 && unit < ARRAY_SIZE(units) - 1; unit++)
		bytes /= 1000;
	snprintf(text, size, "%.3g %s", bytes, units[unit]);
	return text;
}

static double x_of(const struct picture *picture, u64 time)
{
	const struct loss_metric *metric = picture->metric;

	time = min(max(time, metric->begin), metric->end);
	return LEFT + (double)PLOT * (time - metric->begin) / (metric->end - metric->begin);
}

/* Get the part of bucket @i that lies in the picture. Return: is there any? */
static bool bucket_times(const struct picture *picture, const struct timeline *timeline,
			 unsigned int i, u64 *from, u64 *to)
{
	*from = max(timeline__start(timeline, i), picture->metric->begin);
	*to = min(timeline__start(timeline, i + 1), picture->metric->end);
	return *from < *to;
}

static double rate(const struct timeline *timeline, unsigned int i)
{
	return (double)timeline->bucket[i].bytes * NSEC_PER_SEC / (1ULL << timeline->shift);
}

/*
 * Curves: paths of horizontal and vertical lines, with a step for each bucket
 */

static double rate_height(const struct picture *picture, const struct timeline *timeline,
			  unsigned int i)
{
	return picture->height * rate(timeline, i) / picture->full_rate;
}

static double fill_height(const struct picture *picture, const struct timeline *timeline,
			  unsigned int i)
{
	return (double)picture->fill_height * timeline->bucket[i].fill / TIMELINE_FULL;
}

static double hole_height(const struct picture *picture, const struct timeline *timeline,
			  unsigned int i)
{
	const struct timeline_bucket *bucket = &timeline->bucket[i];
	u64 from, to;

	if (!bucket->lost || !bucket_times(picture, timeline, i, &from, &to))
		return 0;
	return max((double)MIN_MARK,
		   min(1.0, (double)bucket->hole_ns / (to - from)) * picture->height);
}

typedef double (*height_fn)(const struct picture *picture, const struct timeline *timeline,
			    unsigned int i);

/*
 * Draw from the left to the right end of the plot. @down: 1 to draw from @base down, -1 to draw up
 */
static void draw_curve(const struct picture *picture, const struct timeline *timeline,
		       const char *class, height_fn height, int base, int down)
{
	double last = 0;
	unsigned int i;
	u64 from, to;

	fprintf(picture->file, "<path class=\"%s\" d=\"M%d,%d", class, LEFT, base);
	for (i = 0; i < TIMELINE_BUCKETS; i++) {
		double now = height(picture, timeline, i);

		if (now == last || !bucket_times(picture, timeline, i, &from, &to))
			continue;
		fprintf(picture->file, "H%.1fV%.1f", x_of(picture, from), base + down * now);
		last = now;
	}
	fprintf(picture->file, "H%dV%d\"/>\n", LEFT + PLOT, base);
}

/*
 * Cells: tooltips with the figures under the pointer
 */

static void draw_cell(const struct picture *picture, const struct timeline *timeline,
		      unsigned int first, unsigned int end, const char *name)
{
	const u64 origin = picture->metric->begin;
	u64 from, to, cell_from = 0, cell_to = 0;
	struct timeline_bucket sum = { 0 };
	FILE *file = picture->file;
	char text[32];
	unsigned int i;

	for (i = first; i < end; i++) {
		if (!bucket_times(picture, timeline, i, &from, &to))
			continue;
		cell_from = cell_from ?: from;
		cell_to = to;
		timeline_bucket__add(&sum, &timeline->bucket[i]);
	}
	if (!sum.bytes && !sum.lost)
		return;
	put_rect(picture, "cell", x_of(picture, cell_from), picture->y,
		 x_of(picture, cell_to) - x_of(picture, cell_from),
		 picture->height + picture->fill_height);
	fprintf(file, "><title>%s, %.6f to %.6f s: %s/s", name, (cell_from - origin) / 1e9,
		(cell_to - origin) / 1e9,
		bytes_text(text, sizeof(text), sum.bytes * 1e9 / (cell_to - cell_from)));
	if (timeline->has_fill)
		fprintf(file, ", ring up to %u %% full", sum.fill * 100 / TIMELINE_FULL);
	if (sum.lost)
		fprintf(file, ", %" PRIu64 " events lost, %.1f %% of the time in holes", sum.lost,
			percent(sum.hole_ns, cell_to - cell_from));
	fputs("</title></rect>\n", file);
}

static void draw_cells(const struct picture *picture, const struct timeline *timeline,
		       const char *name)
{
	unsigned int nr = clamp(MAX_CELLS / picture->nr, 16, PLOT / 5);
	unsigned int step = DIV_ROUND_UP(TIMELINE_BUCKETS, nr), i;

	for (i = 0; i < TIMELINE_BUCKETS; i += step)
		draw_cell(picture, timeline, i, min_t(unsigned int, i + step, TIMELINE_BUCKETS),
			  name);
}

static void draw_row(const struct picture *picture, const struct loss_row *row)
{
	const struct timeline *timeline = row->stats->timeline;
	const int y = picture->y, bottom = y + picture->height, end = bottom + picture->fill_height;
	const int middle = (y + end) / 2 + 4;
	char name[64], text[32];

	loss_row__name(row, name, sizeof(name));
	put_text(picture, "right", LEFT - 10, middle, "%s", name);
	if (picture->height > 40)
		put_text(picture, "small right", LEFT - 10, y + 9, "%s/s",
			 bytes_text(text, sizeof(text), picture->full_rate));

	put_box(picture, "plot", LEFT, y, PLOT, end - y);
	draw_curve(picture, timeline, "rate", rate_height, bottom, -1);
	draw_curve(picture, timeline, "hole", hole_height, y, 1);
	if (picture->has_fill) {
		fprintf(picture->file, "<path class=\"grid\" d=\"M%d,%dh%d\"/>\n", LEFT, bottom,
			PLOT);
		draw_curve(picture, timeline, "fill", fill_height, end, -1);
	}
	draw_cells(picture, timeline, name);

	put_text(picture, "right", LOST_X, middle, "%" PRIu64, row->stats->lost);
	put_text(picture, "right", SHARE_X, middle, "%.2f %%",
		 percent(row->stats->lost, loss_row__events(row)));
	put_text(picture, "right", HOLES_X, middle, "%.2f %%",
		 loss_row__percent(row, picture->metric));
}

/*
 * Title, legend and axis
 */

static void draw_time_axis(const struct picture *picture, int bottom)
{
	static const struct {
		const char	*name;
		double		 ns;
	} units[] = { { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 } };
	const u64 elapsed = picture->metric->end - picture->metric->begin;
	const double step = round_number(elapsed / 10.0, tick_steps);
	size_t unit = 0;
	double ns;

	while (unit < ARRAY_SIZE(units) - 1 && elapsed < units[unit].ns)
		unit++;
	for (ns = 0; ns <= elapsed; ns += step) {
		double x = LEFT + PLOT * ns / elapsed;

		fprintf(picture->file, "<path class=\"grid\" d=\"M%.1f,%dV%d\"/>\n", x, TOP,
			bottom + 4);
		put_text(picture, "middle", x, bottom + 18, "%g", ns / units[unit].ns);
		if (picture->nr > 16)
			put_text(picture, "middle", x, TOP - 8, "%g", ns / units[unit].ns);
	}
	put_text(picture, "middle", LEFT + PLOT / 2, bottom + 38,
		 "time since the first record [%s]", units[unit].name);
}

static void draw_legend(const struct picture *picture)
{
	const int y = 78;
	char text[32];

	put_box(picture, "rate", LEFT, y, 14, 12);
	put_text(picture, "", LEFT + 20, y + 11, "data rate, a row is %s/s high",
		 bytes_text(text, sizeof(text), picture->full_rate));
	put_box(picture, "hole", LEFT + 250, y, 14, 12);
	put_text(picture, "", LEFT + 270, y + 11,
		 "holes: time in which events were lost, from the top");
	if (picture->has_fill) {
		put_box(picture, "fill", LEFT + 600, y, 14, 12);
		put_text(picture, "", LEFT + 620, y + 11, "fill level of the ring, below");
	}
	put_text(picture, "small right", LOST_X, TOP - 8, "events lost");
	put_text(picture, "small right", SHARE_X, TOP - 8, "share");
	put_text(picture, "small right", HOLES_X, TOP - 8, "time in holes");
}

static void draw_head(const struct picture *picture, const char *title)
{
	const struct loss_metric *metric = picture->metric;
	const int height = TOP + picture->nr * picture->row_height + BOTTOM;
	FILE *file = picture->file;

	fprintf(file, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
		"width=\"%d\" height=\"%d\">\n<title>", WIDTH, height, WIDTH, height);
	put_escaped(file, title);
	fprintf(file, "</title>\n%s", style);
	put_box(picture, "page", 0, 0, WIDTH, height);
	fprintf(file, "<text class=\"title\" x=\"%d\" y=\"34\">", LEFT);
	put_escaped(file, title);
	fputs("</text>\n", file);
	put_text(picture, "", LEFT, 58, "Lost %" PRIu64 " of %" PRIu64 " events (%.2f %%)",
		 metric->lost, metric->events, percent(metric->lost, metric->events));
	if (picture->nr)
		put_text(picture, "", LEFT + 360, 58, "%" PRIu64 " holes in %u ring%s; data loss "
			 "metric %.2f %% of %.6f s", metric->holes, metric->rings,
			 metric->rings == 1 ? "" : "s", loss_metric__percent(metric),
			 (metric->end - metric->begin) / 1e9);
	else
		put_text(picture, "", LEFT, 82, "Nothing to draw: no event with a time was read "
			 "from a ring that can be full");
}

static void measure(struct picture *picture, struct loss_row *rows, int nr)
{
	double most = 0;
	unsigned int shift = 0, i;
	struct loss_row *row;

	for_each_drawn(row, rows, nr) {
		picture->nr++;
		shift = max(shift, row->stats->timeline->shift);
		picture->has_fill |= row->stats->timeline->has_fill;
	}
	for_each_drawn(row, rows, nr) {
		timeline__coarsen(row->stats->timeline, shift);
		for (i = 0; i < TIMELINE_BUCKETS; i++)
			most = max(most, rate(row->stats->timeline, i));
	}
	picture->full_rate = round_number(most, scale_steps);
	picture->row_height = picture->nr <= 4 ? 110 :
			      picture->nr <= 16 ? 64 :
			      picture->nr <= 64 ? 32 : 16;
	picture->fill_height = picture->has_fill ? picture->row_height / 4 : 0;
	picture->height = picture->row_height * 15 / 16 - picture->fill_height;
}

static int close_file(FILE *file)
{
	int failed = ferror(file);

	return fclose(file) || failed ? -(errno ?: EIO) : 0;
}

int loss_svg__write(FILE *file, const char *title, const struct loss_metric *metric,
		    struct loss_row *rows, int nr)
{
	struct picture picture = { .file = file, .metric = metric, .y = TOP };
	struct loss_row *row;

	if (metric->end > metric->begin)
		measure(&picture, rows, nr);
	draw_head(&picture, title);
	for_each_drawn(row, rows, picture.nr ? nr : 0) {
		draw_row(&picture, row);
		picture.y += picture.row_height;
	}
	if (picture.nr) {
		draw_legend(&picture);
		draw_time_axis(&picture, picture.y);
	}
	fputs("</svg>\n", file);
	return close_file(file);
}

static int write_beside(const char *path, const char *title, const struct loss_metric *metric,
			struct loss_row *rows, int nr)
{
	struct stat st;
	char *part;
	FILE *file;
	int err;

	if (asprintf(&part, "%s.%d", path, getpid()) < 0)
		return -ENOMEM;
	file = fopen(part, "wxe");
	err = file ? 0 : -errno;
	if (file && !stat(path, &st))
		fchmod(fileno(file), st.st_mode & 0777);
	if (file)
		err = loss_svg__write(file, title, metric, rows, nr);
	if (!err && rename(part, path))
		err = -errno;
	if (file && err)
		unlink(part);
	free(part);
	return err;
}

int loss_svg__save(const char *path, const char *title, const struct loss_metric *metric,
		   struct loss_row *rows, int nr)
{
	char *target = realpath(path, NULL);	/* a symbolic link stays */
	bool is_special;
	struct stat st;
	FILE *file;
	int err;

	if (stat(path, &st))	/* no file, or a symbolic link that leads to none yet */
		is_special = !lstat(path, &st);
	else
		is_special = !S_ISREG(st.st_mode);
	if (!is_special && is_perf_data(path)) {	/* not to be replaced by mistake */
		free(target);
		return -EMEDIUMTYPE;
	}
	err = is_special ? -EPERM : write_beside(target ?: path, title, metric, rows, nr);
	free(target);
	if (err != -EACCES && err != -EPERM)
		return err;
	/* A pipe, a device, a new file; or the directory cannot be written, but maybe the file. */
	file = fopen(path, "we");
	return file ? loss_svg__write(file, title, metric, rows, nr) : -errno;
}
