// SPDX-License-Identifier: GPL-2.0-only
#include <linux/kernel.h>
#include <perf/event.h>
#include "records.h"

/* Bytes of an AUXTRACE record up to the end of its field size. */
#define AUXTRACE_HEAD_BYTES	offsetof(struct perf_record_auxtrace, offset)

size_t records__extent(const struct records *records, size_t pos, u32 *type)
{
	struct perf_record_auxtrace auxtrace;
	size_t len = min(records__len(records) - pos, (size_t)AUXTRACE_HEAD_BYTES);

	if (len < sizeof(auxtrace.header))
		return 0;
	records__copy(records, pos, &auxtrace, len);
	if (auxtrace.header.size < sizeof(auxtrace.header))
		return 0;
	*type = auxtrace.header.type;
	if (*type == PERF_RECORD_AUXTRACE && len == AUXTRACE_HEAD_BYTES)
		return auxtrace.header.size + auxtrace.size;
	return auxtrace.header.size;
}

/* Take what has no valid header for one record that reaches to the end. */
void records_cursor__find(struct records_cursor *cursor)
{
	while (cursor->next < cursor->pos) {
		size_t size = records__extent(cursor->records, cursor->next, &cursor->type);

		cursor->record = cursor->next;
		if (!size || size > cursor->len - cursor->next || cursor->single)
			size = cursor->len - cursor->next;
		cursor->next += size;
	}
}
