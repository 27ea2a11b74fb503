// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "iterate.h"

int bpf_link__iterate(struct bpf_link *link)
{
	int fd = bpf_iter_create(bpf_link__fd(link));
	ssize_t len;
	char none;

	if (fd < 0)
		return -errno;
	do {
		len = read(fd, &none, sizeof(none));
	} while (len > 0 || (len < 0 && (errno == EINTR || errno == EAGAIN)));
	len = len < 0 ? -errno : 0;
	close(fd);
	return len;
}

int when__iterate(struct bpf_link *link, struct duration_words *words, u64 now, u64 *next)
{
	int err;

	words->now = now;
	words->next = 0;
	err = bpf_link__iterate(link);
	*next = words->next;
	return err;
}
