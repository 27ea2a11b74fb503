// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <linux/zalloc.h>
#include <sys/mman.h>
#include "util/debug.h"
#include "util/evlist.h"
#include "util/evsel.h"
#include "util/off_cpu.h"
#include "util/perf-hooks.h"
#include "util/record.h"
#include "util/session.h"
#include "recording/stats/ring_stats.h"
#include "recording/ring/channel.h"
#include "off_cpu.h"
#include "recording/output/output.h"

int off_cpu__prepare(struct off_cpu *off_cpu, struct output *output, struct record_opts *opts)
{
	if (!off_cpu->wanted)
		return 0;
#ifndef HAVE_BPF_SKEL
	pr_err("Cannot use --off-cpu: this perf was built without BPF skeletons "
	       "(BUILD_BPF_SKEL=1).\n");
	return -EOPNOTSUPP;
#endif
	if (off_cpu_prepare(output->evlist, &opts->target, opts)) {
		pr_err("Cannot load the BPF program of --off-cpu. This needs root, and a kernel "
		       "with CONFIG_DEBUG_INFO_BTF.\n");
		return -EOPNOTSUPP;
	}
	off_cpu->evsel = evlist__find_evsel_by_str(output->evlist, OFFCPU_EVENT);
	return 0;
}

void off_cpu__configure(const struct off_cpu *off_cpu)
{
	if (!off_cpu->evsel)
		return;
	off_cpu->evsel->immediate = true;
	off_cpu->evsel->core.attr.disabled = 0;
	off_cpu->evsel->core.attr.enable_on_exec = 0;
}

void off_cpu__start(const struct off_cpu *off_cpu)
{
	if (off_cpu->evsel)
		perf_hooks__invoke_record_start();
}

static int write_samples(int fd, size_t len, struct output *output, struct ring_stats *stats)
{
	void *samples = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	struct records records = records__of(samples, len);
	int err;

	if (samples == MAP_FAILED)
		return -errno;
	err = output__write(output, &records, stats);
	munmap(samples, len);
	return err;
}

/*
 * Let util write the samples to a file in memory, and append that to the output. util would write
 * to the output file directly, before the records that are still queued.
 */
int off_cpu__write(const struct off_cpu *off_cpu, struct channels *channels, struct output *output)
{
	struct perf_session *session;
	struct ring_stats stats = { 0 };
	struct perf_data data = { 0 };
	struct ring *ring;
	int len, err = 0;

	if (!off_cpu->evsel)
		return 0;
	session = zalloc(sizeof(*session));
	data.file.fd = memfd_create("off-cpu", MFD_CLOEXEC);
	if (data.file.fd < 0 || !session) {
		err = -ENOMEM;
		goto out;
	}
	session->data = &data;
	session->evlist = output->evlist;
	len = off_cpu_write(session);
	if (len < 0)
		err = -EIO;
	else if (len)
		err = write_samples(data.file.fd, len, output, &stats);
	ring = channels__ring(channels, output->evlist, off_cpu->evsel, 0, 0);
	ring_stats__merge(&ring->stats, &stats);
out:
	if (err && err != output->err)
		pr_err("Cannot write the samples of --off-cpu: %s\n", strerror(-err));
	free(session);
	close(data.file.fd);
	return err;
}

void off_cpu__exit(struct off_cpu *off_cpu)
{
	if (off_cpu->evsel)
		perf_hooks__invoke_record_end();
	off_cpu->evsel = NULL;
}
