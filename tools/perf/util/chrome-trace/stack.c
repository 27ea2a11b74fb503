// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "recording/lib/compat.h"
#include "util/addr_location.h"
#include "util/callchain.h"
#include "util/dso.h"
#include "util/event.h"
#include "util/evsel.h"
#include "util/machine.h"
#include "util/map.h"
#include "util/sample.h"
#include "util/symbol.h"
#include "util/thread.h"
#include "chrome_event.h"
#include "stack.h"

#define FRAME_SIZE	512

static const char *frame_name(char name[FRAME_SIZE], u64 ip, const struct symbol *sym,
			      struct map *map)
{
	const struct dso *dso = map ? map__dso(map) : NULL;
	const char *module = dso ? dso__short_name(dso) : NULL;
	int len;

	if (sym)
		len = snprintf(name, FRAME_SIZE, "%s", sym->name);
	else
		len = snprintf(name, FRAME_SIZE, "0x%" PRIx64, ip);
	if (module && len < FRAME_SIZE)
		snprintf(name + len, FRAME_SIZE - len, " (%s)", module);
	return name;
}

void stack__write_place(struct chrome_events *events, struct evsel *evsel,
			struct perf_sample *sample, struct machine *machine)
{
	u64 type = evsel->core.attr.sample_type;
	struct addr_location al;
	char name[FRAME_SIZE];

	if (evsel->core.attr.type == PERF_TYPE_TRACEPOINT || evsel__is_bpf_output(evsel))
		return;
	if (type & PERF_SAMPLE_IP) {
		addr_location__init(&al);
		if (machine__resolve(machine, &al, sample) >= 0)
			json__text(chrome_event__args(events), "at",
				   frame_name(name, sample->ip, al.sym, al.map));
		addr_location__exit(&al);
	}
	if (type & PERF_SAMPLE_ADDR)
		chrome_event__arg_hex(events, "addr", sample->addr);
}

void stack__write(struct chrome_events *events, struct evsel *evsel, struct perf_sample *sample,
		  struct thread *thread)
{
	struct callchain_cursor *cursor = get_tls_callchain_cursor();
	struct callchain_cursor_node *node;
	char name[FRAME_SIZE];
	struct json *json;

	if (!thread || !sample->callchain || !cursor ||
	    resolve_callchain(thread, cursor, evsel, sample, PERF_MAX_STACK_DEPTH))
		return;
	callchain_cursor_commit(cursor);
	json = chrome_event__args(events);
	json__open(json, "stack", '[');
	while ((node = callchain_cursor_current(cursor)) != NULL) {
		frame_name(name, node->ip, node->ms.sym, node->ms.map);
		json__text(json, NULL, name);
		callchain_cursor_advance(cursor);
	}
	json__close(json, ']');
}
