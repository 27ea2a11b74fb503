// SPDX-License-Identifier: GPL-2.0-only
#include <perf/event.h>
#include "account.h"

/* The u64 at @offset of the record at @pos, or 0 if the record is too short for it. */
static u64 field(const struct span *span, size_t pos, const struct perf_event_header *header,
		 size_t offset)
{
	u64 value = 0;

	if (header->size >= offset + sizeof(value))
		span__copy(span, pos + offset, &value, sizeof(value));
	return value;
}

size_t account__add(struct account *account, const struct span *span, size_t len)
{
	struct perf_event_header header;
	size_t pos = 0, size;

	while ((size = span__header(span, pos, &header)) && pos + size <= len) {
		account->records++;
		switch (header.type) {
		case PERF_RECORD_SAMPLE:
			account->samples++;
			break;
		case PERF_RECORD_LOST:
			account->lost += field(span, pos, &header,
					       offsetof(struct perf_record_lost, lost));
			break;
		case PERF_RECORD_LOST_SAMPLES:
			account->lost_samples += field(span, pos, &header,
					offsetof(struct perf_record_lost_samples, lost));
			break;
		case PERF_RECORD_THROTTLE:
			account->throttles++;
			break;
		default:
			break;
		}
		pos += size;
	}
	account->bytes += pos;
	return pos;
}

void account__merge(struct account *account, const struct account *from)
{
	account->records += from->records;
	account->samples += from->samples;
	account->lost += from->lost;
	account->lost_samples += from->lost_samples;
	account->throttles += from->throttles;
	account->bytes += from->bytes;
}
