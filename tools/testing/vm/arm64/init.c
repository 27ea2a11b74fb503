// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run the tests of the arm64 guest as its init process.
 *
 * Run the KUnit suites and the programs in /tests whose names are the arguments of init. Their
 * output goes to the virtio port, in the form that tools/testing/selftests/perf_events/join_tap
 * reads: after a line "@ NAME" the output, then "@end STATUS". The host sees that all have run by
 * the last line, "@done".
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SUITES	"/sys/kernel/debug/kunit"

static const struct {
	const char *type, *dir;
} mounts[] = {
	{ "devtmpfs", "/dev" },
	{ "proc",     "/proc" },
	{ "sysfs",    "/sys" },
	{ "debugfs",  "/sys/kernel/debug" },
	{ "tracefs",  "/sys/kernel/tracing" },
	{ "cgroup2",  "/sys/fs/cgroup" },
	{ "tmpfs",    "/tmp" },
};

/* End init: the kernel panics, and QEMU exits. */
static void die(const char *what)
{
	fprintf(stderr, "init: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die(path);
	close(fd);
}

/* Standard output is the port, without a buffer that a child would inherit. */
static void set_up(void)
{
	for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
		mkdir(mounts[i].dir, 0755);
		if (mount(mounts[i].type, mounts[i].dir, mounts[i].type, 0, NULL))
			die(mounts[i].dir);
	}
	symlink("/proc/self/fd", "/dev/fd");
	if (!freopen("/dev/vport0p1", "w", stdout))
		die("/dev/vport0p1");
	setvbuf(stdout, NULL, _IOLBF, 0);
	/* perf_event is enabled implicitly in a cgroup with any controller. */
	write_file("/sys/fs/cgroup/cgroup.subtree_control", "+pids");
	setenv("RING_TEST_HOTPLUG", "1", 1);
	chdir("/tmp");
}

/*
 * The suites ran at boot already, but without high-resolution timers to interrupt them: run them
 * again. Test cases are indented by four spaces, their parameters by eight.
 */
static void run_suite(const char *name)
{
	char path[512], line[4096];
	FILE *results;

	snprintf(path, sizeof(path), SUITES "/%s/run", name);
	write_file(path, "1");
	snprintf(path, sizeof(path), SUITES "/%s/results", name);
	results = fopen(path, "r");
	if (!results)
		die(path);
	printf("@ %s\n", name);
	while (fgets(line, sizeof(line), results)) {
		const char *text = line + 4;

		if (strncmp(line, "    ", 4))
			continue;
		if (!strncmp(text, "ok ", 3) || !strncmp(text, "not ok ", 7) ||
		    !strncmp(text, "1..", 3) || !strncmp(text, "# ", 2) || *text == ' ')
			fputs(text, stdout);
	}
	printf("@end 0\n");
	fclose(results);
}

static void run_suites(void)
{
	DIR *dir = opendir(SUITES);
	struct dirent *entry;

	if (!dir)
		die(SUITES);
	while ((entry = readdir(dir)))
		if (!strncmp(entry->d_name, "perf_ring_", 10))
			run_suite(entry->d_name);
	closedir(dir);
}

static void run_program(const char *name)
{
	int status;
	pid_t pid;

	printf("@ %s\n", name);
	pid = fork();
	if (!pid) {
		char path[256];

		snprintf(path, sizeof(path), "/tests/%s", name);
		dup2(1, 2);
		execl(path, name, NULL);
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		die(name);
	printf("@end %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int main(int argc, char **argv)
{
	if (getpid() != 1)	/* a test runs /bin/true */
		return 0;
	set_up();
	run_suites();
	for (int i = 1; i < argc; i++)
		run_program(argv[i]);
	printf("@done\n");
	fflush(stdout);
	sync();
	reboot(RB_POWER_OFF);
	die("reboot");
}
