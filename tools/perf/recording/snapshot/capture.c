// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "util/debug.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/time-utils.h"
#include "recording/aux/aux.h"
#include "recording/aux/snapshot.h"
#include "recording/lib/fd.h"
#include "capture.h"
#include "cause.h"
#include "recording/keep/keep.h"
#include "recording/ring/bpf_ring.h"
#include "recording/ring/lost_counters.h"
#include "overwrite.h"
#include "recording/lib/thread.h"
#include "trigger.h"
#include "recording/lib/eventfd.h"

/*
 * How long to wait for deferred user stacks of what was copied. A task that was sampled and then
 * preempted writes its stack when it runs again.
 */
#define DEFERRED_WAIT_MS	50

/* The copies are taken. */
static void notify(struct capture *capture, unsigned int what, unsigned int nr_commands)
{
	__atomic_fetch_add(&capture->nr_commands, nr_commands, __ATOMIC_RELAXED);
	__atomic_fetch_or(&capture->asked, what, __ATOMIC_RELEASE);
	eventfd__signal(capture->wake_fd);
}

unsigned int capture__asked(struct capture *capture, unsigned int *nr_commands)
{
	unsigned int what;

	*nr_commands = 0;
	/* Clear the eventfd first: a request in between then only causes one more wake-up. */
	if (!eventfd__clear(capture->wake_fd))
		return 0;
	what = __atomic_exchange_n(&capture->asked, 0, __ATOMIC_ACQUIRE);
	*nr_commands = __atomic_exchange_n(&capture->nr_commands, 0, __ATOMIC_RELAXED);
	return what;
}

/* Streams need no copy: their rings are drained after this. */
static void wait_for_stacks(struct capture *capture)
{
	if (!capture->defers)
		return;
	usleep(DEFERRED_WAIT_MS * USEC_PER_MSEC);
	snapshotter__extend(capture->snapshotter);
}

int capture__take(struct capture *capture, unsigned int why,
		  const struct snapshot_cause *cause)
{
	const struct aux *aux = capture->aux_snapshotter->aux;
	int err = 0;

	if (capture->keep)
		keep__request(capture->keep);
	pthread_mutex_lock(&capture->enabling);
	if (why & TRIGGER_SNAPSHOTS || aux->opts->auxtrace_snapshot_on_exit)
		err = aux_snapshotter__take(capture->aux_snapshotter, why & TRIGGER_STOP);
	snapshotter__take(capture->snapshotter, cause);
	pthread_mutex_unlock(&capture->enabling);
	wait_for_stacks(capture);
	return err;
}

static void enable_events(struct capture *capture)
{
	pthread_mutex_lock(&capture->enabling);
	evlist__enable(capture->evlist);
	bpf_ring__sync(capture->evlist);
	pthread_mutex_unlock(&capture->enabling);
	triggers__enable(capture->triggers);
	pr_info(EVLIST_ENABLED_MSG);
	event_enable_timer__start(capture->evlist->eet);
}

static struct snapshot_cause describe_durations(const struct when *when)
{
	struct snapshot_cause cause = snapshot_cause__too_long(&when->reports[0]), other;
	unsigned int i;

	for (i = 1; i < min(when->nr_reports, (unsigned int)WHEN_MAX_REPORTS); i++) {
		other = snapshot_cause__too_long(&when->reports[i]);
		snapshot_cause__merge(&cause, &other);
	}
	cause.nr_unlisted += when->nr_reports - i;
	return cause;
}

static struct snapshot_cause describe_events(const struct trigger_events *events)
{
	return (struct snapshot_cause){
		.reason = evsel__name(events->evsel), .time = events->time, .pid = events->pid,
		.tid = events->tid, .cpu = events->cpu, .is_event = true,
		.nr_unlisted = events->nr_found - 1,
	};
}

static struct snapshot_cause describe_one(const struct triggers *triggers, enum trigger trigger)
{
	struct snapshot_cause cause = snapshot_cause__now("time");

	if (trigger == TRIGGER_WHEN)
		return describe_durations(&triggers->when);
	if (trigger == TRIGGER_EVENT) {
		cause = describe_events(&triggers->events);
	} else if (trigger == TRIGGER_CONTROL) {
		cause.reason = "control";
	} else if (trigger == TRIGGER_SNAPSHOT) {
		cause.reason = "signal";
		cause.pid = cause.tid = triggers->signal_pid;
	}
	if (snapshot_cause__is_other(&cause))
		snapshot_cause__find_comm(&cause);
	return cause;
}

/* Describe the requests in @what, those that say most first; the end, if there are none. */
static struct snapshot_cause describe(const struct triggers *triggers, unsigned int what)
{
	static const enum trigger order[] = {
		TRIGGER_WHEN, TRIGGER_EVENT, TRIGGER_CONTROL, TRIGGER_SNAPSHOT, TRIGGER_TIME,
	};
	struct snapshot_cause cause, other;
	bool found = false;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(order); i++) {
		if (!(what & order[i]))
			continue;
		other = describe_one(triggers, order[i]);
		if (found)
			snapshot_cause__merge(&cause, &other);
		else
			cause = other;
		found = true;
	}
	return found ? cause : snapshot_cause__exit();
}

