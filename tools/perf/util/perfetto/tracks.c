// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "util/env.h"
#include "tracks.h"

#define MAX_CPUS	(1 << 16)

/* Each track has a number. Other files may be merged with this one: 0 to 1,000 are likely taken. */
#define UUID_RECORDS	0x70657266000001ULL
#define UUID_SNAPSHOTS	0x70657266000002ULL
#define UUID_MACHINE	0x70657266000003ULL
#define UUID_TOO_LONG	0x70657266000010ULL	/* plus the number of the lane */
#define UUID_CPU	0x70657266100000ULL	/* plus the number of the CPU plus one */

void tracks__init(struct tracks *tracks, struct packets *packets)
{
	*tracks = (struct tracks){ .packets = packets };
}

void tracks__exit(struct tracks *tracks)
{
	zfree(&tracks->cpus);
	loss_counts__exit(&tracks->counts);
}

/* ---- the machine */

static void write_clock(struct proto *packet, enum clock_id id, u64 time)
{
	size_t begin = proto__begin(packet, SNAPSHOT_CLOCK);

	proto__number(packet, CLOCK_ID, id);
	proto__number(packet, CLOCK_TIME, time);
	proto__end(packet, begin);
}

/*
 * Perfetto takes all times for those of BOOTTIME, whichever clock perf has recorded with: they stay
 * as perf prints them.
 */
static int write_clocks(struct tracks *tracks, const struct perf_env *env)
{
	struct proto *packet = packets__begin(tracks->packets, SEQUENCE_COMMON, 0);
	size_t begin = proto__begin(packet, PACKET_CLOCK_SNAPSHOT);

	write_clock(packet, ID_BOOTTIME, env->clock.clockid_ns);
	write_clock(packet, ID_REALTIME, env->clock.tod_ns);
	if (env->clock.clockid == CLOCK_MONOTONIC)
		write_clock(packet, ID_MONOTONIC, env->clock.clockid_ns);
	else if (env->clock.clockid == CLOCK_MONOTONIC_RAW)
		write_clock(packet, ID_MONOTONIC_RAW, env->clock.clockid_ns);
	proto__end(packet, begin);
	return packets__end(tracks->packets);
}

int tracks__write_machine(struct tracks *tracks, const struct perf_env *env)
{
	struct proto *packet = packets__begin(tracks->packets, SEQUENCE_COMMON, 0);
	size_t begin = proto__begin(packet, PACKET_SYSTEM_INFO);
	size_t name = proto__begin(packet, SYSTEM_UTSNAME);
	int err;

	proto__text(packet, UTSNAME_SYSTEM, "Linux", SIZE_MAX);
	if (env->os_release)
		proto__text(packet, UTSNAME_RELEASE, env->os_release, SIZE_MAX);
	if (env->arch)
		proto__text(packet, UTSNAME_MACHINE, env->arch, SIZE_MAX);
	proto__end(packet, name);
	proto__end(packet, begin);
	err = packets__end(tracks->packets);
	if (!err && env->clock.enabled && !tracks->packets->machine.id)
		err = write_clocks(tracks, env);
	return err;
}

/* Viewers do not tell the machine of a process, but show its command. */
static void write_command(struct tracks *tracks, const char *name)
{
	char command[512];

	if (tracks->packets->machine.id) {
		snprintf(command, sizeof(command), "%s: %s", tracks->packets->machine.name, name);
		name = command;
	}
	proto__text(&tracks->packets->packet, PROCESS_COMMAND, name, SIZE_MAX);
}

int tracks__task(struct tracks *tracks, u64 time, int pid, int tid, int parent, const char *name)
{
	struct proto *packet;
	size_t tree, begin;

	if (tid <= 0 || pid < 0)
		return 0;
	packet = packets__begin(tracks->packets, SEQUENCE_COMMON, time);
	tree = proto__begin(packet, PACKET_PROCESS_TREE);
	if (pid == tid) {
		begin = proto__begin(packet, TREE_PROCESS);
		proto__number(packet, PROCESS_PID, pid);
		if (parent >= 0)
			proto__number(packet, PROCESS_PARENT, parent);
		if (name)
			write_command(tracks, name);
		proto__end(packet, begin);
	}
	begin = proto__begin(packet, TREE_THREAD);
	proto__number(packet, THREAD_TID, tid);
	proto__number(packet, THREAD_PID, pid);
	if (name)
		proto__text(packet, THREAD_NAME, name, SIZE_MAX);
	proto__end(packet, begin);
	proto__end(packet, tree);
	return packets__end(tracks->packets);
}

/* ---- tracks */

static void write_uuid(struct tracks *tracks, unsigned int field, u64 uuid)
{
	proto__number(&tracks->packets->packet, field,
		      (u64)tracks->packets->machine.id << MACHINE_UUID_SHIFT | uuid);
}

