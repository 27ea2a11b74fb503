// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include "recording/lib/compat.h"
#include "recording/lib/id_map.h"
#include "util/data.h"
#include "util/debug.h"
#include "util/evsel.h"
#include "util/sample.h"
#include "util/session.h"
#include "util/tool.h"
#include "pid_map.h"

struct reader {
	struct perf_tool	 tool;
	struct pid_map		*map;
	int			 err;
};

int pid_map__common_pid(struct evsel *evsel, struct perf_sample *sample)
{
	if (evsel->core.attr.type != PERF_TYPE_TRACEPOINT || !sample->raw_data)
		return 0;
	return sample__common_pid(evsel, sample);
}

/* A task that exits has tid -1 in its last samples, in each namespace. */
bool pid_map__differs(struct evsel *evsel, struct perf_sample *sample)
{
	int pid = pid_map__common_pid(evsel, sample);

	return pid > 0 && (int)sample->tid >= 0 && pid != (int)sample->tid;
}

int pid_map__learn(struct pid_map *map, struct evsel *evsel, struct perf_sample *sample)
{
	int pid = pid_map__common_pid(evsel, sample);

	if (pid <= 0 || (int)sample->tid <= 0)
		return 0;
	return hashmap__set(map->initial, (long)sample->tid, (long)pid, NULL, NULL) ? -ENOMEM : 0;
}

int pid_map__initial(const struct pid_map *map, int tid)
{
	long pid;

	return tid > 0 && hashmap__find(map->initial, (long)tid, &pid) ? (int)pid : -1;
}

/* The records are not sorted. If a tid has several ids, process_sample() learns them in order. */
static int read_sample(const struct perf_tool *tool, union perf_event *event __maybe_unused,
		       struct perf_sample *sample, struct evsel *evsel,
		       struct machine *machine __maybe_unused)
{
	struct reader *reader = container_of(tool, struct reader, tool);
	struct pid_map *map = reader->map;

	if (!map->in_namespace && !pid_map__differs(evsel, sample)) {
		if (pid_map__common_pid(evsel, sample) > 0 && (int)sample->tid > 0)
			session_done = 1;
		return 0;
	}
	map->in_namespace = true;
	return reader->err = pid_map__learn(map, evsel, sample);
}
DEFINE_SAMPLE_CALLBACK(sample_callback, read_sample)

int pid_map__read(struct pid_map *map, struct perf_data *input)
{
	struct perf_data data = { .mode = PERF_DATA_MODE_READ, .path = input->path,
				  .force = input->force };
	struct reader reader = { .map = map };
	struct perf_session *session;
	int level = verbose;

	map->initial = id_map__new();
	if (IS_ERR(map->initial)) {
		map->initial = NULL;
		return -ENOMEM;
	}
	if (perf_data__is_pipe(input))
		return 0;
	perf_tool__init(&reader.tool, /*ordered_events=*/false);
	reader.tool.sample = sample_callback;
	/* The caller reads the file as well, and reports what is wrong with it. */
	verbose = -1;
	session = perf_session__new(&data, &reader.tool);
	if (!IS_ERR(session)) {
		perf_session__process_events(session);
		session_done = 0;
		perf_session__delete(session);
	}
	verbose = level;
	return reader.err;
}

void pid_map__exit(struct pid_map *map)
{
	hashmap__free(map->initial);
}
