// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/time64.h>
#include "util/debug.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/evsel_fprintf.h"
#include "util/record.h"
#include "recording/ring/bpf_ring.h"
#include "control.h"

int control__init(struct control *control, struct evlist *evlist, const struct record_opts *opts)
{
	control->evlist = evlist;
	control->ack_fd = opts->ctl_fd_ack;
	if (evlist__initialize_ctlfd(evlist, opts->ctl_fd, opts->ctl_fd_ack))
		return -EBADF;
	if (control->ack_fd >= 0)
		fcntl(control->ack_fd, F_SETFL, fcntl(control->ack_fd, F_GETFL) | O_NONBLOCK);
	return 0;
}

/* One write: answers of two threads do not mix. */
static void answer(const struct control *control, const char *what, const char *text)
{
	char line[PATH_MAX + 48];
	int len;

	if (control->ack_fd < 0)
		return;
	len = scnprintf(line, sizeof(line), "%s%s\n", what, text);
	if (write(control->ack_fd, line, len + 1) < 0)
		pr_err("Cannot answer a command of --control: %m\n");
}

static void refuse(const struct control *control, const char *reason)
{
	pr_warning("--control: %s\n", reason);
	answer(control, "error: ", reason);
}

void control__answer(const struct control *control, const char *error, const char *file,
		     u64 complete_ns, const char *limit)
{
	char text[PATH_MAX + 40];

	if (error)
		return answer(control, "error: ", error);
	scnprintf(text, sizeof(text), "%s%s", file ? " " : "", file ?: "");
	if (file && complete_ns)
		scnprintf(text + strlen(text), sizeof(text) - strlen(text), " %.6f %s",
			  (double)complete_ns / NSEC_PER_SEC, limit);
	answer(control, "ack", text);
}

static void enable(struct control *control, const char *name, bool on)
{
	struct evlist *evlist = control->evlist;
	char reason[CONTROL_MAX_LEN + 32];

	if (!*name) {
		if (on)
			evlist__enable(evlist);
		else
			evlist__disable(evlist);
		pr_info("%s", on ? EVLIST_ENABLED_MSG : EVLIST_DISABLED_MSG);
	} else if (evlist__find_evsel_by_str(evlist, name)) {
		if (on)
			evlist__enable_evsel(evlist, (char *)name);
		else
			evlist__disable_evsel(evlist, (char *)name);
		pr_info("Event %s %s\n", name, on ? "enabled" : "disabled");
	} else {
		scnprintf(reason, sizeof(reason), "no event '%s' is recorded", name);
		return refuse(control, reason);
	}
	bpf_ring__sync(evlist);
	answer(control, "ack", "");
}

static void list(struct control *control, const char *option)
{
	struct perf_attr_details details = {
		.verbose     = !strcmp(option, "-v"),
		.event_group = !strcmp(option, "-g"),
		.freq	     = !strcmp(option, "-F"),
	};
	struct evsel *evsel;

	if (*option && !details.verbose && !details.event_group && !details.freq)
		return refuse(control, "evlist takes -v, -g or -F");
	evlist__for_each_entry(control->evlist, evsel)
		evsel__fprintf(evsel, &details, stderr);
	answer(control, "ack", "");
}

static void execute(struct control *control, char *line, struct control_requests *requests)
{
	char *arg = strchrnul(line, ' ');
	char reason[CONTROL_MAX_LEN + 128];

	if (*arg)
		*arg++ = '\0';
	if (!strcmp(line, "enable") || !strcmp(line, "disable")) {
		enable(control, arg, *line == 'e');
	} else if (!strcmp(line, "evlist")) {
		list(control, arg);
	} else if (!strcmp(line, "snapshot") && !*arg) {
		requests->snapshots++;
	} else if (!strcmp(line, "stop") && !*arg) {
		requests->stop = true;
		answer(control, "ack", "");
	} else if (!strcmp(line, "ping") && !*arg) {
		answer(control, "ack", "");
	} else if (*line) {
		scnprintf(reason, sizeof(reason), "unknown command '%s%s%s'. Known commands: enable [event], "
			  "disable [event], evlist [-v|-g|-F], snapshot, stop, ping", line, *arg ? " " : "",
			  arg);
		refuse(control, reason);
	}
}

static void end_line(struct control *control, struct control_requests *requests)
{
	control->line[control->len] = '\0';
	control->len = 0;
	execute(control, control->line, requests);
}

/* One read, which does not block after the poll. At the end of file, poll() would always return. */
void control__process(struct control *control, struct control_requests *requests)
{
	struct evlist *evlist = control->evlist;
	char buf[CONTROL_MAX_LEN];
	struct pollfd *entry;
	ssize_t len, i;

	if (!evlist__ctlfd_initialized(evlist))
		return;
	entry = &evlist->core.pollfd.entries[evlist->ctl_fd.pos];
	if (!(entry->revents & (POLLIN | POLLHUP | POLLERR)))
		return;
	len = read(entry->fd, buf, sizeof(buf));
	for (i = 0; i < len; i++) {
		if (buf[i] == '\n' || buf[i] == '\0')
			end_line(control, requests);
		else if (control->len < sizeof(control->line) - 1)
			control->line[control->len++] = buf[i];
	}
	if (len < (ssize_t)sizeof(buf))
		end_line(control, requests);
	if (!len || (len < 0 && errno != EAGAIN && errno != EINTR))
		evlist__finalize_ctlfd(evlist);
}