/*
 * Hold requests back until --after is over. Requests that arrive meanwhile join the first.
 * @cause: receives the description of the request, if one is left.
 *
 * Return: @what without those that are held back, with those that were; or a negative errno.
 */
static int hold_back(struct capture *capture, unsigned int what, struct snapshot_cause *cause)
{
	struct triggers *triggers = capture->triggers;
	unsigned int held = triggers->after_ns ? what & TRIGGER_DELAYED & ~capture->refused : 0;
	int err;

	if (held && !triggers->waiting) {
		capture->held_cause = describe(triggers, held);
		capture->held_cause.after_ns = triggers->after_ns;
		capture->held = 0;
		err = triggers__wait(triggers);
		if (err)
			return err;
	} else if (held) {
		*cause = describe(triggers, held);
		snapshot_cause__merge(&capture->held_cause, cause);
	}
	capture->held |= held;
	what &= ~held;
	if (triggers->waiting && what & (TRIGGER_AFTER | TRIGGER_STOP)) {
		triggers->waiting = false;
		if (what & TRIGGER_SNAPSHOTS & ~capture->refused) {
			*cause = describe(triggers, what & ~capture->refused);
			snapshot_cause__merge(&capture->held_cause, cause);
		}
		*cause = capture->held_cause;
		return what | capture->held;
	}
	if (what & (TRIGGER_SNAPSHOTS | TRIGGER_STOP)) {
		*cause = describe(triggers, what & ~capture->refused);
		if (triggers->waiting)
			cause->pending = capture->held_cause.report;
	}
	return what;
}

/*
 * Take the last copy before the events are disabled, so that the rings do not fill with events of
 * stopping. Read the counters before the copy: events that a paused ring misses during it are no
 * loss.
 */
static int act(struct capture *capture, unsigned int what, const struct snapshot_cause *cause)
{
	int err = 0;

	if (what & TRIGGER_ENABLE)
		enable_events(capture);
	if (what & TRIGGER_STOP)
		err = lost_counters__read(capture->lost, capture->channels, capture->evlist, true);
	if (what & ~capture->refused & (TRIGGER_SNAPSHOTS | TRIGGER_STOP))
		err = capture__take(capture, what, cause) ?: err;
	return err;
}

/*
 * A real-time thread must not take a whole CPU for a storm of requests: sleep as long as the copy
 * took.
 */
static void pause_since(u64 begin)
{
	usleep((rdclock() - begin) / NSEC_PER_USEC);
}

static void wait_and_act(struct capture *capture)
{
	struct snapshot_cause cause = { 0 };
	unsigned int nr_commands = 0;
	int what, err;
	u64 begin;

	do {
		evlist__poll(capture->evlist, -1);
		begin = rdclock();
		pthread_mutex_lock(&capture->enabling);		/* --control enable, disable */
		what = triggers__process(capture->triggers, &nr_commands);
		pthread_mutex_unlock(&capture->enabling);
		what = what < 0 ? what : hold_back(capture, what, &cause);
		err = what < 0 ? what : act(capture, what, &cause);
		if (err) {
			capture->err = err;
			what = TRIGGER_STOP;
		}
		if (what)
			notify(capture, what, nr_commands);
		if (what & TRIGGER_SNAPSHOTS && !(what & TRIGGER_STOP))
			pause_since(begin);
	} while (!(what & TRIGGER_STOP));
}

static void *run(void *arg)
{
	struct capture *capture = arg;

	sem_wait(&capture->go);
	if (capture->started)
		wait_and_act(capture);
	return NULL;
}

static int create_thread(struct capture *capture)
{
	int err = thread__create(&capture->thread, run, capture);

	capture->running = !err;
	return err;
}

int capture__init(struct capture *capture)
{
	int err;

	sem_init(&capture->go, 0, 0);
	thread__init_lock(&capture->enabling);
	capture->wake_fd = eventfd__new();
	capture->stop_fd = eventfd__new();
	err = min(capture->wake_fd, capture->stop_fd);
	err = err < 0 ? err : create_thread(capture);
	if (err)
		pr_err("Cannot create the capture thread: %s\n", strerror(-err));
	return err;
}

void capture__start(struct capture *capture)
{
	capture->started = true;
	sem_post(&capture->go);
}

static void end_thread(struct capture *capture)
{
	if (!capture->running)
		return;
	if (!capture->started)
		sem_post(&capture->go);
	pthread_join(capture->thread, NULL);
	capture->running = false;
}

int capture__stop(struct capture *capture)
{
	eventfd__signal(capture->stop_fd);
	end_thread(capture);
	return capture->err;
}

void capture__exit(struct capture *capture)
{
	end_thread(capture);
	fd__close(&capture->wake_fd);
	fd__close(&capture->stop_fd);
}