/* The tracks of a machine of several are below that of the machine. */
static int describe(struct tracks *tracks, u64 uuid, u64 parent, const char *name)
{
	struct proto *packet = packets__begin(tracks->packets, SEQUENCE_COMMON, 0);
	size_t begin = proto__begin(packet, PACKET_TRACK_DESCRIPTOR);

	write_uuid(tracks, TRACK_UUID, uuid);
	if (!parent && uuid != UUID_MACHINE && tracks->packets->machine.id)
		parent = UUID_MACHINE;
	if (parent)
		write_uuid(tracks, TRACK_PARENT, parent);
	proto__text(packet, TRACK_NAME, name, SIZE_MAX);
	proto__end(packet, begin);
	return packets__end(tracks->packets);
}

static int describe_common(struct tracks *tracks)
{
	if (tracks->described)
		return 0;
	tracks->described = true;
	return (tracks->packets->machine.id ?
		describe(tracks, UUID_MACHINE, 0, tracks->packets->machine.name) : 0) ?:
	       describe(tracks, UUID_RECORDS, 0, "Records") ?:
	       describe(tracks, UUID_SNAPSHOTS, 0, "Snapshots");
}

/* Begin an event; annotations may follow until end_event(). */
static size_t begin_event(struct tracks *tracks, u64 uuid, u64 time, enum track_event_type type,
			  const char *name, size_t size)
{
	struct proto *packet = packets__begin(tracks->packets, SEQUENCE_COMMON, time);
	size_t begin = proto__begin(packet, PACKET_TRACK_EVENT);

	proto__number(packet, EVENT_TYPE, type);
	write_uuid(tracks, EVENT_TRACK, uuid);
	if (name)
		proto__text(packet, EVENT_NAME, name, size);
	return begin;
}

static void annotate(struct tracks *tracks, const char *name, u64 number)
{
	struct proto *packet = &tracks->packets->packet;
	size_t begin = proto__begin(packet, EVENT_ANNOTATION);

	proto__number(packet, ANNOTATION_NUMBER, number);
	proto__text(packet, ANNOTATION_NAME, name, SIZE_MAX);
	proto__end(packet, begin);
}

static int end_event(struct tracks *tracks, size_t begin)
{
	proto__end(&tracks->packets->packet, begin);
	return packets__end(tracks->packets);
}

static int write_event(struct tracks *tracks, u64 uuid, u64 time, enum track_event_type type,
		       const char *name)
{
	return end_event(tracks, begin_event(tracks, uuid, time, type, name, SIZE_MAX));
}

static struct cpu_track *find_cpu(struct tracks *tracks, int cpu)
{
	return cpu >= 0 && cpu < tracks->nr_cpus && tracks->cpus[cpu].begin ? &tracks->cpus[cpu] :
									     NULL;
}

static int begin_cpu(struct tracks *tracks, const struct moment *at)
{
	struct cpu_track *cpus;
	char name[32];

	if (at->cpu >= tracks->nr_cpus) {
		cpus = realloc(tracks->cpus, (at->cpu + 1) * sizeof(*cpus));
		if (!cpus)
			return -ENOMEM;
		memset(cpus + tracks->nr_cpus, 0, (at->cpu + 1 - tracks->nr_cpus) * sizeof(*cpus));
		tracks->cpus = cpus;
		tracks->nr_cpus = at->cpu + 1;
	}
	tracks->cpus[at->cpu].begin = tracks->cpus[at->cpu].last = at->time;
	snprintf(name, sizeof(name), "Records of CPU %d", at->cpu);
	return describe_common(tracks) ?:
	       describe(tracks, UUID_CPU + at->cpu + 1, UUID_RECORDS, name) ?:
	       write_event(tracks, UUID_CPU + at->cpu + 1, at->time, TYPE_BEGIN, "recorded");
}

int tracks__sample(struct tracks *tracks, const struct moment *at, bool may_be_lost)
{
	struct cpu_track *cpu = find_cpu(tracks, at->cpu);
	int err;

	tracks->end = max(tracks->end, at->time);
	if (!tracks->begin || at->time < tracks->begin)
		tracks->begin = at->time;
	if (at->cpu < 0 || at->cpu >= MAX_CPUS)
		return 0;
	if (!cpu) {
		err = begin_cpu(tracks, at);
		if (err)
			return err;
		cpu = &tracks->cpus[at->cpu];
	}
	cpu->nr_samples++;
	if (may_be_lost)
		cpu->last = at->time;
	return 0;
}

static void annotate_task(struct tracks *tracks, const struct moment *at)
{
	if (at->cpu >= 0)
		annotate(tracks, "cpu", at->cpu);
	if (at->tid > 0)
		annotate(tracks, "tid", at->tid);
}

/* Draw the duration that caused a snapshot: it may begin before the file. */
static int draw_too_long(struct tracks *tracks, const struct moment *at, const char *text,
			 struct too_long *too_long)
{
	unsigned int lane = too_long__choose_lane(&tracks->too_long, too_long);
	u64 uuid = UUID_TOO_LONG + lane;
	char title[32] = "Too long";
	size_t begin;
	int err = 0;

