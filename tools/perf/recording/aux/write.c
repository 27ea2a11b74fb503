// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write pieces of a trace, the hardware ids that a decoder needs with them, and their index.
 */
#include <perf/event.h>
#include "util/session.h"
#include "aux.h"
#include "recording/lib/compat.h"
#include "recording/output/aux_index.h"
#include "recording/output/output.h"
#include "write.h"

/*
 * Some traces have records that never wrap: cut off the rest of the area that holds no whole
 * record.
 */
static struct records align(const struct aux *aux, const struct records *data)
{
	struct records aligned = *data;

	if (aux->itr->alignment)
		aligned.part[0].iov_len -= aligned.part[0].iov_len % aux->itr->alignment;
	return aligned;
}

/* Begin the trace with padding: in traces with samples, zeros are padding. */
int aux__write_hw_ids(struct aux *aux, struct aux_area *area, struct output *output)
{
	static const u64 padding;
	struct records records = records__of(&padding, sizeof(padding));

	if (!hw_ids__has_news(&area->hw_ids))
		return 0;
	if (aux->has_samples && !area->hw_ids.begun)
		return aux__write(aux, area, &records, 0, auxtrace_record__reference(aux->itr),
				  output);
	return hw_ids__write(&area->hw_ids, output__write_data, output);
}

int aux__write_all_hw_ids(struct aux *aux, struct output *output)
{
	struct aux_area *area;
	int err = 0;

	aux__for_each_area(aux, area)
		err = err ?: aux__write_hw_ids(aux, area, output);
	return err;
}

int aux__write(struct aux *aux, struct aux_area *area, const struct records *data, u64 position,
	       u64 reference, struct output *output)
{
	static const char zeros[PERF_AUXTRACE_RECORD_ALIGNMENT];
	struct records records = align(aux, data);
	size_t padding = -records__len(&records) % PERF_AUXTRACE_RECORD_ALIGNMENT;
	union perf_event event = {
		.auxtrace = {
			.header.type = PERF_RECORD_AUXTRACE,
			.header.size = sizeof(event.auxtrace),
			.size	     = records__len(&records) + padding,
			.offset	     = position,
			.reference   = reference,
			.idx	     = area->mm.idx,
			.tid	     = area->mm.tid,
			.cpu	     = area->mm.cpu,
		},
	};
	const struct records unit = {
		.part = {
			{ &event, sizeof(event.auxtrace) },
			records.part[0],
			records.part[1],
			{ (void *)zeros, padding },
		},
	};
	u64 pos;
	int err = hw_ids__write(&area->hw_ids, output__write_data, output);

	area->hw_ids.begun = true;
	if (!err)
		err = output__write_unit(output, &unit, &pos);
	if (!err && !output__is_pipe(output))
		err = auxtrace_index__auxtrace_event(&area->index, &event, pos);
	return err;
}

void aux__end_file(struct aux *aux, struct output *output)
{
	struct aux_area *area;

	if (!aux->nr)
		return;
	auxtrace_index__free(&output->session->auxtrace_index);
	aux__for_each_area(aux, area) {
		list_splice_tail_init(&area->index, &output->session->auxtrace_index);
		hw_ids__begin_file(&area->hw_ids);
	}
}

void aux__cut_index(struct aux *aux, u64 end)
{
	struct aux_area *area;

	aux__for_each_area(aux, area)
		aux_index__cut(&area->index, end);
}
