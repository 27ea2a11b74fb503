// SPDX-License-Identifier: GPL-2.0-only
/*
 * Format the summary of perf record.
 */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "util/debug.h"
#include "recording/aux/snapshot.h"
#include "recording/keep/keep.h"
#include "advice.h"
#include "loss_report.h"
#include "recording/lib/printable.h"
#include "recording/output/output.h"
#include "recording/snapshot/overwrite.h"
#include "recording/snapshot/trigger_limit.h"
#include "recording/when/condition.h"
#include "recording/when/when.h"
#include "summary.h"
#include "summary_json.h"

/* Print a line on standard error, unless -q is given. */
#define print_line(fmt, ...)									\
	do {										\
		if (!quiet)								\
			fprintf(stderr, "[ perf record: " fmt " ]\n", ##__VA_ARGS__);	\
	} while (0)

static double megabytes(u64 bytes)
{
	return bytes / 1024.0 / 1024.0;
}

static double seconds(u64 ns)
{
	return (double)ns / NSEC_PER_SEC;
}

static const char *plural(u64 n)
{
	return n == 1 ? "" : "s";
}

/* Largest -m; see check_pages() in options.c. */
#define MAX_RING_BYTES	(1ULL << 30)

static const char *ring_name(const struct coverage_ring *ring, char *buf, size_t size)
{
	if (ring->cpu >= 0)
		snprintf(buf, size, "CPU %d", ring->cpu);
	else
		snprintf(buf, size, "thread %d", ring->tid);
	return buf;
}

/* Say how long the snapshot is complete, and which ring limits that. */
static void format_coverage(const struct summary *summary, const struct snapshot_stats *stats,
			    char *buf, size_t size)
{
	const struct coverage *coverage = &stats->coverage;
	double covered = seconds(coverage__ns(coverage)), end = seconds(coverage->newest);
	char limiting[32];

	if (!coverage->newest)
		return;
	if (coverage->limiting.oldest)
		snprintf(buf, size, ", complete for the last %.6f s (%s%s), up to %.6f", covered,
			 ring_name(&coverage->limiting, limiting, sizeof(limiting)),
			 coverage->limiting.lost ? " lost events" : "", end);
	else
		snprintf(buf, size, ", the %.6f s up to %.6f, complete since the %s", covered, end,
			 summary->snapshots + summary->dropped > 1 ? "previous snapshot" : "start");
}

/* Return: "-m 4M". @size: a power of two, or 0 for one that is too large for any ring [bytes]. */
static const char *ring_option(u64 size, char *buf, size_t buf_size)
{
	if (!size || size > MAX_RING_BYTES)
		snprintf(buf, buf_size, "more than -m 1G");
	else
		snprintf(buf, buf_size, "-m %" PRIu64 "%c", size >> (size < (1 << 20) ? 10 : 20),
			 size < (1 << 20) ? 'K' : 'M');
	return buf;
}

/* Other rings reach back further: say what the ring that limits the snapshot lacks for that. */
static void print_longest(const struct coverage *coverage)
{
	u64 longest = coverage__longest_ns(coverage), size = coverage__ring_size(coverage);
	char limiting[32], reaching[32], wanted[32];

	if (!coverage->newest || !size || size <= coverage->limiting.size)
		return;
	print_line("%s goes back %.6f s; for that %s, at %.3f MB/s, needs %s",
		   ring_name(&coverage->reaching, reaching, sizeof(reaching)), seconds(longest),
		   ring_name(&coverage->limiting, limiting, sizeof(limiting)),
		   coverage__rate(coverage) / (1 << 20), ring_option(size, wanted, sizeof(wanted)));
}

static void print_deferred(const struct deferred_stats *stats)
{
	u64 missing = stats->in_kernel + stats->overwritten;

	if (stats->samples)
		print_line("%" PRIu64 " of %" PRIu64 " samples lack their user stack: %" PRIu64 " of tasks that had "
			   "not returned to user space, %" PRIu64 " whose stack may be overwritten",
			   missing, stats->samples, stats->in_kernel, stats->overwritten);
}

static void print_record_snapshot(const struct summary *summary, const struct snapshot_stats *stats,
				  const char *reason)
{
	static const char * const grace_by[] = {
		[PERF_SNAPSHOT_GRACE_NONE]	 = "grace period",
		[PERF_SNAPSHOT_GRACE_MEMBARRIER] = "grace period",
		[PERF_SNAPSHOT_GRACE_VISIT]	 = "visits to each CPU (membarrier is refused)",
		[PERF_SNAPSHOT_GRACE_SLEEP]	 = "sleep (membarrier and visits are refused)",
	};
	const struct perf_snapshot_stats *taken = &stats->taken;
	const struct ring_stats *written = &stats->written;
	char coverage[160] = "", overwritten[64] = "";

	format_coverage(summary, stats, coverage, sizeof(coverage));
	if (stats->overwritten)
		snprintf(overwritten, sizeof(overwritten), "; %.3f MB were overwritten",
			 megabytes(stats->overwritten));
	print_line("Snapshot %" PRIu64 " (%s): %" PRIu64 " record%s%s%s", summary->snapshots,
		   reason, written->records, plural(written->records), coverage, overwritten);
	print_longest(&stats->coverage);
	print_deferred(&stats->deferred);
	if (stats->latency_ns)
		print_line("Copied %.3f ms after the event", stats->latency_ns / 1e6);
	if (stats->requests > 1)
		print_line("Merged %u snapshot requests: the output is slow", stats->requests);
	if (taken->paused)
		print_line("%d ring%s paused for %.3f ms: too small for the rate of events, "
			   "try a larger -m", taken->paused, taken->paused == 1 ? " was" : "s were",
			   taken->paused_ns / 1e6);
	if (taken->grace == PERF_SNAPSHOT_GRACE_SLEEP)
		pr_warning_once("Cannot wait for the kernel's writers: no membarrier, and a cpuset "
				"excludes CPUs. A torn record is unlikely, but possible.\n");
	pr_debug("copy %.3f ms, %s %.3f ms, %" PRIu64 " bytes overwritten before this snapshot, "
		 "%llu of them during the copy\n", taken->copy_ns / 1e6, grace_by[taken->grace],
		 taken->grace_ns / 1e6, stats->overwritten, taken->discarded);
}

static void print_aux_snapshot(const struct summary *summary,
			       const struct aux_snapshot_stats *stats, const char *reason)
{
	char overwritten[64] = "", stopped[64] = "";

	if (stats->overwritten)
		snprintf(overwritten, sizeof(overwritten),
			 "; the %.3f MB before them were overwritten",
			 megabytes(stats->overwritten));
	if (stats->stopped_ns)
		snprintf(stopped, sizeof(stopped), "; the trace was stopped for %.3f ms",
			 stats->stopped_ns / 1e6);
	print_line("Snapshot %" PRIu64 " (%s): %.3f MB of %u AUX area%s%s%s%s", summary->snapshots,
		   reason, megabytes(stats->bytes), stats->areas, plural(stats->areas),
		   stats->counted ? "" : ", some may repeat", overwritten, stopped);
}

/* Print how far back cgroups reach: each that had more than its share, and all others. */
static void print_cuts(const struct keep_stats *stats)
{
	const struct keep_cut *cut;
	char path[sizeof(cut->path)];

	for (cut = stats->cuts; cut < stats->cuts + stats->nr_cuts; cut++) {
		copy_printable(path, cut->path, sizeof(path));
		print_line("Cgroup %s: all of the %.6f s; dropped %" PRIu64 " older samples: it had more than its share",
			   path, seconds(stats->end - min(cut->last, stats->end)),
			   cut->records);
	}
	if (stats->nr_cuts)
		print_line("Other cgroups: all of the %.6f s",
			   seconds(stats->end - min(stats->others_begin, stats->end)));
}

static void print_kept(const struct summary *summary, const struct keep_stats *stats,
		       const char *reason)
{
	static const char * const limits[] = {
		[KEEP_NO_LIMIT]	    = "nothing was dropped",
		[KEEP_LIMIT_TIME]   = "older ones were dropped because of their age",
		[KEEP_LIMIT_MEMORY] = "older ones were dropped because the memory was full",
		[KEEP_LIMIT_CPU]    = "older ones were dropped because the memory was full: too little CPU "
				      "time to compress",
		[KEEP_LIMIT_LOST]   = "older ones were lost because a ring was full",
		[KEEP_LIMIT_SPACE]  = "the disk had no space for older ones",
	};
	char period[64] = "";

	if (stats->end > stats->begin)
		snprintf(period, sizeof(period), ", all of the %.6f s up to %.6f",
			 seconds(stats->end - stats->begin), seconds(stats->end));
	print_line("Snapshot %" PRIu64 " (%s): %" PRIu64 " kept record%s%s; %s", summary->snapshots,
		   reason, stats->records, plural(stats->records), period, limits[stats->limit]);
	print_cuts(stats);
	if (stats->advised_bytes)
		print_line("The whole time needs some %" PRIu64 " MB at this rate of events: try a larger --keep",
			   (stats->advised_bytes >> 20) + 1);
	pr_debug("%.3f MB of records were kept in %.3f MB\n", megabytes(stats->raw_bytes),
		 megabytes(stats->bytes));
}

/* Round up: a threshold below a duration would let it take a snapshot. */
static double threshold_ms(u64 ns)
{
	return (double)DIV_ROUND_UP(ns, NSEC_PER_USEC) / USEC_PER_MSEC;
}

static void print_quantiles(const struct when *when, unsigned int condition)
{
	struct when_quantiles quantiles;

	if (when__measure(when, condition, &quantiles))
		return;
	if (!quantiles.nr) {
		print_line("%s: there were no durations", when->conditions[condition].text);
		return;
	}
	print_line("%s: %" PRIu64 " of %" PRIu64 " durations are too long; median %.3f ms, 99 %% up to %.3f ms, 99.9 %% up to "
		   "%.3f ms, longest %.3f ms", when->conditions[condition].text,
		   quantiles.nr_too_long, quantiles.nr, quantiles.median_ns / 1e6,
		   quantiles.p99_ns / 1e6, quantiles.p999_ns / 1e6, quantiles.max_ns / 1e6);
	if (quantiles.hourly_ns)
		print_line("Once an hour at most: >%.3f ms", threshold_ms(quantiles.hourly_ns));
	else
		print_line("Not once in %.1f s: >%.3f ms; measure for an hour to find the threshold of one in an hour",
			   seconds(quantiles.measured_ns), threshold_ms(quantiles.max_ns));
}

void summary__triggers(const struct summary *summary, const struct trigger_limit *limit,
		       const struct when *when)
{
	u64 nr_stopped = limit->nr_stopped, nr;
	unsigned int i;

	for (i = 0; i < when->nr; i++)
		when__too_long(when, i, &nr_stopped);
	when__warn(when);
	if (summary->json)
		return summary_json__triggers(when, nr_stopped);
	for (i = 0; i < when->nr && when->measures; i++)
		print_quantiles(when, i);
	if (when->measures)
		return;
	for (i = 0; i < when->nr; i++) {
		nr = when__too_long(when, i, NULL);
		print_line("%s: %" PRIu64 " duration%s", when->conditions[i].text, nr, plural(nr));
	}
	if (nr_stopped)
		print_line("%" PRIu64 " %s took no snapshot (--cooldown, --keep-first)", nr_stopped,
			   when->nr ? "triggers" : "events");
}

/* Print the task that took too long, and the requests that the same snapshot answers. */
static void print_cause(const struct summary *summary, const struct snapshot_cause *cause)
{
	unsigned int i;

	if (summary->too_long[0])
		print_line("%s", summary->too_long);
	for (i = 0; i < cause->nr_merged; i++) {
		const struct merged_cause *merged = &cause->merged[i];
		char tid[32] = "", took[32] = "", span[64] = "";

		if (merged->tid != getpid())
			scnprintf(tid, sizeof(tid), " (tid %d)", merged->tid);
		if (merged->duration_ns)
			scnprintf(took, sizeof(took), ", %.3f ms", merged->duration_ns / 1e6);
		if (merged->duration_ns && merged->time)
			scnprintf(span, sizeof(span), "; from %.6f to %.6f",
				  (double)(merged->time - merged->duration_ns) / NSEC_PER_SEC,
				  (double)merged->time / NSEC_PER_SEC);
		print_line("The same snapshot is for %s%s%s%s%s%s", merged->reason,
			   merged->comm[0] ? " by " : "", merged->comm, tid, took, span);
	}
	if (cause->nr_unlisted)
		print_line("The same snapshot is for %u more request%s", cause->nr_unlisted,
			   plural(cause->nr_unlisted));
}

/*
 * A snapshot of kept streams and of overwrite rings is complete for the shorter time of both. What
 * is not limited has all records since the previous snapshot, and does not count then.
 */
static void note_complete(struct summary *summary, const struct snapshot_stats *stats,
			  const struct keep_stats *kept)
{
	u64 ns = stats ? coverage__ns(&stats->coverage) : 0;

	summary->complete_ns = kept && kept->end > kept->begin ? kept->end - kept->begin : 0;
	summary->limit = kept ? kept->limit : KEEP_NO_LIMIT;
	if (stats && stats->coverage.limiting.oldest) {
		if (summary->limit == KEEP_NO_LIMIT || ns < summary->complete_ns) {
			summary->complete_ns = ns;
			summary->limit = stats->coverage.limiting.lost ? KEEP_LIMIT_LOST :
									 KEEP_LIMIT_MEMORY;
		}
	} else if (summary->limit == KEEP_NO_LIMIT) {
		summary->complete_ns = max(summary->complete_ns, ns);
	}
}

void summary__snapshot(struct summary *summary, const struct snapshot_stats *stats,
		       const struct aux_snapshot_stats *aux, const struct keep_stats *kept,
		       const struct snapshot_cause *cause)
{
	if (stats || aux || kept)
		summary->snapshots++;
	note_complete(summary, stats, kept);
	snapshot_cause__print_too_long(cause, summary->too_long, sizeof(summary->too_long));
	summary->aux_snapshots += aux != NULL;
	if (summary->json)
		return summary_json__snapshot(summary->snapshots, stats, aux, kept, cause);
	print_cause(summary, cause);
	if (kept)
		print_kept(summary, kept, cause->reason);
	if (stats)
		print_record_snapshot(summary, stats, cause->reason);
	if (!aux)
		return;
	print_aux_snapshot(summary, aux, cause->reason);
	if (!stats && aux->requests > 1)
		print_line("Merged %u snapshot requests: the output is slow", aux->requests);
}

void summary__dropped(struct summary *summary, const struct snapshot_stats *stats,
		      const struct keep_stats *kept, const struct snapshot_cause *cause)
{
	summary->dropped++;
	summary->dropped_records += stats->written.records;
	summary->dropped_samples += stats->written.samples;
	if (summary->json)
		return summary_json__dropped(kept, cause);
	pr_err("The snapshot (%s) is dropped. The recording goes on.\n", cause->reason);
	if (kept->records)
		pr_err("The %" PRIu64 " kept records stay for the next snapshot, as far as time and "
		       "memory allow.\n", kept->records);
}

void summary__file(struct summary *summary, const char *name)
{
	summary->files++;
	scnprintf(summary->last_file, sizeof(summary->last_file), "%s", name);
	if (summary->json)
		summary_json__file(name);
	else
		print_line("Wrote %s", name);
}

static void print_lost(const struct loss_metric *metric)
{
	char loss_metric[64] = "";

	if (!metric->lost) {
		print_line("Lost 0 events");
		return;
	}
	if (metric->end > metric->begin)
		snprintf(loss_metric, sizeof(loss_metric), ", data loss metric %.2f %%",
			 loss_metric__percent(metric));
	print_line("Lost %" PRIu64 " events of %" PRIu64 " (%.2f %%)%s: try a larger -m%s",
		   metric->lost, metric->events, percent(metric->lost, metric->events), loss_metric,
		   metric->rings ? ", fewer events, or /overwrite/" : "");
}

static void print_aux_lost(const struct ring_stats *stats)
{
	if (stats->aux_truncated)
		print_line("AUX data was lost %" PRIu64 " times because the AUX area was full: try a "
			   "larger one, -m,SIZE", stats->aux_truncated);
	if (stats->aux_partial)
		print_line("AUX data has gaps in %" PRIu64 " places", stats->aux_partial);
	if (stats->aux_collided)
		print_line("AUX data was mixed with data of other events %" PRIu64 " times",
			   stats->aux_collided);
}

static void print_ring_advice(const struct advice *advice)
{
	const struct coverage_ring *ring = &advice->ring;
	char name[32], option[32], total[64] = "";

	if (ring->size && ring->size <= MAX_RING_BYTES)	/* and two copies of each */
		snprintf(total, sizeof(total), "; with copies %.1f MB for %u rings",
			 3 * megabytes(ring->size) * advice->nr_rings, advice->nr_rings);
	print_line("%.0f s with /overwrite/: %s (%s gets %.3f MB/s%s)", seconds(advice->wanted_ns),
		   ring_option(ring->size, option, sizeof(option)),
		   ring_name(ring, name, sizeof(name)), advice->rate / (1 << 20), total);
}

void summary__advice(const struct summary *summary, const struct advice *advice,
		     const struct loss_report *report)
{
	const struct loss_metric *metric = &report->metric;
	u64 ns = advice->end_ns - advice->begin_ns;

	if (summary->json)
		return summary_json__advice(advice, metric);
	print_line("Measured %" PRIu64 " event%s in %.6f s; nothing was written (--advise)",
		   metric->events, plural(metric->events), seconds(ns));
	if (!metric->events) {
		print_line("There is no advice without events: measure while the load is as usual");
		return;
	}
	print_line("%.0f s need --keep=%.0fs,%" PRIu64 "M%s", seconds(advice->wanted_ns),
		   seconds(advice->wanted_ns), (u64)DIV_ROUND_UP(advice->keep_bytes, 1 << 20),
		   advice->kept.limit == KEEP_LIMIT_CPU ?
		   "; less with more CPU time to compress" : "");
	print_ring_advice(advice);
	print_lost(metric);
	if (ns < NSEC_PER_SEC)
		print_line("Less than a second was measured: let the recording run for longer");
}

void summary__print(const struct summary *summary, const struct loss_report *report,
		    const struct output *output, const struct keep *keep)
{
	const struct loss_metric *metric = &report->metric;
	const char *name = output->data.path;
	struct ring_stats all = { 0 };
	const struct loss_row *row;
	const struct unsaved unsaved = output__unsaved(output);
	u64 missing = unsaved.samples + summary->dropped_samples + keep->dropped.samples +
		      keep->unwritten.samples;
	u64 samples = metric->samples - min(missing, metric->samples);
	const struct summary_totals totals = {
		.files	   = summary->files,
		.snapshots = summary->snapshots,
		.dropped   = summary->dropped,
		.samples   = samples,
		.unwritten = unsaved.records + summary->dropped_records + keep->unwritten.records,
		.unwritten_samples = unsaved.samples + summary->dropped_samples +
				     keep->unwritten.samples,
	};

	if (summary->json)
		return summary_json__end(&totals, report, output, keep);
	if (output__is_pipe(output))
		name = "to standard output";
	else if (output->fate == FILE_MOVED)
		name = "to a file that was moved";
	else if (summary->files)
		name = summary->last_file;

	print_line("Woken up %" PRIu64 " times to write data", summary->wakeups);
	if (output->deleted)
		print_line("Wrote %.3f MB to %s, which was deleted", megabytes(output->deleted),
			   output->data.path);
	else if (summary->files > 1)
		print_line("Captured and wrote %.3f MB in %" PRIu64 " files (%" PRIu64 " samples)",
			   megabytes(output__total(output)), summary->files, samples);
	else
		print_line("Captured and wrote %.3f MB %s (%" PRIu64 " samples)",
			   megabytes(output__total(output)), name, samples);
	if (summary->dropped)
		print_line("Dropped %" PRIu64 " snapshot%s that could not be written",
			   summary->dropped, plural(summary->dropped));
	if (keep->dropped.samples)
		print_line("Kept the last samples; %" PRIu64 " older samples were dropped",
			   keep->dropped.samples);
	if (keep->peak_bytes)
		print_line("Used up to %.1f MB of memory beside the rings",
			   megabytes(keep->peak_bytes));
	if (totals.unwritten)
		print_line("%" PRIu64 " records could not be written", totals.unwritten);
	print_lost(metric);
	if (metric->lost && summary->normal_class)
		print_line("The threads that read rings had no real-time priority: %s", geteuid() ?
			   "run as root, or raise 'ulimit -r'" :
			   "they need CAP_SYS_NICE and, in cgroups v1, cpu.rt_runtime_us");

	for (row = report->rows; row < report->rows + report->nr; row++)
		ring_stats__merge(&all, row->stats);
	if (all.throttles)
		print_line("Throttled %" PRIu64 " times: kernel.perf_event_max_sample_rate was "
			   "exceeded", all.throttles);
	print_aux_lost(&all);
}
