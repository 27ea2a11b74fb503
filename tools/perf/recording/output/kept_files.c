// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include "util/data.h"
#include "util/debug.h"
#include "util/util.h"
#include "claim.h"
#include "kept_files.h"

/* fetch_current_timestamp(): year, month, day, hour, minute, second, hundredths */
#define TIMESTAMP_DIGITS	16

/**
 * struct own_file - a file that this recorder has completed
 * @order:	number of the file, from 1
 * @data_bytes:	length of its data section [bytes]
 */
struct own_file {
	struct list_head	node;
	u64			order;
	u64			data_bytes;
	char			name[];
};

/**
 * struct completed - a completed file in the directory of the output, or one that the command of
 * --exec-snapshot has made of it
 * @name:	owned
 * @recording:	name of the completed file, which may be gone; owned
 * @order:	that of struct own_file, 0 for files of earlier runs
 * @size:	of all its files, if it is a directory [bytes]
 */
struct completed {
	char		*name;
	char		*recording;
	u64		 order;
	u64		 size;
};

struct completed_list {
	struct completed	*files;
	size_t			 nr;
	u64			 size;
};

void kept_files__init(struct kept_files *kept)
{
	INIT_LIST_HEAD(&kept->own);
}

void kept_files__exit(struct kept_files *kept)
{
	struct own_file *own, *next;

	if (!kept->own.next)
		return;
	list_for_each_entry_safe(own, next, &kept->own, node)
		free(own);
	kept->nr_own = 0;
	INIT_LIST_HEAD(&kept->own);
}

/* Return the length of the suffix that output__close_as() gives, or 0. */
static size_t suffix_len(const char *text)
{
	static const char digits[] = "0123456789";
	size_t len = TIMESTAMP_DIGITS + 1, nr;

	if (*text != '.' || strspn(text + 1, digits) != TIMESTAMP_DIGITS)
		return 0;
	if (text[len] != '-')
		return len;
	nr = strspn(text + len + 1, digits);
	return nr ? len + 1 + nr : 0;
}

static u64 size_of(const char *name)
{
	char *const paths[] = { (char *)name, NULL };
	FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;
	u64 size = 0;

	while (walk && (entry = fts_read(walk)))
		size += entry->fts_info == FTS_F ? entry->fts_statp->st_size : 0;
	if (walk)
		fts_close(walk);
	return size;
}

/* Is it a recording of this user? Fill in @st for its data. Never follow a symbolic link. */
static bool is_own_recording(const char *name, struct stat *st)
{
	char buffer[PATH_MAX];

	return !lstat(name, st) && !S_ISLNK(st->st_mode) && st->st_uid == geteuid() &&
	       !claim__stat_data(&name, buffer, sizeof(buffer), st) && S_ISREG(st->st_mode) &&
	       is_perf_data(name);
}

/* A command writes files of any format. */
static bool is_own_file(const char *name, struct stat *st)
{
	return !lstat(name, st) && S_ISREG(st->st_mode) && st->st_uid == geteuid();
}

/*
 * Add the file if it counts.
 * @name: allocated, owned by @list from now on
 * @len: length of the name of the recording
 */
static int add_completed(struct completed_list *list, char *name, size_t len)
{
	struct completed *files;
	char *recording;
	struct stat st;

	if (name[len] ? !is_own_file(name, &st) : !is_own_recording(name, &st)) {
		free(name);
		return 0;
	}
	recording = strndup(name, len);
	files = recording ? reallocarray(list->files, list->nr + 1, sizeof(*files)) : NULL;
	if (!files) {
		free(recording);
		free(name);
		return -ENOMEM;
	}
	list->files = files;
	files += list->nr++;
	*files = (struct completed){ .name = name, .recording = recording, .size = size_of(name) };
	list->size += files->size;
	return 0;
}

static int find_in(DIR *dir, int dir_len, const char *path, bool extensions,
		   struct completed_list *list)
{
	const char *base = path + dir_len, *rest;
	size_t len = strlen(base), suffix;
	struct dirent *entry;
	char *name;
	int err = 0;

	while (!err && (entry = readdir(dir))) {
		suffix = strncmp(entry->d_name, base, len) ? 0 : suffix_len(entry->d_name + len);
		rest = entry->d_name + len + suffix;
		if (!suffix || (*rest && !(extensions && *rest == '.')))
			continue;
		err = asprintf(&name, "%.*s%s", dir_len, path, entry->d_name) < 0 ?
		      -ENOMEM : add_completed(list, name, dir_len + len + suffix);
	}
	return err;
}

static int find_completed(const char *path, bool extensions, struct completed_list *list)
{
	const char *slash = strrchr(path, '/');
	int dir_len = slash ? slash + 1 - path : 0, err;
	char *dir_name = strndup(dir_len ? path : ".", dir_len ?: 1);
	DIR *dir = dir_name ? opendir(dir_name) : NULL;

	err = dir ? find_in(dir, dir_len, path, extensions, list) : -errno;
	if (dir)
		closedir(dir);
	free(dir_name);
	return err;
}