	if (lane)
		snprintf(title, sizeof(title), "Too long (%u)", lane + 1);
	if (lane >= tracks->nr_too_long) {
		err = describe(tracks, uuid, 0, title);
		tracks->nr_too_long = lane + 1;
	}
	begin = begin_event(tracks, uuid, too_long->begin, TYPE_BEGIN, text, too_long->len);
	proto__text(&tracks->packets->packet, EVENT_CATEGORY, "too-long", SIZE_MAX);
	annotate_task(tracks, at);
	return err ?: end_event(tracks, begin) ?:
	       write_event(tracks, uuid, too_long->end, TYPE_END, NULL);
}

int tracks__snapshot(struct tracks *tracks, const struct moment *at, const char *text, size_t size)
{
	struct too_long too_long;
	char name[1536];
	size_t begin;
	int err = describe_common(tracks);

	if (err)
		return err;
	tracks->end = max(tracks->end, at->time);
	snprintf(name, sizeof(name), "snapshot: %.*s", (int)strnlen(text, min(size, sizeof(name))),
		 text);
	begin = begin_event(tracks, UUID_SNAPSHOTS, at->time, TYPE_INSTANT, name, SIZE_MAX);
	annotate_task(tracks, at);
	err = end_event(tracks, begin);
	return !err && too_long__parse(&too_long, text, size) ?
	       draw_too_long(tracks, at, text, &too_long) : err;
}

/* ---- losses */

/* A loss lies between the sample before it and the record that reports it. */
int tracks__lost(struct tracks *tracks, const struct loss *loss)
{
	struct cpu_track *cpu = find_cpu(tracks, loss->cpu);
	u64 uuid = UUID_CPU + loss->cpu + 1, from;
	char name[64];
	size_t begin;

	if (!cpu || !loss->time || loss->kind != LOSS_RECORD)
		return loss_counts__add(&tracks->counts, loss, MAX_CPUS);
	from = cpu->last;
	cpu->nr_lost += loss->nr;
	cpu->last = loss->time;
	tracks->end = max(tracks->end, loss->time);
	snprintf(name, sizeof(name), "%" PRIu64 " lost", loss->nr);
	begin = begin_event(tracks, uuid, from, TYPE_BEGIN, name, SIZE_MAX);
	proto__text(&tracks->packets->packet, EVENT_CATEGORY, "lost", SIZE_MAX);
	annotate(tracks, "lost", loss->nr);
	return end_event(tracks, begin) ?: write_event(tracks, uuid, loss->time, TYPE_END, NULL);
}

static int write_counts(struct tracks *tracks, unsigned int index)
{
	static const char * const names[] = {
		[LOSS_RECORD]	= "lost at an unknown time",
		[LOSS_COUNTER]	= "lost in all",
		[LOSS_FILTERED]	= "filtered out",
	};
	u64 uuid = find_cpu(tracks, (int)index - 1) ? UUID_CPU + index : UUID_RECORDS;
	int kind, err = 0;
	char name[64];
	size_t begin;

	for (kind = 0; kind < NR_LOSS_KINDS && !err; kind++) {
		u64 nr = tracks->counts.nr[index][kind];

		if (!nr)
			continue;
		err = describe_common(tracks);
		snprintf(name, sizeof(name), "%" PRIu64 " %s", nr, names[kind]);
		begin = begin_event(tracks, uuid, tracks->end, TYPE_INSTANT, name, SIZE_MAX);
		proto__text(&tracks->packets->packet, EVENT_CATEGORY, "lost", SIZE_MAX);
		annotate(tracks, names[kind], nr);
		err = err ?: end_event(tracks, begin);
	}
	return err;
}

static int end_cpu(struct tracks *tracks, int cpu)
{
	struct cpu_track *track = find_cpu(tracks, cpu);
	size_t begin;

	if (!track)
		return 0;
	begin = begin_event(tracks, UUID_CPU + cpu + 1, tracks->end, TYPE_END, NULL, 0);
	annotate(tracks, "samples", track->nr_samples);
	annotate(tracks, "lost", track->nr_lost);
	return end_event(tracks, begin);
}

/* Say for the whole span of the records how wrong their times may be. */
static int draw_machine(struct tracks *tracks)
{
	const struct trace_machine *machine = &tracks->packets->machine;
	char name[64];
	size_t begin;
	int err;

	if (!machine->id)
		return 0;
	err = describe_common(tracks);
	if (err || !tracks->begin)
		return err;
	snprintf(name, sizeof(name), "clock within %" PRIu64 ".%03u us", machine->bound / 1000,
		 (unsigned int)(machine->bound % 1000));
	begin = begin_event(tracks, UUID_MACHINE, tracks->begin, TYPE_BEGIN, name, SIZE_MAX);
	proto__text(&tracks->packets->packet, EVENT_CATEGORY, "clock", SIZE_MAX);
	annotate(tracks, "bound_ns", machine->bound);
	return end_event(tracks, begin) ?:
	       write_event(tracks, UUID_MACHINE, tracks->end, TYPE_END, NULL);
}

int tracks__finish(struct tracks *tracks)
{
	unsigned int i;
	int cpu, err = 0;

	for (i = 0; i < tracks->counts.len && !err; i++)
		err = write_counts(tracks, i);
	for (cpu = 0; cpu < tracks->nr_cpus && !err; cpu++)
		err = end_cpu(tracks, cpu);
	return err ?: draw_machine(tracks);
}
