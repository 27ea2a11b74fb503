// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include <linux/zalloc.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include "util/cpumap.h"
#include "util/debug.h"
#include "recording/lib/kernel_clock.h"
#include "condition.h"
#include "constants.h"
#include "names.h"
#include "programs.h"
#include "when.h"

/* Checks of what is open: at least this far apart, and so far that they take 5 % of a CPU */
#define MIN_CHECK_NS	NSEC_PER_MSEC
#define CHECK_SHARE	20

/* How often cgroups are looked up */
#define LOOKUP_NS	NSEC_PER_SEC

int when__add(struct when *when, const char *option, const char *text)
{
	struct when_condition *conditions;
	struct when_error error;
	int err;

	if (when->nr == DURATION_MAX_CONDITIONS) {
		pr_err("%s: more than %d conditions.\n", option, DURATION_MAX_CONDITIONS);
		return -EINVAL;
	}
	conditions = realloc(when->conditions, (when->nr + 1) * sizeof(*conditions));
	if (!conditions)
		return -ENOMEM;
	when->conditions = conditions;
	err = when_condition__parse(conditions + when->nr, text, &when_names, &error);
	if (!err)
		when->nr++;
	else if (err == -EINVAL)
		pr_err("Cannot parse %s, at column %zu: %s.\n    %s\n    %*s^\n", option,
		       error.at + 1, error.text, text, (int)error.at, "");
	return err;
}

void when__clear(struct when *when)
{
	while (when->nr)
		when_condition__exit(&when->conditions[--when->nr]);
	zfree(&when->conditions);
}

/*
 * Begin and end
 */

static void take(void *arg, const struct duration_report *judged)
{
	const struct when_condition *condition;
	struct when *when = arg;
	struct when_report report;
	char text[WHEN_REPORT_TEXT];

	if (judged->condition >= when->nr)
		return;
	condition = &when->conditions[judged->condition];
	if (!when->enabled || judged->end < when->enabled)
		return;
	when->nr_too_long[judged->condition]++;
	when->last_end = max_t(u64, when->last_end, judged->end);
	if (when->nr_reports++ >= WHEN_MAX_REPORTS && verbose <= 0)
		return;
	when_report__init(&report, condition, judged, when_names__syscall);
	if (when->nr_reports <= WHEN_MAX_REPORTS)
		when->reports[when->nr_reports - 1] = report;
	if (verbose <= 0)
		return;
	when_report__print(&report, text, sizeof(text));
	pr_debug("%s: %s, from %" PRIu64 " to %" PRIu64 "\n", condition->text, text, report.begin,
		 report.end);
}

