// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>
#include <linux/types.h>
#include <linux/zalloc.h>
#include <sys/epoll.h>
#include "util/debug.h"
#include "pollset.h"
#include "eventfd.h"
#include "fd.h"

struct pollset_entry {
	int		 fd;
	struct ring	*ring;		/* NULL: not a ring's descriptor */
	bool		 of_task;
};

static int add(struct pollset *set, struct pollset_entry entry, u32 events)
{
	struct epoll_event event = { .events = events, .data.u32 = set->nr };
	struct pollset_entry *entries = realloc(set->entries, (set->nr + 1) * sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	set->entries = entries;
	if (epoll_ctl(set->epoll_fd, EPOLL_CTL_ADD, entry.fd, &event))
		return -errno;
	set->entries[set->nr++] = entry;
	set->nr_tasks += entry.of_task;
	return 0;
}

int pollset__add(struct pollset *set, int fd)
{
	return add(set, (struct pollset_entry){ .fd = fd }, EPOLLIN);
}

int pollset__add_ring(struct pollset *set, int fd, struct ring *ring, bool of_task)
{
	return add(set, (struct pollset_entry){ fd, ring, of_task }, EPOLLIN | EPOLLET);
}

int pollset__init(struct pollset *set)
{
	*set = (struct pollset){
		.epoll_fd = epoll_create1(EPOLL_CLOEXEC),
		.wake_fd  = -1,
	};
	if (set->epoll_fd < 0)
		return -errno;
	set->wake_fd = eventfd__new();
	return set->wake_fd < 0 ? set->wake_fd : pollset__add(set, set->wake_fd);
}

void pollset__exit(struct pollset *set)
{
	if (!set->epoll_fd)
		return;
	fd__close(&set->wake_fd);
	if (set->epoll_fd > 0)
		close(set->epoll_fd);
	zfree(&set->entries);
	*set = (struct pollset){ 0 };
}

void pollset__wake(const struct pollset *set)
{
	eventfd__signal(set->wake_fd);
}

static void remove_entry(struct pollset *set, const struct pollset_entry *entry)
{
	set->nr_tasks -= entry->of_task;
	if (epoll_ctl(set->epoll_fd, EPOLL_CTL_DEL, entry->fd, NULL))
		pr_debug("Cannot remove a descriptor that has hung up from epoll: %m\n");
}

void pollset__wait(struct pollset *set, int timeout_ms)
{
	struct epoll_event events[POLLSET_READY];
	int i, nr = epoll_wait(set->epoll_fd, events, POLLSET_READY, timeout_ms);

	set->nr_ready = 0;
	for (i = 0; i < nr; i++) {
		const struct pollset_entry *entry = &set->entries[events[i].data.u32];

		if (entry->fd == set->wake_fd)
			eventfd__clear(set->wake_fd);
		if (entry->ring)
			set->ready[set->nr_ready++] = entry->ring;
		if (events[i].events & (EPOLLERR | EPOLLHUP))
			remove_entry(set, entry);
	}
}

void pollset__sleep(struct pollset *set)
{
	set->nr_ready = 0;
	if (poll(&(struct pollfd){ .fd = set->wake_fd, .events = POLLIN }, 1, -1) > 0)
		eventfd__clear(set->wake_fd);
}
