// SPDX-License-Identifier: GPL-2.0-only
#include "recording/lib/compat.h"
#include "util/callchain.h"
#include "util/event.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/session.h"
#include "util/symbol.h"
#include "util/tool.h"
#include "stacks.h"

static void prepare(const struct evsel *evsel)
{
	u64 type = evsel->core.attr.sample_type;

	if (type & PERF_SAMPLE_CALLCHAIN)
		symbol_conf.use_callchain = true;
	if (type & PERF_SAMPLE_REGS_USER && type & PERF_SAMPLE_STACK_USER) {
		callchain_param.record_mode = CALLCHAIN_DWARF;
		dwarf_callchain_users = true;
	}
}

/* In a pipe, events are records. */
static int process_attr(const struct perf_tool *tool, union perf_event *event,
			struct evlist **pevlist)
{
	int err = perf_event__process_attr(tool, event, pevlist);

	if (!err)
		prepare(evlist__last(*pevlist));
	return err;
}

void stacks__set_callbacks(struct perf_tool *tool)
{
	tool->attr = process_attr;
	tool->ksymbol = perf_event__process_ksymbol;
	tool->bpf = perf_event__process_bpf;
	tool->text_poke = perf_event__process_text_poke;
}

int stacks__prepare_all(struct perf_session *session)
{
	struct evsel *evsel;

	evlist__for_each_entry(session->evlist, evsel)
		prepare(evsel);
	return symbol__init(&session->header.env) < 0 ? -1 : 0;
}
