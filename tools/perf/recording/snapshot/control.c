// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/stringify.h>
#include <linux/time64.h>
#include "util/debug.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/evsel_fprintf.h"
#include "util/record.h"
#include "recording/lib/thread.h"
#include "recording/ring/bpf_ring.h"
#include "cause.h"
#include "control.h"

#define ID_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
#define INVALID_ID "an id has 1 to " __stringify(CONTROL_MAX_ID) " letters, digits, '_', '.' or '-'"

/**
 * struct control_snapshot - a "snapshot" without answer
 * @id:		of the command, or ""
 */
struct control_snapshot {
	struct list_head	node;
	char			id[CONTROL_MAX_ID + 1];
};

int control__init(struct control *control, struct evlist *evlist, const struct record_opts *opts)
{
	control->evlist = evlist;
	thread__init_lock(&control->lock);
	INIT_LIST_HEAD(&control->snapshots);
	control->ack_fd = opts->ctl_fd_ack;
	if (evlist__initialize_ctlfd(evlist, opts->ctl_fd, opts->ctl_fd_ack))
		return -EBADF;
	if (control->ack_fd >= 0)
		fcntl(control->ack_fd, F_SETFL, fcntl(control->ack_fd, F_GETFL) | O_NONBLOCK);
	return 0;
}

/* A file may have any name: replace what would end or hide an answer. */
static void replace_control_characters(char *text)
{
	for (; *text; text++) {
		if (iscntrl((unsigned char)*text))
			*text = '?';
	}
}

/* One write: answers of two threads do not mix. */
static void answer(const struct control *control, const char *id, const char *what,
		   const char *text)
{
	char line[PATH_MAX + CAUSE_TEXT + 64 + CONTROL_MAX_ID];
	int len;

	if (control->ack_fd < 0)
		return;
	len = scnprintf(line, sizeof(line) - 1, "%s%s%s%s%s", what, *id ? " id=" : "", id,
			*text ? " " : "", text);
	replace_control_characters(line);
	strcpy(line + len, "\n");
	if (write(control->ack_fd, line, len + 2) < 0)
		pr_err("Cannot answer a command of --control: %m\n");
}

static void acknowledge(const struct control *control, const char *id)
{
	answer(control, id, "ack", "");
}

static void refuse(const struct control *control, const char *id, const char *reason)
{
	pr_warning("--control: %s\n", reason);
	answer(control, id, "error:", reason);
}

static void request_snapshot(struct control *control, const char *id,
			     struct control_requests *requests)
{
	struct control_snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (!snapshot)
		return refuse(control, id, "not enough memory");
	strcpy(snapshot->id, id);
	pthread_mutex_lock(&control->lock);
	list_add_tail(&snapshot->node, &control->snapshots);
	pthread_mutex_unlock(&control->lock);
	requests->snapshots++;
}

/* Return: the oldest "snapshot" without answer, or NULL. */
static struct control_snapshot *next_snapshot(struct control *control)
{
	struct control_snapshot *snapshot;

	pthread_mutex_lock(&control->lock);
	snapshot = list_first_entry_or_null(&control->snapshots, struct control_snapshot, node);
	if (snapshot)
		list_del(&snapshot->node);
	pthread_mutex_unlock(&control->lock);
	return snapshot;
}

void control__answer(struct control *control, const char *error, const char *file,
		     u64 complete_ns, const char *limit, const char *too_long)
{
	struct control_snapshot *snapshot = next_snapshot(control);
	char text[PATH_MAX + CAUSE_TEXT + 48];
	size_t len;

	if (!snapshot)
		return;
	len = scnprintf(text, sizeof(text), "%s", file ?: "");
	if (file && complete_ns)
		len += scnprintf(text + len, sizeof(text) - len, " %.6f %s",
				 (double)complete_ns / NSEC_PER_SEC, limit);
	if (*too_long)
		scnprintf(text + len, sizeof(text) - len, "; %s", too_long);
	answer(control, snapshot->id, error ? "error:" : "ack", error ?: text);
	free(snapshot);
}

void control__exit(struct control *control)
{
	struct control_snapshot *snapshot;

	while ((snapshot = next_snapshot(control)) != NULL)
		free(snapshot);
}

static void enable(struct control *control, const char *id, const char *name, bool on)
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
		return refuse(control, id, reason);
	}
	bpf_ring__sync(evlist);
	acknowledge(control, id);
}

static void list(struct control *control, const char *id, const char *option)
{
	struct perf_attr_details details = {
		.verbose     = !strcmp(option, "-v"),
		.event_group = !strcmp(option, "-g"),
		.freq	     = !strcmp(option, "-F"),
	};
	struct evsel *evsel;

	if (*option && !details.verbose && !details.event_group && !details.freq)
		return refuse(control, id, "evlist takes -v, -g or -F");
	evlist__for_each_entry(control->evlist, evsel)
		evsel__fprintf(evsel, &details, stderr);
	acknowledge(control, id);
}

/* Cut " id=ID" off the end of a line. Return: ID, "" if there is none, or NULL if it is invalid. */
static const char *cut_id(char *line)
{
	char *word = strrchr(line, ' ');
	size_t len;

	if (!word || !strstarts(word, " id="))
		return "";
	*word = '\0';
	word += strlen(" id=");
	len = strspn(word, ID_CHARS);
	return len && !word[len] && len <= CONTROL_MAX_ID ? word : NULL;
}

static void execute(struct control *control, char *line, struct control_requests *requests)
{
	const char *id = cut_id(line);
	char *arg = strchrnul(line, ' ');
	char reason[CONTROL_MAX_LEN + 128];

	if (!id)
		return refuse(control, "", INVALID_ID);
	if (*arg)
		*arg++ = '\0';
	if (!strcmp(line, "enable") || !strcmp(line, "disable")) {
		enable(control, id, arg, *line == 'e');
	} else if (!strcmp(line, "evlist")) {
		list(control, id, arg);
	} else if (!strcmp(line, "snapshot") && !*arg) {
		request_snapshot(control, id, requests);
	} else if (!strcmp(line, "stop") && !*arg) {
		requests->stop = true;
		acknowledge(control, id);
	} else if (!strcmp(line, "ping") && !*arg) {
		acknowledge(control, id);
	} else if (*line) {
		scnprintf(reason, sizeof(reason),
			  "unknown command '%s%s%s'. Known commands: enable [event], "
			  "disable [event], evlist [-v|-g|-F], snapshot, stop, ping",
			  line, *arg ? " " : "", arg);
		refuse(control, id, reason);
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
