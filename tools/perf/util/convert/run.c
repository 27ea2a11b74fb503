// SPDX-License-Identifier: GPL-2.0-only
#include "common.h"
#include "fields.h"
#include "run.h"
#include "stacks.h"
#include "task_ids.h"

int conversion__run(struct conversion *conv, struct task_ids *ids, const char *input,
		    const char *output, const struct perf_data_convert_opts *opts,
		    int (*write)(struct conversion *conv))
{
	int err = conversion__open(conv, input, opts) ?: stacks__prepare_all(conv->session) ?:
		  task_ids__read(ids) ?: conversion__create(conv, output) ?: write(conv);

	err = conversion__close(conv, err);
	if (!err)
		task_ids__report(ids);
	fields__put_all(conv);
	conversion__exit(conv);
	task_ids__exit(ids);
	return err;
}