/*
 * The wall clock may have been set back: the files of this recorder are newer than all others,
 * whatever their names and times say.
 */
static int compare_age(const void *a, const void *b)
{
	const struct completed *x = a, *y = b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return strverscmp(x->recording, y->recording) ?: strcmp(x->name, y->name);
}

static int compare_names(const void *a, const void *b)
{
	const struct own_file *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static int compare_with_own(const void *name, const void *own)
{
	return strcmp(name, (*(const struct own_file *const *)own)->name);
}

static int find_orders(struct kept_files *kept, struct completed_list *list)
{
	struct own_file **sorted = calloc(kept->nr_own, sizeof(*sorted)), *own, **found;
	struct completed *file;
	size_t nr = 0;

	if (!sorted)
		return -ENOMEM;
	list_for_each_entry(own, &kept->own, node)
		sorted[nr++] = own;
	qsort(sorted, nr, sizeof(*sorted), compare_names);
	for (file = list->files; file < list->files + list->nr; file++) {
		found = bsearch(file->recording, sorted, nr, sizeof(*sorted), compare_with_own);
		file->order = found ? (*found)->order : 0;
	}
	free(sorted);
	return 0;
}

/* Forget a file that was deleted. Return: length of its data section if it was added [bytes]. */
static u64 forget_own(struct kept_files *kept, const char *name)
{
	struct own_file *own;
	u64 data_bytes;

	list_for_each_entry(own, &kept->own, node) {
		if (strcmp(own->name, name))
			continue;
		data_bytes = own->data_bytes;
		list_del(&own->node);
		kept->nr_own--;
		free(own);
		return data_bytes;
	}
	return 0;
}

static const struct completed *end_of_recording(const struct completed_list *list,
						const struct completed *file)
{
	const struct completed *next = file + 1;

	while (next < list->files + list->nr && !strcmp(next->recording, file->recording))
		next++;
	return next;
}

static bool is_deletable(const struct kept_files *kept, const char *recording, const char *newest)
{
	return strcmp(recording, newest) && !claim__check(recording) &&
	       !(kept->in_use && kept->in_use(kept->in_use_arg, recording));
}

static int delete(const struct completed *file)
{
	int err = strcmp(file->name, file->recording) ? unlink(file->name) :
							rm_rf_perf_data(file->name);

	if (err)
		pr_warning("Cannot delete %s: %m\n", file->name);
	return err;
}

static u64 delete_oldest(struct kept_files *kept, const struct completed_list *list,
			 const char *newest)
{
	const struct completed *end = list->files + list->nr, *file, *next;
	u64 size = list->size, data_bytes = 0;
	const char *recording;
	size_t nr = 0;
	bool deleted;

	for (file = list->files; file < end; file = end_of_recording(list, file))
		nr++;
	for (file = list->files; file < end; file = next) {
		if ((!kept->max_nr || nr <= kept->max_nr) &&
		    (!kept->max_bytes || size <= kept->max_bytes))
			break;
		recording = file->recording;
		next = end_of_recording(list, file);
		if (!is_deletable(kept, recording, newest))
			continue;
		for (deleted = true; file < next; file++) {
			if (delete(file))
				deleted = false;
			else
				size -= file->size;
		}
		if (!deleted)
			continue;
		data_bytes += forget_own(kept, recording);
		nr--;
	}
	return data_bytes;
}

static int add_own(struct kept_files *kept, const char *name, u64 data_bytes)
{
	struct own_file *own = malloc(sizeof(*own) + strlen(name) + 1);

	if (!own)
		return -ENOMEM;
	own->order = ++kept->last_order;
	own->data_bytes = data_bytes;
	strcpy(own->name, name);
	kept->nr_own++;
	list_add_tail(&own->node, &kept->own);
	return 0;
}

u64 kept_files__add(struct kept_files *kept, const char *path, const char *name, u64 data_bytes)
{
	struct completed_list list = { 0 };
	u64 deleted = 0;
	size_t i;
	int err;

	if (!kept->max_nr && !kept->max_bytes)
		return 0;
	err = add_own(kept, name, data_bytes) ?: find_completed(path, kept->in_use, &list);
	err = find_orders(kept, &list) ?: err;
	if (err)
		pr_warning("Cannot find all completed files of %s: %s\n", path, strerror(-err));
	qsort(list.files, list.nr, sizeof(*list.files), compare_age);
	deleted = delete_oldest(kept, &list, name);
	for (i = 0; i < list.nr; i++) {
		free(list.files[i].name);
		free(list.files[i].recording);
	}
	free(list.files);
	return deleted;
}
