// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "recording/write/pipeline.h"
#include "recording/write/zstd_records.h"
#include "util/debug.h"
#include "block.h"
#include "pack.h"
#include "restore.h"

int restorer__restore(struct restorer *restorer, struct records *records)
{
	void *data;
	ssize_t len;

	len = keep_unpacker__unpack(restorer->unpacker, records->part[0].iov_base,
				    records->part[0].iov_len, &data);
	if (len < 0) {
		pr_err("Cannot restore kept records: %s\n", strerror(-len));
		return len;
	}
	*records = records__of(data, len);
	len = zstd_records__compress(&restorer->zstd, restorer->level, data, len, restorer->records,
				     true);
	if (len >= 0)
		*records = records__of(restorer->records, len);
	else		/* a stream after an error is in no defined state */
		zstd_fini(&restorer->zstd);
	return 0;
}

/* A snapshot is to be written faster than the levels that pack memory best compress. */
int restorer__init(struct restorer *restorer, int level)
{
	restorer->level = min(level, PIPELINE_FAST_LEVEL);
	if (!level)
		return 0;
	zstd_init(&restorer->zstd, restorer->level);
	restorer->unpacker = keep_unpacker__new(KEEP_BLOCK_BYTES);
	restorer->records = malloc(ZSTD_RECORDS_BYTES(KEEP_BLOCK_BYTES));
	return restorer->unpacker && restorer->records ? 0 : -ENOMEM;
}

void restorer__exit(struct restorer *restorer)
{
	zstd_fini(&restorer->zstd);
	keep_unpacker__free(restorer->unpacker);
	restorer->unpacker = NULL;
	zfree(&restorer->records);
}
