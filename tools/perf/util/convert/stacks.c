// SPDX-License-Identifier: GPL-2.0-only
#include "recording/lib/compat.h"
#include "util/callchain.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/session.h"
#include "util/symbol.h"
#include "stacks.h"

void stacks__prepare(const struct evsel *evsel)
{
	u64 type = evsel->core.attr.sample_type;

	if (type & PERF_SAMPLE_CALLCHAIN)
		symbol_conf.use_callchain = true;
	if (type & PERF_SAMPLE_REGS_USER && type & PERF_SAMPLE_STACK_USER) {
		callchain_param.record_mode = CALLCHAIN_DWARF;
		dwarf_callchain_users = true;
	}
}

int stacks__prepare_all(struct perf_session *session)
{
	struct evsel *evsel;

	evlist__for_each_entry(session->evlist, evsel)
		stacks__prepare(evsel);
	return symbol__init(&session->header.env) < 0 ? -1 : 0;
}