static int add_fd(const struct when *when, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return fd < 0 || epoll_ctl(when->fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int open_fds(struct when *when)
{
	int err;

	when->fd = epoll_create1(EPOLL_CLOEXEC);
	when->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	err = when->fd < 0 ? -errno : add_fd(when, when->timer_fd);
	return err ?: add_fd(when, when_programs__fd(when->programs));
}

/* A cgroup that is made again, as that of a service which is restarted, gets another id. */
static void find_cgroups(struct when *when, u64 now)
{
	unsigned int i;

	for (i = 0; i < when->nr; i++) {
		if (!when->conditions[i].cgroup)
			continue;
		when_programs__set_cgroup(when->programs, i,
					  when_names.cgroup(when->conditions[i].cgroup));
		when->next_lookup = now + LOOKUP_NS;
	}
}

int when__open(struct when *when, pid_t own_tgid, const struct when_chain *chain)
{
	const struct when_setup setup = {
		.own_tgid = own_tgid, .nr_cpus = cpu__max_cpu().cpu,
		.tick_ns = when_constants__tick(), .measures = when->measures,
		.chain = chain,
	};
	char reason[512];
	int err;

	if (!when->nr)
		return 0;
	err = when_programs__new(&when->programs, when->conditions, when->nr, &setup, take, when,
				 reason, sizeof(reason));
	if (err) {
		pr_err("Cannot judge durations for --switch-output-when: %s.\n", reason);
		return err;
	}
	find_cgroups(when, kernel_clock());
	err = open_fds(when);
	if (err)
		pr_err("Cannot wait for the reports of --switch-output-when: %s\n", strerror(-err));
	return err;
}

void when__close(struct when *when)
{
	if (!when->nr)
		return;
	if (when->programs) {
		close(when->timer_fd);
		close(when->fd);
	}
	when_programs__delete(when->programs);
	when->programs = NULL;
	when->fd = when->timer_fd = -1;
}

/*
 * Checks of what is open
 */

/* Return: the shortest threshold of durations that a check judges [ns]; 0 if there are none. */
static u64 min_open_ns(const struct when *when)
{
	u64 min_ns = 0;
	unsigned int i;

	for (i = 0; i < when->nr && !when->measures; i++) {
		const struct duration_condition *judged = &when->conditions[i].judged;

		if (judged->kind == DURATION_IRQ || judged->kind == DURATION_SOFTIRQ)
			continue;
		if (!min_ns || judged->threshold_ns < min_ns)
			min_ns = judged->threshold_ns;
	}
	return min_ns;
}

/*
 * @next: when an open duration will be too long, or 0. One that begins after @now cannot be too
 * long before the threshold.
 */
static void arm(const struct when *when, u64 now, u64 next, u64 check_ns)
{
	u64 pause_ns = max((u64)MIN_CHECK_NS, check_ns * CHECK_SHARE);
	u64 min_ns = min_open_ns(when), at = UINT64_MAX;
	struct itimerspec spec = { 0 };

	if (min_ns)
		at = now + min_ns;
	if (min_ns && next)
		at = min(at, next + 1);
	if (when->next_lookup)
		at = min(at, when->next_lookup);
	if (at == UINT64_MAX)
		return;
	at = max(at, now + pause_ns) + kernel_clock__offset(CLOCK_MONOTONIC);
	spec.it_value.tv_sec = at / NSEC_PER_SEC;
	spec.it_value.tv_nsec = at % NSEC_PER_SEC;
	timerfd_settime(when->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

static int check(struct when *when)
{
	u64 now = kernel_clock(), next = 0;
	int err = 0;

	if (when->next_lookup && now >= when->next_lookup)
		find_cgroups(when, now);
	if (!when->measures)
		err = when_programs__check(when->programs, now, &next);

	arm(when, now, next, kernel_clock() - now);
	return err;
}

void when__enable(struct when *when)
{
	if (!when->nr || when->enabled)
		return;
	when->enabled = kernel_clock();
	if (when->measures)
		when_programs__count(when->programs);
	arm(when, when->enabled, 0, 0);
}

int when__process(struct when *when)
{
	u64 expired;
	int err = 0;

	when->nr_reports = 0;
	if (read(when->timer_fd, &expired, sizeof(expired)) == sizeof(expired))
		err = check(when);
	err = err ?: when_programs__read(when->programs);
	if (err)
		pr_err("Cannot read the reports of --switch-output-when: %s\n", strerror(-err));
	return err;
}

/*
 * Figures
 */

void when__be_quiet(struct when *when, u64 until)
{
	if (when->programs)
		when_programs__be_quiet(when->programs, until);
}

u64 when__too_long(const struct when *when, unsigned int condition, u64 *nr_quiet)
{
	struct when_figures figures = { .quiet = { 0 } };

	if (when->programs)
		when_programs__figures(when->programs, &figures);
	if (nr_quiet)
		*nr_quiet += figures.quiet[condition];
	return when->nr_too_long[condition] + figures.quiet[condition];
}

int when__measure(const struct when *when, unsigned int condition, struct when_quantiles *quantiles)
{
	struct duration_distribution *distribution = calloc(1, sizeof(*distribution));
	int err = distribution && when->programs ?
		  when_programs__read_distribution(when->programs, condition, distribution) :
		  -ENOMEM;

	if (!err)
		*quantiles = when_quantiles__compute(distribution,
						     kernel_clock() - when->enabled);
	free(distribution);
	return err;
}

void when__warn(const struct when *when)
{
	struct when_figures figures;

	if (!when->programs)
		return;
	when_programs__figures(when->programs, &figures);
	if (figures.ignored)
		pr_warning("--switch-output-when: %" PRIu64 " tasks or durations were not judged: more than %d "
			   "tasks, or %d durations between two events, at a time.\n",
			   figures.ignored, DURATION_MAX_TASKS, DURATION_MAX_PAIRS);
	if (figures.unreported)
		pr_warning("--switch-output-when: %" PRIu64 " durations that were too long are not counted: too "
			   "many at a time.\n", figures.unreported);
	if (figures.missed)
		pr_warning("--switch-output-when: the kernel skipped the programs at %" PRIu64 " events, which "
			   "interrupted other BPF programs: durations between events may be missing, or too "
			   "long.\n", figures.missed);
}
