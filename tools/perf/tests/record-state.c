// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test that perf's struct machine resolves samples with the live state that perf record writes.
 *
 * recording/tests/state/history.h generates random histories of a small system. Each sample must
 * resolve to the task and map it came from, by the state records in the same file. The unit test of
 * the state (state_test.c) checks the same with a naive reader and under sanitizers.
 */
#include <inttypes.h>
#include <string.h>
#include "recording/tests/state/history.h"
#include "util/debug.h"
#include "util/dso.h"
#include "util/event.h"
#include "util/machine.h"
#include "util/map.h"
#include "util/maps.h"
#include "util/sample.h"
#include "util/thread.h"
#include "tests.h"

#define HISTORIES	500
#define STEPS		2000

static void begin(void *arg)
{
	struct machine *machine = arg;

	machine__exit(machine);
	machine__init(machine, "", HOST_KERNEL_ID);
}

static void process(void *machine, union perf_event *event, u64 time)
{
	struct perf_sample sample = {
		.time	 = time,
		.cpumode = event->header.misc & PERF_RECORD_MISC_CPUMODE_MASK,
	};

	machine__process_event(machine, event, &sample);
}

static void resolve(void *machine, u32 pid, u32 tid, u64 addr, char *comm, char *file, u64 *offset)
{
	struct thread *thread = machine__find_thread(machine, pid, tid);
	struct map *map;

	*comm = *file = '\0';
	if (!thread)
		return;
	if (thread__comm_set(thread))
		strcpy(comm, thread__comm_str(thread));
	map = maps__find(thread__maps(thread), addr);
	if (map) {
		strcpy(file, dso__long_name(map__dso(map)));
		*offset = map__map_ip(map, addr);
	}
	map__put(map);
	thread__put(thread);
}

static int test__record_state(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	struct machine machine;
	struct history_reader reader = {
		.begin = begin, .event = process, .resolve = resolve, .reader = &machine,
	};
	struct history *history = calloc(1, sizeof(*history));
	u64 seed, checked = 0, in_maps = 0, failed = 0;

	if (!history || machine__init(&machine, "", HOST_KERNEL_ID)) {
		free(history);
		return TEST_FAIL;
	}
	for (seed = 1; seed <= HISTORIES; seed++) {
		if (history__run(history, seed, STEPS, &reader))
			pr_debug("history %" PRIu64 "\n", seed);
		checked += history->checked;
		in_maps += history->in_maps;
		failed += history->failed;
	}
	pr_debug("%" PRIu64 " samples, %" PRIu64 " of them in maps, %" PRIu64 " wrong\n",
		 checked, in_maps, failed);
	machine__exit(&machine);
	free(history);
	return !failed && in_maps ? TEST_OK : TEST_FAIL;
}

DEFINE_SUITE("perf record: samples resolve with the live state", record_state);
