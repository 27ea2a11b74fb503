// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <sys/mman.h>
#include "builtin.h"
#include "util/debug.h"
#include "recording/lib/fd.h"
#include "recording/ring/bpf_pins.h"
#include "pinned.h"

#if defined(HAVE_BPF_SKEL) && defined(__x86_64__)

/**
 * struct memory_file - a file in memory, and a name by which this process can open it
 */
struct memory_file {
	int	fd;
	char	name[32];
};

static int create(struct memory_file *file, const char *title)
{
	file->fd = memfd_create(title, MFD_CLOEXEC);
	snprintf(file->name, sizeof(file->name), "/proc/self/fd/%d", file->fd);
	return file->fd < 0 ? -errno : 0;
}

/* The rings are an image of memory, which has nothing else. @image: NULL if they are empty */
static int inject(const struct memory_file *session, const struct memory_file *image,
		  const char *output)
{
	const char *argv[] = {
		"inject", "-i", session->name, "-o", output,
		image ? "--recover-ring" : NULL, image ? image->name : NULL, NULL,
	};

	return cmd_inject(ARRAY_SIZE(argv) - (image ? 1 : 3), argv) ? -EIO : 0;
}

static int save(const struct bpf_pins *pins, const char *output)
{
	struct memory_file session = { .fd = -1 }, image = { .fd = -1 };
	int err = create(&session, "session") ?: create(&image, "rings");

	bpf_pins__detach(pins);
	err = err ?: bpf_pins__copy_session(pins, session.fd) ?:
	      bpf_pins__copy_rings(pins, image.fd);
	if (err)
		pr_err("Cannot copy %s: %s\n", pins->path, strerror(-err));
	if (!err && bpf_pins__is_empty(pins)) {
		pr_info("No event was recorded in %s.\n", pins->path);
		err = inject(&session, NULL, output);
	} else {
		err = err ?: inject(&session, &image, output);
	}
	fd__close(&session.fd);
	fd__close(&image.fd);
	return err;
}

int pinned__save(const char *name, const char *output)
{
	struct bpf_pins pins;
	int err = bpf_pins__open(&pins, name, false);

	if (err)
		return err;
	if (!pins.complete) {
		pr_err("Nothing is pinned in %s.\n", pins.path);
		err = -ENOENT;
	}
	err = err ?: save(&pins, output ?: "perf.data");
	if (!err)
		bpf_pins__remove(&pins);
	else if (pins.complete)
		pr_err("The events are still in %s.\n", pins.path);
	bpf_pins__close(&pins);
	return err;
}

#else

int pinned__save(const char *name __maybe_unused, const char *output __maybe_unused)
{
	pr_err("--unpin: this perf was built without BPF programs.\n");
	return -EOPNOTSUPP;
}
#endif
