// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints the frequency of this machine's TSC [kHz].
 *
 * It is the guest's TSC as well. Left to itself, the guest compares it with emulated timers; while the
 * host is busy it then finds a tenth or a fiftieth of what it is, its clocks run that much too fast,
 * and timers are all that it still has time for.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

struct moment {
	uint64_t ns, tsc, error;	/* error: ns is right within so many */
};

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_RAW, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

/* We may be interrupted between the two clocks: the best of several is taken. */
static struct moment look(void)
{
	struct moment best = { .error = UINT64_MAX };

	for (int tries = 0; tries < 20; tries++) {
		uint64_t before = now(), tsc = __rdtsc(), after = now();

		if (after - before < best.error)
			best = (struct moment){ before, tsc, after - before };
	}
	return best;
}

int main(void)
{
	struct timespec pause = { .tv_nsec = 50000000 };
	struct moment first = look(), last;

	nanosleep(&pause, NULL);
	last = look();
	printf("%llu\n", (last.tsc - first.tsc) * 1000000ULL / (last.ns - first.ns));
	return 0;
}
