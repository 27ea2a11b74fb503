// SPDX-License-Identifier: GPL-2.0-only
/*
 * Open valid and invalid groups of soft_pebs events, or count a program's instructions.
 *
 * usage: pebs_open			try valid and invalid attributes and groups; print TAP
 *	  pebs_open PROGRAM [ARGUMENT]...
 *		run it with a group of intel_pt and soft_pebs, and print the number of instructions
 *		counted. The exit status is that of the program
 *	  pebs_open -o PROGRAM [ARGUMENT]...
 *		the same, but close intel_pt before the program starts: nothing must be counted
 *	  pebs_open -d PROGRAM [ARGUMENT]...
 *		the same for a program that stops twice: between the two stops soft_pebs is disabled
 *		and must not count
 * Exits with 77 if there is no soft_pebs.
 */
#include <err.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define INST_RETIRED	0xc0
#define DATA_PAGES	8
#define AUX_PAGES	1024

static unsigned int pt_type, pebs_type;

static unsigned int pmu_type(const char *name)
{
	unsigned int type;
	char path[100];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", name);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%u", &type) != 1)
		exit(77);
	fclose(file);
	return type;
}

static struct perf_event_attr pt_attr(void)
{
	return (struct perf_event_attr){
		.type = pt_type, .size = sizeof(struct perf_event_attr),
		.config = 1 << 10 | 1 << 13, .exclude_kernel = 1, .disabled = 1,
	};
}

static struct perf_event_attr pebs_attr(void)
{
	return (struct perf_event_attr){
		.type = pebs_type, .size = sizeof(struct perf_event_attr),
		.config = INST_RETIRED, .sample_period = 1000, .exclude_kernel = 1, .aux_output = 1,
	};
}

static int open_event(struct perf_event_attr attr, pid_t pid, int leader)
{
	return syscall(SYS_perf_event_open, &attr, pid, -1, leader, 0);
}

static unsigned int nr_tests, nr_failed;

/* @expected: the errno of the failure, or 0 for success */
static void expect(int expected, const char *what, struct perf_event_attr attr, int leader)
{
	int fd = open_event(attr, 0, leader), err = fd < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	printf("%sok %u - %s: %s\n", err == expected ? "" : "not ", ++nr_tests, what,
	       err ? strerror(err) : "opened");
	nr_failed += err != expected;
}

static int open_leader(struct perf_event_attr attr)
{
	int fd = open_event(attr, 0, -1);

	if (fd < 0)
		err(1, "perf_event_open of a leader");
	return fd;
}

static int refusals(void)
{
	struct perf_event_attr clock = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(clock),
		.config = PERF_COUNT_SW_TASK_CLOCK, .sample_period = 1000000, .exclude_kernel = 1,
	};
	struct perf_event_attr attr = pt_attr();
	int pt = open_leader(attr), other = open_leader(clock), synth;

	attr.config1 = 1000;
	synth = open_event(attr, getpid(), -1);		/* the PMU is exclusive */
	if (synth >= 0 || errno != EBUSY)
		errx(1, "a second intel_pt could be opened");

	expect(0, "leader is intel_pt", pebs_attr(), pt);
	expect(EINVAL, "no leader", pebs_attr(), -1);
	expect(EINVAL, "leader has no AUX area", pebs_attr(), other);
	clock.aux_output = 1;
	expect(EOPNOTSUPP, "aux_output for another PMU", clock, pt);

	attr = pebs_attr();
	attr.aux_output = 0;
	expect(EOPNOTSUPP, "aux_output not set", attr, pt);
	attr = pebs_attr();
	attr.freq = 1;
	expect(EOPNOTSUPP, "frequency instead of a period", attr, pt);
	attr = pebs_attr();
	attr.sample_period = 0;
	expect(EOPNOTSUPP, "no period", attr, pt);
	attr = pebs_attr();
	attr.exclude_kernel = 0;
	expect(EOPNOTSUPP, "kernel not excluded", attr, pt);
	attr = pebs_attr();
	attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
	expect(EOPNOTSUPP, "branch stack", attr, pt);
	attr = pebs_attr();
	attr.aux_sample_size = 4096;
	expect(EINVAL, "aux_sample_size set", attr, pt);
	attr = pebs_attr();
	attr.config = 0xc4;
	expect(EINVAL, "unknown event", attr, pt);

	close(pt);
	attr = pt_attr();
	attr.config1 = 1000;
	pt = open_leader(attr);
	expect(EINVAL, "leader has a synthetic trace", pebs_attr(), pt);
	printf("1..%u\n", nr_tests);
	return nr_failed != 0;
}

static void map_area(int fd)
{
	struct perf_event_mmap_page *page = mmap(NULL, (DATA_PAGES + 1) * 4096,
						 PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		err(1, "mmap");
	page->aux_offset = (DATA_PAGES + 1) * 4096;
	page->aux_size = AUX_PAGES * 4096;
	if (mmap(NULL, page->aux_size, PROT_READ, MAP_SHARED, fd, page->aux_offset) == MAP_FAILED)
		err(1, "mmap of the AUX area");
}

static unsigned long long read_count(int fd)
{
	unsigned long long counted;

	/* An event in error state reads 0 bytes. */
	return read(fd, &counted, sizeof(counted)) == sizeof(counted) ? counted : 0;
}

/* Disable soft_pebs from the first stop of the program to the second. */
static void disable(int pebs, pid_t pid)
{
	unsigned long long before;
	int status;

	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		errx(1, "the program did not stop");
	before = read_count(pebs);
	if (ioctl(pebs, PERF_EVENT_IOC_DISABLE, 0) || kill(pid, SIGCONT))
		err(1, "ioctl");
	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		errx(1, "the program did not stop again");
	if (!before || read_count(pebs) != before)
		errx(1, "counted %llu, and %llu after soft_pebs was disabled", before,
		     read_count(pebs));
	if (ioctl(pebs, PERF_EVENT_IOC_ENABLE, 0) || kill(pid, SIGCONT))
		err(1, "ioctl");
}

static int count(char **program, char how)
{
	struct perf_event_attr attr = pt_attr();
	int go[2], status, pt, pebs;
	pid_t pid;
	char c;

	if (pipe(go))
		err(1, "pipe");
	pid = fork();
	if (!pid) {
		close(go[1]);
		if (read(go[0], &c, 1) == 1)
			execvp(program[0], program);
		err(127, "%s", program[0]);
	}
	attr.enable_on_exec = 1;
	pt = open_event(attr, pid, -1);
	if (pt < 0)
		err(1, "perf_event_open of intel_pt");
	if (how != 'o')		/* a mapping would keep the event open */
		map_area(pt);
	pebs = open_event(pebs_attr(), pid, pt);
	if (pebs < 0)
		err(1, "perf_event_open of soft_pebs");
	if (how == 'o')
		close(pt);
	if (write(go[1], "", 1) != 1)
		err(1, "%s", program[0]);
	if (how == 'd')
		disable(pebs, pid);
	if (waitpid(pid, &status, 0) != pid)
		err(1, "%s", program[0]);
	printf("%llu\n", read_count(pebs));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	char how = argc > 1 && argv[1][0] == '-' ? argv[1][1] : 0;

	pt_type = pmu_type("intel_pt");
	pebs_type = pmu_type("soft_pebs");
	if (argc == 1)
		return refusals();
	if (how && (argc == 2 || !strchr("od", how)))
		return 2;
	return count(argv + 1 + !!how, how);
}
