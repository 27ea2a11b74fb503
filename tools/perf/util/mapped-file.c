// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <linux/kernel.h>
#include <linux/magic.h>
#include <internal/rc_check.h>
#include "build-id.h"
#include "debug.h"
#include "dso.h"
#include "dsos.h"
#include "env.h"
#include "event.h"
#include "machine.h"
#include "map.h"
#include "mapped-file.h"
#include "namespaces.h"
#include "symbol.h"
#include "task-root.h"
#include "vdso.h"

/* Identify a file by the fields of an mmap record without build-id. */
struct file_id {
	u32	maj;
	u32	min;
	u64	ino;
};

/* On these, stat() reports another device than the kernel in mmap records and /proc/PID/maps. */
static bool hides_device(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && (fs.f_type == OVERLAYFS_SUPER_MAGIC ||
				      fs.f_type == BTRFS_SUPER_MAGIC);
}

static bool has_id(const struct file_id *id, const struct stat *st, const char *path)
{
	return id->ino == st->st_ino &&
	       (makedev(id->maj, id->min) == st->st_dev || hides_device(path));
}

static bool has_build_id(const struct dso *dso, const char *path)
{
	struct build_id bid = { .size = 0 };

	return filename__read_build_id(path, &bid) > 0 && dso__build_id_equal(dso, &bid);
}

static struct machine *dso__machine(const struct dso *dso)
{
	struct dsos *dsos = dso__dsos((struct dso *)dso);

	return dsos ? container_of(dsos, struct machine, dsos) : NULL;
}

/* Of another machine, device and inode number tell nothing. */
static bool recorded_elsewhere(const struct dso *dso)
{
	struct machine *machine = dso__machine(dso);
	struct utsname uts;

	return machine && machine->env && machine->env->hostname && !uname(&uts) &&
	       strcmp(machine->env->hostname, uts.nodename);
}

/* Can the file at @path be @dso? Yes, if nothing is known but the path. */
static bool dso__is_file(const struct dso *dso, const char *path)
{
	const struct dso_id *recorded = dso__id_const(dso);
	const struct file_id id = { recorded->maj, recorded->min, recorded->ino };
	struct stat st;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	if (dso__has_build_id(dso))
		return has_build_id(dso, path);
	if (!id.ino || has_id(&id, &st, path))
		return true;
	if (recorded_elsewhere(dso)) {
		pr_warning_once("The file of another machine has no build-id of %s and others: "
				"taking the files of this machine.\n", dso__long_name(dso));
		return true;
	}
	pr_warning_once("Without symbols: %s is not the file that was mapped, or no longer.\n",
			path);
	return false;
}

/* Is this a file that a task of this host has mapped? */
static bool is_mapped_file(const struct dso *dso)
{
	struct machine *machine = dso__machine(dso);

	return machine && machine__is_host(machine) && !dso__kernel(dso) &&
	       dso__nsinfo_const(dso) && !dso__is_vdso((struct dso *)dso) &&
	       dso__long_name(dso)[0] == '/' && !is_perf_pid_map_name(dso__long_name(dso));
}

bool dso__mapped_path(const struct dso *dso, char *path, size_t size)
{
	char *other;
	bool found;

	__symbol__join_symfs(path, size, dso__long_name(dso));
	if (symbol_conf.symfs[0] || !is_mapped_file(dso) || dso__is_file(dso, path))
		return true;
	other = dso__filename_with_chroot(dso, path);
	found = other && dso__is_file(dso, other);
	if (found)
		snprintf(path, size, "%s", other);
	free(other);
	return found;
}

bool dso__mapped_here(const struct dso *dso)
{
	return !is_mapped_file(dso) || dso__is_file(dso, dso__long_name(dso));
}

char *dso__outside_name(const struct dso *dso, const struct nscookie *nc, const char *name)
{
	char *outside;

	if (nc->root < 0)
		return strdup(name);
	if (asprintf(&outside, "/proc/%d/root%s", nsinfo__pid(dso__nsinfo_const(dso)), name) < 0)
		return NULL;
	return outside;
}

void dso__mountns_enter(const struct dso *dso, struct nscookie *nc)
{
	bool found;

	nsinfo__mountns_enter(dso__mapped_nsinfo(dso, &found), nc);
}

struct nsinfo *dso__mapped_nsinfo(const struct dso *dso, bool *found)
{
	struct nsinfo *nsi = dso__nsinfo((struct dso *)dso);
	struct nscookie nc;

	*found = true;
	if (!is_mapped_file(dso))
		return nsi;
	if (nsinfo__need_setns(nsi)) {
		nsinfo__mountns_enter(nsi, &nc);
		*found = nc.root >= 0 && dso__is_file(dso, dso__long_name(dso));
		nsinfo__mountns_exit(&nc);
		if (*found)
			return nsi;
	}
	*found = dso__is_file(dso, dso__long_name(dso));
	return *found ? NULL : nsi;
}

/* Needs CAP_CHECKPOINT_RESTORE, and works for files that have been deleted since. */
static bool read_mapping(const struct perf_record_mmap2 *event, struct build_id *bid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", event->pid,
		 (unsigned long long)event->start, (unsigned long long)(event->start + event->len));
	return filename__read_build_id(path, bid) > 0;
}

static bool read_file(const struct perf_record_mmap2 *event, const char *path, struct build_id *bid)
{
	const struct file_id id = { event->maj, event->min, event->ino };
	struct stat st;

	return !stat(path, &st) && has_id(&id, &st, path) && filename__read_build_id(path, bid) > 0;
}

int mmap2__read_build_id(const struct perf_record_mmap2 *event, struct build_id *bid)
{
	char *other;
	bool found;

	if (event->filename[0] != '/')
		return -1;
	if (read_mapping(event, bid) || read_file(event, event->filename, bid))
		return 0;
	other = task_root__path(event->pid, event->filename);
	found = other && read_file(event, other, bid);
	free(other);
	return found ? 0 : -1;
}
