// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run rounds of random actions on perf events until the time is over.
 *
 *	perf_event_fuzz [-s SEED] [-t SECONDS] [-r ROUNDS] [-a ACTIONS] [-g]
 *
 *	-s SEED		seed of the first round; the next rounds have SEED + 1, SEED + 2, ...
 *	-t SECONDS	start no more rounds after this time; default 10
 *	-r ROUNDS	run as many rounds; default: as many as the time allows
 *	-a ACTIONS	actions of each process; default 300
 *	-g		this machine is a guest for this test: change sysctls, and print seeds to
 *			the kernel log as well, where they stand before the warnings that they cause
 *
 * Each round has a seed, which is printed: "-s SEED -r 1" repeats its actions, though not the way
 * in which its processes interleave. Results are printed as KTAP. Faults of the kernel itself are
 * in its log.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define NR_WORKERS	3
#define ROUND_LIMIT	30	/* after this a round is killed [s] */
#define KILL_LIMIT	60	/* by then its processes must be gone [s] */
#define NOBODY		65534
#define PARANOID	"/proc/sys/kernel/perf_event_paranoid"

static bool guest;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail("cannot write %s: %s", path, strerror(errno));
	close(fd);
}

static void announce(bool ordinary, int paranoid)
{
	char text[128];

	snprintf(text, sizeof(text), "perf_event_fuzz: seed %#llx%s, paranoid %d\n",
		 (unsigned long long)round_seed, ordinary ? ", ordinary user" : "", paranoid);
	printf("# %s", text);
	fflush(stdout);
	if (guest)
		write_file("/dev/kmsg", text);
}

static void become_ordinary(void)
{
	const struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_MEMLOCK, &none);
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		_exit(1);
	/* Changing the uid clears this, and with it the right to be measured by the others. */
	prctl(PR_SET_DUMPABLE, 1);
}

static pid_t start(pid_t group, unsigned int number, unsigned int actions, bool ordinary,
		   pid_t workload)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	setpgid(0, group);
	if (ordinary)
		become_ordinary();
	random_seed(round_seed, number);
	if (workload)
		worker_run(actions, workload);
	else
		workload_run();
	_exit(0);
}

/* Wait until all children are gone; return false after @limit seconds. */
static bool wait_all(double limit)
{
	double end = now() + limit;
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0) {
		if (!pid && now() > end)
			return false;
		if (!pid)
			usleep(2000);
	}
	return true;
}

/* Wait for @nr workers, or until the round has taken too long. */
static void wait_workers(const pid_t *workers, unsigned int nr)
{
	double end = now() + ROUND_LIMIT;

	while (nr && now() < end) {
		if (waitpid(workers[nr - 1], NULL, WNOHANG))
			nr--;
		else
			usleep(2000);
	}
}

/* Return false if processes of the round cannot be killed. */
static bool run_round(unsigned int actions)
{
	pid_t workload, workers[NR_WORKERS];
	bool ordinary;
	int paranoid;

	random_seed(round_seed, 0);
	paranoid = (int)random_below(4) - 1;
	ordinary = !getuid() && one_in(3);
	if (guest) {
		char text[8];

		snprintf(text, sizeof(text), "%d\n", paranoid);
		write_file(PARANOID, text);
	}
	announce(ordinary, paranoid);

	workload = start(0, 1, 0, ordinary, 0);
	setpgid(workload, workload);
	for (unsigned int i = 0; i < NR_WORKERS; i++)
		workers[i] = start(workload, 2 + i, actions, ordinary, workload);
	wait_workers(workers, NR_WORKERS);
	kill(-workload, SIGKILL);
	if (wait_all(KILL_LIMIT))
		return true;
	fail("processes do not end %d s after SIGKILL", KILL_LIMIT);
	return false;
}

static void usage(void)
{
	fprintf(stderr,
		"usage: perf_event_fuzz [-s SEED] [-t SECONDS] [-r ROUNDS] [-a ACTIONS] [-g]\n");
	exit(2);
}

int main(int argc, char **argv)
{
	unsigned long rounds = 0, most = -1, actions = 300, seconds = 10;
	double end;
	int option;

	if (argc == 2 && !strcmp(argv[1], "--exit"))	/* executed by a worker */
		return 0;
	round_seed = time(NULL);
	while ((option = getopt(argc, argv, "s:t:r:a:g")) != -1) {
		switch (option) {
		case 's': round_seed = strtoull(optarg, NULL, 0); break;
		case 't': seconds = strtoul(optarg, NULL, 0); break;
		case 'r': most = strtoul(optarg, NULL, 0); break;
		case 'a': actions = strtoul(optarg, NULL, 0); break;
		case 'g': guest = true; break;
		default: usage();
		}
	}
	if (optind < argc)
		usage();

	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (counts == MAP_FAILED || prctl(PR_SET_CHILD_SUBREAPER, 1)) {
		perror("perf_event_fuzz");
		return 1;
	}
	attr_init();
	printf("KTAP version 1\n1..1\n");
	for (end = now() + seconds; rounds < most && now() < end; rounds++, round_seed++)
		if (!run_round(actions))
			break;
	printf("# %lu actions: %lu events opened, %lu refused; %lu rings and %lu AUX areas mapped;\n"
	       "# %lu records and %lu snapshots checked, %lu events lost\n",
	       counts->actions, counts->opened, counts->refused, counts->mapped,
	       counts->aux_mapped, counts->records, counts->snapshots, counts->lost);
	printf("%sok 1 - %lu rounds of random actions\n", counts->failures ? "not " : "", rounds);
	return counts->failures != 0;
}
