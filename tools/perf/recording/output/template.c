// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "util/copyfile.h"
#include "util/debug.h"
#include "util/header.h"
#include "util/session.h"
#include "output.h"
#include "template.h"

/*
 * util notes in the header where it has written what, and which features it could not write; the
 * header of the file itself must stay as it is.
 */
static int write_header(struct output *output, u64 data_size, int fd)
{
	struct perf_header *header = &output->session->header, before = *header;
	int err;

	errno = 0;
	header->data_size = data_size;
	err = perf_session__write_header(output->session, output->evlist, fd, true);
	header->data_size = before.data_size;
	header->data_offset = before.data_offset;
	header->feat_offset = before.feat_offset;
	memcpy(header->adds_features, before.adds_features, sizeof(before.adds_features));
	return err >= 0 ? 0 : errno ? -errno : -EIO;
}

int output__write_template(struct output *output, int fd, template_write_t more, void *arg)
{
	u64 start = output->session->header.data_offset, len;
	int err = output__flush(output);

	if (err)
		return err;		/* reported */
	len = output->regular ? output__bytes(output) : 0;
	if ((len && copyfile_offset(perf_data__fd(&output->data), start, fd, start, len)) ||
	    lseek(fd, start + len, SEEK_SET) < 0)
		err = -errno;
	if (!err && more)
		err = more(arg, fd);
	err = err ?: write_header(output, lseek(fd, 0, SEEK_CUR) - start, fd);
	if (err)
		pr_err("Cannot write the description of the events: %s\n", strerror(-err));
	return err;
}
