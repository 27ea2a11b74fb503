// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test names of recordings: a suffix never replaces a file, also where the file system cannot
 * refuse that.
 *
 * tags: fast parallel
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "recording/output/names.h"
#include "perf/tests/tap.h"

static int (*libc_renameat2)(int, const char *, int, const char *, unsigned int);
static int refused;		/* errno of renameat2(), 0 to call it */

/* Replace that of the C library. */
int renameat2(int old_fd, const char *old, int new_fd, const char *new, unsigned int flags)
{
	if (refused) {
		errno = refused;
		return -1;
	}
	return libc_renameat2(old_fd, old, new_fd, new, flags);
}

bool is_perf_data(const char *path)
{
	return !access(path, F_OK);
}

static void create(const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file || fputs(path, file) < 0 || fclose(file))
		abort();
}

static bool has(const char *path, const char *text)
{
	char got[32] = "";
	FILE *file = fopen(path, "r");

	if (!file)
		return false;
	if (!fgets(got, sizeof(got), file))
		got[0] = '\0';
	fclose(file);
	return !strcmp(got, text);
}

/* Rename @path with a suffix. Return whether it is called @expected then. */
static bool gets_name(const char *path, const char *expected)
{
	char *name;
	bool ok = !name__add_suffix(path, "s", &name) && !strcmp(name, expected) &&
		  has(expected, path) && access(path, F_OK);

	free(name);
	return ok;
}

static void test_suffix(void)
{
	create("f.s");
	create("f.s-1");
	create("f");
	check(gets_name("f", "f.s-2"), "a name that is taken gets a number");
	check(has("f.s", "f.s") && has("f.s-1", "f.s-1"), "files of these names are not replaced");
	create("g");
	check(gets_name("g", "g.s"), "a name that is free gets no number");
	unlink("f.s");
	unlink("f.s-1");
	unlink("f.s-2");
	unlink("g.s");
}

static void test_errors(void)
{
	char *name = (char *)"";

	check(name__add_suffix("missing", "s", &name) == -ENOENT && !name,
	      "a file that is missing");
	refused = EACCES;
	create("f");
	check(name__add_suffix("f", "s", &name) == -EACCES && !name && has("f", "f"),
	      "a folder that cannot be written");
	refused = 0;
	create("f.old");
	name__restore_old("f");
	check(has("f", "f.old") && access("f.old", F_OK), "the file before gets its name back");
	unlink("f");
}

static void test_lengths(void)
{
	const size_t max = pathconf(".", _PC_NAME_MAX);
	char path[PATH_MAX] = "./";

	memset(path + 2, 'f', max - 5);
	check(!name__check_suffix(path, 5), "a name with space for the suffix");
	check(name__check_suffix(path, 6) == -ENAMETOOLONG, "a name that is one byte too long");
	check(!name__check_suffix("f", 5), "a name without a directory");
	memset(path, '/', sizeof(path) - 6);
	strcpy(path + sizeof(path) - 6, "f");
	check(name__check_suffix(path, 5) == -ENAMETOOLONG, "a path that is too long");
}

static void test_directories(void)
{
	struct stat st;

	if (mkdir("d", 0700) || stat("d", &st))
		abort();
	check(name__is_other_directory("d", &st), "an empty directory is no recording");
	create("d/data");
	check(!name__is_other_directory("d", &st), "a directory with a recording");
	if (stat("d/data", &st))
		abort();
	check(!name__is_other_directory("d/data", &st), "a file");
	unlink("d/data");
	rmdir("d");
}

int main(void)
{
	char dir[] = "names_test.XXXXXX";

	libc_renameat2 = (typeof(libc_renameat2))dlsym(RTLD_NEXT, "renameat2");
	if (!libc_renameat2 || !mkdtemp(dir) || chdir(dir))
		abort();
	test_suffix();
	refused = EINVAL;
	tap.context = "without RENAME_NOREPLACE";
	test_suffix();
	tap.context = NULL;
	refused = 0;
	test_errors();
	test_directories();
	test_lengths();
	if (!chdir(".."))
		rmdir(dir);
	return tap_end();
}
