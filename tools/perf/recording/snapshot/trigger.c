// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include "util/debug.h"
#include "util/evlist.h"
#include "util/record.h"
#include "util/target.h"
#include "recording/lib/fd.h"
#include "recording/ring/bpf_ring.h"
#include "signals.h"
#include "trigger.h"

static int add_fd(struct evlist *evlist, int fd)
{
	int pos;

	if (fd < 0)
		return -errno;
	pos = perf_evlist__add_pollfd(&evlist->core, fd, NULL, POLLIN,
				      fdarray_flag__nonfilterable | fdarray_flag__non_perf_event);
	if (pos < 0)
		close(fd);
	return pos;
}

/* Add a descriptor that stays the caller's. Return: its position, or a negative errno. */
static int watch(struct evlist *evlist, int fd)
{
	return perf_evlist__add_pollfd(&evlist->core, fd, NULL, POLLIN,
				       fdarray_flag__nonfilterable);
}

static int entry_fd(const struct triggers *triggers, int pos)
{
	return pos < 0 ? -1 : triggers->evlist->core.pollfd.entries[pos].fd;
}

/* Create a disarmed timer. Return: its position, or a negative errno. */
static int add_timer(struct evlist *evlist)
{
	return add_fd(evlist, timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
}

static int arm_timer(const struct triggers *triggers, int pos, u64 ms, u64 period_ms)
{
	const struct itimerspec spec = {
		.it_value    = { ms / 1000, ms % 1000 * 1000000 },
		.it_interval = { period_ms / 1000, period_ms % 1000 * 1000000 },
	};

	return timerfd_settime(entry_fd(triggers, pos), 0, &spec, NULL) ? -errno : 0;
}

static int watch_signals(struct triggers *triggers)
{
	int fd = signals__watch();

	triggers->signals = fd < 0 ? fd : add_fd(triggers->evlist, fd);
	return min(triggers->signals, 0);
}

int triggers__init(struct triggers *triggers, struct evlist *evlist,
		   const struct record_opts *opts, unsigned long period_sec)
{
	int err;

	triggers->evlist = evlist;
	triggers->watching = true;
	triggers->signals = triggers->delay = triggers->period = triggers->stop = -1;
	triggers->too_long = triggers->after = -1;

	err = control__init(&triggers->control, evlist, opts) ?: watch_signals(triggers);
	if (!err && period_sec) {
		triggers->period = add_timer(evlist);
		err = triggers->period < 0 ? triggers->period :
		      arm_timer(triggers, triggers->period, period_sec * 1000ULL,
				period_sec * 1000ULL);
	}
	if (!err && opts->target.initial_delay > 0) {
		triggers->delay = add_timer(evlist);
		err = triggers->delay < 0 ? triggers->delay : 0;
	}
	if (!err && triggers->after_ns) {
		triggers->after = add_timer(evlist);
		err = min(triggers->after, 0);
	}
	if (!err)
		err = trigger_events__map(&triggers->events, evlist);
	if (!err && triggers->when.nr) {
		triggers->too_long = watch(evlist, triggers->when.fd);
		err = min(triggers->too_long, 0);
	}
	if (err)
		pr_err("Cannot set up signals, timers and --control: %s\n", strerror(-err));
	return err;
}

int triggers__start(struct triggers *triggers, const struct record_opts *opts)
{
	int err = 0;

	if (triggers->delay >= 0)
		err = arm_timer(triggers, triggers->delay, opts->target.initial_delay, 0);
	if (err)
		pr_err("Cannot set the timer of --delay: %s\n", strerror(-err));
	else
		workload__start(&triggers->workload);
	return err;
}

int triggers__add_stop(struct triggers *triggers, int fd)
{
	triggers->stop = watch(triggers->evlist, fd);
	return min(triggers->stop, 0);
}

void triggers__enable(struct triggers *triggers)
{
	trigger_events__enable(&triggers->events);
	when__enable(&triggers->when);
}

int triggers__wait(struct triggers *triggers)
{
	triggers->waiting = true;
	when__be_quiet(&triggers->when, 0);
	return arm_timer(triggers, triggers->after, triggers->after_ns / NSEC_PER_MSEC, 0);
}

static unsigned int process_signal(struct triggers *triggers, const struct signalfd_siginfo *info)
{
	switch (info->ssi_signo) {
	case SIGUSR2:
		triggers->signal_pid = info->ssi_pid;
		return TRIGGER_SNAPSHOT;
	case SIGUSR1:
		workload__exec_failed(&triggers->workload, info->ssi_pid, info->ssi_int);
		return 0;
	case SIGCHLD:
		return workload__reap(&triggers->workload) ? TRIGGER_STOP : 0;
	default:
		triggers->stop_signal = info->ssi_signo;
		return TRIGGER_STOP;
	}
}

static unsigned int process_signals(struct triggers *triggers)
{
	struct signalfd_siginfo info;
	unsigned int what = 0;

	while (read(entry_fd(triggers, triggers->signals), &info, sizeof(info)) == sizeof(info))
		what |= process_signal(triggers, &info);
	return what;
}

static bool readable(const struct triggers *triggers, int pos)
{
	return pos >= 0 && triggers->evlist->core.pollfd.entries[pos].revents & POLLIN;
}

static bool timer_expired(const struct triggers *triggers, int pos)
{
	u64 times;

	return readable(triggers, pos) &&
	       read(entry_fd(triggers, pos), &times, sizeof(times)) == sizeof(times);
}

static unsigned int process_control(struct triggers *triggers, unsigned int *nr_commands)
{
	struct control_requests requests = { 0 };

	control__process(&triggers->control, &requests);
	*nr_commands = requests.snapshots;
	return (requests.snapshots ? TRIGGER_CONTROL : 0) | (requests.stop ? TRIGGER_STOP : 0);
}

/* May a trigger at @time [ns] take a snapshot, or become part of one that waits? */
static bool passes(struct triggers *triggers, u64 time)
{
	return triggers->waiting || trigger_limit__pass(&triggers->events.limit, time);
}

static unsigned int process_events(struct triggers *triggers)
{
	struct trigger_events *events = &triggers->events;

	if (!trigger_events__process(events, triggers->evlist))
		return 0;
	if (passes(triggers, events->time))
		return TRIGGER_EVENT;
	events->limit.nr_stopped += events->nr_found - 1;
	return 0;
}

/*
 * Once the limit refuses a snapshot, the programs only count durations until it lets one pass.
 * Where --after is given, durations at any time may become part of a snapshot.
 */
static int process_durations(struct triggers *triggers)
{
	struct trigger_limit *limit = &triggers->events.limit;
	struct when *when = &triggers->when;
	u64 end;
	int err;

	if (!readable(triggers, triggers->too_long))
		return 0;
	err = when__process(when);
	if (err || !when->nr_reports)
		return err;
	end = when->reports[0].end;
	if (!trigger_limit__allows(limit, end))
		end = when->last_end;
	if (passes(triggers, end))
		return TRIGGER_WHEN;
	limit->nr_stopped += when->nr_reports - 1;
	if (limit->max && limit->nr_passed >= limit->max)
		when__be_quiet(when, UINT64_MAX);
	else
		when__be_quiet(when, limit->last + limit->cooldown_ns);
	return 0;
}

/* Begin or end a range of --delay. Return: 1 after the last one, 0, or a negative errno. */
static int process_ranges(struct evlist *evlist)
{
	int ret = event_enable_timer__process(evlist->eet);

	if (evlist->eet)
		bpf_ring__sync(evlist);
	return ret;
}

int triggers__process(struct triggers *triggers, unsigned int *nr_commands)
{
	int what = 0, ret;

	if (readable(triggers, triggers->signals))
		what |= process_signals(triggers);
	if (timer_expired(triggers, triggers->delay))
		what |= TRIGGER_ENABLE;
	if (timer_expired(triggers, triggers->period))
		what |= TRIGGER_TIME;
	if (readable(triggers, triggers->stop))
		what |= TRIGGER_STOP;
	if (timer_expired(triggers, triggers->after))
		what |= TRIGGER_AFTER;
	what |= process_events(triggers);
	ret = process_durations(triggers);
	if (ret < 0)
		return ret;
	what |= ret;
	what |= process_control(triggers, nr_commands);
	ret = process_ranges(triggers->evlist);
	if (ret < 0) {
		pr_err("Cannot set the timer of --delay: %s\n", strerror(-ret));
		return ret;
	}
	return ret ? what | TRIGGER_STOP : what;
}

static void close_entry(struct triggers *triggers, int *pos)
{
	if (*pos >= 0)
		fd__close(&triggers->evlist->core.pollfd.entries[*pos].fd);
	*pos = -1;
}

void triggers__exit(struct triggers *triggers)
{
	workload__terminate(&triggers->workload);
	if (triggers->watching) {
		close_entry(triggers, &triggers->delay);
		close_entry(triggers, &triggers->period);
		close_entry(triggers, &triggers->after);
		close_entry(triggers, &triggers->signals);
		trigger_events__close(&triggers->events);
		control__exit(&triggers->control);
		when__close(&triggers->when);
	}
	signals__restore();
	/* The signals are restored: where the command ignores SIGTERM, ^C ends the wait for it. */
	workload__wait(&triggers->workload);
}
