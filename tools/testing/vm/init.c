// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run a script as the init process of the guest, and pass its output and exit status to the host.
 *
 * Mount a tmpfs over the read-only root file system of the host, mount /proc and the like, and run
 * DIR/script. DIR is the directory of this program, from its command line (init=DIR/init).
 *
 *	init		stdout and stderr of the script go to the first virtio port
 *	init tty	the script runs on the virtio console, with job control
 *
 * The exit status goes to the second port. Any error here ends this process, so that the kernel
 * panics and the host notices.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_PORT	"/dev/vport0p1"
#define STATUS_PORT	"/dev/vport0p2"
#define CONSOLE		"/dev/hvc0"
#define OUT_OPTIONS	"trans=virtio,version=9p2000.L,msize=262144"

static const struct {
	const char *type, *dir, *options;
} mounts[] = {
	{ "proc",     "/proc" },
	{ "sysfs",    "/sys" },
	{ "devtmpfs", "/dev" },
	{ "devpts",   "/dev/pts", "mode=620,gid=5,ptmxmode=666" },
	{ "tmpfs",    "/dev/shm", "mode=1777" },
	{ "tmpfs",    "/run",     "mode=755" },
	{ "tmpfs",    "/tmp",     "mode=1777" },
	{ "debugfs",  "/sys/kernel/debug" },
	{ "tracefs",  "/sys/kernel/tracing" },
	{ "bpf",      "/sys/fs/bpf" },
	{ "cgroup2",  "/sys/fs/cgroup" },
};

static void die(const char *what)
{
	fprintf(stderr, "vm-init: %s: %s\n", what, strerror(errno));
	exit(1);
}

/*
 * Mount a file system. If it would hide @dir, keep what is below the mount point on the way to @dir
 * visible: for /tmp and /tmp/perf/build/vm, that is /tmp/perf.
 */
static int mount_beside(const char *type, const char *mountpoint, const char *options,
			const char *dir)
{
	size_t length = strlen(mountpoint);
	int fd = -1, hides = !strncmp(dir, mountpoint, length) && dir[length] == '/';
	char path[4096], kept[4096], link[64];

	snprintf(path, sizeof(path), ".%s", mountpoint);
	mkdir(path, 0755);
	if (hides) {
		snprintf(kept, sizeof(kept), ".%.*s",
			 (int)(length + 1 + strcspn(dir + length + 1, "/")), dir);
		fd = open(kept, O_PATH | O_CLOEXEC);
		if (fd < 0)
			return -1;
	}
	if (mount(type, path, type, 0, options))
		return -1;
	if (!hides)
		return 0;
	snprintf(link, sizeof(link), "./proc/self/fd/%d", fd);
	if ((mkdir(kept, 0755) && errno != EEXIST) || mount(link, kept, NULL, MS_BIND, NULL))
		return -1;
	return close(fd);
}

/* Make the host's root, mounted read-only at /, the lower layer of the new root. */
static void mount_root(const char *dir)
{
	char out[4096];

	if (mount("tmpfs", "/tmp", "tmpfs", 0, "size=75%,mode=755"))
		die("tmpfs");
	if (mkdir("/tmp/upper", 0755) || mkdir("/tmp/work", 0755) || mkdir("/tmp/root", 0755) ||
	    mount("overlay", "/tmp/root", "overlay", 0,
		  "lowerdir=/,upperdir=/tmp/upper,workdir=/tmp/work") ||
	    chdir("/tmp/root"))
		die("overlayfs");

	for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
		/* The kernel may lack one of these file systems. */
		if (mount_beside(mounts[i].type, mounts[i].dir, mounts[i].options, dir))
			fprintf(stderr, "vm-init: %s: %s\n", mounts[i].dir, strerror(errno));
	}

	snprintf(out, sizeof(out), ".%s/out", dir);
	/* Linux before 6.4 has no cache=readahead. */
	if (mount("out", out, "9p", 0, OUT_OPTIONS ",cache=readahead") &&
	    mount("out", out, "9p", 0, OUT_OPTIONS ",cache=mmap"))
		die("mounting the output directory");

	/* pivot_root(".", ".") stacks the old root on the new one: unmount it. */
	if (syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) || chdir("/"))
		die("pivot_root");
}

