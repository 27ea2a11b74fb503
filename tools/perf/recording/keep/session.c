// SPDX-License-Identifier: GPL-2.0-only
/* Store what describes the recording in the file of --keep-file. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <internal/lib.h>
#include "util/debug.h"
#include "keep.h"

/* The extent and its slot remain until the file is closed. */
static int store(struct keep *keep, int fd, size_t len)
{
	struct box_slot fields = { .kind = BOX_SESSION, .len = len, .raw_len = len };
	void *data = keep_box__alloc(keep->box, len);

	if (!data)
		return -ENOSPC;
	if (preadn(fd, data, len, 0) != (ssize_t)len)
		return -EIO;
	fields.data_sum = checksum(data, len);
	if (!keep_box__add(keep->box, &fields, data))
		return -ENOSPC;
	keep->bytes += len;
	keep_box__set_state(keep->box, BOX_RECORDING);
	return 0;
}

int keep__store_session(struct keep *keep, int fd)
{
	struct stat st;
	int err = fstat(fd, &st) ? -errno : 0;

	pthread_mutex_lock(&keep->lock);
	err = err ?: store(keep, fd, st.st_size);
	pthread_mutex_unlock(&keep->lock);
	if (err)
		pr_err("Cannot store the description of the events in --keep-file=%s: %s\n",
		       keep->file, strerror(-err));
	return err;
}
