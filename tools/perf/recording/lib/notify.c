// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "util/debug.h"
#include "fd.h"
#include "notify.h"

/* A path, or an abstract name behind an @. Return: length of the address, or 0 if it is neither. */
static socklen_t parse_address(struct sockaddr_un *address, const char *name)
{
	size_t len = strlen(name);

	if ((*name != '/' && *name != '@') || len < 2 || len >= sizeof(address->sun_path))
		return 0;
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(address->sun_path, name, len);
	if (*name == '@')
		address->sun_path[0] = '\0';
	return offsetof(struct sockaddr_un, sun_path) + len;
}

void notify__send(const char *fmt, ...)
{
	const char *name = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address;
	char text[PATH_MAX + 1024];
	socklen_t address_len;
	va_list args;
	int len, fd;

	if (!name)
		return;
	address_len = parse_address(&address, name);
	if (!address_len) {
		pr_warning_once("Cannot notify the service manager: NOTIFY_SOCKET=%s is neither a "
				"path nor an abstract name.\n", name);
		return;
	}
	va_start(args, fmt);
	len = vscnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 ||
	    sendto(fd, text, len, MSG_NOSIGNAL, (struct sockaddr *)&address, address_len) < 0)
		pr_warning_once("Cannot notify the service manager: %m\n");
	fd__close(&fd);
}