static void set_up(void)
{
	static const char *const links[][2] = {
		{ "/proc/self/fd", "/dev/fd" }, { "fd/0", "/dev/stdin" },
		{ "fd/1", "/dev/stdout" }, { "fd/2", "/dev/stderr" },
	};
	struct rlimit files = { 1024, 1 << 20 };

	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++)
		if (symlink(links[i][0], links[i][1]) && errno != EEXIST)
			die(links[i][1]);
	sethostname("guest", 5);
	setrlimit(RLIMIT_NOFILE, &files);
	umask(022);
}

/* Open a port, which the driver creates at some time after boot: wait up to 10 s for it. */
static int open_port(const char *path, int flags)
{
	for (int tries = 0; tries < 1000; tries++) {
		int port = open(path, flags | O_CLOEXEC);

		if (port >= 0)
			return port;
		usleep(10000);
	}
	die(path);
	return -1;
}

static pid_t start(const char *script, int in, int out, int tty)
{
	pid_t child = fork();
	sigset_t none;

	if (child)
		return child;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGCHLD, SIG_DFL);
	setsid();
	if (tty)
		ioctl(in, TIOCSCTTY, 0);
	dup2(in, 0);
	dup2(out, 1);
	dup2(out, 2);
	clearenv();
	execl("/bin/bash", "bash", script, NULL);
	_exit(127);
}

/* Copy once. Returns 0 if there was nothing to read, or at the end of the file. */
static int copy(int from, int to)
{
	static char buffer[65536];
	ssize_t count = read(from, buffer, sizeof(buffer));

	for (ssize_t done = 0, n; done < count; done += n) {
		n = write(to, buffer + done, count - done);
		if (n < 0)
			die(OUTPUT_PORT);
	}
	return count > 0;
}

static void on_child(int signal)
{
	(void)signal;		/* the handler only interrupts ppoll() */
}

/* Copy the output until @child exits; return its exit status, as a shell would. */
static int wait_for(pid_t child, const sigset_t *unblocked, int from, int to)
{
	struct pollfd output = { .fd = from, .events = POLLIN };
	int status;
	pid_t pid;

	for (;;) {
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			if (pid == child)
				goto ended;
		if (ppoll(&output, 1, NULL, unblocked) > 0 && !copy(from, to))
			output.fd = -1;		/* no writer left */
	}
ended:
	/* Its background processes may keep the pipe open: copy only what is in it. */
	if (from >= 0) {
		fcntl(from, F_SETFL, O_NONBLOCK);
		while (copy(from, to))
			;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	int tty = argc > 1 && !strcmp(argv[1], "tty");
	int ends[2] = { -1, -1 }, port = -1, status_port, status;
	char *dir = strdup(argv[0]), script[4096];
	sigset_t chld, unblocked;
	pid_t child;

	*strrchr(dir, '/') = 0;
	snprintf(script, sizeof(script), "%s/script", dir);
	mount_root(dir);
	set_up();

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, &unblocked);
	signal(SIGCHLD, on_child);

	status_port = open_port(STATUS_PORT, O_WRONLY);
	if (tty) {
		int console = open_port(CONSOLE, O_RDWR | O_NOCTTY);

		child = start(script, console, console, tty);
	} else {
		port = open_port(OUTPUT_PORT, O_WRONLY);
		if (pipe2(ends, O_CLOEXEC))
			die("pipe");
		child = start(script, open("/dev/null", O_RDONLY | O_CLOEXEC), ends[1], tty);
		close(ends[1]);
	}
	if (child < 0)
		die("fork");

	status = wait_for(child, &unblocked, ends[0], port);
	kill(-1, SIGKILL);
	sync();
	dprintf(status_port, "%d\n", status);
	reboot(RB_AUTOBOOT);		/* QEMU exits because of -no-reboot */
	die("reboot");
}
